//! A sentence of the service that quotes parts of mails, and names times. A reader that must not
//! follow instructions in a mail, such as a coding agent, gets the quotes apart from the sentence.
//!
//! A sentence can be stored as marked text and read later. Its times are then relative to the end
//! of the wait that it explains, or else to the reader, and the SMTP server in it is the one that
//! this reader uses.

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
/// Before what to do, which may follow the cause.
const REMEDY: char = '\u{7}';
/// At the start of a quote: a text of the caller.
const GIVEN: char = '\u{8}';
/// The characters with a meaning.
const MARKS: [char; 7] = [BEGIN, END, TIME_BEGIN, TIME_END, SMTP_SERVER, REMEDY, GIVEN];

/// A sentence, and what it quotes from mails and SMTP clients; and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    cause: Vec<SummaryPiece>,
    remedy: Option<String>,
}

/// A piece of a sentence: our own words, a text of the caller, or a quote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SummaryPiece {
    /// Our own words. Code is between backticks.
    Own(String),
    /// What the caller has chosen, such as a filter.
    Given(String),
    /// What a sender or a client has chosen.
    Quote(String),
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

/// Marks `text`, which a sender or a client has chosen, as a quote in the text for
/// [`Summary::new`].
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("{BEGIN}{}{END}", unmarked(text))
}

/// Marks a text of the caller, such as a filter, in the text for [`Summary::new`].
#[must_use]
pub fn given(text: &str) -> String {
    format!("{BEGIN}{GIVEN}{}{END}", unmarked(text))
}

fn unmarked(text: &str) -> String {
    text.replace(MARKS, " ")
}

