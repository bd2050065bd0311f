//! The corpus of codes: every line of `tests/otp/*.jsonl` is a message and the one-time code that a
//! human reader would find in it; a line of `tests/codes/*.jsonl` is the same for codes of other
//! forms, such as `LZDG-RMHF`. A new case is a new line.

use serde::Deserialize;

use crate::files;

#[derive(Deserialize)]
struct Case {
    name: String,
    language: String,
    subject: String,
    text: String,
    html: String,
    /// In `tests/otp`.
    #[serde(default)]
    otp: String,
    /// In `tests/codes`.
    #[serde(default)]
    code: String,
}

impl Case {
    /// The message in a simple form: UTF-8, with the text and the HTML as alternatives.
    fn message(&self) -> String {
        let head = format!(
            "From: app@shop.example\r\nSubject: {}\r\nMIME-Version: 1.0\r\n",
            self.subject
        );
        let text = format!(
            "Content-Type: text/plain; charset=utf-8\r\n\r\n{}\r\n",
            self.text
        );
        let html = format!(
            "Content-Type: text/html; charset=utf-8\r\n\r\n{}\r\n",
            self.html
        );
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
        .map(|(case, found)| {
            format!(
                "{} {}: expected {:?}, found {found:?}",
                case.language, case.name, case.otp
            )
        })
        .collect();
    println!(
        "one-time codes: {} of {} cases are right",
        cases.len() - wrong.len(),
        cases.len()
    );
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_code_of_another_form_is_found() {
    let cases: Vec<Case> = files::json_lines("tests/codes");
    let found = |case: &Case| restante_mail::parse(case.message().as_bytes()).code;
    let wrong: Vec<String> = cases
        .iter()
        .map(|case| (case, found(case)))
        .filter(|(case, found)| *found != case.code)
        .map(|(case, found)| {
            format!(
                "{} {}: expected {:?}, found {found:?}",
                case.language, case.name, case.code
            )
        })
        .collect();
    println!(
        "codes of other forms: {} of {} cases are right",
        cases.len() - wrong.len(),
        cases.len()
    );
    let traps = cases.iter().filter(|case| case.code.is_empty()).count();
    assert!(
        traps >= 120 && cases.len() - traps >= 60,
        "{traps} of {} are traps",
        cases.len()
    );
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A labelled one-time code is the code, and the only one: no other word in these messages is taken
/// for a code.
#[test]
fn a_labelled_one_time_code_is_the_code() {
    let several: Vec<String> = cases()
        .iter()
        .map(|case| {
            (
                case,
                restante_mail::details::details(case.message().as_bytes()).codes,
            )
        })
        .filter(|(_, codes)| {
            let otp = codes
                .otp
                .as_ref()
                .filter(|otp| otp.rule != restante_api::OtpRule::SixDigits);
            otp.is_some() && (codes.labelled.first() != otp || codes.labelled.len() > 1)
        })
        .map(|(case, codes)| format!("{} {}: {codes:?}", case.language, case.name))
        .collect();
    assert!(several.is_empty(), "\n{}", several.join("\n"));
}

/// The stored `code`, by which `has=code` filters, is the first one of the details.
#[test]
fn the_code_of_the_details_is_the_stored_one() {
    for case in cases().into_iter().chain(files::json_lines("tests/codes")) {
        let message = case.message();
        let details = restante_mail::details::details(message.as_bytes()).codes;
        let stored = restante_mail::parse(message.as_bytes());
        let code = |found: Option<&restante_api::Code>| {
            found.map(|one| one.code.clone()).unwrap_or_default()
        };
        let found = (code(details.otp.as_ref()), code(details.labelled.first()));
        assert_eq!(
            found,
            (stored.otp, stored.code),
            "{} {}",
            case.language,
            case.name
        );
    }
}

/// What clients write above an older message, without `>` before its lines.
const HEADS: [&str; 3] = [
    "---------- Forwarded message ---------\nFrom: Shop <app@shop.example>\nDate: Tue, Nov 3, 2026 at 10:12 AM\n\
     Subject: Hi\nTo: <ann@inbox.example>\n\n\n",
    "________________________________\nVon: Shop <app@shop.example>\nGesendet: Dienstag, 3. November 2026 10:12\n\
     An: Ann <ann@inbox.example>\nBetreff: Hi\n\n",
    "Le mar. 3 nov. 2026 à 10:12, Shop <app@shop.example> a écrit :\n\n",
];

/// A quote only loses: a forwarded message still has its code.
#[test]
fn a_forwarded_message_has_its_code() {
    for head in HEADS {
        let mut wrong = Vec::new();
        for case in cases().into_iter().filter(|case| !case.text.is_empty()) {
            let expected = restante_mail::parse(case.message().as_bytes()).otp;
            let name = case.name.clone();
            let message = Case {
                text: format!("Hi!\n\n{head}{}", case.text),
                ..case
            }
            .message();
            let found = restante_mail::parse(message.as_bytes()).otp;
            if found != expected {
                wrong.push(format!("{name}: expected {expected:?}, found {found:?}"));
            }
        }
        assert!(wrong.is_empty(), "{head}\n{}", wrong.join("\n"));
    }
}

/// A new code wins over any code that is quoted below it.
#[test]
fn a_code_above_a_quote_is_the_code() {
    for head in HEADS {
        for case in cases().into_iter().filter(|case| !case.text.is_empty()) {
            let text = format!("Your verification code is 90817264.\n\n{head}{}", case.text);
            let name = case.name.clone();
            let message = Case {
                subject: "Re: Hi".to_owned(),
                html: String::new(),
                text,
                ..case
            }
            .message();
            assert_eq!(
                restante_mail::parse(message.as_bytes()).otp,
                "90817264",
                "{name}: {head}"
            );
        }
    }
}

#[test]
fn the_corpus_is_large_enough_to_mean_something() {
    let cases = cases();
    let languages: std::collections::BTreeSet<_> =
        cases.iter().map(|case| case.language.as_str()).collect();
    assert!(cases.len() >= 150, "{}", cases.len());
    assert!(languages.len() >= 27, "{languages:?}");
    assert!(cases.iter().filter(|case| case.otp.is_empty()).count() >= 50);
}
