//! The words around codes, prepared for searching text. They come from the table `languages.txt`.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::iter;
use std::ops::Range;
use std::sync::LazyLock;

use crate::links::is_unspaced;

/// The words of all languages. The file describes its format.
const TABLE: &str = include_str!("languages.txt");

/// The meaning of a phrase for the number next to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The number is a code.
    Label,
    /// The number belongs to something else, for example an order number or a telephone.
    Owner,
    /// Like an owner, but only directly before the number: "the code for your account is 123456".
    Thing,
    /// The number has a purpose: "to sign in".
    Purpose,
    /// The number is an earlier code: "previous".
    Old,
    /// The number is no longer valid: "has expired".
    Expired,
    /// The number was wrong, or is the code of an error: "was rejected", "declined (code 2046)".
    Failure,
    /// None, although the phrase contains the word of a label (the row `not labels`).
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
    phrases: HashMap<&'static str, Vec<(&'static str, Meaning)>>,
    beginnings: Beginnings,
    between: HashSet<&'static str>,
    after: Words,
    units: Words,
    plain: HashSet<&'static str>,
    trade: HashSet<&'static str>,
    bare: HashSet<&'static str>,
    endings: Beginnings,
    qualifiers: HashSet<&'static str>,
    copulas: HashSet<&'static str>,
    copulas_of_things: HashSet<&'static str>,
    verbs: HashSet<&'static str>,
    negations: HashSet<&'static str>,
    conjunctions: HashSet<&'static str>,
    replacing: HashSet<&'static str>,
}

/// Maximum number of bytes of a word next to a bare label that is compared.
const QUALIFIER_BYTES: usize = 64;
/// Minimum number of bytes of a compound.
const COMPOUND_BYTES: usize = 5;
/// The words that may be between a bare label and its qualifier: "código de error".
const LINKS: [&str; 3] = ["de ", "di ", "d'"];

/// More bytes than a unit has. In scripts without spaces, a whole text can be one word.
const UNIT_BYTES: usize = 64;

/// The vocabulary, built when the first message is parsed.
pub(super) static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::new);

impl Vocabulary {
    fn new() -> Self {
        let mut rows: HashMap<_, Vec<_>> = HashMap::new();
        entries().for_each(|(row, word)| rows.entry(row).or_default().push(word));
        let words = |name| rows.get(name).into_iter().flatten().copied();
        // If a phrase occurs in several rows, the last row of the file wins.
        let meanings: HashMap<_, _> = entries()
            .filter_map(|(row, phrase)| Some((phrase, meaning(row)?)))
            .collect();
        let mut phrases: HashMap<_, Vec<_>> = HashMap::new();
        for (phrase, meaning) in meanings {
            phrases
                .entry(first_word(phrase))
                .or_default()
                .push((phrase, meaning));
        }
        phrases
            .values_mut()
            .for_each(|phrases| phrases.sort_by_key(|(phrase, _)| Reverse(phrase.len())));
        Self {
            beginnings: phrases.keys().copied().collect(),
            phrases,
            between: words("between").collect(),
            after: words("after").collect(),
            units: words("units").collect(),
            plain: words("plain").collect(),
            trade: words("trade").collect(),
            bare: words("bare").collect(),
            endings: words("bare").map(ending).collect(),
            qualifiers: words("qualifiers").collect(),
            copulas: words("copulas").collect(),
            copulas_of_things: words("copulas of things").collect(),
            verbs: words("verbs").collect(),
            negations: words("negations").collect(),
            conjunctions: words("conjunctions").collect(),
            replacing: words("replacing").collect(),
        }
    }

    /// The phrases in `text` that start within `part`: only whole words, the longest at each
    /// position.
    pub(super) fn phrases(&self, text: &str, part: Range<usize>) -> Vec<Phrase> {
        let mut found = Vec::new();
        let mut position = part.start;
        while position < part.end.min(text.len()) {
            // No phrase starts with a space or ASCII punctuation.
            let first = text.as_bytes()[position];
            if first.is_ascii() && !first.is_ascii_alphanumeric() {
                position += 1;
                continue;
            }
            let word = first_word(&text[position..]);
            let listed = if self.beginnings.may_have(word) {
                self.phrase(text, position, word)
            } else {
                None
            };
            let phrase = listed
                .map(|phrase| self.qualified(text, phrase, found.last()))
                .or_else(|| self.compound(text, position, word));
            position = phrase.map_or(position + word.len(), |phrase| phrase.end);
            found.extend(phrase);
        }
        found
    }

