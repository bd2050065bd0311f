//! Finds where a text quotes an older message without `>`: at what a mail client writes above the
//! quote. This is a line of the kind "-----Original Message-----", the header fields of the older
//! message, or "On … wrote:".
//!
//! If lines with `>` follow, only those are the quote: an answer may be below them.

use super::normalize::lower_case;

/// Maximum number of quotes within quotes that are found.
const MAX_HEADS: usize = 8;
/// Maximum number of bytes of the name of a field, with its colon.
const NAME_BYTES: usize = 32;
/// Maximum number of lines with text from one field of the older message to the other.
const FIELD_LINES: usize = 8;
/// Maximum number of bytes of a line of the kind "On … wrote:".
const ATTRIBUTION_BYTES: usize = 300;
/// Minimum number of numbers in the date of such a line.
const DATE_NUMBERS: usize = 2;

/// The names of the fields From and Subject, as clients translate them.
const FROM: &[&str] = &[
    "from",
    "von",
    "de",
    "da",
    "van",
    "från",
    "fra",
    "lähettäjä",
    "od",
    "feladó",
    "de la",
    "από",
    "kimden",
    "от",
    "від",
    "差出人",
    "发件人",
    "寄件者",
    "보낸 사람",
];
const SUBJECT: &[&str] = &[
    "subject",
    "betreff",
    "objet",
    "asunto",
    "oggetto",
    "assunto",
    "onderwerp",
    "ämne",
    "emne",
    "aihe",
    "temat",
    "předmět",
    "tárgy",
    "subiect",
    "θέμα",
    "konu",
    "тема",
    "件名",
    "主题",
    "主旨",
    "제목",
];

/// The words between hyphens above a quote.
const SEPARATORS: &[&str] = &[
    "original message",
    "forwarded message",
    "ursprüngliche nachricht",
    "originalnachricht",
    "weitergeleitete nachricht",
    "message d'origine",
    "message original",
    "message transféré",
    "mensaje original",
    "mensaje reenviado",
    "messaggio originale",
    "messaggio inoltrato",
    "mensagem original",
    "mensagem encaminhada",
    "oorspronkelijk bericht",
    "doorgestuurd bericht",
];

/// "Wrote" in the line above a quote.
const WROTE: &[&str] = &[
    "wrote",
    "schrieb",
    "écrit",
    "escribió",
    "scritto",
    "escreveu",
    "schreef",
    "geschreven",
    "skrev",
    "kirjoitti",
    "napisał",
    "napsal",
    "írta",
    "scris",
    "έγραψε",
    "yazdı",
    "писал",
    "пишет",
    "пише",
    "写道",
    "寫道",
    "작성",
];

/// Where each quote starts: at the start of a line. Each later one is in the one before.
pub(super) fn starts(text: &str) -> Vec<usize> {
    let mut lines = text.split('\n');
    let mut place = 0;
    let mut above = "";
    let mut starts = Vec::new();
    while let Some(line) = lines.next()
        && starts.len() < MAX_HEADS
    {
        let next = lines.clone();
        if is_separator(line) && is_unmarked(next.clone()) || is_block(line, next.clone()) {
            starts.push(place);
        } else if let Some(is_wrapped) = attribution(above, line)
            && is_unmarked(next)
        {
            starts.push(if is_wrapped {
                place - above.len() - 1
            } else {
                place
            });
        }
        place += line.len() + 1;
        above = line;
    }
    starts
}

/// Whether the next line with text has no `>`.
fn is_unmarked<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    with_text(lines)
        .next()
        .is_some_and(|line| !line.starts_with('>'))
}

fn with_text<'a>(lines: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    lines.filter(|line| !line.trim().is_empty())
}

/// Whether the line is "-----Original Message-----".
fn is_separator(line: &str) -> bool {
    if !line.starts_with("--") {
        return false;
    }
    let words = line.trim().trim_matches(['-', ' ']);
    SEPARATORS.iter().any(|separator| is_word(words, separator))
}

/// Whether the line is the From or the Subject of an older message, and the other one is a few
/// lines below. Two of its fields are enough, because their order and number differ; From and To
/// alone are also those of a journey.
fn is_block<'a>(line: &str, next: impl Iterator<Item = &'a str>) -> bool {
    let Some(name) = field_name(line) else {
        return false;
    };
    let is = |names: &[&str], name: &str| names.iter().any(|known| is_word(name, known));
    let other = if is(FROM, name) {
        SUBJECT
    } else if is(SUBJECT, name) {
        FROM
    } else {
        return false;
    };
    let mut has_other = false;
    for line in with_text(next).take(FIELD_LINES) {
        if line.starts_with('>') {
            return false;
        }
        has_other |= field_name(line).is_some_and(|name| is(other, name));
    }
    has_other
}

/// The name of a field, which may be between asterisks: `*From:*`.
fn field_name(line: &str) -> Option<&str> {
    let start = &line[..line.floor_char_boundary(NAME_BYTES)];
    // The first byte of a full-width colon is that of many other characters.
    memchr::memchr2(b':', 0xef, start.as_bytes())?;
    let (name, _) = start.split_once([':', '：'])?;
    Some(name.trim_matches(|one: char| one == '*' || one.is_whitespace()))
}

