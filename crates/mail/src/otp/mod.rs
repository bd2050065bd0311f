//! The one-time code of a message: a labelled code of 4 to 8 digits, else the first word of 6 digits, else nothing.
//!
//! The search goes step by step through visible text only: [`normalize`] makes it uniform and blanks addresses,
//! [`numbers`] finds what could be a code, [`vocabulary`] finds the words of [`labels`], [`pairing`] puts the two
//! together. A new sender's phrasing is a new word in [`labels`], and a new line in `tests/otp`.

mod labels;
mod normalize;
mod numbers;
mod pairing;
mod vocabulary;

use super::budget::CODE_SEARCH_BYTES;
use pairing::{Labelled, Pairing};
use vocabulary::VOCABULARY;

/// Bytes of text that are looked at together, in a few instructions.
const PIECE: usize = 16;

/// By what a code was recognised, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The last line binds it to a domain: `@example.com #123456`.
    DomainBound,
    /// A label stands right before it.
    LabelBefore,
    /// The label follows it: "123456 is your code".
    LabelBehind,
    /// It stands alone on its line or in its cell, a label a few lines above.
    AloneBelowLabel,
    /// It shares a sentence with a label.
    SameSentence,
    /// It stands alone on its line, the label on the next.
    AloneAboveLabel,
    /// It is the first word of six digits, without any label.
    SixDigits,
}

/// A code, and by what it was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognised {
    /// The digits.
    pub code: String,
    /// By what.
    pub rule: Rule,
    /// The line that it stands in, where it was found.
    pub line: String,
}

/// Finds the code in the subject, the text and the visible text of the HTML; empty where there is none.
pub(super) fn find(subject: &str, text: &str, page_text: &str) -> String {
    search(subject, text, page_text).map(|(code, _)| code).unwrap_or_default()
}

/// The same, with the reason.
pub(super) fn recognise(subject: &str, text: &str, page_text: &str) -> Option<Recognised> {
    let (code, rule) = search(subject, text, page_text)?;
    let sources = [subject, text, page_text].map(|source| normalize::normalized(searched(source)));
    let digits = |line: &str| line.chars().filter(char::is_ascii_digit).collect::<String>();
    let mut lines = sources.iter().flat_map(|source| source.lines());
    let line = lines.find(|line| digits(line).contains(&code)).unwrap_or_default().trim().to_owned();
    Some(Recognised { code, rule, line })
}

fn search(subject: &str, text: &str, page_text: &str) -> Option<(String, Rule)> {
    let [subject, text, page_text] = [subject, text, page_text].map(searched);
    let bound = [text, page_text].into_iter().find_map(normalize::domain_bound);
    let sources = [subject, text, page_text]
        .map(|text| if may_have_digits(text) { normalize::normalized(text) } else { String::new() });
    let six_digits = || sources[1..].iter().find_map(|text| numbers::first_six_digit_word(text));
    bound
        .map(|code| (code, Rule::DomainBound))
        .or_else(|| labelled(&sources))
        .or_else(|| six_digits().map(|code| (code, Rule::SixDigits)))
}

/// The best labelled code of all sources; of equals the one in the earlier source.
fn labelled(sources: &[String]) -> Option<(String, Rule)> {
    let best = |text: &String| Labelled::new(text, &VOCABULARY, numbers::candidates(text)).best();
    let (pairing, digits) = sources.iter().filter_map(best).min_by_key(|&(pairing, _)| pairing)?;
    Some((digits, rule(pairing)))
}

fn rule(pairing: Pairing) -> Rule {
    match pairing {
        Pairing::Adjacent => Rule::LabelBefore,
        Pairing::Named => Rule::LabelBehind,
        Pairing::Alone => Rule::AloneBelowLabel,
        Pairing::Sentence => Rule::SameSentence,
        Pairing::Above => Rule::AloneAboveLabel,
    }
}

/// Whether a digit of some script may be in the text.
fn may_have_digits(text: &str) -> bool {
    text.bytes().any(|byte| !byte.is_ascii() || byte.is_ascii_digit())
}

/// The part of a text that is searched.
fn searched(text: &str) -> &str {
    &text[..text.floor_char_boundary(CODE_SEARCH_BYTES)]
}
