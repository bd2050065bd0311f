//! Injected bounces: creates the delivery status notification for the sender of a message that a fault bounces.

use restante_mail::report::{FailedRecipient, Report, header_section};
use uuid::Uuid;

use super::{DeliverError, QUEUE_LIFETIME, Service};
use crate::model::{EmailAddress, InboxId, RequestedReply};
use crate::store::{Delivery, NewOutgoing, UsedFault};

impl Service {
    /// Adds to the delivery the notifications that are queued if it bounces because of `faults`.
    pub(super) async fn with_bounces(
        &self,
        delivery: Delivery,
        faults: &[UsedFault],
    ) -> Result<Delivery, DeliverError> {
        let now = self.0.clock.now();
        let sender = EmailAddress::parse(&delivery.content.origin().reverse_path);
        let sender = sender.map_err(|_| DeliverError::Unavailable)?;
        let mut bounces = Vec::with_capacity(faults.len());
        for UsedFault { inbox, recipients, .. } in faults {
            // If the inbox has ended since, the delivery does not bounce there.
            let Some(inbox) = self.0.store.live_inbox(inbox, now).await? else { continue };
            let id = Uuid::now_v7().to_string();
            let report = self.report(&delivery, recipients, &sender, &id)?;
            let subject = format!("Undelivered Mail: {}", delivery.content.subject());
            let message_id = format!("<{id}@{}>", self.mail_domain());
            let item = NewOutgoing::delivered(inbox.project, inbox.id.clone(), sender.clone(), subject, message_id);
            bounces.push((inbox.id, item.queued(&report, now.after(QUEUE_LIFETIME)).report()));
        }
        Ok(Delivery { bounces, ..delivery })
    }

    fn report(
        &self,
        delivery: &Delivery,
        to_inbox: &[InboxId],
        sender: &EmailAddress,
        id: &str,
    ) -> Result<Vec<u8>, DeliverError> {
        let beginning = delivery.content.beginning()?;
        let reply = RequestedReply::rejected();
        let date = self.0.clock.now().to_rfc5322();
        let mut recipients: Vec<FailedRecipient> = Vec::new();
        for recipient in to_inbox {
            let address = format!("{recipient}@{}", self.mail_domain());
            if !recipients.iter().any(|failed| failed.address == address) {
                let (status, reply) = (reply.status(), Some(reply.to_string()));
                let last_attempt = Some(date.clone());
                recipients.push(FailedRecipient { address, status, server: None, reply, last_attempt });
            }
        }
        let to: Vec<&str> = recipients.iter().map(|failed| failed.address.as_str()).collect();
        let text = format!(
            "Your message could not be delivered to:\r\n\r\n    {}\r\n\r\n\
             A test has asked for this bounce. The message was not stored.\r\n",
            to.join("\r\n    "),
        );
        let original = restante_mail::threading(&beginning).message_id;
        let report = Report {
            mail_domain: self.mail_domain(),
            to: &sender.to_string(),
            header: header_section(&beginning),
            message_id: original.as_deref(),
            text: &text,
            arrived_at: &date,
            recipients: &recipients,
            id,
            date: &date,
        };
        Ok(report.compose())
    }
}
