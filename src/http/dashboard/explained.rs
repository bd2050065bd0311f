//! The explanation of a missing message on a page: one sentence, and the evidence below it.

use askama::Template;

use super::page::subject;
use super::plain::{Piece, cause, coded, shown};
use super::when::When;
use crate::config::HostAndPort;
use crate::evidence::{Evidence, Reading, Sentence, Story, missed, rejection};
use crate::http::App;
use crate::http::download::path_segment;
use crate::model::{InboxId, Latest, RefusedMail, Timestamp, WaitRecord};

#[derive(Template)]
#[template(path = "explanation.html")]
pub(super) struct ExplanationPanel {
    /// The cause in one sentence, and what to do if the sentence says so.
    pub(super) cause: Vec<Piece>,
    pub(super) remedy: Vec<Piece>,
    messages: Vec<MissedMessage>,
    refused: Vec<Refusal>,
    similar: Vec<Similar>,
    /// The last connection over SMTP, if there was one.
    connected: Option<When>,
    /// Whether that was before the inbox was created. The rounded times of both can be the same,
    /// which would contradict "nothing has connected since".
    is_older: bool,
    smtp_address: String,
}

struct MissedMessage {
    url: String,
    subject: String,
    from: String,
    received: When,
    /// The filters that exclude it, in words.
    missed: String,
}

/// A refusal with its remedy.
pub(super) struct Refusal {
    pub(super) reply: String,
    /// Empty if it is shown above.
    pub(super) remedy: Vec<Piece>,
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
        let now = app.service.clock().now();
        Self::distinct_when(app, refused, &|at| When::new(at, now))
    }

    fn distinct_when(
        app: &App,
        refused: &[RefusedMail],
        when: &dyn Fn(Timestamp) -> When,
    ) -> Vec<Self> {
        let mut distinct: Vec<Self> = Vec::new();
        for refusal in refused.iter().map(|refused| Self::new(app, refused, when)) {
            let is_same =
                |known: &Self| known.reply == refusal.reply && known.recipient == refusal.recipient;
            if !distinct.iter().any(is_same) {
                distinct.push(refusal);
            }
        }
        distinct
    }

    /// Removes what to do where it is `shown` already, or an earlier refusal says it.
    fn show_remedies_once(refused: &mut [Self], shown: &[Piece]) {
        let mut known = vec![shown.to_vec()];
        for refusal in refused {
            if known.contains(&refusal.remedy) {
                refusal.remedy.clear();
            } else {
                known.push(refusal.remedy.clone());
            }
        }
    }

    fn new(app: &App, refused: &RefusedMail, when: &dyn Fn(Timestamp) -> When) -> Self {
        Self {
            reply: shown(&refused.reply),
            remedy: what_to_do(app, refused),
            sender: shown(refused.sender_address()),
            recipient: shown(refused.recipient_address()),
            when: when(refused.refused_at),
        }
    }
}

impl ExplanationPanel {
    /// The explanation of a story. `base` is the path of its project.
    pub(super) fn of_story(app: &App, base: &str, smtp: &HostAndPort, story: &Story) -> Self {
        let now = app.service.clock().now();
        let failure = &story.failure;
        let smtp = smtp.to_string();
        let reading = Reading {
            now,
            ended_at: Some(failure.ended_at()),
            smtp_address: &smtp,
        };
        let summary = failure.finding.sentence.read(reading);
        let of = (app, base, &failure.wait);
        let ended_at = failure.ended_at();
        let mut panel = Self::new(of, smtp, &summary, &story.evidence, &|at| {
            When::around(at, ended_at)
        });
        let last_connection_at = story.evidence.smtp.last_connection_at;
        panel.is_older = last_connection_at.is_some_and(|at| at < failure.wait.inbox_created_at);
        panel
    }

    /// `when` shows a time.
    fn new(
        (app, base, wait): (&App, &str, &WaitRecord),
        smtp_address: String,
        summary: &Sentence,
        evidence: &Evidence,
        when: &dyn Fn(Timestamp) -> When,
    ) -> Self {
        let domain = app.service.mail_domain();
        let url = |inbox: &InboxId| format!("{base}/inboxes/{}", path_segment(inbox.as_str()));
        let missed = |message: &Latest| MissedMessage {
            url: format!("{}/messages/{}", url(&wait.inbox), message.id),
            subject: subject(&message.subject),
            from: shown(&message.from),
            received: when(message.received_at),
            missed: missed(message, &wait.filter),
        };
        let similar = evidence.similar.iter().map(|similar| Similar {
            url: url(&similar.id),
            address: similar.address(domain),
            messages: similar.messages,
            received: when(similar.last_received_at),
        });
        let remedy = summary.what_to_do().map(coded).unwrap_or_default();
        let mut refused = Refusal::distinct_when(app, &evidence.refused, when);
        Refusal::show_remedies_once(&mut refused, &remedy);
        Self {
            cause: cause(summary),
            remedy,
            messages: evidence.latest.iter().map(missed).collect(),
            refused,
            similar: similar.collect(),
            connected: evidence.smtp.last_connection_at.map(when),
            is_older: false,
            smtp_address,
        }
    }
}

/// What to do about a rejection.
pub(super) fn what_to_do(app: &App, refused: &RefusedMail) -> Vec<Piece> {
    let finding = rejection(refused, app.service.server());
    finding.sentence.what_to_do().map(coded).unwrap_or_default()
}

/// The page of a story.
pub(super) fn story_url(id: impl std::fmt::Display) -> String {
    format!("/failures/{id}")
}
