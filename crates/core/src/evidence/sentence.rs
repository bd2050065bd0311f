//! A sentence of the service that quotes parts of mails, and names times. A reader that must not
//! follow instructions in a mail, such as a coding agent, gets the quotes apart from the sentence.
//!
//! A sentence is stored in pieces and read later. Its times are then relative to the end of the
//! wait that it explains, or else to the reader, and the SMTP server in it is the one that this
//! reader uses.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::{Timestamp, spoken};

/// A sentence, which may end with what to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Sentence(Vec<Piece>);

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// Our own words. Code is between backticks.
    Own(String),
    /// What the caller has chosen, such as a filter, and replies of the server.
    Given(String),
    /// What a sender or a client has chosen.
    Quote(String),
    /// A time in milliseconds since the Unix epoch, which is read as `3 s ago`.
    Ago(i64),
    /// The SMTP server as the reader knows it.
    SmtpServer,
    /// What to do, in our own words. It is the last piece.
    Advice(String),
}

/// The reader of a sentence.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    pub now: Timestamp,
    /// When the wait ended that the sentence explains. Times are relative to it.
    pub ended_at: Option<Timestamp>,
    /// The SMTP server as the reader knows it.
    pub smtp_address: &'a str,
}

impl Sentence {
    /// Starts with our own words.
    #[must_use]
    pub fn new(own: impl Into<String>) -> Self {
        Self::default().own(own)
    }

    /// Adds our own words.
    #[must_use]
    pub fn own(self, words: impl Into<String>) -> Self {
        self.and(Piece::Own(words.into()))
    }

    /// Adds a text of the caller.
    #[must_use]
    pub fn given(self, text: impl Into<String>) -> Self {
        self.and(Piece::Given(text.into()))
    }

    /// Adds a text that a sender or a client has chosen.
    #[must_use]
    pub fn quote(self, text: impl Into<String>) -> Self {
        self.and(Piece::Quote(text.into()))
    }

    /// Adds a time.
    #[must_use]
    pub fn ago(self, at: Timestamp) -> Self {
        self.and(Piece::Ago(at.as_millis()))
    }

    /// Adds the SMTP server.
    #[must_use]
    pub fn smtp_server(self) -> Self {
        self.and(Piece::SmtpServer)
    }

    /// Ends with what to do.
    #[must_use]
    pub fn advice(self, advice: impl Into<String>) -> Self {
        self.and(Piece::Advice(advice.into()))
    }

    /// Adds another sentence.
    #[must_use]
    pub fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    fn and(mut self, piece: Piece) -> Self {
        self.0.push(piece);
        self
    }

    /// The sentence for a reader: its times and the SMTP server are words.
    #[must_use]
    pub fn read(&self, reading: Reading<'_>) -> Self {
        let read = |piece: &Piece| match piece {
            Piece::Ago(at) => Piece::Own(reading.time(Timestamp::from_millis(*at))),
            Piece::SmtpServer => Piece::Own(reading.smtp_address.to_owned()),
            piece => piece.clone(),
        };
        Self(self.0.iter().map(read).collect())
    }

    /// The pieces without what to do.
    pub fn cause(&self) -> impl Iterator<Item = &Piece> {
        let is_cause = |piece: &&Piece| !matches!(piece, Piece::Advice(_));
        self.0.iter().filter(is_cause)
    }

    /// What to do, if the sentence ends with it.
    #[must_use]
    pub fn what_to_do(&self) -> Option<&str> {
        match self.0.last() {
            Some(Piece::Advice(advice)) => Some(advice),
            _ => None,
        }
    }

    /// The sentence with a reference `[1]` for each quote, and the quotes.
    #[must_use]
    pub fn apart(&self) -> (String, Vec<&str>) {
        let mut quotes = Vec::new();
        let numbered = self.0.iter().map(|piece| match piece {
            Piece::Quote(quote) => {
                quotes.push(quote.as_str());
                format!("[{}]", quotes.len())
            }
            piece => piece.to_string(),
        });
        (numbered.collect(), quotes)
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| piece.fmt(formatter))
    }
}

impl fmt::Display for Piece {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(text) | Self::Given(text) | Self::Quote(text) => formatter.write_str(text),
            Self::Ago(at) => write!(formatter, "at {}", Timestamp::from_millis(*at)),
            Self::SmtpServer => formatter.write_str("the SMTP server"),
            Self::Advice(text) => write!(formatter, " {text}"),
        }
    }
}

impl Reading<'_> {
    fn time(self, at: Timestamp) -> String {
        match self.ended_at {
            Some(ended_at) => format!("{} before the wait ended", spoken(ended_at.since(at))),
            None => format!("{} ago", spoken(self.now.since(at))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    #[test]
    fn quotes_are_numbered_and_the_advice_is_last() {
        let sentence = Sentence::new("Mail from ")
            .quote("a\0b[1]")
            .own(" to \"")
            .given("a`b")
            .own("\".")
            .advice("Use `x`.");
        assert_eq!(
            sentence.apart(),
            (
                "Mail from [1] to \"a`b\". Use `x`.".to_owned(),
                vec!["a\0b[1]"]
            )
        );
        assert_eq!(sentence.what_to_do(), Some("Use `x`."));
        assert_eq!(sentence.cause().count(), 5);
        let stored = serde_json::to_string(&sentence).unwrap();
        assert!(!stored.contains('\0'), "PostgreSQL does not store NUL");
        assert_eq!(serde_json::from_str::<Sentence>(&stored).unwrap(), sentence);
    }

    #[test]
    fn times_are_those_of_the_reader() {
        let sentence = Sentence::new("Nothing came since ")
            .ago(NOW)
            .own(". Is ")
            .smtp_server()
            .own(" right?");
        let read = |seconds, ended_at| {
            let now = NOW.after(Duration::from_secs(seconds));
            let smtp_address = "127.0.0.1:25";
            let reading = Reading {
                now,
                ended_at,
                smtp_address,
            };
            sentence.read(reading).to_string()
        };
        let ended_at = Some(NOW.after(Duration::from_millis(1_526)));
        assert_eq!(
            read(5, None),
            "Nothing came since 5 s ago. Is 127.0.0.1:25 right?"
        );
        assert_eq!(
            read(9, ended_at),
            "Nothing came since 1.5 s before the wait ended. Is 127.0.0.1:25 right?"
        );
    }
}