    /// The longest phrase that starts with `word` at `start` in `text`.
    fn phrase(&self, text: &str, start: usize, word: &str) -> Option<Phrase> {
        let shorter = Some(before_digits(word)).filter(|shorter| shorter.len() < word.len());
        let mut phrases = iter::once(word)
            .chain(shorter)
            .filter_map(|word| self.phrases.get(word))
            .flatten();
        let (phrase, meaning) = phrases.find(|(phrase, _)| {
            stands_at_start(phrase, &text[start..])
                && is_whole_word(text, start, start + phrase.len())
        })?;
        Some(Phrase {
            start,
            end: start + phrase.len(),
            meaning: *meaning,
        })
    }

    /// A bare label, such as "code", with a word beside it that says of what, such as "vendor", is
    /// an owner.
    fn qualified(&self, text: &str, phrase: Phrase, previous: Option<&Phrase>) -> Phrase {
        if phrase.meaning != Meaning::Label || !self.bare.contains(&text[phrase.start..phrase.end])
        {
            return phrase;
        }
        let touches = |previous: &Phrase| {
            previous.end == phrase.start
                && matches!(previous.meaning, Meaning::Owner | Meaning::Thing)
        };
        let after = text[phrase.end..].strip_prefix(' ').unwrap_or_default();
        let linked = LINKS.iter().find_map(|link| after.strip_prefix(link));
        let after = first_word(linked.unwrap_or(after));
        if previous.is_some_and(touches)
            || self.qualifiers.contains(last_word(&text[..phrase.start]))
        {
            return Phrase {
                meaning: Meaning::Owner,
                ..phrase
            };
        }
        if !self.qualifiers.contains(after) {
            return phrase;
        }
        let skipped = 1 + linked.map_or(0, |rest| text.len() - phrase.end - 1 - rest.len());
        Phrase {
            end: phrase.end + skipped + after.len(),
            meaning: Meaning::Owner,
            ..phrase
        }
    }

    /// A word that ends in a bare label: "Gerätecode" is a label, "Artikelcode" is an owner.
    fn compound(&self, text: &str, start: usize, word: &str) -> Option<Phrase> {
        if word.len() < COMPOUND_BYTES {
            return None;
        }
        let word = before_digits(word);
        if !self.endings.may_have(ending(word)) {
            return None;
        }
        // A hostile text is one word.
        let start_of_end =
            word.ceil_char_boundary(word.len().saturating_sub(QUALIFIER_BYTES).max(2));
        let mut ends = word[start_of_end..].char_indices();
        let (end, _) = ends.find(|(end, _)| self.bare.contains(&word[start_of_end + end..]))?;
        let first = &word[..start_of_end + end];
        if !is_whole_word(text, start, start + word.len()) {
            return None;
        }
        let is_owner = self.qualifiers.contains(first);
        Some(Phrase {
            start,
            end: start + word.len(),
            meaning: if is_owner {
                Meaning::Owner
            } else {
                Meaning::Label
            },
        })
    }

    /// The place in `text`, which ends at a number, where a statement about the number starts: the
    /// words that join it with a label, with a copula or a colon among them.
    pub(super) fn statement(&self, text: &str, has_thing: bool) -> Option<usize> {
        let mut end = text.len();
        let mut is_stated = false;
        while end > 0 {
            let start = text[..end].rfind(is_gap).map_or(0, |gap| {
                gap + text[gap..].chars().next().map_or(1, char::len_utf8)
            });
            let word = &text[start..end];
            if !is_punctuation(word) && !self.between.contains(word) && !self.copulas.contains(word)
            {
                break;
            }
            is_stated |=
                self.copulas.contains(word) || has_thing && self.copulas_of_things.contains(word);
            end = text[..start]
                .char_indices()
                .next_back()
                .map_or(0, |(gap, _)| gap);
            is_stated |= text[end..start].starts_with([':', '：', '\u{17d6}']);
        }
        is_stated.then_some(end)
    }

    /// Whether a word such as "enter" is directly before or after the number.
    pub(super) fn commands(&self, before: &str, after: &str) -> bool {
        let mut next = words(after).filter(|word| !is_punctuation(word));
        self.verbs.contains(last_word(before))
            || next
                .next()
                .is_some_and(|word| self.verbs.contains(word.trim_end_matches(['.', '!', '。'])))
    }

