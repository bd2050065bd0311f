//! Checks whether a message is good, on a blocking thread and within the memory budget; on request also whether its
//! sender was allowed to send it, with the DNS.

use restante_api::Authentication;
use restante_mail::checks::{self, Checks};

use super::{Caller, Service, ServiceError};
use crate::authentication::{Signed, Verifier};
use crate::memory::{Room, UNCOUNTED};
use crate::model::{Envelope, Everything, Timestamp};
use crate::store::StoreError;

/// The results.
#[derive(Debug)]
pub struct Checked {
    /// The problems.
    pub checks: Checks,
    /// SPF, DKIM and DMARC, if they were requested.
    pub authentication: Option<Authentication>,
}

/// What a message needs to be verified with the DNS, once its bytes are dropped.
#[derive(Debug)]
pub struct Verifiable(Signed);

impl Verifiable {
    /// Reads it from a message; takes a while for a large one.
    #[must_use]
    pub fn read(raw: &[u8]) -> Self {
        Self(Signed::read(raw))
    }
}

impl Service {
    /// The problems of a message in one of the caller's live inboxes, with SPF, DKIM and DMARC if `dns` is set, and the
    /// reservation of their memory.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`], or if it cannot be read.
    pub async fn checks(&self, caller: &Caller, id: &str, dns: bool) -> Result<(Checked, Room), ServiceError> {
        let (Everything { raw, received_at, envelope, .. }, room) = self.whole_message(caller, id).await?;
        let check = move || {
            let checks = checks::checks(&raw, received_at.as_millis() / 1_000);
            (checks, dns.then(|| Verifiable::read(&raw)))
        };
        let ((checks, verifiable), mut room) = room.run(check).await.map_err(StoreError::Aborted)?;
        let authentication = match verifiable {
            Some(message) => {
                room.shrink(UNCOUNTED + message.0.size());
                Some(self.authentication(&message, &envelope, received_at).await)
            }
            None => None,
        };
        Ok((Checked { checks, authentication }, room))
    }

    /// SPF, DKIM and DMARC of a message, with queries to the DNS.
    pub async fn authentication(
        &self,
        message: &Verifiable,
        envelope: &Envelope,
        received_at: Timestamp,
    ) -> Authentication {
        let options = &self.0.options;
        let verifier = Verifier { server: options.dns_server, host: options.mail_domain.clone() };
        let received_at = u64::try_from(received_at.as_millis() / 1_000).unwrap_or_default();
        verifier.verify(&message.0, envelope, received_at).await
    }
}
