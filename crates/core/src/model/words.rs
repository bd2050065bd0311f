//! Texts as people read them: durations, and texts that are too long or that reorder what is
//! around them.

use std::time::Duration;

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

/// A duration as text: up to two minutes in seconds, with one decimal under ten. A few milliseconds
/// are shown as they are, because "0 s" reads like no time at all.
#[must_use]
pub fn spoken(duration: Duration) -> String {
    let millis = duration.as_millis();
    let tenths = (millis + 50) / 100;
    match millis {
        1..100 => format!("{millis} ms"),
        0 | 100..10_000 if !tenths.is_multiple_of(10) => {
            format!("{}.{} s", tenths / 10, tenths % 10)
        }
        0 | 100..=120_000 => format!("{} s", tenths / 10),
        120_001..7_200_000 => format!("{} min", millis / 60_000),
        7_200_000..172_800_000 => format!("{} h", millis / 3_600_000),
        _ => format!("{} days", millis / 86_400_000),
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

    #[test]
    fn durations_are_written_in_words() {
        let cases = [
            (0, "0 s"),
            (1, "1 ms"),
            (99, "99 ms"),
            (100, "0.1 s"),
            (647, "0.6 s"),
            (1_526, "1.5 s"),
            (1_999, "2 s"),
            (9_999, "10 s"),
            (14_999, "15 s"),
            (32_000, "32 s"),
            (120_000, "120 s"),
            (121_000, "2 min"),
            (7_200_000, "2 h"),
            (172_800_000, "2 days"),
        ];
        for (millis, words) in cases {
            assert_eq!(spoken(Duration::from_millis(millis)), words);
        }
    }
}
