//! A reply that a test requests, to defer or reject a recipient or a message.

use std::fmt;

use super::{Refusal, Reply, Status};

/// Maximum length of a reply line, with its CR LF (RFC 5321, section 4.5.3.1.5).
const LINE_BYTES: usize = 512;

/// A negative reply on one line: a code, an enhanced status code of the same class, and a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedReply {
    code: u16,
    status: Status,
    text: String,
}

impl RequestedReply {
    /// The default reply for deferring.
    #[must_use]
    pub fn deferred() -> Self {
        Self::of(Refusal::DeferredOnRequest)
    }

    /// The default reply for rejecting.
    #[must_use]
    pub fn rejected() -> Self {
        Self::of(Refusal::RejectedOnRequest)
    }

    /// Parses a reply without its CR LF: `451 4.7.1 Come back later`. `None` if it is not a
    /// negative reply with an enhanced status code (RFC 5321, section 4.2; RFC 2034, section 4).
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let is_text = |byte: u8| byte == b'\t' || (b' '..=b'~').contains(&byte);
        if line.len() + 2 > LINE_BYTES || !line.bytes().all(is_text) {
            return None;
        }
        let (code, rest) = line.split_once(' ')?;
        let (status, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let [class @ b'4'..=b'5', b'0'..=b'5', b'0'..=b'9'] = *code.as_bytes() else {
            return None;
        };
        let mut parts = status.split('.');
        let first = parts.next()?;
        let subject = number(parts.next()?)?;
        let detail = number(parts.next()?)?;
        if first.as_bytes() != [class] || parts.next().is_some() {
            return None;
        }
        Some(Self {
            code: code.parse().ok()?,
            status: (subject, detail),
            text: text.to_owned(),
        })
    }

    /// Whether the failure is permanent, so that the client should not retry (5yz).
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        self.code >= 500
    }

    /// The enhanced status code.
    #[must_use]
    pub fn status(&self) -> String {
        let (subject, detail) = self.status;
        format!("{}.{subject}.{detail}", self.code / 100)
    }

    /// Whether the reply announces that the connection is closed.
    pub(crate) fn closes(&self) -> bool {
        self.code == 421
    }

    pub(crate) fn into_reply(self) -> Reply {
        let refusal = if self.is_permanent() {
            Refusal::RejectedOnRequest
        } else {
            Refusal::DeferredOnRequest
        };
        Reply {
            refusal: Some(refusal),
            ..Reply::enhanced(self.code, self.status, self.text)
        }
    }

    fn of(refusal: Refusal) -> Self {
        let (code, status, text) = refusal.reply();
        Self {
            code,
            status,
            text: text.to_owned(),
        }
    }
}

/// The reply without its CR LF.
impl fmt::Display for RequestedReply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let space = if self.text.is_empty() { "" } else { " " };
        write!(
            formatter,
            "{} {}{space}{}",
            self.code,
            self.status(),
            self.text
        )
    }
}

/// A part of an enhanced status code: one to three digits.
fn number(digits: &str) -> Option<u16> {
    let is_number =
        (1..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_sent_as_it_was_asked_for() {
        let longest = format!("451 4.3.0 {}", "x".repeat(500));
        for line in [
            "451 4.7.1 Come back later",
            "550 5.1.1 No such user",
            "421 4.3.2",
            "555 5.999.1 \t x",
            &longest,
        ] {
            let reply = RequestedReply::parse(line).unwrap();
            assert_eq!(reply.to_string(), line);
            assert_eq!(reply.is_permanent(), line.starts_with('5'));
            let refusal = if reply.is_permanent() {
                Refusal::RejectedOnRequest
            } else {
                Refusal::DeferredOnRequest
            };
            let reply = reply.into_reply();
            assert_eq!(
                (reply.to_string().trim_end(), reply.refusal()),
                (line, Some(refusal))
            );
        }
        assert_eq!(
            RequestedReply::deferred().to_string(),
            "451 4.3.0 Deferred on request"
        );
        assert_eq!(
            RequestedReply::rejected().to_string(),
            "550 5.1.1 Rejected on request"
        );
    }

    #[test]
    fn only_negative_replies_can_be_requested() {
        let long = format!("451 4.3.0 {}", "x".repeat(501));
        for line in [
            "",
            "451",
            "451 Come back later",
            "250 2.0.0 OK",
            "451 5.1.1 no",
            "550 4.1.1 no",
            "460 4.1.1 no",
            "45 4.1.1 no",
            "4510 4.1.1 no",
            "451-4.1.1 no",
            "451 4.1 no",
            "451 4.1.1.1 no",
            "451 4.1000.1 no",
            "451 4.+1.1 no",
            "451 4.1.1 two\r\n250 2.0.0 lines",
            "451 4.1.1 caf\u{e9}",
            &long,
        ] {
            assert_eq!(RequestedReply::parse(line), None, "{line}");
        }
    }
}
