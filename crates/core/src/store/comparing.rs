//! Compares a condition with a message: first with its row, then with its content. Subjects and
//! senders are not compared in SQL: substring search in SQL takes time proportional to the product
//! of both lengths, and cannot be interrupted.
//!
//! Nothing is parsed again: the text is stored, and of the bytes as received only the header
//! section is read. Of a large message only the start is read, so the memory does not depend on the
//! messages.

use std::cell::OnceCell;

use bytes::Bytes;
use memchr::memmem;
use restante_mail::{Addressing, addressing, header_values};

use super::content::{PIECE, decompress, unpack};
use super::messages::Head;
use super::{ContentForm, Store, StoreError, parts};
use crate::model::{Condition, Fit, MailPart, MailQuery, Reached, fold_case};

/// Maximum number of bytes of a text and of a header section that are compared. Of a longer one,
/// only the start is compared.
pub(super) const COMPARED_BYTES: usize = PIECE;
/// The compared part of a text must be similar to this many of the first characters of a filter.
const CLOSEST_CHARACTERS: usize = 40;
/// Maximum length of the line of a text that comes closest to a filter.
const SHOWN_CHARACTERS: usize = 300;

/// What is compared of a content.
pub(super) struct Start {
    /// The fields that this server put before the message.
    trace: String,
    /// The start of the parsed parts, and of the bytes as received.
    parsed: Bytes,
    raw: Bytes,
    folded_text: OnceCell<String>,
}

impl MailQuery {
    /// Whether the row of a message meets what is no text.
    pub(super) fn admits(&self, head: &Head) -> bool {
        let has_attachment = head.attachments > 0;
        head.has.has_all(self.has)
            && self
                .has_attachment
                .is_none_or(|wanted| wanted == has_attachment)
            && self.since.is_none_or(|since| head.received_at >= since)
            && self.until.is_none_or(|until| head.received_at < until)
    }
}

impl Condition {
    /// Whether a message meets it, which has reached these inboxes, or if there are none, its own;
    /// `None` if only its content shows that.
    pub(super) fn met_by_row(&self, head: &Head, reached: &[Reached]) -> Option<bool> {
        let is_in = |part: &MailPart| match part {
            MailPart::Inbox(domain) => match &head.shared {
                Some(address) => self.fits(address.as_str()),
                // Otherwise a part of the domain would find every inbox.
                None if !self.text.contains('@') => self.fits(head.inbox_id.as_str()),
                None => self.fits(&head.inbox_id.at(domain)),
            },
            MailPart::Recipient(domain) => {
                let own = reached.is_empty().then(|| head.reached());
                reached
                    .iter()
                    .chain(&own)
                    .any(|reached| reached.addresses(domain).any(|address| self.fits(&address)))
            }
            MailPart::Label => {
                let label = head.label.as_deref().unwrap_or_default();
                self.is_within(&fold_case(label))
            }
            MailPart::Sender => self.fits(&head.from),
            MailPart::Subject => self.is_within(&head.subject_folded),
            MailPart::Text | MailPart::Field(_) | MailPart::MessageId => false,
        };
        let is_found = self.parts.iter().any(is_in);
        if !is_found && self.reads_content() {
            return None;
        }
        Some(is_found != self.is_excluded)
    }

    /// Whether a message meets it that has not shown it in its row.
    pub(super) fn met_by_content(&self, start: &Start) -> Result<bool, StoreError> {
        let mut is_found = false;
        for part in &self.parts {
            is_found |= match part {
                MailPart::Text => self.is_within(start.folded_text()?),
                MailPart::Field(name) => start
                    .fields(&[name])
                    .any(|value| self.is_within(&fold_case(&value))),
                MailPart::MessageId => self.is_within(&fold_case(&start.addressing().message_id)),
                MailPart::Inbox(_)
                | MailPart::Label
                | MailPart::Recipient(_)
                | MailPart::Sender
                | MailPart::Subject => false,
            };
        }
        Ok(is_found != self.is_excluded)
    }

    /// The part of the content that comes closest to it.
    pub(super) fn closest(&self, start: &Start) -> Result<String, StoreError> {
        let mut names: Vec<&str> = Vec::new();
        for part in &self.parts {
            match part {
                MailPart::Text => return Ok(self.closest_line(start.text(COMPARED_BYTES)?.0)),
                MailPart::Field(name) => names.push(name),
                _ => {}
            }
        }
        Ok(short(&start.fields(&names).collect::<Vec<_>>().join(", ")))
    }

    fn fits(&self, address: &str) -> bool {
        let folded = fold_case(address);
        match self.fit {
            Fit::Anywhere => self.is_within(&folded),
            Fit::Start => folded.starts_with(&self.text),
            Fit::Whole => folded == self.text,
        }
    }

    fn is_within(&self, folded: &str) -> bool {
        memmem::find(folded.as_bytes(), self.text.as_bytes()).is_some()
    }

    /// The most similar line: the one that contains most of the groups of three characters.
    fn closest_line(&self, text: &str) -> String {
        let wanted: Vec<char> = self.text.chars().take(CLOSEST_CHARACTERS).collect();
        let groups: Vec<String> = wanted
            .windows(3)
            .map(|group| group.iter().collect())
            .collect();
        let score = |line: &str| {
            let folded = fold_case(line);
            groups
                .iter()
                .filter(|group| folded.contains(group.as_str()))
                .count()
        };
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        // Of equal lines the first.
        lines
            .rev()
            .max_by_key(|line| score(line))
            .map(|line| short(line.trim()))
            .unwrap_or_default()
    }
}

