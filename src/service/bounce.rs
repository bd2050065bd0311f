//! Injected bounces: creates the delivery status notification for the sender of a message that a fault bounces.
//!
//! The sender may be forged, so the notifications of an inbox are limited: a server must not become a source of
//! unwanted mail.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use restante_mail::report::{FailedRecipient, Report, header_section};
use restante_smtp::path::ForwardPath;
use uuid::Uuid;

use super::{DeliverError, QUEUE_LIFETIME, Service};
use crate::clock::Instant;
use crate::model::{EmailAddress, InboxId, RequestedReply};
use crate::store::{Delivery, NewOutgoing};

/// Maximum number of notifications that one inbox causes in a minute, on each node.
const MAX_NOTIFICATIONS_A_MINUTE: usize = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// Counts the notifications of the current minute, which begins with the first one, by inbox.
#[derive(Debug, Default)]
pub(super) struct Notifications(Mutex<HashMap<InboxId, (Instant, usize)>>);

impl Notifications {
    /// Counts one more, unless the inbox is at the limit.
    fn admits(&self, inbox: &InboxId, now: Instant) -> bool {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.retain(|_, (since, _)| now.since(*since) < MINUTE);
        let (_, count) = counted.entry(inbox.clone()).or_insert((now, 0));
        *count += 1;
        *count <= MAX_NOTIFICATIONS_A_MINUTE
    }
}

impl Service {
    /// Adds to the delivery a notification that is queued if the delivery bounces at `inbox`.
    pub(super) async fn with_bounce(&self, delivery: Delivery, inbox: InboxId) -> Result<Delivery, DeliverError> {
        let now = self.0.clock.now();
        // If the inbox has ended since, the delivery does not bounce.
        let Some(inbox) = self.0.store.live_inbox(&inbox, now).await? else { return Ok(delivery) };
        if !self.0.notifications.admits(&inbox.id, self.0.clock.instant()) {
            tracing::warn!(inbox = %inbox.id, "deferred a message: its inbox bounces too many");
            return Err(DeliverError::Unavailable);
        }
        let sender = destination(&delivery.content.origin().reverse_path);
        let id = Uuid::now_v7().to_string();
        let report = self.report(&delivery, &sender, &id)?;
        let subject = format!("Undelivered Mail: {}", delivery.content.subject());
        let message_id = format!("<{id}@{}>", self.mail_domain());
        let item = NewOutgoing::report(inbox.project, inbox.id, sender, subject, message_id);
        let item = item.queued(&report, now.after(QUEUE_LIFETIME));
        Ok(Delivery { bounce: Some(Box::new(item)), ..delivery })
    }

    fn report(&self, delivery: &Delivery, sender: &str, id: &str) -> Result<Vec<u8>, DeliverError> {
        let beginning = delivery.content.beginning()?;
        let reply = RequestedReply::rejected();
        let date = self.0.clock.now().to_rfc5322();
        let mut recipients: Vec<FailedRecipient> = Vec::new();
        for recipient in &delivery.recipients {
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
            to: sender,
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

/// The address for a notification: the reverse-path. A local part that needs no quotes is written without them, which
/// means the same (RFC 5321, section 4.1.2), so that the address of an inbox is recognised.
fn destination(reverse_path: &str) -> String {
    let path = format!("<{reverse_path}>");
    let address = match ForwardPath::parse(&path) {
        Ok((ForwardPath::Mailbox { local_part, domain }, _)) => EmailAddress::new(&local_part, domain).ok(),
        _ => None,
    };
    address.map_or_else(|| reverse_path.to_owned(), |address| address.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_that_mean_nothing_are_removed() {
        for (path, address) in [
            ("a@B.example", "a@b.example"),
            (r#""a.b"@b.example"#, "a.b@b.example"),
            (r#""a\b"@b.example"#, "ab@b.example"),
            (r#""a b"@b.example"#, r#""a b"@b.example"#),
            ("a@[192.0.2.1]", "a@[192.0.2.1]"),
        ] {
            assert_eq!(destination(path), address);
        }
    }

    #[test]
    fn an_inbox_is_limited_alone_and_for_a_minute() {
        let (notifications, now) = (Notifications::default(), Instant::default());
        let [one, other] = ["one", "other"].map(|id| InboxId::parse(id).unwrap());
        let admitted = |inbox, now| (0..1_000).filter(|_| notifications.admits(inbox, now)).count();
        assert_eq!(admitted(&one, now), MAX_NOTIFICATIONS_A_MINUTE);
        assert_eq!(admitted(&other, now), MAX_NOTIFICATIONS_A_MINUTE);
        assert_eq!(admitted(&one, now.after(MINUTE)), MAX_NOTIFICATIONS_A_MINUTE);
        assert_eq!(notifications.0.lock().unwrap().len(), 1);
    }
}
