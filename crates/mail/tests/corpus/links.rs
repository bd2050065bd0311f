//! Links: every line of `tests/links/*.jsonl` is a text or an HTML and the links that must be found
//! in it.

use serde::Deserialize;

use crate::files;

#[derive(Deserialize)]
struct Case {
    name: String,
    text: String,
    html: String,
    links: Vec<String>,
}

impl Case {
    fn message(&self) -> String {
        let (kind, body) = if self.html.is_empty() {
            ("plain", &self.text)
        } else {
            ("html", &self.html)
        };
        format!("Content-Type: text/{kind}; charset=utf-8\r\n\r\n{body}\r\n")
    }
}

#[test]
fn every_link_of_the_corpus_is_found_and_no_other() {
    let cases: Vec<Case> = files::json_lines("tests/links");
    let found = |case: &Case| restante_mail::parse(case.message().as_bytes()).links;
    let wrong: Vec<String> = cases
        .iter()
        .filter(|case| found(case) != case.links)
        .map(|case| {
            format!(
                "{}: expected {:?}, found {:?}",
                case.name,
                case.links,
                found(case)
            )
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
