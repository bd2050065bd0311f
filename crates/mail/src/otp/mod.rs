//! Finds the code of a message. `otp` is a labelled code of 4 to 8 digits, or else the first
//! standalone six-digit number. `code` is what a person would type: the labelled digits, or else a
//! labelled code of another form.
//!
//! The search reads three texts: the subject, the plain text, and the visible text of the HTML. Its
//! steps are:
//!
//! 1. **Domain-bound code.** A last line `@example.com #123456` is meant for programs, and wins
//!    unless it is quoted (WICG, origin-bound one-time codes).
//! 2. **Normalise** ([`normalize`]). Letters become lower case; every digit becomes ASCII;
//!    invisible characters are removed; spaces, hyphens and apostrophes become one kind; URLs and
//!    mail addresses are blanked. Line breaks and table cells are kept.
//! 3. **Numbers** ([`numbers`]). A candidate has 4 to 8 digits: contiguous, in groups (`123 456`,
//!    `12-34-56`) or as single digits, optionally after a prefix (`G-`). Digits next to letters are
//!    not candidates, nor are prices, times, decimals, percentages, versions and telephone numbers.
//!    Years and dates are weak: they count only directly before or after a label.
//! 4. **Words** ([`vocabulary`]). The phrases near the candidates are looked up in `languages.txt`,
//!    only as whole words, the longest first. Each row of that table has a kind: labels ("code"),
//!    not labels ("dress code"), owners ("order number"), things ("account"), purposes ("to sign
//!    in"), and words for codes that are no longer valid: old ("previous"), expired ("has
//!    expired"), failures ("was rejected"). A word that ends in a bare label is a label too
//!    ("Gerätecode"); with a qualifier beside it or as its first part, a bare label is an owner
//!    ("vendor code", "Artikelcode").
//! 5. **Pairs** ([`pairing`]). For each candidate, the first rule that applies decides:
//!    - excluded if it is called old, expired or cancelled, or is the code of an error: "declined
//!      (code 2046)", or if "not" is directly before it: "9301, not code 4812";
//!    - accepted if a label is before it, with only punctuation, joining words ("is") or a line
//!      break in between. If the number starts a line, more text may follow it: "Your PIN is⏎5093.
//!      Keep it safe.";
//!    - excluded if a unit follows ("15000 points");
//!    - accepted if a copula or a colon is directly before it, and a label earlier in the sentence:
//!      "The code for your account is 4821", or an owner with its own number: "O código do cliente
//!      55120 é 4821";
//!    - excluded if an owner or a thing is before it in the same way as a label;
//!    - accepted if a label or a purpose follows ("123456 is your code", "123456 to sign in"),
//!      excluded if an owner does;
//!    - accepted if it is alone on its line or in its cell, with a label at most four lines above;
//!    - accepted if a label is in the same sentence, within 90 characters, or a verb beside it and
//!      a purpose in the sentence: "To sign in, enter 4821";
//!    - accepted if it is alone on its line, with a label in the next line.
//!
//!    A number in a list of three or more ([`lists`]) is never labelled: the first of ten backup
//!    codes is not the code. If nothing is labelled, but the subject or the preheader has a label,
//!    the only number that is alone on its line is accepted. The preheader is the hidden text at
//!    the start of the HTML, which mail programs show beside the subject.
//!
//!    The candidate with the best rule wins. Ties are decided by source (subject, text, HTML), then
//!    by position. One in a quoted message, which may be an older code, wins only if there is no
//!    other, or only in quotes within it ([`quoted`]). If all are quoted, the only number above the
//!    quote that is alone on its line, or after a colon, is the answer.
//! 6. **Fallback.** If nothing is labelled, the first standalone six-digit number of the text is
//!    used, then that of the HTML.
//!
//! 7. **Other forms** ([`other`]). If no digits are labelled, words with the form of a code
//!    ([`forms`]) are paired with labels by the same rules. A word in a text about vouchers,
//!    licences or bookings is accepted only with a label that those do not have, such as
//!    "verification code".
//!
//! To support the wording of a new sender, add words to `languages.txt` and a line to `tests/otp`.
//! Every step takes linear time.

