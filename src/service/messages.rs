//! Reads messages: one by its id, or a list.

use super::{Caller, Service, ServiceError};
use crate::jobs::{Holder, Job};
use crate::model::{Envelope, Inbox, KeyHash, MailQuery, MessageFilter, MessageId, Scope, Via};
use crate::store::{ContentForm, Everything, Head, MessageStart, Pieces, Search, StoredMessage};

/// Messages in one page of a list, and their bytes without those of large messages.
const PAGE_MESSAGES: usize = 64;
const PAGE_BYTES: usize = 512 * 1024;

/// The filter and the limits of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
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
    search: Search,
    left: usize,
}

impl Service {
    /// Finds a message in one of the caller's live inboxes, without reading its content.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`].
    pub async fn find_message(&self, caller: &Caller, id: &str) -> Result<Head, ServiceError> {
        let now = self.now();
        let store = self.store();
        let found = store.find_message(caller.project, parse(id)?, now).await?;
        found.ok_or(ServiceError::MessageNotFound)
    }

    /// Reads a message with the start of its text, at most `most` bytes.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`].
    pub async fn message_start(
        &self,
        caller: &Caller,
        id: &str,
        most: usize,
    ) -> Result<MessageStart, ServiceError> {
        let found = self.find_message(caller, id).await?;
        let started = self.store().started(found, most).await?;
        started.ok_or(ServiceError::MessageNotFound)
    }

    /// Opens a message. Its parts are read in pieces.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`].
    pub async fn open_message(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<StoredMessage, ServiceError> {
        let found = self.find_message(caller, id).await?;
        let opened = self.store().opened(found).await?;
        opened.ok_or(ServiceError::MessageNotFound)
    }

    /// Opens the bytes of a message as received, which are read in pieces.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`].
    pub async fn raw_message(&self, caller: &Caller, id: &str) -> Result<Pieces, ServiceError> {
        let found = self.find_message(caller, id).await?;
        let raw = self.store().form(&found, ContentForm::Raw).await?;
        raw.ok_or(ServiceError::MessageNotFound)
    }

    /// The job of an answer that is sent while it is read. A large one, such as a list of several
    /// pages, is one of those of the key.
    ///
    /// # Errors
    /// [`ServiceError::Busy`].
    pub async fn sending(&self, caller: &Caller, is_large: bool) -> Result<Job, ServiceError> {
        let mut job = self.0.jobs.job(caller.key.0);
        if is_large {
            job.be_large().await?;
        }
        Ok(job)
    }

    /// Reads a message with its envelope and its bytes, and takes a place to parse it.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`] if it was removed in the meantime,
    /// [`ServiceError::Busy`].
    pub async fn read_message(
        &self,
        caller: &Caller,
        found: Head,
    ) -> Result<(Everything, Job), ServiceError> {
        let mut job = self.0.jobs.job(caller.key.0);
        job.take_place(found.raw_size).await?;
        let everything = self.store().everything(found).await?;
        Ok((everything.ok_or(ServiceError::MessageNotFound)?, job))
    }

    /// Finds and reads a message.
    ///
    /// # Errors
    /// See [`Self::read_message`].
    pub async fn whole_message(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<(Everything, Job), ServiceError> {
        let found = self.find_message(caller, id).await?;
        self.read_message(caller, found).await
    }

    /// A message that was sent over an API: with a key, in an inbox of its project; without one,
    /// sent without a key.
    ///
    /// # Errors
    /// See [`Self::read_message`].
    pub async fn message_of_api(
        &self,
        caller: Option<&Caller>,
        id: &str,
        via: Via,
    ) -> Result<(Everything, Job), ServiceError> {
        let project = self
            .store()
            .project_of_message(parse(id)?)
            .await?
            .ok_or(ServiceError::MessageNotFound)?;
        let anyone = Caller {
            project,
            key: KeyHash(Holder::default()),
        };
        let (message, job) = self.whole_message(caller.unwrap_or(&anyone), id).await?;
        let Envelope {
            via: used,
            authenticated,
            ..
        } = &message.envelope;
        let is_found = *used == Some(via) && (caller.is_some() || *authenticated == Some(false));
        if is_found {
            Ok((message, job))
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
            .store()
            .delete_message(caller.project, parse(id)?, self.now())
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
        inbox: &Inbox,
        filter: &ListFilter,
    ) -> Result<MessagePages, ServiceError> {
        let mut query = self.query(inbox, &filter.matching).await?;
        if let Some(id) = &filter.before {
            let before = self.sequence(inbox, id).await?;
            query.before = Some(before.ok_or(ServiceError::InvalidBefore)?);
        }
        let left = filter.limit.map_or(usize::MAX, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX)
        });
        Ok(MessagePages {
            service: self.clone(),
            search: Search::newest_first(query),
            left,
        })
    }

    pub(super) async fn query(
        &self,
        inbox: &Inbox,
        filter: &MessageFilter,
    ) -> Result<MailQuery, ServiceError> {
        let conditions = filter.conditions().into_iter();
        Ok(MailQuery {
            conditions: conditions.map(|(_, condition)| condition).collect(),
            has: filter.has,
            after: self.cursor(inbox, filter).await?,
            ..MailQuery::new(Scope::Inbox(inbox.clone()))
        })
    }

    /// The sequence of the filter's cursor.
    pub(super) async fn cursor(
        &self,
        inbox: &Inbox,
        filter: &MessageFilter,
    ) -> Result<i64, ServiceError> {
        match &filter.after {
            Some(id) => self
                .sequence(inbox, id)
                .await?
                .ok_or(ServiceError::InvalidAfter),
            None => Ok(0),
        }
    }

    /// The position in `inbox` of the message with this id; `None` if it is not in the inbox.
    async fn sequence(&self, inbox: &Inbox, id: &str) -> Result<Option<i64>, ServiceError> {
        let Ok(id) = MessageId::parse(id) else {
            return Ok(None);
        };
        let now = self.now();
        Ok(self.store().cursor(&inbox.id, id, now).await?)
    }
}

impl MessagePages {
    /// Whether the last page has been read.
    #[must_use]
    pub fn are_over(&self) -> bool {
        self.search.is_over() || self.left == 0
    }

    /// Reads the next messages; `None` after the last.
    pub async fn next_page(&mut self) -> Result<Option<Vec<StoredMessage>>, ServiceError> {
        if self.are_over() {
            return Ok(None);
        }
        let Service(inner) = &self.service;
        let most = (self.left.min(PAGE_MESSAGES), PAGE_BYTES);
        let page = inner
            .store
            .page(&mut self.search, most, None, inner.clock.now())
            .await?;
        self.left -= page.len();
        Ok(Some(page))
    }
}

fn parse(id: &str) -> Result<MessageId, ServiceError> {
    MessageId::parse(id).map_err(|_| ServiceError::MessageNotFound)
}
