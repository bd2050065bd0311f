//! Checks whether a message is good; on request also whether its sender was allowed to send it,
//! with the DNS.

use restante_api::{Authentication, MessageChecks};
use restante_mail::checks::checks;

use super::{Caller, Service, ServiceError};
use crate::authentication::{Signed, Verifier};
use crate::model::{Envelope, ProjectId, Timestamp};
use crate::store::{Everything, StoreError};

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
        let (message, job) = self.whole_message(caller, id).await?;
        let Everything {
            head,
            raw,
            envelope,
            ..
        } = message;
        let received_at = head.received_at;
        let check = move || {
            let checks = checks(&raw, received_at.as_millis() / 1_000);
            (checks, dns.then(|| Signed::read(&raw)))
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
    pub(crate) async fn authentication(
        &self,
        project: ProjectId,
        message: &Signed,
        envelope: &Envelope,
        received_at: Timestamp,
    ) -> Result<Authentication, ServiceError> {
        let _verification = self.0.jobs.verification(project.0).await?;
        let options = &self.0.options;
        let verifier = Verifier {
            server: options.dns_server,
            host: options.mail_domain.clone(),
        };
        let received_at = u64::try_from(received_at.as_millis() / 1_000).unwrap_or_default();
        Ok(verifier.verify(message, envelope, received_at).await)
    }
}
