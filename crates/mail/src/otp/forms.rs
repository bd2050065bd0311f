//! The forms of codes that are not 4 to 8 digits: letters and digits (`R7KX2MQ9`), groups with
//! hyphens or spaces (`LZDG-RMHF`, `R7KX 2MQ9`), 9 or 10 digits.
//!
//! Many words have such a form, for example order numbers and vouchers. So a candidate needs a
//! label, and its form decides how close the label has to be.

use std::ops::Range;

use crate::links::is_unspaced;

/// Maximum number of bytes of a code with its hyphens.
const MAX_LENGTH: usize = 32;
/// Maximum number of letters and digits of a code that has both, in one word and in groups. Keys of
/// software and vouchers have more.
const MIXED: usize = 16;
const GROUPED: usize = 12;
/// The lengths of groups with a space in between.
const GROUP: Range<usize> = 3..6;

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
    groups(text).filter_map(move |place| {
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
        word.replace(' ', "")
    }
}

/// The words, and groups of the same length with one space between them. One of them has letters
/// and digits, or they are all that is after a colon.
fn groups(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut words = words(text).peekable();
    std::iter::from_fn(move || {
        let first = words.next()?;
        let length = first.len();
        if !GROUP.contains(&length) || !is_group(&text[first.clone()]) {
            return Some(first);
        }
        let is_announced = text[..first.start].trim_end().ends_with(':');
        let mut groups = vec![first];
        let mut ahead = words.clone();
        while let Some(next) = ahead.next_if(|next| {
            next.len() == length
                && &text[groups[groups.len() - 1].end..next.start] == " "
                && is_group(&text[next.clone()])
                && (groups.len() + 1) * length <= GROUPED
        }) {
            groups.push(next);
        }
        let end = groups[groups.len() - 1].end;
        let is_all = is_announced && !text[end..].starts_with([' ', ',']);
        let group = |place: &Range<usize>| &text[place.clone()];
        let is_code = groups.len() > 1
            && (is_all && groups.iter().any(|place| is_word(group(place)))
                || groups.iter().any(|place| is_mixed(group(place)))
                    && groups
                        .iter()
                        .all(|place| !has_vowel(group(place)) || is_mixed(group(place))));
        if !is_code {
            return Some(groups.swap_remove(0));
        }
        words = ahead;
        Some(groups[0].start..end)
    })
}

/// Whether this can be a group of a code: letters and digits, digits, or capitals.
fn is_group(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
        || word.bytes().all(|byte| byte.is_ascii_uppercase())
        || is_mixed(word)
}

/// Whether a group of letters and digits with the length of this number is beside it, so that both
/// are one code.
pub(super) fn is_in_group(text: &str, number: Range<usize>) -> bool {
    let is_group = |group: Option<&str>, rest: Option<char>| {
        group.is_some_and(is_mixed) && rest.is_none_or(|rest| !rest.is_alphanumeric())
    };
    let length = number.len();
    let before = text[..number.start].strip_suffix(' ').unwrap_or_default();
    let start = before.len().saturating_sub(length);
    let after = text[number.end..].strip_prefix(' ').unwrap_or_default();
    GROUP.contains(&length)
        && (is_group(
            before.get(start..),
            before
                .get(..start)
                .and_then(|rest| rest.chars().next_back()),
        ) || is_group(
            after.get(..length),
            after.get(length..).and_then(|rest| rest.chars().next()),
        ))
}

