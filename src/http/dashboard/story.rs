//! Why a wait failed, as its page shows it: the cause, what to do, what was expected beside what
//! arrived, and then the evidence; and in a few words how a wait has ended.

use super::plain::{Piece, cause, coded, path_segment, shown};
use super::visit::Visit;
use crate::evidence::{Cause, Reading, Story, advice, rejection, title};
use crate::model::{Difference, Domain, Latest, MessageFilter, RefusedMail, WaitEnd, WaitRecord};

/// Messages with which each filter is compared.
const MAX_COMPARED: usize = 3;

pub(super) struct StoryView {
    pub(super) story: Story,
    pub(super) address: String,
    pub(super) inbox_url: String,
    /// The cause in one sentence.
    pub(super) sentence: Vec<Piece>,
    pub(super) advice: Vec<Piece>,
    /// The filters beside the messages that they exclude, or the address beside the one that got
    /// mail.
    pub(super) differences: Vec<Compared>,
    /// The rejections, each with what to do unless it is said above.
    pub(super) refused: Vec<(RefusedMail, String)>,
}

/// What was expected beside what arrived: a filter and the field of a message that it excludes, or
/// two addresses.
#[derive(PartialEq, Eq)]
pub(super) struct Compared {
    pub(super) name: String,
    /// Whether the message has no such field, or no text.
    pub(super) is_absent: bool,
    pub(super) difference: Difference,
}

impl StoryView {
    pub(super) fn new(visit: &Visit, story: Story) -> Self {
        let mail_domain = visit.service().mail_domain();
        let failure = &story.failure;
        let reading = Reading {
            now: visit.now,
            ended_at: Some(failure.ended_at()),
            smtp_address: &visit.smtp().to_string(),
        };
        let sentence = failure.finding.sentence.read(reading);
        let known = sentence.what_to_do();
        Self {
            address: failure.wait.address(mail_domain),
            inbox_url: format!(
                "/projects/{}/inboxes/{}",
                failure.wait.project,
                path_segment(failure.wait.inbox.as_str())
            ),
            sentence: cause(&sentence),
            advice: coded(known.unwrap_or_else(|| advice(failure.finding.cause))),
            differences: differences(&story, mail_domain),
            refused: distinct(visit, &story.evidence.refused, known.unwrap_or_default()),
            story,
        }
    }

    /// The rejections, and the mail that a fault accepted and then dropped or bounced, each with a
    /// heading.
    pub(super) fn rejections(&self) -> [(&'static str, Vec<&(RefusedMail, String)>); 2] {
        let (accepted, refused) = self
            .refused
            .iter()
            .partition(|(refused, _)| refused.reason.is_accepted());
        [
            ("Rejected", refused),
            ("Accepted, and not delivered", accepted),
        ]
    }

    pub(super) fn cause(&self) -> &'static str {
        title(self.story.failure.finding.cause)
    }

    /// Whether the last connection was before the inbox was created. The rounded times of both can
    /// be the same, which would contradict "nothing has connected since".
    pub(super) fn is_older(&self) -> bool {
        let last = self.story.evidence.smtp.last_connection_at;
        last.is_some_and(|at| at < self.story.failure.wait.inbox_created_at)
    }
}

/// The rejections; of several with the same reply to the same recipient, only the newest. Each has
/// what to do, unless that is `known` or an earlier one says it.
pub(super) fn distinct(
    visit: &Visit,
    refused: &[RefusedMail],
    known: &str,
) -> Vec<(RefusedMail, String)> {
    let mut known = vec![known.to_owned()];
    let mut distinct: Vec<(RefusedMail, String)> = Vec::new();
    for one in refused {
        let is_same = |(other, _): &(RefusedMail, _)| {
            (&other.reply, &other.recipient) == (&one.reply, &one.recipient)
        };
        if distinct.iter().any(is_same) {
            continue;
        }
        let finding = rejection(one, visit.service().server());
        let mut advice = finding.sentence.what_to_do().unwrap_or_default().to_owned();
        match known.contains(&advice) {
            true => advice.clear(),
            false => known.push(advice.clone()),
        }
        distinct.push((one.clone(), advice));
    }
    distinct
}

