//! Text as the pages show it: of strangers, with characters that reorder the text around them
//! written out; our own advice, with its code set as code; labels as words; times and sizes.
//! Templates call these functions.

use std::fmt::Write;
use std::time::Duration;

use crate::evidence::{self, Sentence};
use crate::model::{SUBJECT_CHARACTERS, Timestamp, cut, is_bidi_control};
use restante_mail::details::Attachment;

pub(super) use crate::http::download::{path_segment, safe_name};
pub(super) use crate::model::spoken;

/// The text with its invisible controls written out, as ‹U+202E›. Without this, `gnp.exe` could be
/// shown as `exe.png`.
pub(super) fn shown(text: impl AsRef<str>) -> String {
    let text = text.as_ref();
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_bidi_control(character) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "‹U+{:04X}›", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    shown
}

/// A subject as it is shown.
pub(super) fn subject(subject: &str) -> String {
    match subject.trim() {
        "" => "(no subject)".to_owned(),
        _ => shown(cut(subject, SUBJECT_CHARACTERS)),
    }
}

/// A piece of a text of ours: whether it is code, and its text.
pub(super) type Piece = (bool, String);

/// The pieces of a text of ours, whose code is between backticks.
pub(super) fn coded(text: &str) -> Vec<Piece> {
    let pieces = text.split('`').enumerate();
    pieces
        .filter(|(_, piece)| !piece.is_empty())
        .map(|(number, piece)| (number % 2 == 1, shown(piece)))
        .collect()
}

/// The pieces of a sentence without what to do. What it quotes, and what the caller has chosen, is
/// no code.
pub(super) fn cause(sentence: &Sentence) -> Vec<Piece> {
    let pieces = sentence.cause().flat_map(|piece| match piece {
        evidence::Piece::Own(own) => coded(own),
        piece => vec![(false, shown(piece.to_string()))],
    });
    pieces.collect()
}

/// A label in snake case as words, with abbreviations and commands in capitals.
pub(super) fn phrase(label: &str) -> String {
    let words = label.split('_').map(|word| match word {
        "auth" | "http" | "starttls" | "tls" => word.to_uppercase(),
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The name of a file, safe to save; that of its part if it has none.
pub(super) fn file_name(name: Option<&str>, part: usize) -> String {
    let name = name.map(safe_name).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| format!("part-{part}"))
}

/// The type of a part.
pub(super) fn media_type(given: &str) -> String {
    let default = if given.is_empty() {
        "text/plain"
    } else {
        given
    };
    shown(default)
}

/// The kind of a file in a few letters.
pub(super) fn kind(file: &Attachment) -> String {
    const MAX_LETTERS: usize = 4;
    let name = file_name(file.file_name.as_deref(), file.part);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let kind = extension
        .filter(|kind| kind.len() <= MAX_LETTERS)
        .or(file.content_type.rsplit(['/', '+', '.']).next());
    let letters = kind.unwrap_or_default().chars();
    let letters = letters
        .filter(char::is_ascii_alphanumeric)
        .take(MAX_LETTERS);
    letters.map(|letter| letter.to_ascii_uppercase()).collect()
}

/// Instants in words. Templates have references to them of any depth.
pub(super) trait When {
    /// Relative to now, for example "5 min ago".
    fn relative(self, now: Timestamp) -> String;
    /// Relative to the end of a wait.
    fn around(self, ended_at: Timestamp) -> String;
}

impl When for Timestamp {
    fn relative(self, now: Timestamp) -> String {
        match now.since(self) {
            _ if self > now => format!("in {}", span(self.since(now))),
            ago if ago < Duration::from_secs(5) => "now".to_owned(),
            ago => format!("{} ago", span(ago)),
        }
    }

    fn around(self, ended_at: Timestamp) -> String {
        match self > ended_at {
            true => format!("{} after the wait ended", spoken(self.since(ended_at))),
            false => format!("{} before the wait ended", spoken(ended_at.since(self))),
        }
    }
}

/// One number and one unit.
fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 if duration.as_millis() > 0 => format!("{} ms", duration.as_millis()),
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A size with a suitable unit.
pub(super) fn size<T: TryInto<u64>>(bytes: T) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let bytes = bytes.try_into().unwrap_or_default();
    if bytes < 1_024 {
        return format!("{bytes} B");
    }
    let mut tenths = bytes * 10 / 1_024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1_024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// A number with a comma between its groups of three digits.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stands_between_backticks() {
        let pieces = coded("Set `--tls-names`, or `x`.");
        let code: Vec<&str> = pieces
            .iter()
            .filter(|(is_code, _)| *is_code)
            .map(|(_, text)| text.as_str())
            .collect();
        assert_eq!((code, pieces.len()), (vec!["--tls-names", "x"], 5));
    }

    #[test]
    fn an_override_is_shown_and_not_obeyed() {
        assert_eq!(shown("photo_\u{202e}gnp.exe"), "photo_‹U+202E›gnp.exe");
        assert_eq!(shown("שלום, world"), "שלום, world");
    }

    #[test]
    fn a_long_subject_is_cut() {
        assert_eq!(
            subject(&"ä".repeat(SUBJECT_CHARACTERS)),
            "ä".repeat(SUBJECT_CHARACTERS)
        );
        assert_eq!(
            subject(&"ä".repeat(100_000)),
            format!("{}…", "ä".repeat(SUBJECT_CHARACTERS))
        );
        assert_eq!(subject(" "), "(no subject)");
    }

    #[test]
    fn labels_read_as_words() {
        for (label, words) in [
            ("unknown_recipient", "unknown recipient"),
            ("http_request", "HTTP request"),
            ("auth_not_offered", "AUTH not offered"),
            ("tls_without_starttls", "TLS without STARTTLS"),
        ] {
            assert_eq!(phrase(label), words);
        }
    }

    #[test]
    fn instants_are_relative_to_now_or_to_the_end_of_a_wait() {
        let now = Timestamp::from_millis(1_795_167_000_123);
        let at = |seconds: i64| Timestamp::from_millis(now.as_millis() + seconds * 1_000);
        for (seconds, expected) in [
            (0, "now"),
            (-4, "now"),
            (-59, "59 s ago"),
            (-61, "1 min ago"),
            (-7_300, "2 h ago"),
            (90, "in 1 min"),
            (-200_000, "2 d ago"),
        ] {
            assert_eq!(at(seconds).relative(now), expected);
        }
        assert_eq!(now.around(at(3)), "3 s before the wait ended");
        assert_eq!(at(3).around(now), "3 s after the wait ended");
    }

    #[test]
    fn sizes_have_one_decimal() {
        for (bytes, expected) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_536, "1.5 KiB"),
            (26_214_400, "25.0 MiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
