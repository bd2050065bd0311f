//! The words around codes, ready to be looked up in text.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::iter;
use std::ops::Range;
use std::sync::LazyLock;

use super::labels::{LANGUAGES, Language, PURPOSES};
use crate::links::is_unspaced;

/// What a phrase says about the number beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It is a code.
    Label,
    /// It belongs to something else: an order, a telephone.
    Owner,
    /// It opens something.
    Purpose,
    /// Nothing, although a label's word is in it.
    Nothing,
}

/// A phrase found in text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phrase {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) meaning: Meaning,
}

/// All phrases of all languages.
pub(super) struct Vocabulary {
    /// The phrases by their first words, the longest first.
    phrases: HashMap<String, Vec<(String, Meaning)>>,
    beginnings: Beginnings,
    between: HashSet<&'static str>,
    after: Words,
    units: Words,
}

/// The vocabulary, made when the first message is read.
pub(super) static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::new);

impl Vocabulary {
    fn new() -> Self {
        let mut meanings = HashMap::new();
        // Later ones win: a phrase that is excluded in one language and names an owner in another owns its number.
        for (phrases, meaning) in
            [(PURPOSES, Meaning::Purpose)].into_iter().chain(LANGUAGES.iter().flat_map(meanings_of))
        {
            meanings.extend(split(phrases).map(|phrase| (phrase.replace('-', " "), meaning)));
        }
        let mut phrases: HashMap<String, Vec<(String, Meaning)>> = HashMap::new();
        for (phrase, meaning) in meanings {
            phrases.entry(first_word(&phrase).to_owned()).or_default().push((phrase, meaning));
        }
        phrases.values_mut().for_each(|phrases| phrases.sort_by_key(|(phrase, _)| Reverse(phrase.len())));
        let words = |of: fn(&Language) -> &'static str| LANGUAGES.iter().flat_map(move |language| split(of(language)));
        Self {
            beginnings: phrases.keys().map(String::as_str).collect(),
            phrases,
            between: words(|language| language.between).collect(),
            after: words(|language| language.after).collect(),
            units: words(|language| language.units).collect(),
        }
    }

    /// The phrases in `text` that begin within `part`, whole words only, the longest at each place.
    pub(super) fn phrases(&self, text: &str, part: Range<usize>) -> Vec<Phrase> {
        let mut found = Vec::new();
        let mut position = part.start;
        while position < part.end.min(text.len()) {
            let word = first_word(&text[position..]);
            // No phrase begins with a space, nor with punctuation of ASCII.
            let may_begin = !word.starts_with(|first: char| first.is_ascii() && !first.is_ascii_alphanumeric());
            let phrase =
                if may_begin && self.beginnings.may_have(word) { self.phrase(text, position, word) } else { None };
            position = phrase.map_or(position + word.len(), |phrase| phrase.end);
            found.extend(phrase);
        }
        found
    }

    /// The longest phrase that begins with `word`, which stands in `text` at `start`.
    fn phrase(&self, text: &str, start: usize, word: &str) -> Option<Phrase> {
        let shorter = Some(before_digits(word)).filter(|shorter| shorter.len() < word.len());
        let mut phrases = iter::once(word).chain(shorter).filter_map(|word| self.phrases.get(word)).flatten();
        let (phrase, meaning) = phrases.find(|(phrase, _)| {
            stands_at_start(phrase, &text[start..]) && is_whole_word(text, start, start + phrase.len())
        })?;
        Some(Phrase { start, end: start + phrase.len(), meaning: *meaning })
    }

    /// Whether `text` is only punctuation and words that join a label with its number.
    pub(super) fn joins(&self, text: &str) -> bool {
        words(text).all(|word| is_punctuation(word) || self.between.contains(word))
    }

    /// Whether what follows a number begins by naming it: "… is your".
    pub(super) fn names(&self, text: &str) -> bool {
        let Some(word) = words(text).find(|word| !is_punctuation(word)) else { return true };
        self.after.has(word)
    }

    /// Whether what follows a number says what it counts.
    pub(super) fn counts(&self, text: &str) -> bool {
        let text = text.trim_start_matches([' ', '-', '+']);
        let word = &text
            [..text.find(|character: char| !character.is_alphanumeric() && character != '"').unwrap_or(text.len())];
        self.units.has(word)
    }
}

/// How words begin that may be looked up: a set that has too many, and tells most of the others apart at once.
struct Beginnings([bool; 4096]);

impl Beginnings {
    fn may_have(&self, word: &str) -> bool {
        self.0[Self::index(word)]
    }

    /// Words that differ only in the number behind them have the same.
    fn index(word: &str) -> usize {
        let mut bytes = word.bytes().map(|byte| if byte.is_ascii_digit() { 0 } else { usize::from(byte) });
        let mut next = || bytes.next().unwrap_or(0);
        (next() * 961 + next() * 31 + next()) % 4096
    }
}

