//! Text as the pages show it: of strangers, with characters that reorder the text around them
//! written out; our own advice, with its code set as code; and labels as words.

use std::borrow::Cow;
use std::fmt::Write;

use crate::evidence::{self, Sentence};
use crate::model::is_bidi_control;

/// The text with its invisible controls written out, as ‹U+202E›. Without this, `gnp.exe` could be
/// shown as `exe.png`.
pub(super) fn shown(text: &str) -> String {
    shown_in(text).into_owned()
}

/// A piece of a text of ours: whether it is code, and its text.
pub(super) type Piece = (bool, String);

/// The pieces of a text of ours, whose code is between backticks.
pub(super) fn coded(text: &str) -> Vec<Piece> {
    let pieces = text
        .split('`')
        .enumerate()
        .filter(|(_, piece)| !piece.is_empty());
    pieces
        .map(|(number, piece)| (number % 2 == 1, piece.to_owned()))
        .collect()
}

/// The pieces of a sentence without what to do. What it quotes, and what the caller has chosen, is
/// no code.
pub(super) fn cause(sentence: &Sentence) -> Vec<Piece> {
    let pieces = sentence.cause().flat_map(|piece| match piece {
        evidence::Piece::Own(own) => coded(&shown(own)),
        piece => vec![(false, shown(&piece.to_string()))],
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

fn shown_in(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_bidi_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_bidi_control(character) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "‹U+{:04X}›", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
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
}
