//! Gives a project the inbox with an address that it chose, on the mail domain or an accepted one.

use super::{Caller, Service, ServiceError};
use crate::model::{
    EmailAddress, Inbox, InboxId, InboxKind, ProjectId, Recipient, SharedAddress, Timestamp,
    generate_inbox_id,
};
use crate::store::StoreError;

/// Why a project did not get the inbox with an address.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The text is no address.
    #[error("invalid address")]
    Invalid,
    /// Mail for its domain is not accepted.
    #[error("domain not accepted")]
    NotAccepted,
    /// The address is on the mail domain, and is an inbox of another project, or reserved for one.
    #[error("address belongs to another project")]
    Taken,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a permanent inbox was not created.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// The name cannot be the local part of an address.
    #[error(
        "a name may contain letters, digits, dots, hyphens and underscores, 64 characters at most"
    )]
    InvalidName,
    /// Mail for the domain of the address is not accepted.
    #[error("mail for {0} is not accepted: start the server with --accept-domains {0}")]
    NotAccepted(String),
    /// The address is in use, or reserved for another project.
    #[error("this address is taken")]
    Taken,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Service {
    /// The recipient that an address means, or `None` if mail for its domain is not accepted.
    #[must_use]
    pub fn recipient(&self, address: &EmailAddress) -> Option<Recipient> {
        self.is_local(address.domain())
            .then(|| Recipient::of(address, self.mail_domain()))
    }

    /// The caller's project has the inbox with this address afterwards: it is created, or if it is
    /// temporary, lives for one more full lifetime from now. A `label` replaces the one that it
    /// has. Returns the inbox, and whether it was created.
    ///
    /// # Errors
    /// [`AddressError`].
    pub async fn ensure_inbox(
        &self,
        caller: &Caller,
        address: &str,
        label: Option<&str>,
    ) -> Result<(Inbox, bool), AddressError> {
        let address = EmailAddress::parse(address).map_err(|_| AddressError::Invalid)?;
        let recipient = self.recipient(&address).ok_or(AddressError::NotAccepted)?;
        let now = self.now();
        let expires_at = Some(now.after(self.0.options.limits.inbox_lifetime));
        let wanted = new_inbox(
            recipient,
            caller.project,
            InboxKind::Temporary,
            now,
            expires_at,
        );
        let (inbox, is_new) = self
            .store()
            .ensure_inbox(&wanted, label)
            .await?
            .ok_or(AddressError::Taken)?;
        if !is_new {
            self.0.journal.claimed(&inbox, now);
        }
        Ok((inbox, is_new))
    }

    /// Creates a permanent inbox with a chosen name, which is a local part on the mail domain or a
    /// whole address.
    ///
    /// # Errors
    /// [`ClaimError`].
    pub async fn create_permanent_inbox(
        &self,
        project: ProjectId,
        name: &str,
    ) -> Result<Inbox, ClaimError> {
        let (local_part, domain) = name
            .rsplit_once('@')
            .unwrap_or((name, self.mail_domain().as_str()));
        let plain =
            |character: char| character.is_ascii_alphanumeric() || ".-_+".contains(character);
        if !local_part.chars().all(plain) {
            return Err(ClaimError::InvalidName);
        }
        let address = EmailAddress::parse(&format!("{local_part}@{domain}"))
            .map_err(|_| ClaimError::InvalidName)?;
        let recipient = self
            .recipient(&address)
            .ok_or_else(|| ClaimError::NotAccepted(address.domain().to_string()))?;
        let wanted = new_inbox(recipient, project, InboxKind::Permanent, self.now(), None);
        self.store()
            .claim_inbox(&wanted)
            .await?
            .ok_or(ClaimError::Taken)
    }

    /// Returns the caller's live inbox with this address (case-insensitive).
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`], even for an invalid address or another domain.
    pub async fn inbox_by_address(
        &self,
        caller: &Caller,
        address: &str,
    ) -> Result<Inbox, ServiceError> {
        let inbox = self
            .own_inbox(caller, &self.id_of_address(caller, address).await?)
            .await?;
        if self.is_at(&inbox, address) {
            Ok(inbox)
        } else {
            Err(ServiceError::InboxNotFound)
        }
    }

    /// Whether the inbox whose id was found for an address has it. The id of an inbox with a shared
    /// address is no address on the mail domain.
    pub(super) fn is_at(&self, inbox: &Inbox, address: &str) -> bool {
        EmailAddress::parse(address.trim())
            .is_ok_and(|address| (address.domain() == self.mail_domain()) == inbox.shared.is_none())
    }

    /// The id in the id or the address of an inbox, as [`Self::id_of_address`] for an address.
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`].
    pub async fn id_of_name(&self, caller: &Caller, name: &str) -> Result<InboxId, ServiceError> {
        if name.contains('@') {
            return self.id_of_address(caller, name).await;
        }
        InboxId::parse(name).map_err(|_| ServiceError::InboxNotFound)
    }

    /// The id of the caller's inbox with this address (case-insensitive), which may have ended. On
    /// the mail domain, it is the local part, even if there is no such inbox.
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`], even for an invalid address or another domain.
    async fn id_of_address(&self, caller: &Caller, address: &str) -> Result<InboxId, ServiceError> {
        let address =
            EmailAddress::parse(address.trim()).map_err(|_| ServiceError::InboxNotFound)?;
        let found = match Recipient::of(&address, self.mail_domain()) {
            Recipient::Inbox(id) => Some(id),
            // The domain may have been accepted before.
            Recipient::Shared(address) => {
                self.store().id_of_shared(caller.project, &address).await?
            }
        };
        found.ok_or(ServiceError::InboxNotFound)
    }

    /// The live inbox of a project with a shared address.
    pub(super) async fn own_shared_inbox(
        &self,
        project: ProjectId,
        address: &SharedAddress,
    ) -> Result<Option<Inbox>, StoreError> {
        match self.store().id_of_shared(project, address).await? {
            Some(id) => self.store().inbox(project, &id, self.now()).await,
            None => Ok(None),
        }
    }
}

fn new_inbox(
    recipient: Recipient,
    project: ProjectId,
    kind: InboxKind,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
) -> Inbox {
    let (id, shared): (InboxId, _) = match recipient {
        Recipient::Inbox(id) => (id, None),
        Recipient::Shared(address) => (generate_inbox_id(), Some(address)),
    };
    Inbox {
        id,
        shared,
        project,
        kind,
        created_at,
        expires_at,
    }
}