impl Start {
    /// The content of an ordinary message.
    pub(super) fn of_ordinary(
        trace: String,
        data: &[u8],
        parsed_size: usize,
    ) -> Result<Self, StoreError> {
        let mut parsed = Bytes::from(decompress(data)?);
        if parsed_size > parsed.len() {
            return Err(StoreError::Damaged(parts::CUT_OFF));
        }
        let raw = parsed.split_off(parsed_size);
        Ok(Self::new(trace, parsed, raw))
    }

    fn new(trace: String, parsed: Bytes, raw: Bytes) -> Self {
        Self {
            trace,
            parsed,
            raw,
            folded_text: OnceCell::new(),
        }
    }

    /// The start of the text, at most `most` bytes, and whether that is all of it.
    pub(super) fn text(&self, most: usize) -> Result<(&str, bool), StoreError> {
        parts::start_of_text(&self.parsed, most)
    }

    /// The addresses in the header, and the Message-ID.
    pub(super) fn addressing(&self) -> Addressing {
        let mut read = addressing(&self.raw);
        if read.message_id.is_empty() {
            read.message_id = addressing(self.trace.as_bytes()).message_id;
        }
        read
    }

    fn folded_text(&self) -> Result<&str, StoreError> {
        let (text, _) = self.text(COMPARED_BYTES)?;
        Ok(self.folded_text.get_or_init(|| fold_case(text)))
    }

    fn fields(&self, names: &[&str]) -> impl Iterator<Item = String> {
        header_values(&self.raw[..self.raw.len().min(COMPARED_BYTES)], names)
    }
}

impl Store {
    /// Reads what is compared of a message; `None` if it was removed.
    pub(super) async fn start(&self, head: &Head) -> Result<Option<Start>, StoreError> {
        let Some((trace, data)) = self.content(head).await? else {
            return Ok(None);
        };
        if !head.is_large() {
            let parsed_size = head.parsed_size;
            let read = move |data: &[u8]| Start::of_ordinary(trace, data, parsed_size);
            return unpack(data, read).await.map(Some);
        }
        let first = async |form| match self.pieces(head, form).next().await {
            Err(StoreError::Removed) => Ok(None),
            piece => piece,
        };
        let parsed = first(ContentForm::Parsed).await?;
        let raw = first(ContentForm::Raw).await?;
        Ok(parsed
            .zip(raw)
            .map(|(parsed, raw)| Start::new(trace, parsed, raw)))
    }
}

fn short(text: &str) -> String {
    text.chars().take(SHOWN_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Domain, Features, InboxId, MessageId, Timestamp};

    fn head(from: &str, subject: &str) -> Head {
        Head {
            id: MessageId::generate(),
            inbox_id: InboxId::parse("u5").unwrap(),
            shared: None,
            sequence: 1,
            from: from.to_owned(),
            subject: subject.to_owned(),
            subject_folded: fold_case(subject),
            received_at: Timestamp::from_millis(0),
            has: Features::default(),
            code: String::new(),
            attachments: 0,
            content_number: 1,
            parsed_size: 0,
            raw_size: 0,
            recipients: None,
            is_shared: false,
            label: None,
            content: None,
        }
    }

    #[test]
    fn a_text_is_found_anywhere_in_a_subject() {
        for (text, subject, is_met) in [
            ("", "Welcome", true),
            ("COME", "Welcome", true),
            ("istanbul", "Hello İstanbul", true),
            ("100%_\\", "Save 100%_\\", true),
            ("%", "Welcome", false),
            ("_", "Welcome", false),
        ] {
            let condition = Condition::new([MailPart::Subject], text);
            let head = head("", subject);
            assert_eq!(condition.met_by_row(&head, &[]), Some(is_met), "{text}");
            let excluded = condition.excluded(true);
            assert_eq!(excluded.met_by_row(&head, &[]), Some(!is_met), "{text}");
        }
    }

    #[test]
    fn an_address_is_compared_as_the_condition_says() {
        let domain = Domain::parse("a.example").unwrap();
        let head = head("Shop@App.example", "");
        let inbox = MailPart::Inbox(domain);
        for (condition, is_met) in [
            (Condition::new([MailPart::Sender], "HOP@app"), true),
            (Condition::searched([MailPart::Sender], "hop@app"), false),
            (Condition::searched([MailPart::Sender], "shop@app"), true),
            (Condition::searched([MailPart::Sender], "@app"), true),
            (Condition::searched([inbox.clone()], "U5@a.ex"), true),
            (Condition::searched([inbox.clone()], "5@a.ex"), false),
            (Condition::searched([inbox.clone()], "5"), true),
            (Condition::searched([inbox.clone()], "example"), false),
            (Condition::whole(inbox.clone(), "U5@A.example"), true),
            (Condition::whole(inbox, "u5@a.exampl"), false),
        ] {
            let met = condition.met_by_row(&head, &[]);
            assert_eq!(met, Some(is_met), "{condition:?}");
        }
        let anywhere = Condition::new(MailPart::anywhere(None), "u5");
        assert_eq!(anywhere.met_by_row(&head, &[]), None);
    }
}