    /// Whether the text ends with "not", before a label or a number that is not the code, after
    /// punctuation, a number, a label, "and" or "is". After other words, it can belong to a verb:
    /// "Dela inte koden 4821".
    pub(super) fn negates(&self, text: &str) -> bool {
        before_last(&self.negations, text).is_some_and(|before| {
            let before = before.trim_end_matches(' ');
            let word = last_word(before);
            word.bytes().all(|byte| byte.is_ascii_digit())
                || [
                    &self.conjunctions,
                    &self.bare,
                    &self.copulas,
                    &self.copulas_of_things,
                ]
                .iter()
                .any(|row| row.contains(word))
        })
    }

    /// Whether the text ends with "replaces the", before an old word.
    pub(super) fn replaces(&self, text: &str) -> bool {
        before_last(&self.replacing, text).is_some()
    }

    /// Whether the label is only the word for code.
    pub(super) fn is_bare(&self, label: &str) -> bool {
        self.bare.contains(label)
    }

    /// Whether `text` consists only of punctuation and words that join a label with its number.
    pub(super) fn joins(&self, text: &str) -> bool {
        words(text).all(|word| {
            is_punctuation(word) || self.between.contains(word) || self.copulas.contains(word)
        })
    }

    /// Whether the first word after a number is one of the row `after`, such as "is", or there is
    /// no word.
    pub(super) fn names(&self, text: &str) -> bool {
        let Some(word) = words(text).find(|word| !is_punctuation(word)) else {
            return true;
        };
        self.after.has(word)
    }

    /// Whether a unit follows the number.
    pub(super) fn counts(&self, text: &str) -> bool {
        let text = text.trim_start_matches([' ', '-', '+']);
        let text = &text[..text.floor_char_boundary(UNIT_BYTES)];
        let is_outside = |character: char| !is_word(character) && character != '"';
        self.units
            .has(&text[..text.find(is_outside).unwrap_or(text.len())])
    }
}

impl Vocabulary {
    /// Whether vouchers, licences and bookings have this label too.
    pub(super) fn is_plain(&self, label: &str) -> bool {
        self.plain
            .contains(label.replace(['-', '\n'], " ").as_str())
    }

    /// Whether the text is about vouchers, licences, bookings or deliveries.
    pub(super) fn is_about_trade(&self, text: &str) -> bool {
        text.split(|character: char| !is_word(character))
            .any(|word| self.trade.contains(word))
    }
}

/// A filter on a few bytes of known words, the first or the last, similar to a Bloom filter: false
/// positives are possible, false negatives are not.
struct Beginnings([bool; 1 << 14]);

impl Beginnings {
    fn may_have(&self, word: &str) -> bool {
        self.0[Self::index(word)]
    }

    /// Words that differ only in a number at their end have the same hash.
    fn index(word: &str) -> usize {
        let mut bytes = word.bytes().map(|byte| {
            if byte.is_ascii_digit() {
                0
            } else {
                usize::from(byte)
            }
        });
        let mut next = || bytes.next().unwrap_or(0);
        (next() * 29_791 + next() * 961 + next() * 31 + next()) % (1 << 14)
    }
}

impl<'a> FromIterator<&'a str> for Beginnings {
    fn from_iter<I: IntoIterator<Item = &'a str>>(words: I) -> Self {
        let mut beginnings = [false; 1 << 14];
        words
            .into_iter()
            .for_each(|word| beginnings[Self::index(word)] = true);
        Self(beginnings)
    }
}

/// Single words. In scripts without spaces, other text may follow directly.
struct Words {
    whole: HashSet<&'static str>,
    unspaced: Vec<&'static str>,
}

impl Words {
    fn has(&self, word: &str) -> bool {
        self.whole.contains(word)
            || word.starts_with(is_unspaced)
                && self
                    .unspaced
                    .iter()
                    .any(|unspaced| word.starts_with(unspaced))
    }
}

impl FromIterator<&'static str> for Words {
    fn from_iter<I: IntoIterator<Item = &'static str>>(words: I) -> Self {
        let whole: HashSet<_> = words.into_iter().collect();
        let unspaced = whole
            .iter()
            .copied()
            .filter(|word| word.starts_with(is_unspaced))
            .collect();
        Self { whole, unspaced }
    }
}