impl<'a> FromIterator<&'a str> for Beginnings {
    fn from_iter<I: IntoIterator<Item = &'a str>>(words: I) -> Self {
        let mut beginnings = [false; 4096];
        words.into_iter().for_each(|word| beginnings[Self::index(word)] = true);
        Self(beginnings)
    }
}

/// Single words. Those of scripts without spaces may have more behind them.
struct Words {
    whole: HashSet<&'static str>,
    unspaced: Vec<&'static str>,
}

impl Words {
    fn has(&self, word: &str) -> bool {
        self.whole.contains(word)
            || word.starts_with(is_unspaced) && self.unspaced.iter().any(|unspaced| word.starts_with(unspaced))
    }
}

impl FromIterator<&'static str> for Words {
    fn from_iter<I: IntoIterator<Item = &'static str>>(words: I) -> Self {
        let whole: HashSet<_> = words.into_iter().collect();
        let unspaced = whole.iter().copied().filter(|word| word.starts_with(is_unspaced)).collect();
        Self { whole, unspaced }
    }
}

fn meanings_of(language: &'static Language) -> [(&'static str, Meaning); 3] {
    [(language.labels, Meaning::Label), (language.not_labels, Meaning::Nothing), (language.owners, Meaning::Owner)]
}

fn split(phrases: &'static str) -> impl Iterator<Item = &'static str> {
    phrases.split(',').map(str::trim).filter(|phrase| !phrase.is_empty())
}

/// What a phrase is looked up by: the letters and digits that `text` begins with; one character where that is none of
/// these, or belongs to a script without spaces.
fn first_word(text: &str) -> &str {
    let ascii = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let end = match text.as_bytes().get(ascii) {
        None => ascii,
        Some(byte) if byte.is_ascii() => ascii.max(1),
        Some(_) => word_end(text),
    };
    &text[..end]
}

fn word_end(text: &str) -> usize {
    let is_outside = |character: char| !character.is_alphanumeric() || is_unspaced(character);
    match text.find(is_outside) {
        Some(0) => text.chars().next().map_or(0, char::len_utf8),
        end => end.unwrap_or(text.len()),
    }
}

/// The word without the number that stands right behind it: "otp" of "otp123456".
fn before_digits(word: &str) -> &str {
    word.trim_end_matches(|character: char| character.is_ascii_digit())
}

/// Whether `text` begins with the phrase. A space in a phrase also stands for a hyphen or a line break.
fn stands_at_start(phrase: &str, text: &str) -> bool {
    let is_same = |(phrase, text): (u8, u8)| phrase == text || phrase == b' ' && matches!(text, b'-' | b'\n');
    text.len() >= phrase.len() && phrase.bytes().zip(text.bytes()).all(is_same)
}

/// The words of a text, and the punctuation between them. An apostrophe and a degree sign are part of words.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| {
        character.is_whitespace() || ":：，、,;()（）[]【】「」*_|<>\"“”„«»".contains(character)
    })
    .filter(|word| !word.is_empty())
}

fn is_punctuation(word: &str) -> bool {
    !word.contains(|character: char| character.is_alphanumeric())
}

/// Letters of scripts without spaces may touch a word; others make it part of a longer one.
fn is_whole_word(text: &str, start: usize, end: usize) -> bool {
    let touches = |outer: Option<char>, inner: Option<char>| {
        outer.is_some_and(|outer| (outer.is_alphanumeric() || outer == '_') && !is_unspaced(outer))
            && inner.is_some_and(|inner| inner.is_alphanumeric() && !is_unspaced(inner))
    };
    let phrase = &text[start..end];
    // A digit may follow at once: "OTP123456".
    let next = text[end..].chars().next().filter(|next| !next.is_ascii_digit());
    !touches(text[..start].chars().next_back(), phrase.chars().next()) && !touches(next, phrase.chars().next_back())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phrase_is_found_as_it_stands_in_the_table() {
        let vocabulary = &*VOCABULARY;
        for (phrase, meaning) in vocabulary.phrases.values().flatten() {
            assert_eq!(phrase.to_lowercase(), *phrase);
            let found = vocabulary.phrases(phrase, 0..phrase.len());
            assert!(found.len() == 1 && found[0].meaning == *meaning, "{phrase}: {found:?}");
        }
    }

    #[test]
    fn phrases_are_whole_words() {
        let vocabulary = &*VOCABULARY;
        let meanings = |text: &str| {
            vocabulary.phrases(text, 0..text.len()).iter().map(|phrase| phrase.meaning).collect::<Vec<_>>()
        };
        assert_eq!(meanings("decode encoded pinned"), []);
        assert_eq!(meanings("one-time\npassword"), [Meaning::Label]);
        assert_eq!(meanings("a dress code, your code"), [Meaning::Nothing, Meaning::Label]);
        assert_eq!(meanings("您的验证码是"), [Meaning::Label]);
        assert_eq!(meanings("otp123456 2fa4821"), [Meaning::Label, Meaning::Label]);
    }
}