/// The address beside the one that got mail, or the filters that are compared with a text, each with
/// the newest messages that it excludes.
fn differences(story: &Story, mail_domain: &Domain) -> Vec<Compared> {
    let similar = story.evidence.similar.first();
    if let (Cause::Typo, Some(similar)) = (story.failure.finding.cause, similar) {
        let own = story.failure.wait.address(mail_domain);
        return vec![Compared {
            name: "address of the wait".to_owned(),
            is_absent: false,
            difference: Difference::of(&own, &similar.address(mail_domain)),
        }];
    }
    let MessageFilter {
        subject,
        from,
        to,
        text,
        header,
        ..
    } = &story.failure.wait.filter;
    let name = header
        .as_ref()
        .map(|header| format!("header {}", header.name));
    let part = header.as_ref().map(|header| &header.part);
    let filters = [
        ("subject", "subject", subject.as_ref()),
        ("from", "from", from.as_ref()),
        ("to", "to", to.as_ref()),
        ("text", "text", text.as_ref()),
        ("header", name.as_deref().unwrap_or_default(), part),
    ];
    let mut compared = Vec::new();
    for (filter, name, wanted) in filters {
        let Some(wanted) = wanted else { continue };
        let latest = story.evidence.latest.iter();
        let missed = latest.filter(|message| message.missed_by.contains(&filter));
        let missed = missed.take(MAX_COMPARED);
        for found in missed.filter_map(|message| compared_text(message, filter)) {
            let one = Compared {
                name: format!("{name} contains"),
                is_absent: found.is_empty(),
                difference: Difference::with_part(&shown(wanted), &shown(found)),
            };
            // Two messages can have the same subject.
            if !compared.contains(&one) {
                compared.push(one);
            }
        }
    }
    compared
}

/// The text of a message that a filter was compared with.
fn compared_text<'a>(message: &'a Latest, filter: &str) -> Option<&'a str> {
    let mut found = message.found.iter().filter(|(name, _)| *name == filter);
    match filter {
        "subject" => Some(&message.subject),
        "from" => Some(&message.from),
        _ => found.next().map(|(_, text)| text.as_str()),
    }
}

/// How a wait has ended: a label, the class of its badge, and an explanation.
pub(super) fn outcome(wait: &WaitRecord) -> (&'static str, &'static str, &'static str) {
    match wait.end.map(|(_, end)| end) {
        None => ("waiting", "open", ""),
        Some(WaitEnd::Message(_)) => ("message", "sent", ""),
        Some(WaitEnd::Unexpected(_)) => ("message, not expected", "failed", ""),
        Some(WaitEnd::Timeout) if wait.timeout.is_zero() => ("no message", "queued", ""),
        Some(WaitEnd::Timeout) => ("timed out", "failed", ""),
        Some(WaitEnd::Empty) => ("no message, as expected", "sent", ""),
        Some(WaitEnd::InboxEnded) => {
            let note = "The inbox was deleted or expired during the wait.";
            ("inbox ended", "failed", note)
        }
        Some(WaitEnd::TooMany) => {
            let note = "Too many open waits. Retry later, use one project per worker, or raise --waits-per-key.";
            ("429", "failed", note)
        }
        Some(WaitEnd::Left) => {
            let note = "The client closed the connection before the timeout.";
            ("cancelled", "queued", note)
        }
        Some(WaitEnd::Failed) => {
            let note = "The server stopped or failed. See the server log.";
            ("failed", "failed", note)
        }
    }
}

/// Whether the test that waited has failed.
pub(super) fn has_failed(wait: &WaitRecord) -> bool {
    wait.end.is_some_and(|(_, end)| end.is_failure())
}
