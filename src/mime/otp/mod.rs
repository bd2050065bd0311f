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

use super::budget::CODE_SEARCH_OCTETS;
use pairing::Labelled;
use vocabulary::VOCABULARY;

/// Finds the code in the subject, the text and the visible text of the HTML; empty where there is none.
pub(super) fn find(subject: &str, text: &str, page_text: &str) -> String {
    let [subject, text, page_text] = [subject, text, page_text].map(searched);
    let bound = [text, page_text].into_iter().find_map(normalize::domain_bound);
    let sources = [subject, text, page_text]
        .map(|text| if may_have_digits(text) { normalize::normalized(text) } else { String::new() });
    bound
        .or_else(|| labelled(&sources))
        .or_else(|| sources[1..].iter().find_map(|text| numbers::first_six_digit_word(text)))
        .unwrap_or_default()
}

/// The best labelled code of all sources; of equals the one in the earlier source.
fn labelled(sources: &[String]) -> Option<String> {
    let vocabulary = VOCABULARY.as_ref()?;
    let best = |text: &String| Labelled::new(text, vocabulary, numbers::candidates(text)).best();
    sources.iter().filter_map(best).min_by_key(|&(pairing, _)| pairing).map(|(_, digits)| digits)
}

/// Whether a digit of some script may be in the text.
fn may_have_digits(text: &str) -> bool {
    text.bytes().any(|octet| !octet.is_ascii() || octet.is_ascii_digit())
}

/// The part of a text that is searched.
fn searched(text: &str) -> &str {
    &text[..text.floor_char_boundary(CODE_SEARCH_OCTETS)]
}
