//! Pairs labels with numbers: finds the number in a text that is the code, and how reliable the
//! result is.

use std::ops::Range;

use super::lists;
use super::numbers::Number;
use super::vocabulary::{Meaning, Phrase, Vocabulary};

/// How a code is labelled, the most certain first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pairing {
    /// "Your code is 123456", even with the number on the next line.
    Adjacent,
    /// "The code for your account is 123456".
    Stated,
    /// "123456 is your code".
    Named,
    /// The label is up to four lines above the number, which is alone on its line or in its cell.
    Alone,
    /// Label and number are in one sentence.
    Sentence,
    /// The number is alone on its line, with the label on the next line.
    Above,
}

/// Maximum number of bytes between a label and an adjacent number.
const ADJACENT: usize = 120;
/// Maximum number of bytes between a number and the label after it.
const NAMED: usize = 160;
/// Maximum number of bytes, and lines with text, between a label and a number that is alone.
const ALONE: usize = 600;
const LINES: usize = 4;
/// Maximum number of characters between label and number in one sentence.
const SENTENCE: usize = 90;
/// A line of at least this length may have been wrapped, so that its sentence continues on the next
/// line.
const WRAPPED: usize = 50;

/// Minimum number of digits of a code that is not directly after its label.
const MIN_DIGITS: usize = 4;

/// The bytes before and after a code with letters that are searched for words about vouchers.
const WINDOW: usize = 300;

/// How far from a number the phrases about it may start, before and after it. `BEFORE` is larger
/// than every distance before a number plus the longest phrase; `AFTER` is larger than every
/// distance after it.
const BEFORE: usize = 700;
const AFTER: usize = 400;

/// A normalised text with its numbers, and the phrases near them.
pub(super) struct Labelled<'a> {
    text: &'a str,
    vocabulary: &'a Vocabulary,
    numbers: Vec<Number>,
    /// Whether each of the numbers is in a list.
    listed: Vec<bool>,
    phrases: Vec<Phrase>,
    /// Maximum number of lines with text between a label and a number that is alone.
    lines: usize,
}

impl<'a> Labelled<'a> {
    pub(super) fn new(text: &'a str, vocabulary: &'a Vocabulary, numbers: Vec<Number>) -> Self {
        let phrases = near(text, &numbers)
            .into_iter()
            .flat_map(|near| vocabulary.phrases(text, near))
            .collect();
        Self {
            text,
            vocabulary,
            listed: lists::listed(text, &numbers),
            numbers,
            phrases,
            lines: LINES,
        }
    }

    /// Changes how many lines of text may be between a label and a number that is alone.
    pub(super) fn with_lines_between(self, lines: usize) -> Self {
        Self { lines, ..self }
    }

