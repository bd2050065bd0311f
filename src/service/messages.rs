//! Reads messages: one by its id, or a list.

use super::{Caller, Service, ServiceError};
use crate::memory::{Holder, Room, UNCOUNTED};
use crate::model::{
    Envelope, Everything, Inbox, KeyHash, MessageFilter, MessageId, MessageStart, Via,
};
use crate::store::{Found, Pieces, Selection, StoredMessage};
use restante_mail::working_memory;

/// Bytes of parsed parts in one page of a list, without those of large messages.
const PAGE_BYTES: usize = 512 * 1024;
/// The memory for a list: a page that is being read, and a page or a piece of a large message that
/// is being sent.
const LIST_MEMORY: usize = 3 * PAGE_BYTES;

/// The filter and the limits of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Which messages match.
    pub matching: MessageFilter,
    /// Only messages before this one: a message id as the caller gave it.
    pub before: Option<String>,
    /// Maximum number of messages.
    pub limit: Option<u64>,
}

/// The messages of a list, newest first, read from the store page by page.
#[derive(Debug)]
pub struct MessagePages {
    service: Service,
    caller: Caller,
    inbox: Inbox,
    selection: Selection,
    /// The reservation; a short list needs none.
    room: Room,
    /// The list continues before this sequence; `None` at its end.
    before: Option<i64>,
    left: i64,
}

impl Service {
    /// Reads a message in one of the caller's live inboxes, with the start of its text, at most
    /// `most` bytes.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`].
    pub async fn message_start(
        &self,
        caller: &Caller,
        id: &str,
        most: usize,
    ) -> Result<MessageStart, ServiceError> {
        let found = self
            .0
            .store
            .message(caller.project, parse(id)?, self.0.clock.now())
            .await?;
        found
            .ok_or(ServiceError::MessageNotFound)?
            .start(most)
            .await?
            .ok_or(ServiceError::MessageNotFound)
    }

