//! A sentence of the service that quotes parts of mails, and names times. A reader that must not follow instructions in
//! a mail, such as a coding agent, gets the quotes apart from the sentence.
//!
//! A sentence can be stored as marked text and read later. Its times are then relative to the end of the wait that it
//! explains, or else to the reader, and the SMTP server in it is the one that this reader uses.

use std::fmt;
use std::time::Duration;

use super::Timestamp;

/// Around a quote, until the sentence is complete. Neither occurs in a quote.
const BEGIN: char = '\u{2}';
const END: char = '\u{3}';
/// Around the milliseconds of a time.
const TIME_BEGIN: char = '\u{4}';
const TIME_END: char = '\u{5}';
/// Stands for the SMTP server.
const SMTP_SERVER: char = '\u{6}';
/// The characters with a meaning.
const MARKS: [char; 5] = [BEGIN, END, TIME_BEGIN, TIME_END, SMTP_SERVER];

/// A sentence, and what it quotes from mails and SMTP clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Own(String),
    Quote(String),
}

/// The reader of a sentence.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// The current time.
    pub now: Timestamp,
    /// When the wait ended that the sentence explains. Times are relative to it.
    pub ended_at: Option<Timestamp>,
    /// The SMTP server as the reader knows it.
    pub smtp_address: &'a str,
}

/// Marks `text`, which a sender or a client has chosen, as a quote in the text for [`Summary::new`].
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("{BEGIN}{}{END}", text.replace(MARKS, " "))
}

/// Marks a time in the text for [`Summary::new`]. The reader sees it as `3 s ago`.
#[must_use]
pub fn ago(at: Timestamp) -> String {
    format!("{TIME_BEGIN}{}{TIME_END}", at.as_millis())
}

/// Stands for the address of the SMTP server in the text for [`Summary::new`].
#[must_use]
pub fn smtp_server() -> String {
    SMTP_SERVER.to_string()
}

/// A duration as text.
#[must_use]
pub fn spoken(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds @ 120..=7_199 => format!("{} min", seconds / 60),
        seconds @ 7_200..=172_799 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// A timeout in seconds, with one decimal. A client asks for a little less than its user did.
#[must_use]
pub fn seconds(timeout: Duration) -> String {
    let tenths = (timeout.as_millis() + 50) / 100;
    if tenths.is_multiple_of(10) { format!("{} s", tenths / 10) } else { format!("{}.{} s", tenths / 10, tenths % 10) }
}

impl Summary {
    /// The sentence with these marks, for a reader.
    #[must_use]
    pub fn new(marked: &str, reading: Reading<'_>) -> Self {
        let mut pieces = Vec::new();
        for part in marked.split(BEGIN) {
            // Only the first part has no quote before it.
            let (quote, own) = part.split_once(END).map_or((None, part), |(quote, own)| (Some(quote), own));
            pieces.extend(quote.map(|quote| Piece::Quote(quote.to_owned())));
            pieces.push(Piece::Own(reading.read(own)));
        }
        Self(pieces)
    }

    /// The sentence with a reference `[1]` for each quote, and the quotes.
    #[must_use]
    pub fn apart(&self) -> (String, Vec<&str>) {
        let (mut sentence, mut quotes) = (String::new(), Vec::new());
        for piece in &self.0 {
            match piece {
                Piece::Own(own) => sentence.push_str(own),
                Piece::Quote(quote) => {
                    quotes.push(quote.as_str());
                    sentence.push_str(&format!("[{}]", quotes.len()));
                }
            }
        }
        (sentence, quotes)
    }
}

impl Reading<'_> {
    fn read(self, marked: &str) -> String {
        let marked = marked.replace(SMTP_SERVER, self.smtp_address);
        let mut parts = marked.split(TIME_BEGIN);
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (at, rest) = part.split_once(TIME_END).unwrap_or((part, ""));
            text.push_str(&self.time(Timestamp::from_millis(at.parse().unwrap_or_default())));
            text.push_str(rest);
        }
        text
    }

    fn time(self, at: Timestamp) -> String {
        match self.ended_at {
            Some(ended_at) => format!("{} before the wait ended", spoken(ended_at.since(at))),
            None => format!("{} ago", spoken(self.now.since(at))),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Own(text) | Piece::Quote(text) => formatter.write_str(text),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);
    const READING: Reading<'_> = Reading { now: NOW, ended_at: None, smtp_address: "127.0.0.1:25" };

    #[test]
    fn quotes_are_numbered_and_cannot_end_themselves() {
        let summary = Summary::new(&format!("None matches: {}, {}.", quoted("a\u{3}b\u{2}"), quoted("\u{6}")), READING);
        assert_eq!(summary.to_string(), "None matches: a b ,  .");
        assert_eq!(summary.apart(), ("None matches: [1], [2].".to_owned(), vec!["a b ", " "]));
        assert_eq!(Summary::new("plain", READING).apart(), ("plain".to_owned(), vec![]));
    }

    #[test]
    fn times_are_those_of_the_reader() {
        let marked = format!("Nothing came since {}. Is {} right?", ago(NOW), smtp_server());
        let read = |seconds, ended_at| {
            let now = NOW.after(Duration::from_secs(seconds));
            Summary::new(&marked, Reading { now, ended_at, ..READING }).to_string()
        };
        let ended_at = Some(NOW.after(Duration::from_secs(3)));
        assert_eq!(read(5, None), "Nothing came since 5 s ago. Is 127.0.0.1:25 right?");
        assert_eq!(read(9, ended_at), "Nothing came since 3 s before the wait ended. Is 127.0.0.1:25 right?");
    }

    #[test]
    fn durations_are_written_in_words() {
        let spoken = |seconds| spoken(Duration::from_secs(seconds));
        assert_eq!([32, 119, 120, 7_200, 172_800].map(spoken), ["32 s", "119 s", "2 min", "2 h", "2 days"]);
    }
}
