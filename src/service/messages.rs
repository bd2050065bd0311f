//! Reads messages: one by its id, or a list.

use super::{Caller, Service, ServiceError};
use crate::model::{Everything, Features, FieldError, Inbox, Message, MessageId, Source};
use crate::store::{Pieces, Selection, StoredMessage};

/// The longest filter for a subject or a sender. The limit is that of a message line (RFC 5322, section 2.1.1).
const LONGEST_FILTER: usize = 998;

/// The filter of a list or a wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageFilter {
    /// A substring of the subject, case-insensitive.
    pub subject: Option<String>,
    /// A substring of the sender's address, case-insensitive.
    pub from: Option<String>,
    /// What the message must have.
    pub has: Features,
    /// Only messages after this one: a message id as the caller gave it.
    pub after: Option<String>,
}

/// The filter and the limits of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Which messages match.
    pub matching: MessageFilter,
    /// Only messages before this one: a message id as the caller gave it.
    pub before: Option<String>,
    /// The most messages.
    pub limit: Option<u64>,
}

/// The messages of a list, newest first, read from the store page by page.
#[derive(Debug)]
pub struct MessagePages {
    service: Service,
    inbox: Inbox,
    selection: Selection,
    /// The list continues before this sequence; `None` at its end.
    before: Option<i64>,
    left: i64,
}

impl MessageFilter {
    /// A filter as a caller gave it, which asks for no features.
    ///
    /// # Errors
    /// [`FieldError`] for a subject or a sender that is too long.
    pub fn new(subject: Option<String>, from: Option<String>, after: Option<String>) -> Result<Self, FieldError> {
        for (name, text) in [("subject", &subject), ("from", &from)] {
            if text.as_ref().is_some_and(|text| text.len() > LONGEST_FILTER) {
                return Err(FieldError::Invalid(name));
            }
        }
        Ok(Self { subject, from, has: Features::default(), after })
    }
}

impl Service {
    /// Reads a message in one of the caller's live inboxes, with all its parts.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`].
    pub async fn message(&self, caller: &Caller, id: &str) -> Result<Message, ServiceError> {
        self.open_message(caller, id).await?.load().await?.ok_or(ServiceError::MessageNotFound)
    }

    /// Like [`Self::message`], but the parts are read in pieces.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`].
    pub async fn open_message(&self, caller: &Caller, id: &str) -> Result<StoredMessage, ServiceError> {
        let found = self.0.store.message(caller.project, parse(id)?, self.0.clock.now()).await?;
        found.ok_or(ServiceError::MessageNotFound)
    }

    /// Reads the bytes of the message as received, in pieces.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`].
    pub async fn raw_message(&self, caller: &Caller, id: &str) -> Result<Pieces, ServiceError> {
        let found = self.0.store.raw_pieces(caller.project, parse(id)?, self.0.clock.now()).await?;
        found.ok_or(ServiceError::MessageNotFound)
    }

    /// Reads the message with its envelope and its bytes.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`].
    pub async fn whole_message(&self, caller: &Caller, id: &str) -> Result<Everything, ServiceError> {
        let found = self.0.store.everything(caller.project, parse(id)?, self.0.clock.now()).await?;
        found.ok_or(ServiceError::MessageNotFound)
    }

    /// The bytes of a message as received.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`].
    pub async fn message_source(&self, caller: &Caller, id: &str) -> Result<Source, ServiceError> {
        let source = self.0.store.message_source(caller.project, parse(id)?, self.0.clock.now()).await?;
        source.ok_or(ServiceError::MessageNotFound)
    }

    /// Deletes the message. Its id remains valid as a cursor until its inbox ends.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`].
    pub async fn delete_message(&self, caller: &Caller, id: &str) -> Result<(), ServiceError> {
        let deleted = self.0.store.delete_message(caller.project, parse(id)?, self.0.clock.now()).await?;
        if deleted { Ok(()) } else { Err(ServiceError::MessageNotFound) }
    }

    /// Checks the cursors of a list. The pages are read later, one by one.
    ///
    /// # Errors
    /// [`ServiceError::InvalidAfter`], [`ServiceError::InvalidBefore`].
    pub async fn list(&self, inbox: &Inbox, filter: &ListFilter) -> Result<MessagePages, ServiceError> {
        let selection = self.selection(inbox, &filter.matching).await?;
        let before = match &filter.before {
            Some(id) => self.sequence(inbox, id).await?.ok_or(ServiceError::InvalidBefore)?,
            None => i64::MAX,
        };
        let left = filter.limit.map_or(i64::MAX, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
        Ok(MessagePages { service: self.clone(), inbox: inbox.clone(), selection, before: Some(before), left })
    }

    pub(super) async fn selection(&self, inbox: &Inbox, filter: &MessageFilter) -> Result<Selection, ServiceError> {
        let after = match &filter.after {
            Some(id) => self.sequence(inbox, id).await?.ok_or(ServiceError::InvalidAfter)?,
            None => 0,
        };
        Ok(Selection::new(after, filter.subject.as_deref()).from(filter.from.as_deref()).with(filter.has))
    }

    /// The position in `inbox` of the message with this id; `None` if it is not in the inbox.
    async fn sequence(&self, inbox: &Inbox, id: &str) -> Result<Option<i64>, ServiceError> {
        let Ok(id) = MessageId::parse(id) else { return Ok(None) };
        let cursor = self.0.store.cursor(&inbox.id, id, self.0.clock.now()).await?;
        Ok(cursor.map(|cursor| cursor.0))
    }
}

impl MessagePages {
    /// Whether the last page has been read. A page that is not full is the last one.
    #[must_use]
    pub fn are_over(&self) -> bool {
        self.next_before().is_none()
    }

    /// The sequence before which the next page starts.
    fn next_before(&self) -> Option<i64> {
        self.before.filter(|_| self.left > 0)
    }

    /// Reads the next messages, as many as fit into memory; `None` after the last.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn next_page(&mut self) -> Result<Option<Vec<StoredMessage>>, ServiceError> {
        let Some(before) = self.next_before() else { return Ok(None) };
        let now = self.service.0.clock.now();
        let page = self.service.0.store.page(&self.inbox, &self.selection, before, self.left, now).await?;
        self.before = page.next;
        self.left -= i64::try_from(page.messages.len()).unwrap_or(self.left);
        Ok(Some(page.messages).filter(|messages| !messages.is_empty()))
    }
}

fn parse(id: &str) -> Result<MessageId, ServiceError> {
    MessageId::parse(id).map_err(|_| ServiceError::MessageNotFound)
}
