//! Messages and their expected fields: `tests/mail/NAME.eml` has its fields in `NAME.json`.
//!
//! For a new case add the message, run `RESTANTE_WRITE_EXPECTED=1 cargo test -p restante-mail`, and
//! check the new JSON before it is committed.

use std::fs;
use std::path::{Path, PathBuf};

use restante_mail::parse;
use serde_json::{Value, json};

use crate::files;

fn messages() -> Vec<PathBuf> {
    let is_message = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "eml");
    files::files("tests/mail")
        .into_iter()
        .filter(is_message)
        .collect()
}

fn fields(message: &Path) -> Value {
    let parsed = parse(&fs::read(message).unwrap());
    json!({
        "from": parsed.from,
        "subject": parsed.subject,
        "text": parsed.text.split('\n').collect::<Vec<_>>(),
        "html": !parsed.html.is_empty(),
        "links": parsed.links,
        "otp": parsed.otp,
    })
}

#[test]
fn every_message_reads_as_its_file_says() {
    let messages = messages();
    assert!(messages.len() >= 30, "the cases are missing");
    let write = std::env::var_os("RESTANTE_WRITE_EXPECTED").is_some();
    let mut wrong = Vec::new();
    for message in &messages {
        let found = fields(message);
        let file = message.with_extension("json");
        if write {
            fs::write(&file, format!("{found:#}\n")).unwrap();
        }
        let expected: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap_or_default())
            .unwrap_or_default();
        if found != expected {
            wrong.push(format!(
                "{}\nexpected {expected:#}\nfound {found:#}",
                message.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}
