//! The numbers in a text that could be codes: contiguous, in groups, or as single digits.

use std::ops::Range;

use super::{PIECE, forms};
use crate::links::is_unspaced;

/// Prefixes of codes, which are followed by a hyphen, for example in `G-123456`.
const PREFIXES: &[&str] = &["g", "fb", "code", "otp", "pin"];
/// Currencies, as signs and as words.
const CURRENCY_SIGNS: &str = "$€£¥₹₽₩₺₴₫₪₦฿₱₲¢￥";
const CURRENCIES: &[&str] = &[
    "usd", "eur", "gbp", "chf", "jpy", "cny", "rmb", "inr", "rs", "rs.", "rub", "brl", "r$", "pln",
    "czk", "sek", "dkk", "nok", "try", "idr", "rp", "rp.", "vnd", "thb", "krw", "aed", "sar",
    "ils", "uah", "kr", "zł", "kč", "tl", "nt$", "hk$", "us$", "cad", "aud", "mxn", "руб", "грн",
    "rm", "php", "ft", "huf", "ron", "lei", "bgn", "лв", "myr",
];

/// A number that may be a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// Its position, including a prefix. It has 4 to 8 digits.
    pub(super) start: usize,
    pub(super) end: usize,
    /// It looks like a year or a date, or has a number sign. Then it is a code only directly before
    /// or after a label.
    pub(super) is_weak: bool,
}

/// A run of digits.
#[derive(Clone, Copy)]
struct Run {
    start: usize,
    end: usize,
}

impl Run {
    fn len(self) -> usize {
        self.end - self.start
    }
}

/// The numbers of a normalised text, in order.
pub(super) fn candidates(text: &str) -> Vec<Number> {
    let runs = runs(text);
    let mut numbers = Vec::new();
    let mut index = 0;
    while index < runs.len() {
        let chain = chain_length(text, &runs[index..]);
        let chained = &runs[index..index + chain];
        if let Some(number) = grouped(text, chained) {
            numbers.push(number);
        } else if !is_telephone(text, chained) {
            numbers.extend(chained.iter().filter_map(|&run| whole(text, run)));
        }
        index += chain;
    }
    numbers
}

/// The ASCII digits in `text`.
pub(super) fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// The first standalone six-digit number.
pub(super) fn first_six_digit_word(text: &str) -> Option<Range<usize>> {
    let is_word = |run: &&Run| {
        let (before, after) = around(text, run.start, run.end);
        let touches = |character: Option<char>| {
            character.is_some_and(|character| is_letter(character) || character == '_')
        };
        run.len() == 6 && !touches(before) && !touches(after)
    };
    runs(text)
        .iter()
        .find(is_word)
        .map(|run| run.start..run.end)
}

fn runs(text: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for index in digit_places(text.as_bytes()) {
        match runs.last_mut() {
            Some(run) if run.end == index => run.end += 1,
            _ => runs.push(Run {
                start: index,
                end: index + 1,
            }),
        }
    }
    runs
}

/// The positions of digits.
fn digit_places(text: &[u8]) -> impl Iterator<Item = usize> {
    // Most pieces of text have no digits.
    let has_digit = |(_, piece): &(usize, &[u8])| {
        piece
            .iter()
            .fold(false, |has_digit, byte| has_digit | byte.is_ascii_digit())
    };
    text.chunks(PIECE)
        .enumerate()
        .filter(has_digit)
        .flat_map(|(number, piece)| {
            let digits = piece
                .iter()
                .enumerate()
                .filter(|(_, byte)| byte.is_ascii_digit());
            digits.map(move |(index, _)| number * PIECE + index)
        })
}

fn around(text: &str, start: usize, end: usize) -> (Option<char>, Option<char>) {
    (
        text[..start].chars().next_back(),
        text[end..].chars().next(),
    )
}

/// A letter that makes a number part of a word. Letters of scripts without spaces do not.
fn is_letter(character: char) -> bool {
    character.is_alphabetic() && !is_unspaced(character)
}

/// The number of runs that belong together: separated by one space, tab or hyphen, or single digits
/// with equal gaps.
fn chain_length(text: &str, runs: &[Run]) -> usize {
    let gap = |pair: &[Run]| &text[pair[0].end..pair[1].start];
    let first_gap = runs.get(..2).map(gap);
    let linked = |pair: &&[Run]| {
        let is_single = pair[0].len() == 1 && pair[1].len() == 1;
        let is_loose = |gap: &str| {
            gap.len() <= 5 && gap.chars().all(|character| " \t\n-|·".contains(character))
        };
        matches!(gap(pair), " " | "-" | "\t" | " - ")
            || is_single && is_loose(gap(pair)) && Some(gap(pair)) == first_gap
    };
    1 + runs.windows(2).take_while(linked).count()
}

