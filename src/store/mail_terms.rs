//! Compares the texts of a search with a message: first with its row, then with its text, if a text
//! may be there.

use std::sync::Arc;

use bytes::Bytes;
use memchr::memmem::Finder;

use super::content::{decode, fold_case};
use super::messages::Head;
use super::{ContentForm, StoreError, parts};
use crate::model::{MailFilter, MailPart, SharedAddress};

/// Maximum number of bytes of a text that are compared. Of a longer text, only the start is
/// compared.
pub(super) const TEXT_BYTES: usize = 256 * 1024;

/// The texts that a message must contain.
#[derive(Clone)]
pub(super) struct Terms {
    terms: Arc<Vec<Term>>,
    /// Whether the address of the inbox is compared with a text that may be anywhere.
    by_address: bool,
}

struct Term {
    part: MailPart,
    finder: Finder<'static>,
    /// Whether an address has to begin with it.
    begins_address: bool,
    /// What follows the id of an inbox on the mail domain.
    domain: String,
}

/// Whether a message matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    Yes,
    No,
    /// Its text has to be read, because it is not in its row.
    Unread,
}

impl Terms {
    pub(super) fn new(filter: &MailFilter) -> Self {
        let terms = filter.terms.iter().map(|term| Term {
            part: term.part,
            finder: Finder::new(&fold_case(term.text.as_str())).into_owned(),
            begins_address: term.text.begins_address(),
            domain: term.text.domain_part(),
        });
        Self {
            terms: Arc::new(terms.collect()),
            by_address: filter.inbox.is_none(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether a message matches, as far as its row and its content in it show.
    pub(super) fn compare(&self, head: &Head, data: Option<&Bytes>) -> Match {
        let open = self.rest_of(head);
        if open.is_empty() {
            return Match::Yes;
        }
        if !open
            .iter()
            .all(|term| self.terms[*term].part.includes_text())
        {
            return Match::No;
        }
        match text_of(head, data) {
            Some(Ok(text)) if self.all_in_text(&open, &text) => Match::Yes,
            Some(Ok(_)) => Match::No,
            None | Some(Err(_)) => Match::Unread,
        }
    }

    /// The terms that the row of a message does not contain.
    pub(super) fn rest_of(&self, head: &Head) -> Vec<usize> {
        (0..self.terms.len())
            .filter(|term| !self.terms[*term].is_in(head, self.by_address))
            .collect()
    }

    /// Whether a text contains these terms.
    pub(super) fn all_in_text(&self, terms: &[usize], text: &str) -> bool {
        let folded = fold_case(text);
        terms
            .iter()
            .all(|term| self.terms[*term].finder.find(folded.as_bytes()).is_some())
    }
}

impl Term {
    fn is_in(&self, head: &Head, by_address: bool) -> bool {
        let in_subject = || self.finder.find(head.subject_folded.as_bytes()).is_some();
        match self.part {
            MailPart::Anywhere => {
                (by_address && self.is_address_of(head))
                    || in_subject()
                    || self.is_in_address(&head.sender)
            }
            MailPart::From => self.is_in_address(&head.sender),
            MailPart::To => self.is_address_of(head),
            MailPart::Subject => in_subject(),
            MailPart::Text => false,
        }
    }

    fn is_address_of(&self, head: &Head) -> bool {
        match &head.shared {
            Some(address) => self.is_in_address(SharedAddress::as_str(address)),
            None if self.domain.is_empty() => self.is_in_address(head.inbox_id.as_str()),
            None => self.is_in_address(&format!("{}{}", head.inbox_id, self.domain)),
        }
    }

    fn is_in_address(&self, address: &str) -> bool {
        let folded = fold_case(address);
        if self.begins_address {
            return folded.as_bytes().starts_with(self.finder.needle());
        }
        self.finder.find(folded.as_bytes()).is_some()
    }
}

/// The text of a message from its row; `None` for a large message.
fn text_of(head: &Head, data: Option<&Bytes>) -> Option<Result<String, StoreError>> {
    let data = data.filter(|_| !head.is_large())?;
    let read = || {
        let parsed = decode(data, head.parsed_size, ContentForm::Parsed)?;
        let text = parts::text(&parsed)?;
        Ok(text[..text.floor_char_boundary(TEXT_BYTES)].to_owned())
    };
    Some(read())
}
