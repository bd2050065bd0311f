//! A search in messages as the pages show it: how far it has come over several steps, and where it
//! continues. The script follows the link until the search has looked at every message, or has
//! found enough.

use super::page::with_query;
use super::search_query::SearchQuery;
use crate::http::query::Query;
use crate::service::FoundMail;

/// How far a search has come. It is part of the link to the next step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SearchProgress {
    searched: usize,
    found: usize,
    /// Messages whose text was compared only in part.
    partly: usize,
}

/// What a page says about its search.
#[derive(Default)]
pub(super) struct SearchStatus {
    pub(super) text: String,
    /// The next step or page.
    pub(super) next: Option<String>,
    /// Whether the script follows `next` automatically, because not enough was found yet.
    pub(super) continues: bool,
}

/// The search of a page: the text, and what it means, or what is wrong with it.
pub(super) struct PageSearch {
    pub(super) text: Option<String>,
    pub(super) query: SearchQuery,
    pub(super) problem: Option<String>,
    /// The progress of the earlier steps.
    progress: SearchProgress,
    /// The position before which this step begins.
    pub(super) before: Option<i64>,
}

impl PageSearch {
    pub(super) fn new(query: &Query) -> Self {
        let text = query.search();
        let parsed = SearchQuery::parse(text.as_deref().unwrap_or_default());
        let (parsed, problem) = match parsed {
            Ok(parsed) => (parsed, None),
            Err(problem) => (SearchQuery::default(), Some(problem)),
        };
        let progress = query
            .first("progress")
            .and_then(|text| SearchProgress::parse(&text))
            .unwrap_or_default();
        let before = query
            .first("before")
            .and_then(|position| position.parse().ok());
        Self {
            text,
            query: parsed,
            problem,
            progress,
            before,
        }
    }

    /// The status after a step that found `found`, of a search that shows `page` results at once.
    /// `total` is the number of messages to look at.
    pub(super) fn status(
        &self,
        found: &FoundMail,
        page: usize,
        total: usize,
        base: &str,
    ) -> SearchStatus {
        let progress = self.progress.after(found);
        let next = found.next.map(|before| {
            let parameters = [
                ("q", self.text.as_deref()),
                ("before", Some(&*before.to_string())),
                ("progress", Some(&*progress.to_string())),
            ];
            with_query(base, &parameters)
        });
        let continues = next.is_some() && progress.found < page;
        SearchStatus {
            text: progress.sentence(Some(total).filter(|_| next.is_some())),
            next,
            continues,
        }
    }
}

impl SearchProgress {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(|number| number.parse::<u32>().ok());
        let mut number = || {
            numbers
                .next()
                .flatten()
                .and_then(|number| usize::try_from(number).ok())
        };
        Some(Self {
            searched: number()?,
            found: number()?,
            partly: number()?,
        })
    }

    fn after(self, step: &FoundMail) -> Self {
        Self {
            searched: self.searched + step.compared,
            found: self.found + step.messages.len(),
            partly: self.partly + step.partly,
        }
    }

    /// `total` is the number of messages to look at, if the search is not over.
    fn sentence(self, total: Option<usize>) -> String {
        let searched = grouped(self.searched);
        let found = grouped(self.found);
        let of = match total {
            None => format!("all {searched}"),
            Some(total) => {
                let total = grouped(total.max(self.searched));
                format!("{searched} of about {total}")
            }
        };
        let partly = match self.partly {
            0 => String::new(),
            1 => " The text of 1 large message was searched only in part.".to_owned(),
            many => format!(
                " The texts of {} large messages were searched only in part.",
                grouped(many)
            ),
        };
        let messages = if self.searched == 1 && total.is_none() {
            "message"
        } else {
            "messages"
        };
        format!("Searched {of} {messages}, found {found}.{partly}")
    }
}

impl std::fmt::Display for SearchProgress {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{}.{}.{}",
            self.searched, self.found, self.partly
        )
    }
}

/// A number with a comma between its groups of three digits.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_sentence_and_a_parameter() {
        let progress = SearchProgress {
            searched: 40_000,
            found: 3,
            partly: 0,
        };
        assert_eq!(
            progress.sentence(Some(100_000)),
            "Searched 40,000 of about 100,000 messages, found 3."
        );
        assert_eq!(
            progress.sentence(None),
            "Searched all 40,000 messages, found 3."
        );
        assert_eq!(SearchProgress::parse(&progress.to_string()), Some(progress));
        for text in ["", "1.2", "1.2.x", "-1.2.3", "99999999999.0.0"] {
            assert_eq!(SearchProgress::parse(text), None, "{text}");
        }
        let one = SearchProgress {
            searched: 1,
            found: 0,
            partly: 1,
        };
        let text = "Searched all 1 message, found 0. The text of 1 large message was searched only in part.";
        assert_eq!(one.sentence(None), text);
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