    /// The numbers that have a label, each with its index.
    pub(super) fn pairings(&self) -> impl Iterator<Item = (Pairing, usize, Number)> + '_ {
        self.unlisted()
            .filter_map(|(index, number)| Some((self.pairing(number)?, index, number)))
    }

    /// The number that is alone on its line, with its index, if there is one only, and nothing says
    /// that it is something else.
    pub(super) fn lone(&self) -> Option<(usize, Number)> {
        self.only(|number| self.is_alone(number))
    }

    /// The same in the answer above a quote, where a colon may announce it: "Here is a new one:".
    pub(super) fn answer(&self, mut is_new: impl FnMut(Number) -> bool) -> Option<Number> {
        let is_announced = |number: Number| {
            let before = self.text[..number.start].trim_end_matches(' ');
            self.is_alone(number) || before.ends_with([':', '：'])
        };
        self.only(|number| is_announced(number) && is_new(number))
            .map(|(_, number)| number)
    }

    fn only(&self, mut is_candidate: impl FnMut(Number) -> bool) -> Option<(usize, Number)> {
        let mut alone = self
            .unlisted()
            .filter(|(_, number)| !number.is_weak && is_candidate(*number));
        let (index, number) = alone.next().filter(|_| alone.next().is_none())?;
        let next = self.next_phrase(number);
        let is_owned = self
            .phrase_before(next, number)
            .is_some_and(|phrase| self.owns(phrase, number));
        (!is_owned && !self.is_stale(next, number)).then_some((index, number))
    }

    fn unlisted(&self) -> impl Iterator<Item = (usize, Number)> + '_ {
        self.numbers
            .iter()
            .copied()
            .enumerate()
            .filter(|(index, _)| !self.listed[*index])
    }

    /// Whether the lines around the number are about vouchers, licences or bookings, and have no
    /// label that those do not have. The subject may be about these too.
    pub(super) fn is_in_trade(&self, number: Number, is_subject_about_trade: bool) -> bool {
        let lines = self.lines_around(number);
        (is_subject_about_trade || self.vocabulary.is_about_trade(&self.text[lines.clone()]))
            && !self.has_own_label(lines)
    }

    /// Whether the lines around the number have a label that vouchers, licences and bookings do not
    /// have.
    pub(super) fn is_surely_labelled(&self, number: Number) -> bool {
        self.has_own_label(self.lines_around(number))
    }

    fn has_own_label(&self, lines: Range<usize>) -> bool {
        let first = self
            .phrases
            .partition_point(|phrase| phrase.start < lines.start);
        let within = self.phrases[first..]
            .iter()
            .take_while(|phrase| phrase.end <= lines.end);
        let mut labels = within.filter(|phrase| phrase.meaning == Meaning::Label);
        labels.any(|label| !self.vocabulary.is_plain(&self.text[label.start..label.end]))
    }

    /// The lines from three above the number to two below it, with text.
    fn lines_around(&self, number: Number) -> Range<usize> {
        let start = self
            .text
            .ceil_char_boundary(number.start.saturating_sub(WINDOW));
        let end = self.text.floor_char_boundary(number.end + WINDOW);
        let before = self.text[start..number.start]
            .rmatch_indices('\n')
            .map(|(index, _)| start + index + 1);
        let after = self.text[number.end..end]
            .match_indices('\n')
            .map(|(index, _)| number.end + index);
        let first = before
            .filter(|&line| !self.text[line..].starts_with('\n'))
            .nth(3)
            .unwrap_or(start);
        let last = after
            .filter(|&line| !self.text[..line].ends_with('\n'))
            .nth(2)
            .unwrap_or(end);
        first..last
    }

    /// The index of the first phrase after the number.
    fn next_phrase(&self, number: Number) -> usize {
        self.phrases
            .partition_point(|phrase| phrase.start < number.end)
    }

    fn phrase_before(&self, next: usize, number: Number) -> Option<&Phrase> {
        self.phrases[..next]
            .iter()
            .rfind(|phrase| phrase.end <= number.start)
    }

    fn pairing(&self, number: Number) -> Option<Pairing> {
        let next = self.next_phrase(number);
        if self.is_stale(next, number) {
            return None;
        }
        let before = self.phrase_before(next, number);
        if before.is_some_and(|phrase| {
            phrase.meaning == Meaning::Label && self.is_adjacent(phrase, number)
        }) {
            return Some(Pairing::Adjacent);
        }
        if self.vocabulary.counts(&self.text[number.end..]) {
            return None;
        }
        let owner = before.filter(|phrase| self.owns(phrase, number));
        if owner.is_none_or(|owner| owner.meaning == Meaning::Thing)
            && self.is_stated(next, number, owner.is_some())
            || before.is_some_and(|owner| self.is_of_owner(owner, number))
        {
            return Some(Pairing::Stated);
        }
        if owner.is_some() {
            return self.is_commanded(next, number).then_some(Pairing::Sentence);
        }
        let mut after = self.phrases[next..]
            .iter()
            .take_while(|phrase| phrase.start <= number.end + NAMED);
        let named_by = after.find(|phrase| !is_stale_word(phrase));
        match named_by
            .filter(|phrase| self.is_named_by(phrase, number))
            .map(|phrase| phrase.meaning)
        {
            Some(Meaning::Label | Meaning::Purpose) => return Some(Pairing::Named),
            Some(Meaning::Owner | Meaning::Thing) => return None,
            Some(Meaning::Old | Meaning::Expired | Meaning::Failure | Meaning::Nothing) | None => {}
        }
        if number.is_weak {
            return None;
        }
        if self
            .label_before(next, number)
            .is_some_and(|label| self.is_alone_below(label, number))
        {
            return Some(Pairing::Alone);
        }
        self.loose_pairing(next, number)
    }

    /// Whether the words around the number describe it as old, expired or cancelled: "your old code
    /// 1234", "1234 has expired", "1234 is your old code".
    fn is_stale(&self, next: usize, number: Number) -> bool {
        let is_ended = |end: usize, phrase: &Phrase| {
            let between = || &self.text[end..phrase.start];
            is_stale_word(phrase)
                && self.touches(end, phrase.start)
                && (phrase.meaning != Meaning::Old || between().contains(char::is_alphabetic))
        };
        let after = self.phrases.get(next).is_some_and(|phrase| {
            is_ended(number.end, phrase)
                || phrase.meaning == Meaning::Label
                    && self.text[number.end..phrase.start] == *" "
                    && self
                        .phrases
                        .get(next + 1)
                        .is_some_and(|after| is_ended(phrase.end, after))
        });
        let mut before = self.phrases[..next]
            .iter()
            .rev()
            .filter(|phrase| phrase.end <= number.start);
        let is_described = |phrase: &Phrase, end: usize| {
            is_stale_word(phrase)
                && self.touches(phrase.end, end)
                && !self.describes_another(phrase)
                && !self.is_replaced(phrase, number)
        };
        let is_excluded = |start: usize| self.vocabulary.negates(&self.text[..start]);
        after
            || is_excluded(number.start)
            || before.next().is_some_and(|nearest| {
                is_described(nearest, number.start)
                    || nearest.meaning == Meaning::Label
                        && self.touches(nearest.end, number.start)
                        && (self.text[nearest.end..number.start]
                            .trim_matches(' ')
                            .is_empty()
                            && is_excluded(nearest.start)
                            || before.take(3).enumerate().any(|(place, phrase)| {
                                if phrase.meaning == Meaning::Failure {
                                    self.is_of_error(nearest, phrase)
                                } else {
                                    place == 0 && is_described(phrase, nearest.start)
                                }
                            }))
            })
    }

    /// "This code replaces the previous one: 4821": the old word is about another code.
    fn is_replaced(&self, old: &Phrase, number: Number) -> bool {
        self.vocabulary.replaces(&self.text[..old.start])
            && self.text[old.end..number.start].contains([':', '：'])
    }

    /// "Payment declined (code 2046)": a bare label after the word for a failure, with only
    /// punctuation in between, or in brackets after it.
    fn is_of_error(&self, label: &Phrase, failure: &Phrase) -> bool {
        slice(self.text, failure.end, label.start, ADJACENT).is_some_and(|between| {
            let is_in_brackets = between.ends_with(['(', '（']) && !has_sentence_end(between);
            (is_in_brackets || !between.contains(char::is_alphanumeric))
                && self.vocabulary.is_bare(&self.text[label.start..label.end])
        })
    }

    /// Whether the phrase describes the number before it, with or without a label, as expired.
    fn describes_another(&self, phrase: &Phrase) -> bool {
        let before = self
            .numbers
            .partition_point(|number| number.end <= phrase.start);
        let number = before.checked_sub(1).map(|index| self.numbers[index]);
        phrase.meaning != Meaning::Old
            && number.is_some_and(|number| {
                let label = &self.phrases[self.next_phrase(number)];
                let is_labelled =
                    label.meaning == Meaning::Label && self.text[number.end..label.start] == *" ";
                let end = if is_labelled { label.end } else { number.end };
                self.touches(end, phrase.start)
            })
    }

    /// Whether only joining words and punctuation are between two positions of a sentence.
    fn touches(&self, start: usize, end: usize) -> bool {
        slice(self.text, start, end, ADJACENT).is_some_and(|between| {
            self.vocabulary.joins(between) && !between.contains('\n') && !has_sentence_end(between)
        })
    }

    fn loose_pairing(&self, next: usize, number: Number) -> Option<Pairing> {
        let is_label = |phrase: &&Phrase| phrase.meaning == Meaning::Label;
        let label_after = self.phrases[next..].iter().take(3).find(is_label);
        let before = self
            .label_before(next, number)
            .is_some_and(|label| self.is_one_sentence(label.end, number.start));
        if before
            || label_after.is_some_and(|label| self.is_one_sentence(number.end, label.start))
            || self.is_commanded(next, number)
        {
            return Some(Pairing::Sentence);
        }
        let above = label_after.is_some_and(|label| {
            self.is_alone(number)
                && slice(self.text, number.end, label.start, ADJACENT)
                    .is_some_and(|between| between.trim().matches('\n').count() == 0)
        });
        above.then_some(Pairing::Above)
    }

    /// "To sign in, enter 123456": a verb is directly beside the number, and a purpose is in the
    /// sentence.
    fn is_commanded(&self, next: usize, number: Number) -> bool {
        let is_purpose = |phrase: &&Phrase| phrase.meaning == Meaning::Purpose;
        let before = self.phrases[..next].iter().rev().take(3).find(is_purpose);
        let after = self.phrases[next..].iter().take(3).find(is_purpose);
        (before.is_some_and(|phrase| self.is_one_sentence(phrase.end, number.start))
            || after.is_some_and(|phrase| self.is_one_sentence(number.end, phrase.start)))
            && self
                .vocabulary
                .commands(&self.text[..number.start], self.after(number))
    }

    /// A part of the text after the number.
    fn after(&self, number: Number) -> &str {
        let end = self.text.floor_char_boundary(number.end + ADJACENT);
        &self.text[number.end..end]
    }

    /// The nearest label before the number that does not belong to another code.
    fn label_before(&self, next: usize, number: Number) -> Option<&Phrase> {
        let before = self.phrases[..next].iter().rev().take(8);
        before
            .filter(|phrase| phrase.end <= number.start)
            .find(|phrase| phrase.meaning == Meaning::Label && !self.is_answered(phrase, number))
    }

    /// Whether the label is followed by a code other than the number: "use code SAVE20", "failed
    /// with code 2".
    fn is_answered(&self, label: &Phrase, number: Number) -> bool {
        let rest = &self.text[label.end..number.start];
        let rest = &rest[..rest.floor_char_boundary(ADJACENT)];
        let Some(word) = rest
            .split([' ', '\n', '\t', ':', '*', '"'])
            .find(|word| !self.vocabulary.joins(word))
        else {
            return false;
        };
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            // "A code on 3 November".
            if word.len() < MIN_DIGITS && !rest.trim_start().starts_with(word) {
                return false;
            }
            let first = self
                .numbers
                .partition_point(|number| number.start < label.end);
            // A code that is no longer valid is not the answer.
            return self
                .numbers
                .get(first)
                .is_none_or(|other| !self.is_stale(self.next_phrase(*other), *other));
        }
        let word = word.trim_matches(|character: char| !character.is_alphanumeric());
        let has = |is: fn(&char) -> bool| word.chars().any(|character| is(&character));
        (4..=16).contains(&word.len())
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && has(char::is_ascii_digit)
            && has(char::is_ascii_alphabetic)
    }

    /// "Your code is 123456". After a line break, the number is alone on its line, or starts it.
    fn is_adjacent(&self, label: &Phrase, number: Number) -> bool {
        let Some(between) = slice(self.text, label.end, number.start, ADJACENT) else {
            return false;
        };
        let after = &self.text[number.end..];
        let breaks_line = between.contains(['\n', '\t']);
        self.vocabulary.joins(between)
            && between.matches('\n').count() <= 3
            && (breaks_line && self.is_alone(number)
                || !self.vocabulary.counts(after)
                    && (!breaks_line
                        || !number.is_weak
                            && !has_sentence_end(between)
                            && is_announced(between, after)))
    }

    fn owns(&self, owner: &Phrase, number: Number) -> bool {
        matches!(owner.meaning, Meaning::Owner | Meaning::Thing)
            && slice(self.text, owner.end, number.start, ADJACENT).is_some_and(|between| {
                self.vocabulary.joins(between) && between.matches('\n').count() <= 1
            })
    }

    /// "The code for your account is 123456": a copula, a colon or the end of the line is directly
    /// before the number, and a label is in the same sentence. A year needs a thing before it.
    fn is_stated(&self, next: usize, number: Number, has_thing: bool) -> bool {
        let start = self
            .text
            .ceil_char_boundary(number.start.saturating_sub(ADJACENT));
        let before = &self.text[start..number.start];
        let line = before.trim_end_matches([' ', '\n']);
        let statement = if line.len() < before.trim_end_matches(' ').len() && self.is_alone(number)
        {
            Some(
                self.vocabulary
                    .statement(line, has_thing)
                    .unwrap_or(line.len()),
            )
        } else {
            self.vocabulary.statement(before, has_thing)
        };
        let Some(statement) = statement.map(|place| start + place) else {
            return false;
        };
        let label = self.label_before(next, number);
        (has_thing || !number.is_weak)
            && label.is_some_and(|label| self.is_one_sentence(label.end, statement))
    }

    /// "El código del cliente 55120 es 4821": the phrase for "customer code" is also that for "the
    /// code of customer 55120".
    fn is_of_owner(&self, owner: &Phrase, number: Number) -> bool {
        let first = self.text[owner.start..owner.end].split(' ').next();
        let between = slice(self.text, owner.end, number.start, ADJACENT).unwrap_or_default();
        let owned = self
            .vocabulary
            .statement(between, true)
            .and_then(|end| between[..end].rsplit_once(' '));
        owner.meaning == Meaning::Owner
            && first.is_some_and(|first| self.vocabulary.is_bare(first))
            && !between.contains(':')
            && owned.is_some_and(|(joining, id)| {
                self.vocabulary.joins(joining)
                    && !id.is_empty()
                    && id.bytes().all(|byte| byte.is_ascii_digit())
            })
    }

    /// "123456 is your … code": in one sentence; the first word after the number is one of the row
    /// `after` ("is", "as"), or there is only punctuation in between.
    fn is_named_by(&self, phrase: &Phrase, number: Number) -> bool {
        let Some(between) = slice(self.text, number.end, phrase.start, NAMED) else {
            return false;
        };
        let is_near = match phrase.meaning {
            Meaning::Purpose => between == " ",
            _ => self.vocabulary.names(between) && between.chars().count() <= SENTENCE,
        };
        is_near && !between.contains(['\n', '\t', '\u{fffc}']) && !has_sentence_end(between)
    }

    fn is_alone_below(&self, label: &Phrase, number: Number) -> bool {
        self.is_alone(number)
            && slice(self.text, label.end, number.start, ALONE).is_some_and(|between| {
                let lines = between
                    .split('\n')
                    .skip(1)
                    .filter(|line| !line.trim().is_empty())
                    .count();
                between.contains(['\n', '\t']) && lines <= self.lines
            })
    }

    /// Whether the number is alone on its line or in its cell, except for punctuation or a remark
    /// in brackets.
    fn is_alone(&self, number: Number) -> bool {
        let is_word = |character: char| character.is_alphanumeric() || character == '\u{fffc}';
        // Reading stops at the first word, because a line can be very long.
        let on_line = |character: &char| !matches!(character, '\n' | '\t');
        let after = &self.text[number.end..];
        !self.text[..number.start]
            .chars()
            .rev()
            .take_while(on_line)
            .any(is_word)
            && (!after.chars().take_while(on_line).any(is_word)
                || after.trim_start_matches(' ').starts_with(['(', '（', '[']))
    }

    fn is_one_sentence(&self, start: usize, end: usize) -> bool {
        let Some(between) = slice(self.text, start, end, SENTENCE * 4) else {
            return false;
        };
        between.chars().count() <= SENTENCE
            && !has_sentence_end(between)
            && !between.contains(['\t', '\u{fffc}'])
            && between
                .match_indices('\n')
                .all(|(index, _)| self.is_wrapped(start + index))
    }

    /// Whether the line that ends here is long. An empty line is not.
    fn is_wrapped(&self, line_end: usize) -> bool {
        let line = self.text[..line_end]
            .rsplit('\n')
            .next()
            .unwrap_or_default();
        line.chars().count() >= WRAPPED
    }
}

