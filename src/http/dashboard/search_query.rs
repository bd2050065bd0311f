//! The search syntax of the dashboard:
//! `from:shop subject:"Sign in" has:code after:2026-11-24 word`. All conditions must be met. A
//! mistake in an operator is an error, because a search without it would find something else.

use crate::http::search_words::{Word, words};
use crate::model::{Condition, Domain, Features, MailPart, MailQuery, Scope, Timestamp};

/// The names before a colon that have a meaning.
const OPERATORS: [&str; 9] = [
    "from", "to", "test", "subject", "text", "has", "is", "after", "before",
];

/// A search as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SearchQuery {
    /// The texts that it looks for, each with its operator, or none.
    pub(super) terms: Vec<(&'static str, String)>,
    pub(super) has: Features,
    pub(super) has_attachment: bool,
    /// From `after:`.
    pub(super) since: Option<Timestamp>,
    /// From `before:`.
    pub(super) until: Option<Timestamp>,
    /// Whether waits that failed are wanted, and not messages.
    pub(super) is_failed: bool,
}

impl SearchQuery {
    /// Parses a search.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub(super) fn parse(search: &str) -> Result<Self, String> {
        let mut query = Self::default();
        for word in words(search)? {
            query.add(&word)?;
        }
        Ok(query)
    }

    fn add(&mut self, word: &Word) -> Result<(), String> {
        let (operator, value) = word
            .operator()
            .filter(|_| !word.is_quoted())
            .and_then(|(name, value)| {
                Some((OPERATORS.into_iter().find(|known| *known == name)?, value))
            })
            .unwrap_or(("", &word.text));
        if value.is_empty() {
            return Err(format!(
                "{operator}: needs a value directly after the colon."
            ));
        }
        match operator {
            "has" => self.add_feature(value)?,
            "is" if value.eq_ignore_ascii_case("failed") => self.is_failed = true,
            "is" => return Err(format!("is:{value} is not known. Use is:failed.")),
            "after" => self.since = self.since.max(Some(time(operator, value)?)),
            "before" => {
                let until = time(operator, value)?;
                self.until = Some(self.until.map_or(until, |other| other.min(until)));
            }
            _ => self.terms.push((operator, value.to_owned())),
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

    /// The messages that it means. In an inbox, a word is not compared with its address and its
    /// label.
    pub(super) fn query(&self, scope: Scope, mail_domain: &Domain) -> MailQuery {
        let is_inbox = matches!(scope, Scope::Inbox(_));
        let condition = |(operator, text): &(&str, String)| {
            let parts = match *operator {
                "from" => vec![MailPart::Sender],
                "to" => vec![MailPart::Inbox(mail_domain.clone())],
                "test" => vec![MailPart::Label],
                "subject" => vec![MailPart::Subject],
                "text" => vec![MailPart::Text],
                _ if is_inbox => MailPart::anywhere(None),
                _ => {
                    let mut parts = MailPart::anywhere(Some(mail_domain));
                    parts.push(MailPart::Label);
                    parts
                }
            };
            Condition::searched(parts, text)
        };
        MailQuery {
            conditions: self.terms.iter().map(condition).collect(),
            has: self.has,
            has_attachment: Some(true).filter(|_| self.has_attachment),
            since: self.since,
            until: self.until,
            ..MailQuery::new(scope)
        }
    }

    /// The text to look for in addresses and labels; `None` if it has conditions that only a message
    /// can meet.
    pub(super) fn name(&self) -> Option<String> {
        let is_name = |(operator, _): &(&str, String)| matches!(*operator, "" | "to" | "test");
        let is_plain = Self {
            terms: Vec::new(),
            is_failed: false,
            since: self.since.filter(|_| !self.is_failed),
            until: self.until.filter(|_| !self.is_failed),
            ..self.clone()
        } == Self::default();
        let words = self.terms.iter().map(|(_, text)| text.as_str());
        (is_plain && self.terms.iter().all(is_name)).then(|| words.collect::<Vec<_>>().join(" "))
    }
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
    use super::*;

    #[test]
    fn operators_take_words_and_quoted_texts() {
        for (search, terms) in [
            ("sign in", &[("", "sign"), ("", "in")][..]),
            ("\"sign in\"", &[("", "sign in")]),
            (
                "subject:\"Sign in\" now",
                &[("subject", "Sign in"), ("", "now")],
            ),
            (
                "FROM:shop to:u5@a.example",
                &[("from", "shop"), ("to", "u5@a.example")],
            ),
            ("text:482913", &[("text", "482913")]),
            ("text:a:b", &[("text", "a:b")]),
            (
                "https://a.example/x 10:30",
                &[("", "https://a.example/x"), ("", "10:30")],
            ),
            ("\"from:x\" Re:", &[("", "from:x"), ("", "Re:")]),
            ("\"not closed", &[("", "not closed")]),
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
    }

    #[test]
    fn only_a_search_for_a_name_looks_for_inboxes() {
        let text = |search| SearchQuery::parse(search).unwrap().name();
        assert_eq!(text("u5 is:failed").as_deref(), Some("u5"));
        assert_eq!(text("to:u5@a.example").as_deref(), Some("u5@a.example"));
        for search in ["from:shop", "u5 has:code", "u5 before:2026-11-24"] {
            assert_eq!(text(search), None, "{search}");
        }
    }
}