/// Whether the line, or else the one above and the line, is "On … wrote:". Then the result says
/// whether it is both.
fn attribution(above: &str, line: &str) -> Option<bool> {
    let line = line.trim_end();
    if !line.ends_with([':', '：']) {
        return None;
    }
    let above = above.trim();
    if is_attribution("", line) {
        return Some(false);
    }
    // Only the end of an address, or "wrote:" is on a line of its own.
    let is_end =
        line.ends_with(">:") || line.chars().filter(|one| one.is_whitespace()).count() <= 1;
    (is_end && !above.is_empty() && is_attribution(above, line)).then_some(true)
}

/// Whether these have a date, and "wrote" or an address at the end: some languages have the verb
/// elsewhere.
fn is_attribution(above: &str, line: &str) -> bool {
    if above.len() + line.len() > ATTRIBUTION_BYTES {
        return false;
    }
    let is_part = |one: char| !one.is_ascii_digit();
    let numbers = above
        .split(is_part)
        .chain(line.split(is_part))
        .filter(|number| !number.is_empty())
        .count();
    let has_verb = || {
        let words: String = above
            .chars()
            .chain([' '])
            .chain(line.chars())
            .map(lower_case)
            .collect();
        WROTE.iter().any(|verb| words.contains(verb))
    };
    numbers >= DATE_NUMBERS
        && (line.ends_with(">:") && (line.contains('@') || above.contains('@')) || has_verb())
}

/// Whether the text is this word in lower case.
fn is_word(text: &str, word: &str) -> bool {
    text.len() <= 2 * word.len() && text.chars().map(lower_case).eq(word.chars())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts from the heads of quotes on, in a text with `|` where each is expected to start.
    fn assert_starts(marked: &str) {
        let expected: Vec<usize> = marked
            .match_indices('|')
            .enumerate()
            .map(|(number, (at, _))| at - number)
            .collect();
        assert_eq!(starts(&marked.replace('|', "")), expected, "{marked}");
    }

    #[test]
    fn a_quote_starts_at_its_head() {
        for marked in [
            "Thanks.\n\n|-----Original Message-----\nold",
            "|-- Ursprüngliche Nachricht --\nold",
            "Thanks.\n|From: Ann\nSent: today\nSubject: Hello\nold",
            "|*Betreff:* Hallo\n*Von:* Ann\nalt",
            "|差出人：Ann\n件名：Hello\nold",
            "Hi,\n|On Tue, 3 Nov 2026 at 10:00 Ann wrote:\nold",
            "Hi,\n\n|On 3 Nov 2026 at 10:00 Ann Example\n<ann@a.example> wrote:\n\nold",
            "|Den 3 nov. 2026 kl. 10.00, Ann Example\n<ann@a.example>:\nold",
            "|On 3 Nov 2026 at 10:00 Ann Example <ann@a.example>\nwrote:\nold",
            "|On 3 Nov 2026 at 10:00 Ann <ann@a.example>:\nold",
            "|On 3 Nov 2026 at 10:00 Ann wrote:\nolder\n|On 2 Nov 2026 at 9:00 Bob wrote:\noldest",
        ] {
            assert_starts(marked);
        }
    }

    #[test]
    fn other_lines_are_no_heads() {
        for text in [
            // The quote is marked, or empty.
            "On 3 Nov 2026 at 10:00 Ann wrote:\n\n> old\nanswer",
            "-----Original Message-----\n> old",
            "From: Ann\n> Subject: Hello",
            "On 3 Nov 2026 at 10:00 Ann wrote:\n \n",
            // Without a date, a verb or an end.
            "Ann wrote:\nold",
            "On day 3 Ann wrote:\nold",
            "On 3 Nov 2026 at 10:00 you can choose:\na time",
            "On 3 Nov 2026 at 10:00 choose <one of these>:\na time",
            "We are at a@b.example on 3 Nov 2026 at 10:00, so choose:\na time",
            "On 3 Nov 2026 at 10:00 Ann wrote\nold",
            // A sentence of its own below the line with the date.
            "It is 3 Nov 2026, 10:00.\nThis is what Ann wrote:\nold",
            // Fields of something else.
            "From: Berlin\nTo: Paris\nSeat: 12",
            "Name: Ann\nSubject: Hello\nold",
            "From: Ann\nhello\nold",
            "Hyphens\n-----\nold",
            "Original message\nold",
        ] {
            assert_starts(text);
        }
    }

    #[test]
    fn what_is_read_is_limited() {
        let head = "On 3 Nov 2026 at 10:00 Ann wrote:";
        assert_eq!(
            starts(&format!("{head}\nold\n").repeat(MAX_HEADS + 1)).len(),
            MAX_HEADS
        );
        let long =
            |bytes: usize| format!("On 3 Nov 2026 at 10:00 {} wrote:\nold", "x".repeat(bytes));
        let rest = long(0).len() - "\nold".len();
        assert_eq!(starts(&long(ATTRIBUTION_BYTES - rest)), [0]);
        assert!(starts(&long(ATTRIBUTION_BYTES - rest + 1)).is_empty());
        let fields = |between: usize| {
            format!(
                "From: Ann\n{}Subject: Hello\nold",
                "\nX: y\n".repeat(between)
            )
        };
        assert_eq!(starts(&fields(FIELD_LINES - 1)), [0]);
        assert!(starts(&fields(FIELD_LINES)).is_empty());
    }
}
