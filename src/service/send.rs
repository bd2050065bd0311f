//! Sends from an inbox. Mail to a local inbox is stored immediately; other mail goes to the queue
//! of the mail worker.

use restante_api::Mailbox;
use restante_mail::Threading;
use restante_mail::compose::Letter;
use restante_mail::report::header_section;
use uuid::Uuid;

use super::slots::Slot;
use super::{Caller, Incoming, QUEUE_LIFETIME, Service, ServiceError};
use crate::large;
use crate::model::{EmailAddress, FieldError, Inbox, OutgoingId, ProjectId, Recipient, Timestamp};
use crate::store::{ContentForm, NewOutgoing, OutgoingChange, StoreError};

/// What is read of a message at most to find the end of its header.
const MAX_HEADER_BYTES: usize = 1024 * 1024;

/// A message to send.
#[derive(Clone, Debug)]
pub struct Draft {
    pub to: EmailAddress,
    /// The subject, one line.
    pub subject: String,
    pub text: String,
    /// The HTML; empty if there is none.
    pub html: String,
    /// The id of the message that this one replies to, as the caller gave it.
    pub in_reply_to: Option<String>,
}

/// One running send of a key occupies a slot; dropping this frees it.
#[derive(Debug)]
pub struct SendPlace(Slot);

/// A composed message and its sender.
struct Composed {
    sender: EmailAddress,
    message_id: String,
    composed_at: Timestamp,
    raw: Vec<u8>,
}

impl Draft {
    /// A message as a caller gave it.
    ///
    /// # Errors
    /// [`FieldError`] for a subject that is not one line, or a recipient that is no bare address.
    pub fn new(
        to: &str,
        subject: String,
        text: String,
        html: String,
        in_reply_to: Option<String>,
    ) -> Result<Self, FieldError> {
        // A line break would start another header field, and other control characters are not
        // allowed (RFC 5322, section 2.2).
        if subject.contains(char::is_control) {
            return Err(FieldError::Invalid("subject"));
        }
        let to = EmailAddress::parse(to).ok();
        // The library that composes does not write a quoted string as an address.
        let to = to.filter(|to| !to.local_part().starts_with('"'));
        let to = to.ok_or(FieldError::Invalid("to"))?;
        Ok(Self {
            to,
            subject,
            text,
            html,
            in_reply_to,
        })
    }
}

impl Service {
    /// Takes one of the key's slots for sends. Called before the request body is read, which may be
    /// large.
    ///
    /// # Errors
    /// [`ServiceError::TooManySends`].
    pub async fn begin_send(&self, caller: &Caller) -> Result<SendPlace, ServiceError> {
        let slot = self.0.send_slots.take(&caller.key).await?;
        slot.map(SendPlace).ok_or(ServiceError::TooManySends)
    }

    /// Sends a message from `inbox`. When this returns, the message is stored in the local inbox or
    /// durably queued.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`] for `in_reply_to`, [`ServiceError::RecipientNotFound`] for
    /// a local recipient.
    pub async fn send(
        &self,
        place: SendPlace,
        caller: &Caller,
        inbox: &Inbox,
        draft: Draft,
    ) -> Result<OutgoingId, ServiceError> {
        let sent = self.send_in_place(caller, inbox, draft).await;
        place.0.release().await;
        sent
    }

    async fn send_in_place(
        &self,
        caller: &Caller,
        inbox: &Inbox,
        draft: Draft,
    ) -> Result<OutgoingId, ServiceError> {
        let parent = match &draft.in_reply_to {
            Some(id) => Some(self.threading(caller, id).await?),
            None => None,
        };
        let local = self.recipient(&draft.to);
        if let Some(recipient) = &local {
            self.check_local_recipient(recipient, caller.project)
                .await?;
        }
        let recipient = draft.to.clone();
        let (subject, composed) = self.compose(inbox, draft, parent).await?;
        self.hand_over(caller, inbox, recipient, subject, composed)
            .await
    }

    /// Forwards a message to another address: its bytes as received, after fields that say so (RFC
    /// 5322, section 3.6.6). A signature of the original stays valid, because it does not cover
    /// these fields.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`], [`ServiceError::RecipientNotFound`] for a local
    /// recipient.
    pub async fn forward(
        &self,
        place: SendPlace,
        caller: &Caller,
        id: &str,
        to: EmailAddress,
    ) -> Result<OutgoingId, ServiceError> {
        let sent = self.forward_in_place(caller, id, to).await;
        place.0.release().await;
        sent
    }

