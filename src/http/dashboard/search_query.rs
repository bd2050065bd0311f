//! The search syntax of the dashboard:
//! `from:shop subject:"Sign in" has:code after:2026-11-24 word`. All conditions must be met. A
//! mistake in an operator is an error, because a search without it would find something else.

use crate::model::{Domain, Features, MailFilter, MailPart, MailTerm, SearchText, Timestamp};

/// Maximum number of bytes of a search, and of words in it.
const MAX_BYTES: usize = 4 * 1024;
const MAX_WORDS: usize = 50;
/// The operators that name a part of a message.
const PARTS: [(&str, MailPart); 4] = [
    ("from", MailPart::From),
    ("to", MailPart::To),
    ("subject", MailPart::Subject),
    ("text", MailPart::Text),
];
const OTHERS: [&str; 4] = ["has", "before", "after", "is"];

/// A search as it was written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SearchQuery {
    pub(super) terms: Vec<(MailPart, String)>,
    pub(super) has: Features,
    pub(super) has_attachment: bool,
    /// From `after:`.
    pub(super) since: Option<Timestamp>,
    /// From `before:`.
    pub(super) until: Option<Timestamp>,
    /// Whether waits that timed out are wanted, and not messages.
    pub(super) is_failed: bool,
}

/// A word, with the name before its first colon if that is an operator.
#[derive(Debug, Default)]
struct Word {
    operator: Option<String>,
    value: String,
    has_quotes: bool,
}

