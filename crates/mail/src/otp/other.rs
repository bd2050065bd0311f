//! Finds labelled codes of other forms than 4 to 8 digits.

use super::forms::{self, Form, Strength};
use super::numbers::Number;
use super::pairing::{Labelled, Pairing};
use super::quoted::Lines;
use super::vocabulary::VOCABULARY;
use super::{FoundCode, SUBJECT, Source, has_label, normalize, rule};

/// Maximum number of lines with text between a label and a code that is alone: addresses below a
/// message have such forms too.
const LINES: usize = 1;

/// The labelled codes of these texts (subject, text, HTML), the best first.
pub(super) fn find(sources: [&str; 3]) -> Vec<FoundCode> {
    let subject = normalize::normalized(sources[0]);
    let texts = sources.into_iter().enumerate();
    let mut found: Vec<_> = texts
        .flat_map(|(source, text)| find_in(source, text, &subject))
        .collect();
    // The sort is stable, so the earlier one of two equal ones stays first.
    found.sort_by_key(|(pairing, _)| *pairing);
    found.into_iter().map(|(_, found)| found).collect()
}

fn find_in(source: Source, text: &str, subject: &str) -> Vec<(Pairing, FoundCode)> {
    // Most texts have no candidate, and are not normalised.
    if forms::candidates(text).next().is_none() && text.is_ascii() {
        return Vec::new();
    }
    let text = normalize::normalized_with_capitals(text);
    let forms: Vec<Form> = forms::candidates(&text).collect();
    if forms.is_empty() {
        return Vec::new();
    }
    let (lower, numbers) = lower_case(&text, &forms);
    let labelled = Labelled::new(&lower, &VOCABULARY, numbers).with_lines_between(LINES);
    let is_subject_about_trade = source != SUBJECT && VOCABULARY.is_about_trade(subject);
    let is_code = |pairing: Pairing, form: &Form, number: Number| {
        let announced = || lower[..number.start].trim_end().ends_with([':', '：']);
        let is_close = match pairing {
            Pairing::Adjacent | Pairing::Stated | Pairing::Named => true,
            Pairing::Alone => form.strength >= Strength::Grouped || announced(),
            Pairing::Sentence | Pairing::Above => form.strength == Strength::Random,
        };
        is_close
            && (form.strength > Strength::Wordlike || labelled.is_surely_labelled(number))
            && !labelled.is_in_trade(number, is_subject_about_trade)
    };
    let codes = labelled
        .pairings()
        .filter(|&(pairing, index, number)| is_code(pairing, &forms[index], number));
    let mut codes: Vec<_> = codes.collect();
    if codes.is_empty() && source != SUBJECT && has_label(subject) {
        let is_clear = |(index, number): &(usize, Number)| {
            forms[*index].strength >= Strength::Grouped
                && !labelled.is_in_trade(*number, is_subject_about_trade)
        };
        codes.extend(
            labelled
                .lone()
                .filter(is_clear)
                .map(|(index, number)| (Pairing::Alone, index, number)),
        );
    }
    let mut lines = Lines::of(&lower);
    let codes = codes.into_iter().map(|(pairing, index, number)| {
        let code = forms::code(&text[forms[index].place.clone()]);
        (
            pairing,
            FoundCode {
                code,
                ..FoundCode::at(&mut lines, source, number.start..number.end, rule(pairing))
            },
        )
    });
    codes.collect()
}

/// The text in lower case, and the places of the forms in it: a letter may have more or fewer bytes
/// in lower case.
fn lower_case(text: &str, forms: &[Form]) -> (String, Vec<Number>) {
    let mut lower = String::with_capacity(text.len());
    let mut position = 0;
    let mut numbers = Vec::with_capacity(forms.len());
    for Form { place, strength } in forms {
        lower.extend(
            text[position..place.start]
                .chars()
                .map(normalize::lower_case),
        );
        let start = lower.len();
        lower.push_str(&text[place.clone()].to_ascii_lowercase());
        numbers.push(Number {
            start,
            end: lower.len(),
            is_weak: *strength == Strength::Wordlike,
        });
        position = place.end;
    }
    lower.extend(text[position..].chars().map(normalize::lower_case));
    (lower, numbers)
}
