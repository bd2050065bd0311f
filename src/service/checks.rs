//! Checks whether a message is good; on request also whether its sender was allowed to send it,
//! with the DNS.

use restante_api::{Authentication, MessageChecks};
use restante_mail::checks::checks;

use super::quotas::{Quota, Quotas};
use super::{Caller, Service, ServiceError};
use crate::authentication::{Signed, Verifier};
use crate::model::{Envelope, Everything, ProjectId, Timestamp};
use crate::store::StoreError;

/// Maximum number of messages that are verified at the same time, because each needs several
/// sockets: of all projects, and of one.
const MAX_VERIFIED: usize = 64;
const MAX_VERIFIED_OF_PROJECT: usize = 8;

/// What a message needs to be verified with the DNS, once its bytes are dropped.
#[derive(Debug)]
pub struct Verifiable(Signed);

/// How many messages are verified at the moment: of a project, and (`None`) of all.
pub(super) type Verifying = Quotas<Option<ProjectId>>;

/// A message that is verified until this is dropped.
struct Verified<'a> {
    verifying: &'a Verifying,
    quotas: [Quota<Option<ProjectId>>; 2],
}

impl<'a> Verified<'a> {
    fn new(verifying: &'a Verifying, project: ProjectId) -> Option<Self> {
        let quotas = [
            (Some(project), MAX_VERIFIED_OF_PROJECT),
            (None, MAX_VERIFIED),
        ];
        verifying
            .take(&quotas)
            .then_some(Self { verifying, quotas })
    }
}

impl Drop for Verified<'_> {
    fn drop(&mut self) {
        self.verifying.give_back(&self.quotas);
    }
}

impl Verifiable {
    /// Reads it from a message; takes a while for a large one.
    #[must_use]
    pub fn read(raw: &[u8]) -> Self {
        Self(Signed::read(raw))
    }
}

impl Service {
    /// The problems of a message in one of the caller's live inboxes, with SPF, DKIM and DMARC if
    /// `dns` is set.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`], [`ServiceError::Busy`], or if it cannot be read.
    pub async fn checks(
        &self,
        caller: &Caller,
        id: &str,
        dns: bool,
    ) -> Result<MessageChecks, ServiceError> {
        let (
            Everything {
                raw,
                received_at,
                envelope,
                ..
            },
            job,
        ) = self.whole_message(caller, id).await?;
        let check = move || {
            let checks = checks(&raw, received_at.as_millis() / 1_000);
            (checks, dns.then(|| Verifiable::read(&raw)))
        };
        let ((mut checks, verifiable), _) = job.run(check).await.map_err(StoreError::Aborted)?;
        if let Some(message) = verifiable {
            let verified = self.authentication(caller.project, &message, &envelope, received_at);
            checks.authentication = Some(verified.await?);
        }
        Ok(checks)
    }

    /// SPF, DKIM and DMARC of a message of a project, with queries to the DNS.
    ///
    /// # Errors
    /// [`ServiceError::Busy`] if too many messages are verified at the moment.
    pub async fn authentication(
        &self,
        project: ProjectId,
        message: &Verifiable,
        envelope: &Envelope,
        received_at: Timestamp,
    ) -> Result<Authentication, ServiceError> {
        let _verified = Verified::new(&self.0.verifying, project).ok_or(ServiceError::Busy)?;
        let options = &self.0.options;
        let verifier = Verifier {
            server: options.dns_server,
            host: options.mail_domain.clone(),
        };
        let received_at = u64::try_from(received_at.as_millis() / 1_000).unwrap_or_default();
        Ok(verifier.verify(&message.0, envelope, received_at).await)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_project_that_verifies_many_messages_leaves_room_for_others() {
        let verifying = Verifying::new();
        let busy = ProjectId(Uuid::now_v7());
        let other = ProjectId(Uuid::now_v7());
        let mut running: Vec<_> = (0..MAX_VERIFIED_OF_PROJECT)
            .map(|_| Verified::new(&verifying, busy))
            .collect();
        assert!(running.iter().all(Option::is_some));
        assert!(Verified::new(&verifying, busy).is_none());
        assert!(Verified::new(&verifying, other).is_some());
        running.pop();
        assert!(Verified::new(&verifying, busy).is_some());
    }
}
