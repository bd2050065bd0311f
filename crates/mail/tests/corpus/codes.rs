//! The corpus of one-time codes: every line of `tests/otp/*.jsonl` is a message and the code that a human reader would
//! find in it. A new case is a new line.

use serde::Deserialize;

use crate::files;

#[derive(Deserialize)]
struct Case {
    name: String,
    language: String,
    subject: String,
    text: String,
    html: String,
    otp: String,
}

impl Case {
    /// The message in a simple form: UTF-8, with the text and the HTML as alternatives.
    fn message(&self) -> String {
        let head = format!("From: app@shop.example\r\nSubject: {}\r\nMIME-Version: 1.0\r\n", self.subject);
        let text = format!("Content-Type: text/plain; charset=utf-8\r\n\r\n{}\r\n", self.text);
        let html = format!("Content-Type: text/html; charset=utf-8\r\n\r\n{}\r\n", self.html);
        match (self.text.is_empty(), self.html.is_empty()) {
            (_, true) => head + &text,
            (true, false) => head + &html,
            (false, false) => format!(
                "{head}Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n{text}--b\r\n{html}--b--\r\n"
            ),
        }
    }
}

fn cases() -> Vec<Case> {
    files::json_lines("tests/otp")
}

#[test]
fn every_code_of_the_corpus_is_found() {
    let cases = cases();
    let found = |case: &Case| restante_mail::parse(case.message().as_bytes()).otp;
    let wrong: Vec<String> = cases
        .iter()
        .map(|case| (case, found(case)))
        .filter(|(case, found)| *found != case.otp)
        .map(|(case, found)| format!("{} {}: expected {:?}, found {found:?}", case.language, case.name, case.otp))
        .collect();
    println!("one-time codes: {} of {} cases are right", cases.len() - wrong.len(), cases.len());
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_corpus_is_large_enough_to_mean_something() {
    let cases = cases();
    let languages: std::collections::BTreeSet<_> = cases.iter().map(|case| case.language.as_str()).collect();
    assert!(cases.len() >= 150, "{}", cases.len());
    assert!(languages.len() >= 27, "{languages:?}");
    assert!(cases.iter().filter(|case| case.otp.is_empty()).count() >= 50);
}
