//! The use cases of the dashboard only: listing inboxes, creating and deleting permanent ones, searching messages, and
//! viewing projects.

use std::collections::HashMap;

use super::{Caller, ListFilter, ProjectError, Projects, Service, ServiceError};
use crate::model::{Inbox, InboxId, InboxKind, InboxSummary, Message, MessageId, Parts, Project, ProjectId, Timestamp};
use crate::store::{Holdings, InboxEnd, InboxFilter, InboxTotals, MailFilter, Source, StoreError, fold_case};

/// The most messages that one step of a search reads.
const SEARCHED: usize = 2_000;
/// The most bytes of a message's text that a list needs.
const ABRIDGED: usize = 4_096;

/// Why a permanent inbox was not created.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// The name cannot be the local part of an address.
    #[error("a name may contain letters, digits, dots, hyphens and underscores, 64 characters at most")]
    InvalidName,
    /// The address is in use, or reserved for another project.
    #[error("this address is taken")]
    Taken,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a list shows of a message. A page of full messages may not fit into memory.
#[derive(Debug)]
pub struct ListedMessage {
    /// Identifies it.
    pub id: MessageId,
    /// The inbox that has it.
    pub inbox_id: InboxId,
    /// The sender's address; empty if there is none.
    pub from: String,
    /// The subject, decoded; empty if there is none.
    pub subject: String,
    /// The start of its text.
    pub text: String,
    /// The one-time code; empty if there is none.
    pub otp: String,
    /// When it was accepted.
    pub received_at: Timestamp,
    /// Its attachments, without images that its HTML shows.
    pub attachments: i64,
}

/// One page of a list of messages, newest first.
#[derive(Debug)]
pub struct Found {
    /// The messages.
    pub messages: Vec<ListedMessage>,
    /// The list continues before this message.
    pub more: Option<MessageId>,
}

/// One page of the messages of a project, newest first.
#[derive(Debug)]
pub struct Mail {
    /// The messages.
    pub messages: Vec<ListedMessage>,
    /// The list continues before this number.
    pub next: Option<i64>,
    /// The messages that were compared with the filter.
    pub compared: usize,
}

impl Service {
    /// At most `limit` live inboxes of a project, those with the latest activity first.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn list_inboxes(
        &self,
        project: ProjectId,
        filter: &InboxFilter,
        limit: i64,
    ) -> Result<Vec<InboxSummary>, StoreError> {
        self.0.store.list_inboxes(project, filter, limit, self.0.clock.now()).await
    }

    /// The number of live inboxes of a project, and other totals.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn inbox_totals(&self, project: ProjectId) -> Result<InboxTotals, StoreError> {
        self.0.store.inbox_totals(project, self.0.clock.now()).await
    }

    /// A page of at most `limit` messages of a project, newest first, and where the list continues.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn mail(&self, project: ProjectId, filter: &MailFilter, limit: usize) -> Result<Mail, ServiceError> {
        let page = self.0.store.mail(project, filter, limit, self.0.clock.now()).await?;
        let mut messages = Vec::with_capacity(page.messages.len());
        for message in page.messages {
            if let Some(message) = message.load().await? {
                let parts = message.parts.read()?;
                messages.push(ListedMessage::new(message, parts));
            }
        }
        Ok(Mail { messages, next: page.next, compared: page.compared })
    }

    /// How the inbox `id` of a project ended, if it has ended and its address is still reserved.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn inbox_end(&self, project: ProjectId, id: &str) -> Result<Option<InboxEnd>, StoreError> {
        let Ok(id) = InboxId::parse(id) else { return Ok(None) };
        let found = self.0.store.inbox_or_end(project, &id, self.0.clock.now()).await?;
        Ok(found.and_then(|(_, end)| end))
    }

    /// Creates a permanent inbox with a chosen name.
    ///
    /// # Errors
    /// [`ClaimError`].
    pub async fn create_permanent_inbox(&self, project: ProjectId, name: &str) -> Result<Inbox, ClaimError> {
        let plain = |character: char| character.is_ascii_alphanumeric() || ".-_+".contains(character);
        if !name.chars().all(plain) {
            return Err(ClaimError::InvalidName);
        }
        let id = InboxId::parse(name).map_err(|_| ClaimError::InvalidName)?;
        let created_at = self.0.clock.now();
        let inbox = Inbox { id, project, kind: InboxKind::Permanent, created_at, expires_at: None };
        if self.0.store.claim_inbox(&inbox).await? { Ok(inbox) } else { Err(ClaimError::Taken) }
    }

    /// At most `limit` messages of `inbox` whose sender, subject or text contains `wanted` (case-insensitive) and that
    /// are older than the message `before`, newest first.
    ///
    /// # Errors
    /// [`ServiceError::InvalidBefore`].
    pub async fn search(
        &self,
        inbox: &Inbox,
        wanted: &str,
        before: Option<String>,
        limit: usize,
    ) -> Result<Found, ServiceError> {
        let wanted = fold_case(wanted);
        let mut pages = self.list(inbox, &ListFilter { before, ..ListFilter::default() }).await?;
        let (mut messages, mut read) = (Vec::new(), 0);
        while let Some(page) = pages.next_page().await? {
            for message in page {
                let Some(message) = message.load().await? else { continue };
                let (id, parts) = (message.id, message.parts.read()?);
                read += 1;
                if contains(&message, &parts.text, &wanted) {
                    messages.push(ListedMessage::new(message, parts));
                }
                if messages.len() >= limit || read >= SEARCHED {
                    return Ok(Found { messages, more: Some(id) });
                }
            }
        }
        Ok(Found { messages, more: None })
    }

    /// The bytes of a message as received.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`].
    pub async fn message_source(&self, caller: &Caller, id: &str) -> Result<Source, ServiceError> {
        let id = MessageId::parse(id).map_err(|_| ServiceError::MessageNotFound)?;
        let source = self.0.store.message_source(caller.project, id, self.0.clock.now()).await?;
        source.ok_or(ServiceError::MessageNotFound)
    }
}

impl ListedMessage {
    fn new(message: Message, parts: Parts) -> Self {
        let Message { id, inbox_id, from, subject, received_at, attachments, .. } = message;
        let text = parts.text[..parts.text.floor_char_boundary(ABRIDGED)].to_owned();
        Self { id, inbox_id, from, subject, text, otp: parts.otp, received_at, attachments }
    }
}

/// Whether a message with this text contains `wanted`, which is folded.
fn contains(message: &Message, text: &str, wanted: &str) -> bool {
    let has = |text: &str| fold_case(text).contains(wanted);
    wanted.is_empty() || has(&message.subject) || has(&message.from) || has(text)
}

impl Projects {
    /// The live project `id`.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn find(&self, id: ProjectId) -> Result<Option<Project>, ProjectError> {
        Ok(self.store().project(id, self.clock.now()).await?)
    }

    /// The live messages of a project, or of each that has any.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn holdings(&self, project: Option<ProjectId>) -> Result<HashMap<ProjectId, Holdings>, ProjectError> {
        Ok(self.store().holdings(project, self.clock.now()).await?)
    }

    /// Renames a project.
    ///
    /// # Errors
    /// [`ProjectError::InvalidName`], [`ProjectError::Exists`].
    pub async fn rename(&self, project: &Project, name: &str) -> Result<(), ProjectError> {
        super::projects::check_name(name)?;
        if name == project.name || self.store().rename_project(project.id, name).await? {
            return Ok(());
        }
        Err(ProjectError::Exists(name.to_owned()))
    }
}