/// The phrases of the table, each with the name of its row.
fn entries() -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut row = "";
    let lines = TABLE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let phrases = lines.flat_map(move |line| {
        // A line without a name continues the row.
        let phrases = match line.split_once(':') {
            Some((name, phrases)) => {
                row = name;
                phrases
            }
            None => line,
        };
        phrases.split(',').map(move |phrase| (row, phrase.trim()))
    });
    phrases.filter(|(_, phrase)| !phrase.is_empty())
}

/// The meaning of the phrases in a row of the table; `None` for rows of single words.
fn meaning(row: &str) -> Option<Meaning> {
    Some(match row {
        "purposes" => Meaning::Purpose,
        "labels" | "bare" => Meaning::Label,
        "not labels" => Meaning::Nothing,
        "owners" => Meaning::Owner,
        "things" => Meaning::Thing,
        "failures" => Meaning::Failure,
        "old" => Meaning::Old,
        "expired" => Meaning::Expired,
        _ => return None,
    })
}

/// The key of a phrase: the letters and digits at the start of `text`, or one character if that is
/// not a letter or digit, or belongs to a script without spaces.
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

/// The word without a number directly after it: "otp" of "otp123456".
fn before_digits(word: &str) -> &str {
    word.trim_end_matches(|character: char| character.is_ascii_digit())
}

/// The last three bytes, for the filter on them, or the last character.
fn ending(word: &str) -> &str {
    &word[word.ceil_char_boundary(word.len().saturating_sub(3))..]
}

/// Whether `text` starts with the phrase. A space in a phrase also matches a hyphen or a line
/// break.
fn stands_at_start(phrase: &str, text: &str) -> bool {
    let is_same =
        |(phrase, text): (u8, u8)| phrase == text || phrase == b' ' && matches!(text, b'-' | b'\n');
    text.len() >= phrase.len() && phrase.bytes().zip(text.bytes()).all(is_same)
}

/// The words of a text, and the punctuation between them. An apostrophe and a degree sign are part
/// of words.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_gap).filter(|word| !word.is_empty())
}

fn is_gap(character: char) -> bool {
    character.is_whitespace() || ":：，、,;()（）[]【】「」*_|<>\"“”„«»\u{17d6}".contains(character)
}

/// The word at the end of `text`, before one space or hyphen.
fn last_word(text: &str) -> &str {
    let text = text.strip_suffix([' ', '-']).unwrap_or(text);
    let text = &text[text.floor_char_boundary(text.len().saturating_sub(QUALIFIER_BYTES))..];
    let gap = text.char_indices().rfind(|(_, one)| !is_word(*one));
    &text[gap.map_or(0, |(gap, one)| gap + one.len_utf8())..]
}

/// The text before its last word or its last two, if these are in a row.
fn before_last<'a>(row: &HashSet<&str>, text: &'a str) -> Option<&'a str> {
    let text = text.trim_end_matches([' ', '-']);
    let last = text.len() - last_word(text).len();
    let both = last.checked_sub(1 + last_word(&text[..last]).len());
    [Some(last), both]
        .into_iter()
        .flatten()
        .filter_map(|start| text.split_at_checked(start))
        .find_map(|(before, words)| row.contains(words).then_some(before))
}

fn is_punctuation(word: &str) -> bool {
    !word.contains(|character: char| character.is_alphanumeric())
}