mod forms;
mod heads;
mod lists;
mod normalize;
mod numbers;
mod other;
mod pairing;
mod quoted;
mod vocabulary;

use std::ops::Range;

use restante_api::{Code, OtpRule};

use super::budget::CODE_SEARCH_BYTES;
use super::html::Page;
use numbers::Number;
use pairing::{Labelled, Pairing};
use quoted::{Depths, Lines};
use vocabulary::VOCABULARY;

/// Bytes of text that are compared at once, in a few instructions.
const PIECE: usize = 16;
/// Maximum number of labelled codes that are listed.
const MAX_LISTED: usize = 100;
/// Maximum number of bytes of the line of a code: a whole message can be one line.
const LINE_BYTES: usize = 2_000;

/// The codes of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Codes {
    /// A labelled code of 4 to 8 digits, or else the first standalone six-digit number.
    pub otp: Option<Code>,
    /// The labelled codes, each once: `otp` if it is labelled, or else the best code of another
    /// form; then the others whose label is directly before or after them. At most 100.
    pub labelled: Vec<Code>,
}

/// The index of a text: subject, text, visible text of the HTML.
type Source = usize;
const SUBJECT: Source = 0;

/// A code and the place where it was found.
#[derive(Clone)]
struct FoundCode {
    code: String,
    rule: OtpRule,
    source: Source,
    /// Its first and last line in that text.
    lines: (usize, usize),
    /// How deep in quotes it is.
    depth: usize,
}

/// Finds the `otp` and the `code` in the subject, the text and the visible text of the HTML; empty
/// if there is none. `page` says which parts of the HTML's text quote an older message.
pub(super) fn find(subject: &str, text: &str, page_text: &str, page: &Page) -> (String, String) {
    let text = quoted::text(searched(text));
    let page_text = quoted::page(searched(page_text), &page.quotes);
    let sources = [searched(subject), &text, &page_text];
    let Digits { otp, labelled } = search(sources, &page.preheader);
    // Most messages have one code, and other forms need not be read.
    let is_new =
        |otp: &FoundCode| otp.rule != OtpRule::SixDigits && Depths::of(&labelled).depth(otp) == 0;
    let is_settled = otp.as_ref().is_some_and(is_new);
    let code = if is_settled {
        otp.clone()
    } else {
        all_labelled(sources, labelled).into_iter().next()
    };
    let [otp, code] = [otp, code].map(|found| found.map(|found| found.code).unwrap_or_default());
    (otp, code)
}

/// All codes, with their rules and lines.
pub(super) fn recognise(subject: &str, text: &str, page_text: &str, page: &Page) -> Codes {
    let sources = [subject, text, page_text];
    let text = quoted::text(searched(text));
    let page_text = quoted::page(searched(page_text), &page.quotes);
    let searched = [searched(subject), &text, &page_text];
    let Digits { otp, labelled } = search(searched, &page.preheader);
    let is_final = otp
        .as_ref()
        .is_some_and(|otp| otp.rule == OtpRule::DomainBound && otp.depth == 0);
    let otp = otp.map(|found| found.recognised(sources));
    if is_final {
        return Codes {
            labelled: otp.clone().into_iter().collect(),
            otp,
        };
    }
    let mut known: Vec<Code> = Vec::new();
    for found in all_labelled(searched, labelled) {
        let is_sure = matches!(found.rule, OtpRule::LabelBefore | OtpRule::LabelAfter);
        // "G-384920" is the same code as 384920.
        let is_known = known.iter().any(|known| {
            found
                .code
                .to_lowercase()
                .ends_with(&known.code.to_lowercase())
        });
        if known.is_empty() || is_sure && !is_known {
            known.push(found.recognised(sources));
        }
        if known.len() == MAX_LISTED {
            break;
        }
    }
    Codes {
        otp,
        labelled: known,
    }
}

/// The codes of 4 to 8 digits.
struct Digits {
    otp: Option<FoundCode>,
    /// The labelled ones, the best first.
    labelled: Vec<FoundCode>,
}

