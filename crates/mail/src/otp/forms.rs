//! The forms of codes that are not 4 to 8 digits: letters and digits (`R7KX2MQ9`), groups with
//! hyphens (`LZDG-RMHF`), 9 or 10 digits.
//!
//! Many words have such a form, for example order numbers and vouchers. So a candidate needs a
//! label, and its form decides how close the label has to be.

use std::ops::Range;

use crate::links::is_unspaced;

/// Maximum number of bytes of a code with its hyphens.
const MAX_LENGTH: usize = 32;
/// Maximum number of letters and digits of a code that has both. Keys of software and vouchers have
/// more.
const MIXED: usize = 12;

/// How likely a word of this form is a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// Letters that can be read with a number, such as the voucher `SAVE20` or `ISO-8601`: the
    /// label has to be one that no voucher has.
    Wordlike,
    /// Digits, a part number, or capitals without a vowel: the label has to be directly before or
    /// after it.
    Weak,
    /// Groups of capitals: the label may also be some lines above, if the code is alone on its
    /// line.
    Grouped,
    /// Letters and digits in no order: the label may be anywhere in the sentence.
    Random,
}

/// A word with the form of a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) place: Range<usize>,
    pub(super) strength: Strength,
}

/// The words with the form of a code, in order. Capitals count, so `text` is not in lower case.
pub(super) fn candidates(text: &str) -> impl Iterator<Item = Form> + '_ {
    words(text).filter_map(move |place| {
        let strength = strength(&text[place.clone()])?;
        let stands_alone = may_follow(&text[..place.start]) && may_precede(&text[place.end..]);
        stands_alone.then_some(Form { place, strength })
    })
}

/// The code as a person would type it. Groups of digits are one number.
pub(super) fn code(word: &str) -> String {
    let is_digits = word.bytes().all(|byte| !byte.is_ascii_alphabetic());
    if is_digits {
        word.replace('-', "")
    } else {
        word.to_owned()
    }
}

/// The runs of ASCII letters, digits and single hyphens between them.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let bytes = text.as_bytes();
    let mut position = 0;
    std::iter::from_fn(move || {
        let start = position
            + bytes[position..]
                .iter()
                .position(u8::is_ascii_alphanumeric)?;
        let belongs = |&index: &usize| {
            bytes[index].is_ascii_alphanumeric()
                || bytes[index] == b'-'
                    && bytes.get(index + 1).is_some_and(u8::is_ascii_alphanumeric)
        };
        position = (start..bytes.len())
            .find(|index| !belongs(index))
            .unwrap_or(bytes.len());
        Some(start..position)
    })
}

fn strength(word: &str) -> Option<Strength> {
    if !(4..=MAX_LENGTH).contains(&word.len()) {
        return None;
    }
    let groups: Vec<&str> = word.split('-').collect();
    let characters: usize = groups.iter().map(|group| group.len()).sum();
    let length = groups[0].len();
    let is_even = groups.iter().all(|group| group.len() == length);
    let all = |is: fn(&u8) -> bool| word.bytes().all(|byte| byte == b'-' || is(&byte));
    let are = |lengths: Range<usize>, counts: Range<usize>| {
        is_even && lengths.contains(&length) && counts.contains(&groups.len())
    };
    if all(u8::is_ascii_digit) {
        return (are(9..11, 1..2) || are(3..4, 3..4)).then_some(Strength::Weak);
    }
    if all(u8::is_ascii_uppercase) {
        let has_vowel = word.contains(['A', 'E', 'I', 'O', 'U']);
        return match groups.len() {
            1 => (!has_vowel && (5..=8).contains(&length)).then_some(Strength::Weak),
            _ => are(3..6, 2..4).then_some(Strength::Grouped),
        };
    }
    if all(u8::is_ascii_lowercase) {
        return are(4..7, 3..7).then_some(Strength::Grouped);
    }
    if all(u8::is_ascii_alphabetic) || characters > MIXED {
        return None;
    }
    match groups.len() {
        1 => single(word),
        2..=4 if is_even && length >= 3 => Some(Strength::Random),
        2 if all(|byte| !byte.is_ascii_lowercase()) => {
            let is_pure = groups
                .iter()
                .all(|group| group.bytes().all(|byte| byte.is_ascii_digit()) || is_word(group));
            Some(if is_pure {
                Strength::Wordlike
            } else {
                Strength::Weak
            })
        }
        _ => None,
    }
}