    async fn forward_in_place(
        &self,
        caller: &Caller,
        id: &str,
        to: EmailAddress,
    ) -> Result<OutgoingId, ServiceError> {
        let (message, _job) = self.whole_message(caller, id).await?;
        if let Some(recipient) = self.recipient(&to) {
            self.check_local_recipient(&recipient, caller.project)
                .await?;
        }
        let composed_at = self.now();
        let inbox = self
            .store()
            .live_inbox(&message.head.inbox_id, composed_at)
            .await?;
        let inbox = inbox.ok_or(ServiceError::MessageNotFound)?;
        let domain = self.mail_domain();
        let from = inbox.address(self.mail_domain());
        let message_id = format!("<{}@{domain}>", Uuid::now_v7());
        let date = composed_at.to_rfc5322();
        let mut raw = format!(
            "Resent-From: {from}\r\nResent-To: {to}\r\nResent-Date: {date}\r\nResent-Message-ID: {message_id}\r\n"
        )
        .into_bytes();
        raw.extend_from_slice(&message.raw);
        let sender = EmailAddress::parse(&from).map_err(|_| ServiceError::InboxNotFound)?;
        let composed = Composed {
            sender,
            message_id,
            composed_at,
            raw,
        };
        self.hand_over(caller, &inbox, to, message.head.subject, composed)
            .await
    }

    /// Stores a message in the local inbox of its recipient, or queues it.
    async fn hand_over(
        &self,
        caller: &Caller,
        inbox: &Inbox,
        recipient: EmailAddress,
        subject: String,
        composed: Composed,
    ) -> Result<OutgoingId, ServiceError> {
        let local = self.recipient(&recipient);
        let item = NewOutgoing::new(
            OutgoingId::generate(),
            caller.project,
            inbox.id.clone(),
            recipient.to_string(),
            subject,
            composed.message_id.clone(),
        );
        let id = item.id;
        if local.is_some() {
            self.deliver_own(
                self.incoming(composed, recipient),
                caller.project,
                OutgoingChange::Add(item),
            )
            .await?;
        } else {
            let now = self.now();
            self.store()
                .add_outgoing(&item.queued(&composed.raw, now.after(QUEUE_LIFETIME)), now)
                .await?;
        }
        Ok(id)
    }

    async fn threading(&self, caller: &Caller, id: &str) -> Result<Threading, ServiceError> {
        let found = self.find_message(caller, id).await?;
        let pieces = self.store().form(&found, ContentForm::Raw).await?;
        let mut pieces = pieces.ok_or(ServiceError::MessageNotFound)?;
        let mut header = Vec::new();
        // The message may be large, so only its header is read.
        while header.len() < MAX_HEADER_BYTES
            && header_section(&header).len() == header.len()
            && let Some(piece) = pieces.next().await?
        {
            header.extend_from_slice(&piece);
        }
        let mut threading = restante_mail::threading(&header);
        if threading.message_id.is_none() {
            let trace = self.store().trace(&found).await?;
            let trace = trace.ok_or(ServiceError::MessageNotFound)?;
            threading.message_id = restante_mail::threading(trace.as_bytes()).message_id;
        }
        Ok(threading)
    }

    /// Checks that the recipient is a live inbox. On the mail domain it may belong to any project.
    async fn check_local_recipient(
        &self,
        recipient: &Recipient,
        project: ProjectId,
    ) -> Result<(), ServiceError> {
        for meant in recipient.meant() {
            let found = match meant {
                Recipient::Inbox(id) => {
                    let found = self.store().live_inbox(&id, self.now()).await?;
                    found.filter(|inbox| inbox.shared.is_none())
                }
                Recipient::Shared(address) => self.own_shared_inbox(project, &address).await?,
            };
            if found.is_some() {
                return Ok(());
            }
        }
        Err(ServiceError::RecipientNotFound)
    }

    async fn compose(
        &self,
        inbox: &Inbox,
        draft: Draft,
        parent: Option<Threading>,
    ) -> Result<(String, Composed), ServiceError> {
        let domain = self.mail_domain().clone();
        let message_id = format!("<{}@{domain}>", Uuid::now_v7());
        let composed_at = self.now();
        let from = inbox.address(&domain);
        let bytes = draft.text.len() + draft.html.len();
        let composing = large::run(bytes, move || {
            let subject = draft.subject.clone();
            let letter = Letter {
                from: vec![Mailbox::bare(from)],
                to: vec![Mailbox::bare(draft.to.to_string())],
                subject: draft.subject,
                text: draft.text,
                html: draft.html,
                in_reply_to: parent,
                ..Letter::default()
            };
            let raw = letter.compose(&composed_at.to_rfc5322(), &message_id)?;
            Ok::<_, ServiceError>((subject, message_id, raw))
        });
        let composed = composing.await.map_err(StoreError::Aborted)?;
        let (subject, message_id, raw) = composed?;
        let sender = EmailAddress::parse(&inbox.address(self.mail_domain()))
            .map_err(|_| ServiceError::InboxNotFound)?;
        Ok((
            subject,
            Composed {
                sender,
                message_id,
                composed_at,
                raw,
            },
        ))
    }

    fn incoming(&self, composed: Composed, recipient: EmailAddress) -> Incoming {
        let Composed {
            sender,
            composed_at,
            raw,
            ..
        } = composed;
        let trace = format!(
            "Return-Path: <{sender}>\r\nReceived: by {} with HTTP; {}\r\n",
            self.mail_domain(),
            composed_at.to_rfc5322(),
        );
        let reverse_path = sender.to_string();
        Incoming {
            reverse_path,
            recipients: vec![recipient],
            project: None,
            trace,
            reception: None,
            raw,
        }
    }
}
