//! Parses SMTP replies (RFC 5321, section 4.2) of servers that may be hostile.

use std::fmt;

use super::status::Status;

/// Maximum number of lines of one reply; a large provider's reply to EHLO has about 15.
pub(super) const LINES: usize = 100;
/// Maximum number of bytes of one reply line, with its CR LF: four times what RFC 5321 allows.
pub(super) const LINE_BYTES: usize = 2_048;
/// Maximum number of characters of a reply that are displayed.
const SHOWN_CHARACTERS: usize = 500;

/// A whole reply: its code and the texts of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    code: u16,
    lines: Vec<String>,
}

/// The server sent something that is not a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server's response is not an SMTP reply")]
pub(super) struct MalformedReply;

/// A reply that is being read, line by line.
#[derive(Debug, Default)]
pub(super) struct Reading {
    code: Option<u16>,
    lines: Vec<String>,
}

impl Reading {
    /// Adds one line, with or without its line end; returns the whole reply after its last line.
    pub(super) fn take(&mut self, line: &[u8]) -> Result<Option<Reply>, MalformedReply> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let digits = line
            .get(..3)
            .filter(|digits| digits.iter().all(u8::is_ascii_digit))
            .ok_or(MalformedReply)?;
        let code = digits
            .iter()
            .fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
        if !(200..600).contains(&code)
            || *self.code.get_or_insert(code) != code
            || self.lines.len() == LINES
        {
            return Err(MalformedReply);
        }
        let (more, text) = match &line[3..] {
            [] => (false, &b""[..]),
            [b' ', text @ ..] => (false, text),
            [b'-', text @ ..] => (true, text),
            _ => return Err(MalformedReply),
        };
        self.lines.push(String::from_utf8_lossy(text).into_owned());
        Ok((!more).then(|| Reply {
            code,
            lines: std::mem::take(&mut self.lines),
        }))
    }
}

impl Reply {
    /// 2yz: the command succeeded.
    pub(super) fn is_positive(&self) -> bool {
        self.code / 100 == 2
    }

    /// 3yz: the server expects more input.
    pub(super) fn is_intermediate(&self) -> bool {
        self.code / 100 == 3
    }

    /// 5yz: the command will never succeed.
    pub(super) fn is_permanent(&self) -> bool {
        self.code / 100 == 5
    }

    /// The text after the code, for each line.
    pub(super) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// The enhanced status code at the start of the text (RFC 2034), if there is one.
    pub(super) fn status(&self) -> Option<Status> {
        let mut numbers = self
            .lines
            .first()?
            .split_ascii_whitespace()
            .next()?
            .split('.');
        let status = Status(
            numbers.next()?.parse().ok()?,
            numbers.next()?.parse().ok()?,
            numbers.next()?.parse().ok()?,
        );
        numbers.next().is_none().then_some(status)
    }
}

/// The reply on one line, without control characters, and not too long.
impl fmt::Display for Reply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{} {}", self.code, self.lines.join(" "));
        let shown = text.trim_end().chars().take(SHOWN_CHARACTERS);
        let shown: String = shown
            .map(|character| {
                if character.is_control() {
                    ' '
                } else {
                    character
                }
            })
            .collect();
        formatter.write_str(&shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&[u8]]) -> Result<Option<Reply>, MalformedReply> {
        let mut reading = Reading::default();
        for line in &lines[..lines.len() - 1] {
            assert_eq!(reading.take(line), Ok(None));
        }
        reading.take(lines[lines.len() - 1])
    }

    #[test]
    fn a_reply_ends_with_its_last_line() {
        let reply = read(&[b"250-mx.example\r\n", b"250-SIZE 1000\r\n", b"250 HELP\r\n"])
            .unwrap()
            .unwrap();
        assert_eq!(reply.lines(), ["mx.example", "SIZE 1000", "HELP"]);
        assert!(reply.is_positive());
        assert!(read(&[b"354\n"]).unwrap().unwrap().is_intermediate());
    }

    #[test]
    fn the_enhanced_status_is_first() {
        let status = |line: &[u8]| read(&[line]).unwrap().unwrap().status();
        assert_eq!(status(b"550 5.1.1 No such user"), Some(Status(5, 1, 1)));
        assert_eq!(status(b"550 5.1 No such user"), None);
        assert_eq!(status(b"550 5.1.1.1 No such user"), None);
        assert_eq!(status(b"550 No such user 5.1.1"), None);
        assert_eq!(status(b"550"), None);
    }

    #[test]
    fn other_text_is_not_a_reply() {
        for line in [
            &b""[..],
            b"25",
            b"abc d",
            b"099 a",
            b"600 a",
            b"250_a",
            b"2500",
            "25\u{b2} a".as_bytes(),
        ] {
            assert_eq!(
                read(&[line]),
                Err(MalformedReply),
                "{}",
                line.escape_ascii()
            );
        }
        assert_eq!(read(&[b"250-a", b"251 b"]), Err(MalformedReply));
        let endless = vec![&b"250-a"[..]; LINES + 1];
        assert_eq!(read(&endless), Err(MalformedReply));
    }

    #[test]
    fn what_is_shown_is_one_bounded_line() {
        let reply = read(&[
            b"550-a\x1b[2J\rb",
            format!("550 {}", "c".repeat(2_000)).as_bytes(),
        ])
        .unwrap()
        .unwrap();
        let shown = reply.to_string();
        assert!(shown.starts_with("550 a [2J b c"), "{shown}");
        assert_eq!(shown.chars().count(), SHOWN_CHARACTERS);
    }
}