fn is_stale_word(phrase: &Phrase) -> bool {
    matches!(
        phrase.meaning,
        Meaning::Old | Meaning::Expired | Meaning::Failure
    )
}

/// The parts of the text near a number. Each starts at a word, and none overlaps the next.
fn near(text: &str, numbers: &[Number]) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    for number in numbers {
        let start = text.floor_char_boundary(number.start.saturating_sub(BEFORE));
        let end = number.end + AFTER;
        // Only up to the last part, because a text can be one word.
        let last = parts
            .last()
            .map_or(0, |part| text.floor_char_boundary(part.end));
        let word = text
            .get(last..start)
            .and_then(|between| between.rfind([' ', '\n', '\t']));
        match (parts.last_mut(), word) {
            (Some(part), None) => part.end = end,
            (_, word) => parts.push(word.map_or(0, |word| last + word)..end),
        }
    }
    parts
}

/// Whether the label announces the number on the next line: "Your PIN is", "Your code:", or "5093.
/// Keep it safe". Otherwise the number may belong to other text, for example a postal address below
/// a button.
fn is_announced(between: &str, after: &str) -> bool {
    between.contains(|character: char| character.is_alphabetic() || matches!(character, ':' | '：'))
        || after
            .trim_start_matches(' ')
            .starts_with(|next: char| !next.is_alphanumeric() && next != ',')
}

fn slice(text: &str, start: usize, end: usize, limit: usize) -> Option<&str> {
    text.get(start..end)
        .filter(|between| between.len() <= limit)
}

fn has_sentence_end(text: &str) -> bool {
    text.contains(['。', '！', '？', '।', '॥', '؟', '۔', '։', '።', '។'])
        || text.char_indices().any(|(index, character)| {
            matches!(character, '.' | '!' | '?')
                && text[index + 1..]
                    .chars()
                    .next()
                    .is_none_or(char::is_whitespace)
        })
}