fn search(sources: [&str; 3], preheader: &str) -> Digits {
    let bound = domain_bound(sources);
    if let Some(found) = bound.as_ref().filter(|found| found.depth == 0) {
        return Digits {
            otp: bound.clone(),
            labelled: vec![found.clone()],
        };
    }
    let normalized = sources.map(with_digits);
    let mut labelled = labelled([sources[0], preheader], &normalized);
    labelled.splice(0..0, bound);
    let depths = Depths::of(&labelled);
    let newest = labelled
        .iter()
        .min_by_key(|found| depths.depth(found))
        .cloned();
    Digits {
        otp: newest.or_else(|| six_digits(&normalized)),
        labelled,
    }
}

/// The code in the last line `@example.com #123456`.
fn domain_bound(sources: [&str; 3]) -> Option<FoundCode> {
    let (source, code) =
        (1..3).find_map(|source| Some((source, normalize::domain_bound(sources[source])?)))?;
    let text = sources[source].trim_end();
    let last = text.matches(normalize::LINE_ENDS).count();
    let mut lines = Lines::of(text);
    lines.number(text.len());
    Some(FoundCode {
        code,
        rule: OtpRule::DomainBound,
        source,
        lines: (last, last),
        depth: lines.depth(),
    })
}

/// The labelled codes of all sources, the best first; of equal ones, the one in the earlier source.
/// The titles, the subject and the preheader, may only have the label.
fn labelled(titles: [&str; 2], sources: &[String; 3]) -> Vec<FoundCode> {
    let mut found: Vec<(Pairing, FoundCode)> = Vec::new();
    for (source, text) in sources.iter().enumerate() {
        let numbers = Labelled::new(text, &VOCABULARY, numbers::candidates(text));
        let mut lines = Lines::of(text);
        let mut place = |(pairing, number): (Pairing, Number)| {
            (
                pairing,
                FoundCode::at(&mut lines, source, number.start..number.end, rule(pairing)),
            )
        };
        let earlier = found.len();
        found.extend(
            numbers
                .pairings()
                .map(|(pairing, _, number)| place((pairing, number))),
        );
        let own = found[earlier..].iter().map(|(_, found)| found.depth);
        if let Some(depth) = own.min().filter(|depth| *depth > 0) {
            let mut lines = Lines::of(text);
            let answer = numbers.answer(|number| {
                lines.number(number.start);
                lines.depth() < depth
            });
            found.extend(answer.map(|number| {
                let place = number.start..number.end;
                let lines = &mut Lines::of(text);
                let found = FoundCode::at(lines, source, place, rule(Pairing::Alone));
                (Pairing::Alone, found)
            }));
        }
        if source != SUBJECT && found.is_empty() && titles.into_iter().any(has_label) {
            found.extend(
                numbers
                    .lone()
                    .map(|(_, number)| place((Pairing::Alone, number))),
            );
        }
    }
    // The sort is stable.
    found.sort_by_key(|(pairing, _)| *pairing);
    found.into_iter().map(|(_, found)| found).collect()
}

/// The labelled codes, the digits first. Of several messages that are quoted in each other, those
/// of the newest.
fn all_labelled(sources: [&str; 3], digits: Vec<FoundCode>) -> Vec<FoundCode> {
    let mut all = digits;
    all.extend(other::find(sources));
    let of = Depths::of(&all);
    let depths: Vec<usize> = all.iter().map(|found| of.depth(found)).collect();
    let least = depths.iter().copied().min().unwrap_or_default();
    all.into_iter()
        .zip(depths)
        .filter(|(_, depth)| *depth == least)
        .map(|(found, _)| found)
        .collect()
}

/// Whether a title says what a code is called, so that the body needs not.
fn has_label(subject: &str) -> bool {
    let subject = normalize::normalized(subject);
    let phrases = VOCABULARY.phrases(&subject, 0..subject.len());
    phrases
        .iter()
        .any(|phrase| phrase.meaning == vocabulary::Meaning::Label)
}