impl SearchQuery {
    /// Parses a search.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub(super) fn parse(search: &str) -> Result<Self, String> {
        if search.len() > MAX_BYTES {
            return Err(format!("The search is longer than {MAX_BYTES} bytes."));
        }
        let words = words(search);
        if words.len() > MAX_WORDS {
            return Err(format!("The search has more than {MAX_WORDS} words."));
        }
        let mut query = Self::default();
        for word in words {
            query.add(word)?;
        }
        Ok(query)
    }

    fn add(
        &mut self,
        Word {
            operator, value, ..
        }: Word,
    ) -> Result<(), String> {
        let Some(operator) = operator else {
            self.terms.push((MailPart::Anywhere, value));
            return Ok(());
        };
        if value.is_empty() {
            return Err(format!(
                "{operator}: needs a value directly after the colon."
            ));
        }
        match operator.as_str() {
            "has" => self.add_feature(&value)?,
            "is" if value.eq_ignore_ascii_case("failed") => self.is_failed = true,
            "is" => return Err(format!("is:{value} is not known. Use is:failed.")),
            "after" => self.since = self.since.max(Some(time(&operator, &value)?)),
            "before" => {
                let until = time(&operator, &value)?;
                self.until = Some(self.until.map_or(until, |other| other.min(until)));
            }
            name => {
                let part = PARTS
                    .iter()
                    .find(|(known, _)| *known == name)
                    .map_or(MailPart::Anywhere, |(_, part)| *part);
                self.terms.push((part, value));
            }
        }
        Ok(())
    }

    fn add_feature(&mut self, value: &str) -> Result<(), String> {
        match value.to_ascii_lowercase().as_str() {
            "otp" => self.has.otp = true,
            "code" => self.has.code = true,
            "link" => self.has.link = true,
            "attachment" => self.has_attachment = true,
            _ => {
                return Err(format!(
                    "has:{value} is not known. Use has:otp, has:code, has:link or has:attachment."
                ));
            }
        }
        Ok(())
    }

    /// The messages that it means.
    pub(super) fn filter(&self, mail_domain: &Domain) -> MailFilter {
        let term = |(part, text): &(MailPart, String)| MailTerm {
            part: *part,
            text: SearchText::new(text, mail_domain),
        };
        MailFilter {
            terms: self.terms.iter().map(term).collect(),
            has: self.has,
            has_attachment: self.has_attachment,
            since: self.since,
            until: self.until,
            ..MailFilter::default()
        }
    }

    /// The text to look for in addresses and names; `None` if it has conditions that only a message
    /// can meet.
    pub(super) fn address_text(&self) -> Option<String> {
        let is_name =
            |(part, _): &(MailPart, String)| matches!(part, MailPart::Anywhere | MailPart::To);
        let Self {
            has,
            has_attachment,
            since,
            until,
            ..
        } = self;
        let is_plain =
            *has == Features::default() && !has_attachment && since.is_none() && until.is_none();
        (is_plain && self.terms.iter().all(is_name)).then(|| self.words())
    }

    /// The texts that it looks for.
    pub(super) fn words(&self) -> String {
        self.terms
            .iter()
            .map(|(_, text)| text.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// The words. A part in quotation marks may have spaces; the marks are left out.
fn words(search: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word = Word::default();
    let mut is_quoted = false;
    for character in search.chars() {
        match character {
            '"' => {
                is_quoted = !is_quoted;
                word.has_quotes = true;
            }
            ':' if !word.has_quotes && word.operator.is_none() && is_operator(&word.value) => {
                word.operator = Some(std::mem::take(&mut word.value).to_ascii_lowercase());
            }
            _ if character.is_whitespace() && !is_quoted => words.push(std::mem::take(&mut word)),
            _ => word.value.push(character),
        }
    }
    words.push(word);
    for word in &mut words {
        word.value = word.value.trim().to_owned();
    }
    words.retain(|word| word.operator.is_some() || !word.value.is_empty());
    words
}

fn is_operator(name: &str) -> bool {
    let parts = PARTS.iter().map(|(part, _)| *part);
    parts
        .chain(OTHERS)
        .any(|known| known.eq_ignore_ascii_case(name))
}

/// A date, which is its first moment, or a time; in UTC.
fn time(operator: &str, value: &str) -> Result<Timestamp, String> {
    let whole = match value.len() {
        10 => format!("{value}T00:00:00Z"),
        16 => format!("{value}:00Z"),
        19 => format!("{value}Z"),
        _ => value.to_owned(),
    };
    let since_epoch = humantime::parse_rfc3339_weak(&whole).ok().and_then(|time| {
        let millis = time
            .duration_since(std::time::SystemTime::UNIX_EPOCH)
            .ok()?
            .as_millis();
        i64::try_from(millis).ok()
    });
    since_epoch.map(Timestamp::from_millis).ok_or_else(|| {
        format!(
            "{operator}:{value} is not a date. Write a date such as 2026-11-24, or a time in UTC: 2026-11-24T09:30."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::MailPart::{Anywhere, From, Subject, Text, To};
    use super::*;

    #[test]
    fn operators_take_words_and_quoted_texts() {
        for (search, terms) in [
            ("sign in", &[(Anywhere, "sign"), (Anywhere, "in")][..]),
            ("\"sign in\"", &[(Anywhere, "sign in")]),
            (
                "subject:\"Sign in\" now",
                &[(Subject, "Sign in"), (Anywhere, "now")],
            ),
            (
                "FROM:shop to:u5@a.example",
                &[(From, "shop"), (To, "u5@a.example")],
            ),
            ("text:482913", &[(Text, "482913")]),
            ("text:a:b", &[(Text, "a:b")]),
            (
                "https://a.example/x 10:30",
                &[(Anywhere, "https://a.example/x"), (Anywhere, "10:30")],
            ),
            ("\"from:x\" Re:", &[(Anywhere, "from:x"), (Anywhere, "Re:")]),
            ("\"not closed", &[(Anywhere, "not closed")]),
            ("  \"\" ", &[]),
        ] {
            let expected: Vec<_> = terms
                .iter()
                .map(|(part, text)| (*part, (*text).to_owned()))
                .collect();
            assert_eq!(
                SearchQuery::parse(search).unwrap().terms,
                expected,
                "{search}"
            );
        }
    }

    #[test]
    fn conditions_on_features_and_times_are_read() {
        let query =
            SearchQuery::parse("has:otp has:Code has:link has:attachment is:failed").unwrap();
        assert_eq!(
            (query.has, query.has_attachment),
            (
                Features {
                    otp: true,
                    code: true,
                    link: true
                },
                true
            )
        );
        assert!(query.is_failed && query.terms.is_empty());
        for (value, time) in [
            ("2026-11-24", "2026-11-24T00:00:00.000Z"),
            ("2026-11-24T09:30", "2026-11-24T09:30:00.000Z"),
            ("\"2026-11-24 09:30:15\"", "2026-11-24T09:30:15.000Z"),
            ("2026-11-24T09:30:15.250Z", "2026-11-24T09:30:15.250Z"),
        ] {
            let query = SearchQuery::parse(&format!("after:{value} before:{value}")).unwrap();
            let times = [query.since, query.until].map(|time| time.unwrap().to_string());
            assert_eq!(times, [time, time], "{value}");
        }
        let query = SearchQuery::parse(
            "before:2026-11-24 before:2026-11-20 after:2026-11-01 after:2026-11-02",
        )
        .unwrap();
        let times = [query.since, query.until].map(|time| time.unwrap().to_string());
        assert_eq!(
            times,
            ["2026-11-02T00:00:00.000Z", "2026-11-20T00:00:00.000Z"]
        );
    }

    #[test]
    fn a_mistake_is_named() {
        for (search, error) in [
            (
                "has:codes",
                "has:codes is not known. Use has:otp, has:code, has:link or has:attachment.",
            ),
            ("is:read", "is:read is not known. Use is:failed."),
            (
                "from: shop",
                "from: needs a value directly after the colon.",
            ),
            (
                "a SUBJECT:\"\"",
                "subject: needs a value directly after the colon.",
            ),
        ] {
            assert_eq!(SearchQuery::parse(search).unwrap_err(), error);
        }
        for date in [
            "yesterday",
            "2026-13-01",
            "24.11.2026",
            "2026-11-24T25:00",
            "1969-12-31",
            "é26-11-24",
        ] {
            let error = SearchQuery::parse(&format!("before:{date}")).unwrap_err();
            assert!(
                error.starts_with(&format!("before:{date} is not a date.")),
                "{error}"
            );
        }
        assert!(SearchQuery::parse(&"a".repeat(MAX_BYTES + 1)).is_err());
        assert!(SearchQuery::parse(&"a ".repeat(MAX_WORDS + 1)).is_err());
    }

    #[test]
    fn only_a_search_for_a_name_looks_for_inboxes() {
        let text = |search| SearchQuery::parse(search).unwrap().address_text();
        assert_eq!(text("u5 is:failed").as_deref(), Some("u5"));
        assert_eq!(text("to:u5@a.example").as_deref(), Some("u5@a.example"));
        for search in ["from:shop", "u5 has:code", "u5 before:2026-11-24"] {
            assert_eq!(text(search), None, "{search}");
        }
    }
}