/// The strength of a word of letters and digits without hyphens.
fn single(word: &str) -> Option<Strength> {
    let is_digit: Vec<bool> = word.bytes().map(|byte| byte.is_ascii_digit()).collect();
    let changes = is_digit
        .windows(2)
        .filter(|pair| pair[0] != pair[1])
        .count();
    let mut letters = word.split(|character: char| character.is_ascii_digit());
    let has_lower = word.bytes().any(|byte| byte.is_ascii_lowercase());
    match (word.len(), changes) {
        (4, _) => (changes >= 2 && !has_lower).then_some(Strength::Weak),
        _ if letters.any(|letters| is_readable(letters, if changes == 1 { 3 } else { 4 })) => {
            Some(Strength::Wordlike)
        }
        (_, 1) => Some(Strength::Weak),
        _ => Some(Strength::Random),
    }
}

/// Whether these letters, of which there are at least `least`, could be a word or a name: `Pixel`,
/// `save`, `SUMMER`.
fn is_readable(letters: &str, least: usize) -> bool {
    let (all_upper, tail_lower) = (
        letters.bytes().all(|byte| byte.is_ascii_uppercase()),
        letters
            .bytes()
            .skip(1)
            .all(|byte| byte.is_ascii_lowercase()),
    );
    let has_vowel = letters
        .to_ascii_lowercase()
        .contains(['a', 'e', 'i', 'o', 'u']);
    letters.len() >= least && has_vowel && (all_upper || tail_lower)
}

fn is_word(group: &str) -> bool {
    group.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Whether a word after this text stands for itself, and is not part of a path, a tag or an
/// expression.
fn may_follow(before: &str) -> bool {
    before.chars().next_back().is_none_or(|last| match last {
        _ if last.is_alphabetic() => is_unspaced(last),
        '_' | '/' | '\\' | '@' | '#' | '+' | '=' | '%' | '$' | '&' | '~' | '^' | '.' | '\''
        | '-' | '\u{fffc}' => false,
        _ => !last.is_numeric(),
    })
}

fn may_precede(after: &str) -> bool {
    let mut characters = after.chars();
    let Some(next) = characters.next() else {
        return true;
    };
    match next {
        _ if next.is_alphabetic() => is_unspaced(next),
        '.' | ',' | ':' | ';' | '\'' => characters
            .next()
            .is_none_or(|second| is_unspaced(second) || !second.is_alphanumeric() && second != '.'),
        '_' | '/' | '\\' | '@' | '+' | '=' | '%' | '&' | '~' | '^' | '-' | '\u{fffc}' => false,
        _ => !next.is_numeric(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_a_label_has_a_strength() {
        use Strength::{Grouped, Random, Weak, Wordlike};
        for (word, expected) in [
            ("R7KX2MQ9", Some(Random)),
            ("gK72mQxA", Some(Random)),
            ("XK4-92M", Some(Random)),
            ("tt226-5398x", Some(Random)),
            ("LZDG-RMHF", Some(Grouped)),
            ("DJZ-TLX", Some(Grouped)),
            ("sparo-ndigo-amurt-secan", Some(Grouped)),
            ("483920175", Some(Weak)),
            ("483-920-175", Some(Weak)),
            ("NKVCH", Some(Weak)),
            ("AB-1234", Some(Wordlike)),
            ("AB-12X4", Some(Weak)),
            ("ab-12x4", None),
            ("XKQ729", Some(Weak)),
            ("AB12", None),
            ("7kq2", None),
            ("Pixel7Pro", Some(Wordlike)),
            ("7KQ2", Some(Weak)),
            ("SAVE20", Some(Wordlike)),
            ("SIGN-IN", None),
            ("sign-in", None),
            ("482913", None),
            ("CONFIRM", None),
            ("R7KX-2MQ9-ZT4W-88QP", None),
            ("TWFuIGlzIGRpc3Rpbm", None),
        ] {
            assert_eq!(strength(word), expected, "{word}");
        }
    }

    #[test]
    fn only_whole_words_are_candidates() {
        let found = |text: &str| {
            let text = text.to_owned();
            candidates(&text)
                .map(|form| text[form.place].to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            found("Code: R7KX2MQ9. (XK4-92M), 验证码X7K2MQ是"),
            ["R7KX2MQ9", "XK4-92M", "X7K2MQ"]
        );
        let parts = "a/R7KX2MQ9 #R7KX2M @R7KX2M R7KX2M_a R7KX2M= éR7KX2M R7KX2Mé R7KX2M.pdf -R7KX2M R7KX2M- R7K--X2M";
        assert_eq!(found(parts), Vec::<String>::new());
    }
}