fn is_mixed(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

fn has_vowel(word: &str) -> bool {
    word.contains(['A', 'E', 'I', 'O', 'U'])
}

/// The runs of ASCII letters and digits, with single hyphens and underscores between them. A dot
/// belongs to one if a digit is in the letters after it, because a sentence may follow.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> + Clone + '_ {
    let bytes = text.as_bytes();
    let mut position = 0;
    let has_digit = |after: &[u8]| {
        let mut word = after
            .iter()
            .take(GROUPED)
            .take_while(|byte| byte.is_ascii_alphanumeric());
        word.any(u8::is_ascii_digit)
    };
    std::iter::from_fn(move || {
        let start = position
            + bytes[position..]
                .iter()
                .position(u8::is_ascii_alphanumeric)?;
        let belongs = |&index: &usize| {
            bytes[index].is_ascii_alphanumeric()
                || matches!(bytes[index], b'-' | b'_')
                    && bytes.get(index + 1).is_some_and(u8::is_ascii_alphanumeric)
                || bytes[index] == b'.' && has_digit(&bytes[index + 1..])
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
    // Most words.
    if word.bytes().all(|byte| byte.is_ascii_alphabetic())
        && word.bytes().any(|byte| byte.is_ascii_lowercase())
    {
        return None;
    }
    let groups: Vec<&str> = word.split(['-', ' ', '_', '.']).collect();
    let characters: usize = groups.iter().map(|group| group.len()).sum();
    let length = groups[0].len();
    let is_even = groups.iter().all(|group| group.len() == length);
    let all = |is: fn(&u8) -> bool| {
        word.bytes()
            .all(|byte| matches!(byte, b'-' | b' ') || is(&byte))
    };
    let any = |is: fn(&u8) -> bool| word.bytes().any(|byte| is(&byte));
    let are = |lengths: Range<usize>, counts: Range<usize>| {
        is_even && lengths.contains(&length) && counts.contains(&groups.len())
    };
    if all(u8::is_ascii_digit) {
        return (are(9..11, 1..2) || are(3..4, 3..4)).then_some(Strength::Weak);
    }
    if all(u8::is_ascii_uppercase) {
        return match groups.len() {
            1 if has_vowel(word) => None,
            1 if length == 4 => Some(Strength::Wordlike),
            1 => (length <= 8).then_some(Strength::Weak),
            _ => are(3..6, 2..4).then_some(Strength::Grouped),
        };
    }
    if all(u8::is_ascii_lowercase) {
        return are(4..7, 3..7).then_some(Strength::Grouped);
    }
    if !any(u8::is_ascii_digit) || !any(u8::is_ascii_alphabetic) {
        return None;
    }
    if groups.len() > 1 && characters > GROUPED || characters > MIXED {
        return None;
    }
    let is_plain = !word.contains(['_', '.']);
    match groups.len() {
        1 => single(word),
        2..=4 if is_plain && is_even && length >= 3 => Some(Strength::Random),
        2 if is_plain && all(|byte| !byte.is_ascii_lowercase()) => {
            let is_pure = groups
                .iter()
                .all(|group| group.bytes().all(|byte| byte.is_ascii_digit()) || is_word(group));
            Some(if is_pure {
                Strength::Wordlike
            } else {
                Strength::Weak
            })
        }
        // As base64 is.
        _ if any(u8::is_ascii_lowercase) && any(u8::is_ascii_uppercase) => Some(Strength::Weak),
        _ => groups
            .iter()
            .all(|group| is_mixed(group))
            .then_some(Strength::Weak),
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
    let has_upper = word.bytes().any(|byte| byte.is_ascii_uppercase());
    match (word.len(), changes) {
        (4, _) if has_lower && !has_upper => (changes >= 2).then_some(Strength::Wordlike),
        (4, 1) if has_lower => Some(Strength::Wordlike),
        _ if word.len() > GROUPED => (changes > 2).then_some(Strength::Weak),
        _ if letters.any(|letters| is_readable(letters, if changes == 1 { 3 } else { 4 })) => {
            Some(Strength::Wordlike)
        }
        (_, 1) | (4, _) => Some(Strength::Weak),
        _ => Some(Strength::Random),
    }
}

/// Whether these letters, of which there are at least `least`, could be a word or a name: `Pixel`,
/// `save`, `SUMMER`.
fn is_readable(letters: &str, least: usize) -> bool {
    let all_upper = letters.bytes().all(|byte| byte.is_ascii_uppercase());
    let tail_lower = letters
        .bytes()
        .skip(1)
        .all(|byte| byte.is_ascii_lowercase());
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
            ("AB12", Some(Weak)),
            ("TOP5", Some(Wordlike)),
            ("m4Tz", Some(Weak)),
            ("7kq2", Some(Wordlike)),
            ("24hr", None),
            ("H3_x8Z", Some(Weak)),
            ("7Gd-q4", Some(Weak)),
            ("A1-B2-C3", Some(Weak)),
            ("USER_1", None),
            ("xK4RwT9bqM7hZ2cD", Some(Weak)),
            ("R7KX 2MQ9", Some(Random)),
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
        let parts = "a/R7KX2MQ9 #R7KX2M @R7KX2M R7KX2M_é R7KX2M= éR7KX2M R7KX2Mé R7KX2M.pdf -R7KX2M R7KX2M- R7K--X2M";
        assert_eq!(found(parts), Vec::<String>::new());
    }
}
