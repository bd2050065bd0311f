//! Understanding mail: for now the subject and the text, read plainly; the parser follows.
use crate::model::Timestamp;
#[derive(Debug)]
pub struct ParsedMessage {
    pub from: Option<String>,
    pub subject: String,
    pub text: String,
    pub html: String,
    pub links: Vec<String>,
    pub otp: String,
    pub over_budget: Option<String>,
}
pub fn parse(raw: &[u8]) -> ParsedMessage {
    let s = String::from_utf8_lossy(raw).replace("\r\n", "\n");
    let (h, b) = s.split_once("\n\n").unwrap_or((&s, ""));
    let subject = h.lines().find_map(|l| l.strip_prefix("Subject: ")).unwrap_or("").to_owned();
    ParsedMessage {
        from: None,
        subject,
        text: b.to_owned(),
        html: String::new(),
        links: vec![],
        otp: String::new(),
        over_budget: None,
    }
}
#[derive(Debug)]
pub struct Threading {
    pub message_id: Option<String>,
    pub references: Vec<String>,
}
pub fn threading(_: &[u8]) -> Threading {
    Threading { message_id: None, references: vec![] }
}
pub mod compose {
    use super::*;
    #[derive(Debug, thiserror::Error)]
    #[error("x")]
    pub struct ComposeError;
    pub struct Draft<'a> {
        pub from: &'a str,
        pub to: &'a str,
        pub subject: &'a str,
        pub text: &'a str,
        pub html: &'a str,
        pub date: Timestamp,
        pub message_id: &'a str,
        pub in_reply_to: Option<&'a Threading>,
    }
    pub fn compose(d: &Draft) -> Result<Vec<u8>, ComposeError> {
        Ok(format!("From: {}\r\nTo: {}\r\nSubject: {}\r\n\r\n{}", d.from, d.to, d.subject, d.text).into_bytes())
    }
}