/// The first standalone six-digit number of the text; if there is none, that of the HTML.
fn six_digits(sources: &[String; 3]) -> Option<FoundCode> {
    let word = |source: Source| Some((source, numbers::first_six_digit_word(&sources[source])?));
    let (source, place) = (1..3).find_map(word)?;
    Some(FoundCode::at(
        &mut Lines::of(&sources[source]),
        source,
        place,
        OtpRule::SixDigits,
    ))
}

impl FoundCode {
    /// The digits at a place of a normalised text, after those that were found in it before.
    fn at(lines: &mut Lines<'_>, source: Source, place: Range<usize>, rule: OtpRule) -> Self {
        let code = numbers::digits(&lines.text()[place.clone()]);
        let first = lines.number(place.start);
        let depth = lines.depth();
        Self {
            code,
            rule,
            source,
            lines: (first, lines.number(place.end)),
            depth,
        }
    }

    fn recognised(self, sources: [&str; 3]) -> Code {
        let Self {
            code,
            rule,
            source,
            lines: (first, last),
            ..
        } = self;
        // Normalising keeps the number of lines. Of a long text, only the searched part is split,
        // once for each code.
        let lines = searched(sources[source])
            .split(normalize::LINE_ENDS)
            .skip(first)
            .take(last + 1 - first);
        let line = lines.collect::<Vec<_>>().join("\n");
        let line = line.trim();
        Code {
            code,
            rule,
            line: line[..line.floor_char_boundary(LINE_BYTES)].to_owned(),
        }
    }
}

fn rule(pairing: Pairing) -> OtpRule {
    match pairing {
        Pairing::Adjacent => OtpRule::LabelBefore,
        Pairing::Named => OtpRule::LabelAfter,
        Pairing::Alone => OtpRule::AloneBelowLabel,
        Pairing::Stated | Pairing::Sentence => OtpRule::SameSentence,
        Pairing::Above => OtpRule::AloneAboveLabel,
    }
}

/// The normalised text if it may contain a digit, in any script.
fn with_digits(text: &str) -> String {
    let may_have_digits = text
        .bytes()
        .any(|byte| !byte.is_ascii() || byte.is_ascii_digit());
    if may_have_digits {
        normalize::normalized(text)
    } else {
        String::new()
    }
}

/// The part of a text that is searched.
fn searched(text: &str) -> &str {
    &text[..text.floor_char_boundary(CODE_SEARCH_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_its_line_as_written() {
        for (text, line) in [
            (
                "Hello\n\nYour code is 481 516.\nBye\nAda",
                "Your code is 481 516.",
            ),
            (
                "Hello\nYour code:\n4\n8\n1\n5\n\nBye\nAda\n1 Main Street",
                "4\n8\n1\n5",
            ),
        ] {
            let found = recognise("", text, "", &Page::default())
                .otp
                .map(|otp| otp.line);
            assert_eq!(found.as_deref(), Some(line));
        }
    }

    #[test]
    fn a_text_of_many_codes_lists_the_first() {
        for (start, end) in [("", " "), ("", "\n"), ("> ", "\n")] {
            let text: String = (100_000..101_000)
                .map(|number| format!("{start}Your code is {number}{end}"))
                .collect();
            let found = recognise("", &text, "", &Page::default());
            let codes: Vec<String> = found
                .labelled
                .iter()
                .map(|found| found.code.clone())
                .collect();
            assert_eq!(
                codes,
                (100_000..100_100)
                    .map(|number| number.to_string())
                    .collect::<Vec<_>>()
            );
            let is_short = |found: &Code| {
                found.line.len() <= LINE_BYTES && found.line.contains("Your code is")
            };
            assert!(found.labelled.iter().all(is_short));
        }
    }

    #[test]
    fn a_code_far_below_another_number_is_found() {
        let text = format!(
            "Room 1204 is yours. {} Your code is 4821.",
            "Nothing else is here. ".repeat(100)
        );
        assert_eq!(find("", &text, "", &Page::default()).0, "4821");
    }

    #[test]
    fn a_line_of_many_marks_and_codes_has_its_first_code() {
        let text = format!(
            "{} Your code is 482913. {}",
            ">".repeat(10_000),
            "Your code is 100000. ".repeat(100)
        );
        assert_eq!(find("", &text, "", &Page::default()).0, "482913");
    }
}
