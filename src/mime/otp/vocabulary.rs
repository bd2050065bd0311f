//! The words around codes, ready to be looked up in text.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::labels::{LANGUAGES, Language, PURPOSES};
use crate::mime::links::is_unspaced;

/// More octets than any phrase has.
const LONGEST: usize = 100;

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
    phrases: Regex,
    meanings: HashMap<String, Meaning>,
    between: HashSet<&'static str>,
    after: HashSet<&'static str>,
    units: HashSet<&'static str>,
}

/// The vocabulary, made when the first message is read; none if the table were malformed, which a test rules out.
pub(super) static VOCABULARY: LazyLock<Option<Vocabulary>> = LazyLock::new(Vocabulary::new);

impl Vocabulary {
    fn new() -> Option<Self> {
        let mut meanings = HashMap::new();
        // Later ones win: a phrase that is excluded in one language and names an owner in another owns its number.
        for (phrases, meaning) in
            [(PURPOSES, Meaning::Purpose)].into_iter().chain(LANGUAGES.iter().flat_map(meanings_of))
        {
            meanings.extend(split(phrases).map(|phrase| (phrase.replace('-', " "), meaning)));
        }
        let mut longest_first: Vec<&String> = meanings.keys().collect();
        longest_first.sort_by_key(|phrase| (std::cmp::Reverse(phrase.len()), *phrase));
        let alternatives: Vec<String> =
            longest_first.into_iter().map(|phrase| regex::escape(phrase).replace(' ', "[ \n-]")).collect();
        let words = |of: fn(&Language) -> &'static str| LANGUAGES.iter().flat_map(move |language| split(of(language)));
        Some(Self {
            phrases: Regex::new(&alternatives.join("|")).ok()?,
            meanings,
            between: words(|language| language.between).collect(),
            after: words(|language| language.after).collect(),
            units: words(|language| language.units).collect(),
        })
    }

    /// The phrases in `text` that begin within `part`, whole words only, the longest at each place.
    pub(super) fn phrases(&self, text: &str, part: Range<usize>) -> Vec<Phrase> {
        let mut found = Vec::new();
        let mut position = part.start;
        let text = &text[..text.floor_char_boundary(part.end + LONGEST)];
        while let Some(matched) = self.phrases.find_at(text, position).filter(|matched| matched.start() < part.end) {
            if !is_whole_word(text, matched.start(), matched.end()) {
                position = matched.start() + text[matched.start()..].chars().next().map_or(1, char::len_utf8);
                continue;
            }
            position = matched.end();
            let spelling = matched.as_str().replace(['-', '\n'], " ");
            if let Some(&meaning) = self.meanings.get(&spelling) {
                found.push(Phrase { start: matched.start(), end: matched.end(), meaning });
            }
        }
        found
    }

    /// Whether `text` is only punctuation and words that join a label with its number.
    pub(super) fn joins(&self, text: &str) -> bool {
        words(text).all(|word| is_punctuation(word) || self.between.contains(word))
    }

    /// Whether what follows a number begins by naming it: "… is your".
    pub(super) fn names(&self, text: &str) -> bool {
        let Some(word) = words(text).find(|word| !is_punctuation(word)) else { return true };
        self.after.contains(word)
            || self.after.iter().any(|after| after.starts_with(is_unspaced) && word.starts_with(after))
    }

    /// Whether what follows a number says what it counts.
    pub(super) fn counts(&self, text: &str) -> bool {
        let text = text.trim_start_matches([' ', '-', '+']);
        let word = &text
            [..text.find(|character: char| !character.is_alphanumeric() && character != '"').unwrap_or(text.len())];
        self.units.contains(word)
            || self.units.iter().any(|unit| unit.starts_with(is_unspaced) && word.starts_with(unit))
    }
}

fn meanings_of(language: &'static Language) -> [(&'static str, Meaning); 3] {
    [(language.labels, Meaning::Label), (language.not_labels, Meaning::Nothing), (language.owners, Meaning::Owner)]
}

fn split(phrases: &'static str) -> impl Iterator<Item = &'static str> {
    phrases.split(',').map(str::trim).filter(|phrase| !phrase.is_empty())
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
        let vocabulary = VOCABULARY.as_ref().unwrap();
        for (phrase, &meaning) in &vocabulary.meanings {
            assert_eq!(phrase.to_lowercase(), *phrase);
            assert!(phrase.len() < LONGEST);
            let found = vocabulary.phrases(phrase, 0..phrase.len());
            assert!(found.len() == 1 && found[0].meaning == meaning, "{phrase}: {found:?}");
        }
    }

    #[test]
    fn phrases_are_whole_words() {
        let vocabulary = VOCABULARY.as_ref().unwrap();
        let meanings = |text: &str| {
            vocabulary.phrases(text, 0..text.len()).iter().map(|phrase| phrase.meaning).collect::<Vec<_>>()
        };
        assert_eq!(meanings("decode encoded pinned"), []);
        assert_eq!(meanings("one-time\npassword"), [Meaning::Label]);
        assert_eq!(meanings("a dress code, your code"), [Meaning::Nothing, Meaning::Label]);
        assert_eq!(meanings("您的验证码是"), [Meaning::Label]);
    }
}