/// A cause with what to do about it, in the text for [`Summary::new`].
#[must_use]
pub fn with_remedy(cause: &str, remedy: &str) -> String {
    format!("{cause}{REMEDY}{remedy}")
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

/// At most this many characters of a text, with an ellipsis if it is cut.
#[must_use]
pub fn cut(text: impl Into<String>, characters: usize) -> String {
    let mut text = text.into();
    if let Some((end, _)) = text.char_indices().nth(characters) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// A duration as text. Less than a second is not "0 s", which readers take for no time at all.
#[must_use]
pub fn spoken(duration: Duration) -> String {
    match duration.as_secs() {
        0 if duration.as_millis() > 0 => format!("{} ms", duration.as_millis()),
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds @ 120..=7_199 => format!("{} min", seconds / 60),
        seconds @ 7_200..=172_799 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// A timeout in seconds, with one decimal. A client asks for a little less than its user did. One
/// of a few milliseconds is shown as it is, because its user may have meant seconds.
#[must_use]
pub fn seconds(timeout: Duration) -> String {
    if let millis @ 1..100 = timeout.as_millis() {
        return format!("{millis} ms");
    }
    let tenths = (timeout.as_millis() + 50) / 100;
    if tenths.is_multiple_of(10) {
        format!("{} s", tenths / 10)
    } else {
        format!("{}.{} s", tenths / 10, tenths % 10)
    }
}

impl Summary {
    /// The sentence with these marks, for a reader.
    #[must_use]
    pub fn new(marked: &str, reading: Reading<'_>) -> Self {
        let (marked, remedy) = marked
            .split_once(REMEDY)
            .map_or((marked, None), |(cause, own)| (cause, Some(own)));
        let mut cause = Vec::new();
        for part in marked.split(BEGIN) {
            // Only the first part has no quote before it.
            let (quote, own) = part
                .split_once(END)
                .map_or((None, part), |(quote, own)| (Some(quote), own));
            cause.extend(quote.map(|quote| match quote.strip_prefix(GIVEN) {
                Some(given) => SummaryPiece::Given(given.to_owned()),
                None => SummaryPiece::Quote(quote.to_owned()),
            }));
            cause.push(SummaryPiece::Own(reading.read(own)));
        }
        Self {
            cause,
            remedy: remedy.map(|own| reading.read(own)),
        }
    }

    /// The pieces of the sentence without what to do.
    #[must_use]
    pub fn cause(&self) -> &[SummaryPiece] {
        &self.cause
    }

    /// What to do, if the sentence ends with it.
    #[must_use]
    pub fn remedy(&self) -> Option<&str> {
        self.remedy.as_deref()
    }

    /// The sentence with a reference `[1]` for each quote, and the quotes.
    #[must_use]
    pub fn apart(&self) -> (String, Vec<&str>) {
        let mut sentence = String::new();
        let mut quotes = Vec::new();
        for piece in &self.cause {
            match piece {
                SummaryPiece::Own(text) | SummaryPiece::Given(text) => sentence.push_str(text),
                SummaryPiece::Quote(quote) => {
                    quotes.push(quote.as_str());
                    sentence.push_str(&format!("[{}]", quotes.len()));
                }
            }
        }
        sentence.extend(self.remedy.iter().flat_map(|remedy| [" ", remedy]));
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
        self.cause.iter().try_for_each(|piece| match piece {
            SummaryPiece::Own(text) | SummaryPiece::Given(text) | SummaryPiece::Quote(text) => {
                formatter.write_str(text)
            }
        })?;
        self.remedy
            .iter()
            .try_for_each(|remedy| write!(formatter, " {remedy}"))
    }
}

/// Whether a character is a mark, embedding, override or isolate of the bidirectional algorithm,
/// with which `gnp.exe` could be shown as `exe.png`. Without them, text is ordered by its letters,
/// which is right for names and subjects.
#[must_use]
pub fn is_bidi_control(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);
    const READING: Reading<'_> = Reading {
        now: NOW,
        ended_at: None,
        smtp_address: "127.0.0.1:25",
    };

    #[test]
    fn quotes_are_numbered_and_cannot_end_themselves() {
        let summary = Summary::new(
            &format!(
                "None matches: {}, {}.",
                quoted("a\u{3}b\u{2}"),
                quoted("\u{6}")
            ),
            READING,
        );
        assert_eq!(summary.to_string(), "None matches: a b ,  .");
        assert_eq!(
            summary.apart(),
            ("None matches: [1], [2].".to_owned(), vec!["a b ", " "])
        );
        assert_eq!(
            Summary::new("plain", READING).apart(),
            ("plain".to_owned(), vec![])
        );
    }

    #[test]
    fn what_to_do_follows_the_cause() {
        let marked = with_remedy(&format!("Mail from {}.", quoted("a\u{7}b")), "Use `x`.");
        let summary = Summary::new(&marked, READING);
        assert_eq!(
            (summary.to_string().as_str(), summary.remedy()),
            ("Mail from a b. Use `x`.", Some("Use `x`."))
        );
        assert_eq!(
            summary.apart(),
            ("Mail from [1]. Use `x`.".to_owned(), vec!["a b"])
        );
        let pieces = [
            SummaryPiece::Own("Mail from ".into()),
            SummaryPiece::Quote("a b".into()),
        ];
        assert_eq!(
            (
                &summary.cause()[..2],
                Summary::new("plain", READING).remedy()
            ),
            (&pieces[..], None)
        );
    }

    #[test]
    fn a_text_of_the_caller_is_in_the_sentence_and_has_no_code() {
        let summary = Summary::new(
            &format!("Expected \"{}\" in `x`.", given("a`\u{2}\u{8}b")),
            READING,
        );
        assert_eq!(summary.to_string(), "Expected \"a`  b\" in `x`.");
        assert_eq!(summary.apart(), (summary.to_string(), vec![]));
        assert_eq!(summary.cause()[1], SummaryPiece::Given("a`  b".into()));
    }

    #[test]
    fn times_are_those_of_the_reader() {
        let marked = format!(
            "Nothing came since {}. Is {} right?",
            ago(NOW),
            smtp_server()
        );
        let read = |seconds, ended_at| {
            let now = NOW.after(Duration::from_secs(seconds));
            Summary::new(
                &marked,
                Reading {
                    now,
                    ended_at,
                    ..READING
                },
            )
            .to_string()
        };
        let ended_at = Some(NOW.after(Duration::from_secs(3)));
        assert_eq!(
            read(5, None),
            "Nothing came since 5 s ago. Is 127.0.0.1:25 right?"
        );
        assert_eq!(
            read(9, ended_at),
            "Nothing came since 3 s before the wait ended. Is 127.0.0.1:25 right?"
        );
    }

    #[test]
    fn durations_are_written_in_words() {
        let spoken = |seconds| spoken(Duration::from_secs(seconds));
        assert_eq!(
            [32, 119, 120, 7_200, 172_800].map(spoken),
            ["32 s", "119 s", "2 min", "2 h", "2 days"]
        );
        assert_eq!(
            [0, 647, 1_999].map(|millis| super::spoken(Duration::from_millis(millis))),
            ["0 s", "647 ms", "1 s"]
        );
        assert_eq!(
            [0, 1, 30, 99, 100, 499, 2_999, 30_000]
                .map(|millis| seconds(Duration::from_millis(millis))),
            [
                "0 s", "1 ms", "30 ms", "99 ms", "0.1 s", "0.5 s", "3 s", "30 s"
            ]
        );
    }
}