/// A code in groups: `123 456`, `1234-5678`, `12-34-56`, or single digits.
fn grouped(text: &str, chain: &[Run]) -> Option<Number> {
    let all = |length: usize| chain.iter().all(|run| run.len() == length);
    let first = chain.first()?;
    let last = chain.last()?;
    let is_grouped = match chain.len() {
        2 => all(3) || all(4) || all(2),
        3 => all(2) || all(1),
        4..=8 => all(1),
        _ => false,
    };
    let digits: usize = chain.iter().map(|run| run.len()).sum();
    if !is_grouped || !(4..=8).contains(&digits) {
        return None;
    }
    let is_years = chain.len() == 2 && chain.iter().all(|&run| is_year(&text[run.start..run.end]));
    let has_dashes = text[first.start..last.end].contains('-');
    number(
        text,
        first.start,
        last.end,
        is_years || all(2) && (has_dashes || chain.len() == 2),
    )
}

fn whole(text: &str, run: Run) -> Option<Number> {
    let digits = &text[run.start..run.end];
    let is_weak = is_year(digits) || is_date(digits);
    if (4..=8).contains(&digits.len()) && !forms::is_in_group(text, run.start..run.end) {
        number(text, run.start, run.end, is_weak)
    } else {
        None
    }
}

/// Whether this is a telephone number (a plus sign, or a leading zero and nine or more digits in
/// several groups), or an international bank account number (which starts with two letters and two
/// digits).
fn is_telephone(text: &str, chain: &[Run]) -> bool {
    let digits: usize = chain.iter().map(|run| run.len()).sum();
    let (Some(first), longest) = (
        chain.first(),
        chain.iter().map(|run| run.len()).max().unwrap_or(0),
    ) else {
        return false;
    };
    let is_international = text[..first.start].ends_with('+');
    // Three show that there are more than two. A text can be one word, and has many chains.
    let letters = text[..first.start]
        .bytes()
        .rev()
        .take(3)
        .take_while(u8::is_ascii_alphanumeric)
        .count();
    let is_account = first.len() == 2 && letters == 2;
    let is_area = text[..first.start].ends_with(") ");
    chain.len() > 1
        && (is_international
            || is_account
            || is_area
            || digits >= 9 && (longest < 6 || text[first.start..].starts_with('0')))
}

/// The number at this position; `None` if adjacent characters show that it is not a code (for
/// example a price, time or decimal).
fn number(text: &str, start: usize, end: usize, is_weak: bool) -> Option<Number> {
    let (start, has_prefix) = with_prefix(text, start);
    let before = &text[..start];
    let after = &text[end..];
    if is_emphasized(before, after) {
        return Some(Number {
            start,
            end,
            is_weak,
        });
    }
    let has_sign = before.ends_with('#') || before.trim_end().ends_with('№');
    if !has_prefix && !may_follow(before) || !may_precede(after) {
        return None;
    }
    Some(Number {
        start,
        end,
        is_weak: is_weak || has_sign,
    })
}

/// Whether the number is bold or italic in Markdown.
fn is_emphasized(before: &str, after: &str) -> bool {
    ['*', '_'].iter().any(|&mark| {
        let opening = before.trim_end_matches(mark);
        let closing = after.trim_start_matches(mark);
        let left = before.len() - opening.len();
        let right = after.len() - closing.len();
        left == right
            && (1..=3).contains(&left)
            && !opening.ends_with(is_letter)
            && !closing.starts_with(is_letter)
    })
}

/// The start of a code, including its prefix, and whether it has one.
fn with_prefix(text: &str, start: usize) -> (usize, bool) {
    let Some(before) = text[..start].strip_suffix('-') else {
        return (start, false);
    };
    let word_start = before
        .rfind(|character: char| !character.is_alphanumeric())
        .map_or(0, |index| {
            index + before[index..].chars().next().map_or(1, char::len_utf8)
        });
    if PREFIXES.contains(&&before[word_start..]) {
        (word_start, true)
    } else {
        (start, false)
    }
}

fn may_follow(before: &str) -> bool {
    let mut characters = before.chars().rev();
    let Some(last) = characters.next() else {
        return true;
    };
    let second = characters.next();
    let joins_word = |second: Option<char>| {
        second.is_some_and(|second| second.is_alphanumeric() && !is_unspaced(second))
    };
    match last {
        '.' | ',' | ':' | '/' | '\\' | '-' | '–' | '\'' | '’' if joins_word(second) => {
            // "code:123456" is a label, "12:3456" is a time.
            last == ':' && second.is_some_and(|second| !second.is_ascii_digit())
        }
        '+' | '/' | '*' | '•' | '%' | '^' | '~' | '@' | '&' | '©' | '_' | '×' | '±'
        | '\u{fffc}' => false,
        _ if is_letter(last) || last.is_numeric() || CURRENCY_SIGNS.contains(last) => false,
        ' ' => {
            !second.is_some_and(|second| CURRENCY_SIGNS.contains(second) || "©•*".contains(second))
                && !ends_in_currency(before)
        }
        _ => !before.ends_with("(c)"),
    }
}

fn ends_in_currency(before: &str) -> bool {
    let word = before
        .trim_end()
        .rsplit([' ', '\n', '\t', '(', ':'])
        .next()
        .unwrap_or_default();
    CURRENCIES.contains(&word) || before.trim_end().ends_with("(c)")
}