/// A letter, a digit, or a mark that combines with letters.
fn is_word(character: char) -> bool {
    character.is_alphanumeric()
        || matches!(character, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{963}' | '\u{966}'..='\u{dff}')
}

/// Letters of scripts without spaces may follow a word directly; other letters make it part of a
/// longer word.
fn is_whole_word(text: &str, start: usize, end: usize) -> bool {
    let touches = |outer: Option<char>, inner: Option<char>| {
        outer.is_some_and(|outer| (outer.is_alphanumeric() || outer == '_') && !is_unspaced(outer))
            && inner.is_some_and(|inner| inner.is_alphanumeric() && !is_unspaced(inner))
    };
    let phrase = &text[start..end];
    // A digit may follow directly: "OTP123456".
    let next = text[end..]
        .chars()
        .next()
        .filter(|next| !next.is_ascii_digit());
    !touches(text[..start].chars().next_back(), phrase.chars().next())
        && !touches(next, phrase.chars().next_back())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_a_whole_word() {
        for (before, phrase, after, expected) in [
            ("", "code", "", true),
            ("your ", "code", ": 1", true),
            ("(", "code", ")", true),
            ("", "otp", "123456", true),
            ("en", "code", "", false),
            ("", "code", "s", false),
            ("my_", "code", "", false),
            ("", "code", "_name", false),
            ("您的", "验证码", "是", true),
            ("您的", "pin", "是", true),
            ("x", "验证码", "x", true),
            ("", "123", "4", true),
            ("", "(code)", "s", true),
        ] {
            let text = format!("{before}{phrase}{after}");
            let found = is_whole_word(&text, before.len(), before.len() + phrase.len());
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn what_follows_a_number_names_it_only_with_such_a_word() {
        for (text, expected) in [
            (" is your ", true),
            (": ", true),
            (" - (", true),
            ("", true),
            (" times a day our ", false),
            (" - x is ", false),
        ] {
            assert_eq!(VOCABULARY.names(text), expected, "{text}");
        }
    }

    #[test]
    fn the_table_has_only_rows_that_are_read() {
        for (row, phrase) in entries() {
            let is_read = meaning(row).is_some()
                || [
                    "between",
                    "after",
                    "units",
                    "plain",
                    "trade",
                    "bare",
                    "qualifiers",
                    "copulas",
                    "copulas of things",
                    "verbs",
                    "negations",
                    "conjunctions",
                    "replacing",
                ]
                .contains(&row);
            assert!(is_read, "{row}: {phrase}");
            assert!(
                !phrase.contains(['-', '\u{2019}', ':']),
                "no text that is searched has this: {phrase}"
            );
        }
    }

    /// An abbreviation that is the same in most languages, and words for "not" that another language
    /// has too, but with the same meaning or never directly before a code.
    const SHARED: [&str; 9] = [
        "tel", "non", "ne", "nem", "ei", "nie", "nikoli", "bukan", "не",
    ];

    /// A word that makes a number something else, such as the English "EIN", must not be a common
    /// word of another language, such as the German "ein".
    #[test]
    fn no_common_word_of_a_language_is_an_owner_through_another() {
        let rows = [
            "owners",
            "things",
            "old",
            "expired",
            "failures",
            "qualifiers",
            "negations",
        ];
        let mut language = "";
        let mut row = "";
        let mut words: HashMap<&str, HashSet<&str>> = HashMap::new();
        for line in TABLE.lines() {
            if let Some(name) = line.strip_prefix("# ") {
                language = name;
                continue;
            }
            let phrases = line.split_once(':').map_or(line, |(name, phrases)| {
                row = name;
                phrases
            });
            if rows.contains(&row) {
                let phrases = phrases.split(',').map(str::trim);
                words
                    .entry(language)
                    .or_default()
                    .extend(phrases.filter(|phrase| !SHARED.contains(phrase)));
            }
        }
        let frequent = include_str!("../../tests/frequent-words.txt");
        let mut count = 0;
        for (language, common) in frequent.lines().filter_map(|line| line.split_once(": ")) {
            let own = &words[language];
            count += 1;
            for word in common.split(", ") {
                let others = words
                    .iter()
                    .filter(|(name, words)| **name != language && words.contains(word));
                let others: Vec<_> = others.map(|(name, _)| name).collect();
                assert!(
                    own.contains(word) || others.is_empty(),
                    "{word} is common in {language}, and something else in {others:?}"
                );
            }
        }
        assert_eq!(count, 40);
    }

    #[test]
    fn every_phrase_of_the_table_is_found() {
        let vocabulary = &*VOCABULARY;
        for (phrase, meaning) in vocabulary.phrases.values().flatten() {
            assert_eq!(phrase.to_lowercase(), *phrase);
            let found = vocabulary.phrases(phrase, 0..phrase.len());
            assert!(
                found.len() == 1 && found[0].meaning == *meaning,
                "{phrase}: {found:?}"
            );
        }
    }

    #[test]
    fn phrases_are_whole_words() {
        let vocabulary = &*VOCABULARY;
        let meanings = |text: &str| {
            vocabulary
                .phrases(text, 0..text.len())
                .iter()
                .map(|phrase| phrase.meaning)
                .collect::<Vec<_>>()
        };
        assert_eq!(meanings("encoded pinned"), []);
        assert_eq!(meanings("decode"), [Meaning::Nothing]);
        assert_eq!(meanings("one-time\npassword"), [Meaning::Label]);
        assert_eq!(
            meanings("a dress code, your code"),
            [Meaning::Nothing, Meaning::Label]
        );
        assert_eq!(meanings("您的验证码是"), [Meaning::Label]);
        assert_eq!(
            meanings("otp123456 2fa4821"),
            [Meaning::Label, Meaning::Label]
        );
    }
}