    /// Opens a message in one of the caller's live inboxes. Its parts are read in pieces.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`], [`ServiceError::NoMemory`].
    pub async fn open_message(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<StoredMessage, ServiceError> {
        let found = self
            .0
            .store
            .message(caller.project, parse(id)?, self.0.clock.now())
            .await?;
        self.with_memory(caller, found.ok_or(ServiceError::MessageNotFound)?)
            .await
    }

    /// Reserves the memory for reading the parts of a message in pieces.
    ///
    /// # Errors
    /// [`ServiceError::NoMemory`].
    pub async fn with_memory(
        &self,
        caller: &Caller,
        message: StoredMessage,
    ) -> Result<StoredMessage, ServiceError> {
        let room = self.reserve(caller, message.parts.working_memory()).await?;
        Ok(StoredMessage {
            parts: message.parts.with_room(room),
            ..message
        })
    }

    /// Opens a message again that was read before, with the reservation that it has.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`] if it was removed in the meantime.
    pub async fn reopen_message(
        &self,
        caller: &Caller,
        id: &str,
        room: Room,
    ) -> Result<StoredMessage, ServiceError> {
        let found = self
            .0
            .store
            .message(caller.project, parse(id)?, self.0.clock.now())
            .await?;
        let message = found.ok_or(ServiceError::MessageNotFound)?;
        Ok(StoredMessage {
            parts: message.parts.with_room(room),
            ..message
        })
    }

    /// Opens the bytes of the message as received, which are read in pieces.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`], [`ServiceError::NoMemory`].
    pub async fn raw_message(&self, caller: &Caller, id: &str) -> Result<Pieces, ServiceError> {
        let pieces = self.raw_pieces(caller, id).await?;
        let room = self.reserve(caller, pieces.working_memory()).await?;
        Ok(pieces.with_room(room))
    }

    /// The bytes of the message as received, for reading its first pieces.
    pub(super) async fn raw_pieces(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<Pieces, ServiceError> {
        let found = self
            .0
            .store
            .raw_pieces(caller.project, parse(id)?, self.0.clock.now())
            .await?;
        found.ok_or(ServiceError::MessageNotFound)
    }

    /// The header fields that this server put before a message.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`].
    pub(super) async fn message_trace(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<String, ServiceError> {
        let trace = self
            .0
            .store
            .message_trace(caller.project, parse(id)?, self.0.clock.now())
            .await?;
        trace.ok_or(ServiceError::MessageNotFound)
    }

    /// Finds a message in one of the caller's live inboxes, without reading its content.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`].
    pub async fn find_message(&self, caller: &Caller, id: &str) -> Result<Found, ServiceError> {
        let found = self
            .0
            .store
            .find_message(caller.project, parse(id)?, self.0.clock.now())
            .await?;
        found.ok_or(ServiceError::MessageNotFound)
    }

    /// Reads a message with its envelope and its bytes. The reservation is enough for parsing it.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`] if it was removed in the meantime,
    /// [`ServiceError::NoMemory`].
    pub async fn read_message(
        &self,
        caller: &Caller,
        found: Found,
    ) -> Result<(Everything, Room), ServiceError> {
        let room = self
            .reserve(caller, working_memory(found.raw_size()))
            .await?;
        let everything = self.0.store.everything(found).await?;
        Ok((everything.ok_or(ServiceError::MessageNotFound)?, room))
    }

    /// Finds and reads a message.
    ///
    /// # Errors
    /// See [`Self::read_message`].
    pub async fn whole_message(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<(Everything, Room), ServiceError> {
        let found = self.find_message(caller, id).await?;
        self.read_message(caller, found).await
    }

    /// A message that was sent over an API: with a key, in an inbox of its project; without one,
    /// sent without a key. Without one, its memory is that of `anyone`.
    ///
    /// # Errors
    /// See [`Self::read_message`].
    pub async fn message_of_api(
        &self,
        caller: Option<&Caller>,
        anyone: Holder,
        id: &str,
        via: Via,
    ) -> Result<(Everything, Room), ServiceError> {
        let project = self
            .0
            .store
            .project_of_message(parse(id)?)
            .await?
            .ok_or(ServiceError::MessageNotFound)?;
        let anyone = Caller {
            project,
            key: KeyHash(anyone),
        };
        let (message, room) = self.whole_message(caller.unwrap_or(&anyone), id).await?;
        let Envelope {
            via: used,
            authenticated,
            ..
        } = &message.envelope;
        let is_found = *used == Some(via) && (caller.is_some() || *authenticated == Some(false));
        if is_found {
            Ok((message, room))
        } else {
            Err(ServiceError::MessageNotFound)
        }
    }

    /// Deletes the message. Its id remains valid as a cursor until its inbox ends.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`].
    pub async fn delete_message(&self, caller: &Caller, id: &str) -> Result<(), ServiceError> {
        let deleted = self
            .0
            .store
            .delete_message(caller.project, parse(id)?, self.0.clock.now())
            .await?;
        if deleted {
            Ok(())
        } else {
            Err(ServiceError::MessageNotFound)
        }
    }

    /// Checks the cursors of a list. The pages are read later, one by one.
    ///
    /// # Errors
    /// [`ServiceError::InvalidAfter`], [`ServiceError::InvalidBefore`].
    pub async fn list(
        &self,
        caller: &Caller,
        inbox: &Inbox,
        filter: &ListFilter,
    ) -> Result<MessagePages, ServiceError> {
        let selection = self.selection(inbox, &filter.matching).await?;
        let before = match &filter.before {
            Some(id) => self
                .sequence(inbox, id)
                .await?
                .ok_or(ServiceError::InvalidBefore)?,
            None => i64::MAX,
        };
        let left = filter
            .limit
            .map_or(i64::MAX, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
        Ok(MessagePages {
            service: self.clone(),
            caller: *caller,
            inbox: inbox.clone(),
            selection,
            room: Room::default(),
            before: Some(before),
            left,
        })
    }

    pub(super) async fn selection(
        &self,
        inbox: &Inbox,
        filter: &MessageFilter,
    ) -> Result<Selection, ServiceError> {
        let after = match &filter.after {
            Some(id) => self
                .sequence(inbox, id)
                .await?
                .ok_or(ServiceError::InvalidAfter)?,
            None => 0,
        };
        let selection = Selection::new(after, filter.subject.as_deref())
            .from(filter.from.as_deref())
            .with(filter.has);
        Ok(selection.containing(
            filter.text.as_deref(),
            filter.to.as_deref(),
            filter.header.as_ref(),
        ))
    }

    /// The position in `inbox` of the message with this id; `None` if it is not in the inbox.
    async fn sequence(&self, inbox: &Inbox, id: &str) -> Result<Option<i64>, ServiceError> {
        let Ok(id) = MessageId::parse(id) else {
            return Ok(None);
        };
        let cursor = self
            .0
            .store
            .cursor(&inbox.id, id, self.0.clock.now())
            .await?;
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

    /// The reservation for the list.
    #[must_use]
    pub fn room(&self) -> Room {
        self.room.clone()
    }

    /// Reads the next messages, as many as fit into memory; `None` after the last. If the first
    /// page, which is small, is not the whole list, the memory for the rest is reserved.
    ///
    /// # Errors
    /// [`ServiceError::NoMemory`] for the first page, or if the store fails.
    pub async fn next_page(&mut self) -> Result<Option<Vec<StoredMessage>>, ServiceError> {
        let Some(before) = self.next_before() else {
            return Ok(None);
        };
        let now = self.service.0.clock.now();
        let bytes = if self.room.is_reserved() {
            PAGE_BYTES
        } else {
            UNCOUNTED
        };
        let store = &self.service.0.store;
        let page = store
            .page(
                &self.inbox,
                &self.selection,
                before,
                (self.left, bytes),
                now,
            )
            .await?;
        self.before = page.next;
        self.left -= i64::try_from(page.messages.len()).unwrap_or(self.left);
        let is_large = page
            .messages
            .iter()
            .any(|message| !message.parts.is_whole());
        if !self.room.is_reserved() && (is_large || !self.are_over()) {
            self.room = self.service.reserve(&self.caller, LIST_MEMORY).await?;
        }
        let held = |message: StoredMessage| StoredMessage {
            parts: message.parts.with_room(self.room()),
            ..message
        };
        Ok(
            Some(page.messages.into_iter().map(held).collect::<Vec<_>>())
                .filter(|messages| !messages.is_empty()),
        )
    }
}

fn parse(id: &str) -> Result<MessageId, ServiceError> {
    MessageId::parse(id).map_err(|_| ServiceError::MessageNotFound)
}