fn may_precede(after: &str) -> bool {
    let mut characters = after.chars();
    let Some(next) = characters.next() else {
        return true;
    };
    let second = characters.next();
    match next {
        '.' | ',' | ':' | '/' | '\\' | '-' | '–' if second.is_some_and(char::is_alphanumeric) => {
            // In "123456.Do not share", only a space is missing. "123456.pdf" has the same form,
            // but is rarer.
            matches!(next, ',' | ':') && second.is_some_and(char::is_alphabetic)
                || next == ',' && starts_clause(&after[1..])
        }
        '%' | '‰' | '°' | '@' | '_' | '²' | '³' | '\u{fffc}' | '+' | '=' => false,
        _ if is_letter(next) || next.is_numeric() => false,
        _ => {
            let rest = after.trim_start_matches(' ');
            let word = rest
                .split(|character: char| !character.is_alphabetic())
                .next()
                .unwrap_or_default();
            !rest.starts_with(|sign: char| CURRENCY_SIGNS.contains(sign) || sign == '%')
                && !CURRENCIES.contains(&word)
        }
    }
}

/// Whether a number begins the next clause, as in "573910,5分钟内有效", so that the comma is none of a
/// decimal.
fn starts_clause(text: &str) -> bool {
    text.trim_start_matches(|digit: char| digit.is_ascii_digit())
        .starts_with(|one: char| !one.is_ascii() && one.is_alphabetic())
}

fn is_year(digits: &str) -> bool {
    digits.len() == 4 && (digits.starts_with("19") || digits.starts_with("20"))
}

/// Eight digits that are a date: `20261120` or `20112026`.
fn is_date(digits: &str) -> bool {
    let within = |range: Range<usize>, limit: u32| {
        digits
            .get(range)
            .and_then(|part| part.parse().ok())
            .is_some_and(|value: u32| (1..=limit).contains(&value))
    };
    digits.len() == 8
        && (is_year(&digits[..4]) && within(4..6, 12) && within(6..8, 31)
            || is_year(&digits[4..])
                && (within(0..2, 31) && within(2..4, 12) || within(0..2, 12) && within(2..4, 31)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        candidates(text)
            .into_iter()
            .map(|number| {
                format!(
                    "{}{}",
                    digits(&text[number.start..number.end]),
                    if number.is_weak { "?" } else { "" }
                )
            })
            .collect()
    }

    #[test]
    fn codes_are_found_whole_and_grouped() {
        for (text, expected) in [
            ("1234 is 00123456.", &["1234", "00123456"][..]),
            (
                "123 456, 123-456; 1234 5678; 12-34-56",
                &["123456", "123456", "12345678", "123456?"],
            ),
            ("1 2 3 4 5 6", &["123456"]),
            ("1\t2\t3\t4\n\n5\n6\n7\n8", &["1234", "5678"]),
            (
                "g-123456 **4821** 验证码123456。",
                &["123456", "4821", "123456"],
            ),
            ("482913 558102", &["482913", "558102"]),
            (
                "2026, 20261120, 2019-2024",
                &["2026?", "20261120?", "20192024?"],
            ),
            (
                "#482913 №482913 № 482913",
                &["482913?", "482913?", "482913?"],
            ),
            ("12 345678, ab123 4567", &["345678", "4567"]),
            (
                "(1) 482913; code:123456; code:-482913; 验证码-482913; your g-482913",
                &["482913", "123456", "482913", "482913", "482913"],
            ),
            (
                "20261232; 20261331; 48291312; 31131999; 99991999",
                &["20261232", "20261331", "48291312", "31131999", "99991999"],
            ),
            (
                "20261231; 31121999; 12311999",
                &["20261231?", "31121999?", "12311999?"],
            ),
            ("0|12345678", &["12345678"]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn other_numbers_are_not() {
        for text in [
            "a1234; 1234b; 123456789; 123",
            "12.3456; 1,234,567; 1234.56; 1234,56; 1234,5m",
            "12:3456; 2026-11-20; 20/11/2026; 12-3456; 1234½",
            "$1234; 1234 €; 1234€; usd 5000; 5000kr; 5000 kr; 1234%; 1234 %",
            "1234‰; 1234°; 1234²; 1234@x; 1234_; 1234+; 1234=",
            "+49 30 1234567; 0800 123456; (555) 123-4567; (555) 123 4567; 4111 1111 1111 1111",
            "v1.2345; abc-123456; 123456-ab; file_123456",
            "de12 5001 0517 5407 3249 31; es91 2100 0418",
            "****1234; •1234; © 2026",
            "1, 2, 3, 4; 1------2------3------4",
        ] {
            assert_eq!(found(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn the_fallback_reads_only_adjacent_words() {
        assert_eq!(
            first_six_digit_word("a123456 1234567 $654321"),
            Some(17..23)
        );
        assert_eq!(first_six_digit_word("验证码123456是"), Some(9..15));
        assert_eq!(first_six_digit_word("12345"), None);
    }
}
