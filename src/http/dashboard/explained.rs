//! The explanation of a missing message on a page: one sentence, and the evidence below it.

use askama::Template;

use super::page::{subject, with_query};
use super::visit::InboxPage;
use super::when::{When, span};
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::model::{Latest, RefusedMail, Timestamp, WaitRecord};
use crate::service::{Explanation, MessageFilter, remedy};

/// An explanation.
#[derive(Template)]
#[template(path = "explanation.html")]
pub(super) struct ExplanationPanel {
    summary: String,
    messages: Vec<MissedMessage>,
    refused: Vec<Refusal>,
    similar: Vec<Similar>,
    /// The last connection over SMTP, if there was one.
    connected: Option<When>,
    smtp_address: String,
}

struct MissedMessage {
    url: String,
    subject: String,
    from: String,
    received: When,
    /// The filters that exclude it.
    missed_by: String,
}

/// A refusal with its remedy.
pub(super) struct Refusal {
    pub(super) reply: String,
    pub(super) remedy: String,
    pub(super) sender: String,
    pub(super) recipient: String,
    pub(super) when: When,
}

struct Similar {
    url: String,
    address: String,
    messages: i64,
    received: When,
}

impl Refusal {
    /// The refusals; of several with the same reply to the same recipient, only the newest.
    pub(super) fn distinct(app: &App, refused: &[RefusedMail]) -> Vec<Self> {
        let mut distinct: Vec<Self> = Vec::new();
        for refusal in refused.iter().map(|refused| Self::new(app, refused)) {
            let is_same = |known: &Self| known.reply == refusal.reply && known.recipient == refusal.recipient;
            if !distinct.iter().any(is_same) {
                distinct.push(refusal);
            }
        }
        distinct
    }

    fn new(app: &App, refused: &RefusedMail) -> Self {
        Self {
            reply: refused.reply.clone(),
            remedy: remedy(refused, app.service.mail_domain()),
            sender: refused.sender_address().to_owned(),
            recipient: refused.recipient_address().to_owned(),
            when: When::new(refused.refused_at, app.service.clock().now()),
        }
    }
}

impl ExplanationPanel {
    /// Explains a wait on the inbox of the page.
    pub(super) async fn of_wait(app: &App, page: &InboxPage, wait: &WaitRecord) -> Result<Self, Error> {
        let filter = MessageFilter {
            subject: wait.subject.clone(),
            from: wait.from.clone(),
            has: wait.has,
            after: wait.after.clone(),
        };
        let (caller, id, smtp) = (page.of.caller(), page.inbox.id.as_str(), page.of.smtp.to_string());
        let explained = match app.service.explain(&caller, id, &filter, &smtp).await.map_err(Error::from) {
            // The message of the cursor no longer exists.
            Err(Error::InvalidParameter("after")) => {
                let filter = MessageFilter { after: None, ..filter };
                app.service.explain(&caller, id, &filter, &smtp).await?
            }
            explained => explained?,
        };
        Ok(Self::new(app, page, wait, &explained))
    }

    fn new(app: &App, page: &InboxPage, wait: &WaitRecord, explained: &Explanation) -> Self {
        let now = app.service.clock().now();
        let domain = app.service.mail_domain();
        let base = page.path();
        let missed = |message: &Latest| MissedMessage {
            url: format!("{base}/messages/{}", message.id),
            subject: subject(&message.subject),
            from: message.from.clone(),
            received: When::new(message.received_at, now),
            missed_by: message.missed_by.join(", "),
        };
        let similar = explained.similar.iter().map(|similar| Similar {
            url: page.of.path(&format!("/inboxes/{}", path_segment(similar.id.as_str()))),
            address: similar.address(domain),
            messages: similar.messages,
            received: When::new(similar.last_received_at, now),
        });
        Self {
            summary: late(wait, explained).unwrap_or_else(|| explained.summary.to_string()),
            messages: explained.latest.iter().map(missed).collect(),
            refused: Refusal::distinct(app, &explained.refused),
            similar: similar.collect(),
            connected: explained.smtp.last_connection_at.map(|at| When::new(at, now)),
            smtp_address: page.of.smtp.to_string(),
        }
    }
}

/// The sentence for a matching message that arrived after the wait had ended.
fn late(wait: &WaitRecord, explained: &Explanation) -> Option<String> {
    let ended_at: Timestamp = wait.end?.0;
    let matching = explained.latest.iter().filter(|message| message.missed_by.is_empty());
    let first = matching.min_by_key(|message| message.received_at)?;
    let late_by = span(first.received_at.since(ended_at));
    (first.received_at > ended_at).then(|| {
        let name = subject(&first.subject);
        format!("A matching message arrived {late_by} after the wait had ended: \"{name}\".")
    })
}

/// The page of an inbox with the explanation of one of its waits.
pub(super) fn explain_url(base: &str, wait: &WaitRecord) -> String {
    with_query(&format!("{base}/waits"), &[("explain", Some(&wait.id.to_string()))])
}
