//! Which messages of an inbox to read. Subjects and senders are compared here and not in SQL:
//! substring search in SQL takes time proportional to the product of both lengths, and cannot be
//! interrupted.

use memchr::memmem;

use super::StoreError;
use super::content::{fold_case, on_blocking_thread};
use super::messages::{FEW_HEADS, Head};
use crate::model::{Features, HeaderFilter};

/// Heads (rows without content) that are read at once to be compared with a filter, up to
/// `MAX_HEAD_BYTES`.
const HEADS: usize = 100;
/// Subjects up to this total size are compared on the calling thread, larger ones on a blocking
/// thread.
pub(super) const COMPARED_HERE: usize = 64 * 1024;

/// The messages of an inbox to read.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub(super) after: i64,
    /// Substrings of the subject and of the sender, case-folded.
    subject: Option<String>,
    from: Option<String>,
    has: Features,
    /// What is compared with the content; `None` if that is nothing.
    pub(super) content: Option<ContentFilter>,
}

/// The filters for the content of a message, case-folded.
#[derive(Clone, Debug, Default)]
pub(super) struct ContentFilter {
    pub(super) text: Option<String>,
    /// Substring of the fields To and Cc.
    pub(super) to: Option<String>,
    /// The name of a field, and a substring of its value.
    pub(super) header: Option<(String, String)>,
}

impl ContentFilter {
    pub(super) fn reads_header(&self) -> bool {
        self.to.is_some() || self.header.is_some()
    }
}

/// The search of a wait for the oldest message of a selection. It compares each message once: the
/// next look continues after the last one, until the search has to [restart](Self::restart).
#[derive(Debug)]
pub struct Search {
    selection: Selection,
    /// Messages up to this sequence have been compared.
    pub(super) after: i64,
    /// The number of comparisons.
    pub(super) compared: usize,
}

impl Search {
    #[must_use]
    pub fn new(selection: Selection) -> Self {
        Self {
            after: selection.after,
            selection,
            compared: 0,
        }
    }

    /// Lets the next look start at the first message again.
    pub fn restart(&mut self) {
        self.after = self.selection.after;
    }

    /// The number of messages that were compared.
    #[must_use]
    pub fn compared(&self) -> usize {
        self.compared
    }

    /// How many heads the next statement reads, after one that read `last`. A look usually finds
    /// few new messages.
    pub(super) fn heads_after(&self, last: usize) -> usize {
        (last * 4).max(FEW_HEADS).min(self.selection.heads_for(1))
    }

    pub(super) fn selection(&self) -> &Selection {
        &self.selection
    }
}

impl Selection {
    /// Selects messages after the sequence `after` whose subject contains `subject`,
    /// case-insensitive.
    #[must_use]
    pub fn new(after: i64, subject: Option<&str>) -> Self {
        Self {
            after,
            subject: folded(subject),
            ..Self::default()
        }
    }

    /// Selects of these the messages whose sender contains `from`, case-insensitive.
    #[must_use]
    pub fn from(self, from: Option<&str>) -> Self {
        Self {
            from: folded(from),
            ..self
        }
    }

    /// Selects of these the messages that have all `features`.
    #[must_use]
    pub fn with(self, has: Features) -> Self {
        Self { has, ..self }
    }

    /// Selects of these the messages whose text contains `text`, whose field To or Cc contains
    /// `to`, and that have the field `header`, case-insensitive.
    #[must_use]
    pub fn containing(
        self,
        text: Option<&str>,
        to: Option<&str>,
        header: Option<&HeaderFilter>,
    ) -> Self {
        let header = header.map(|header| (header.name.clone(), fold_case(&header.part)));
        let filter = ContentFilter {
            text: folded(text),
            to: folded(to),
            header,
        };
        Self {
            content: Some(filter).filter(|filter| filter.text.is_some() || filter.reads_header()),
            ..self
        }
    }

    /// Those of the messages that match, without regard to their content.
    pub(super) async fn matching(&self, mut heads: Vec<Head>) -> Result<Vec<Head>, StoreError> {
        if heads
            .iter()
            .map(|head| head.subject_folded.len())
            .sum::<usize>()
            <= COMPARED_HERE
        {
            heads.retain(|head| self.matches(head));
            return Ok(heads);
        }
        let selection = self.clone();
        let compare = move || {
            heads
                .into_iter()
                .filter(|head| selection.matches(head))
                .collect()
        };
        on_blocking_thread(compare).await
    }

    fn matches(&self, head: &Head) -> bool {
        self.missed_by(head).is_empty()
    }

    /// The names of the filters that exclude a message, without regard to its content.
    pub(super) fn missed_by(&self, head: &Head) -> Vec<&'static str> {
        let contains =
            |text: &str, part: &String| memmem::find(text.as_bytes(), part.as_bytes()).is_some();
        let subject = self
            .subject
            .as_ref()
            .is_none_or(|part| contains(&head.subject_folded, part));
        let from = self
            .from
            .as_ref()
            .is_none_or(|part| contains(&fold_case(&head.sender), part));
        let has = head.has.has_all(self.has);
        let after = head.sequence > self.after;
        let filters = [
            ("subject", subject),
            ("from", from),
            ("has", has),
            ("after", after),
        ];
        filters
            .into_iter()
            .filter_map(|(name, passed)| (!passed).then_some(name))
            .collect()
    }

    /// How many heads to read at once in order to find `wanted` messages.
    pub(super) fn heads_for(&self, wanted: usize) -> usize {
        if self.is_filter() { HEADS } else { wanted }
    }

    /// Whether messages after the cursor may be left out.
    pub(super) fn is_filter(&self) -> bool {
        let has_head_filter =
            self.subject.is_some() || self.from.is_some() || self.has != Features::default();
        has_head_filter || self.content.is_some()
    }
}

fn folded(text: Option<&str>) -> Option<String> {
    text.map(fold_case).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{MessageId, Timestamp, generate_inbox_id};

    fn head(sender: &str, subject: &str, has: Features) -> Head {
        Head {
            id: MessageId::generate(),
            inbox_id: generate_inbox_id(),
            shared: None,
            sequence: 1,
            sender: sender.to_owned(),
            subject: subject.to_owned(),
            subject_folded: fold_case(subject),
            received_at: Timestamp::from_millis(0),
            has,
            code: String::new(),
            attachments: 0,
            content_number: 1,
            recipients: None,
            parsed_size: 0,
            raw_size: 0,
            data: None,
        }
    }

    #[test]
    fn a_filter_is_found_anywhere_in_the_subject() {
        let matches = |filter, subject: &str| {
            Selection::new(0, Some(filter)).matches(&head("", subject, Features::default()))
        };
        assert!(
            matches("", "Welcome")
                && matches("COME", "Welcome")
                && matches("istanbul", "Hello İstanbul")
        );
        assert!(
            matches("100%_\\", "Save 100%_\\")
                && !matches("%", "Welcome")
                && !matches("_", "Welcome")
        );
    }

    #[test]
    fn each_filter_that_excludes_a_message_is_named() {
        let message = head(
            "Shop@App.example",
            "Welcome",
            Features {
                otp: true,
                ..Features::default()
            },
        );
        let both = Features {
            otp: true,
            link: true,
            ..Features::default()
        };
        let selection = Selection::new(1, Some("code"))
            .from(Some("bank@"))
            .with(both);
        assert_eq!(
            selection.missed_by(&message),
            ["subject", "from", "has", "after"]
        );
        let selection = Selection::new(0, Some("WEL"))
            .from(Some("shop@app"))
            .with(Features {
                otp: true,
                ..Features::default()
            });
        assert!(selection.matches(&message));
    }
}
