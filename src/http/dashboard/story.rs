//! Why a wait failed: the cause, what to do, and then the filters and the evidence.

use std::mem::take;

use askama::Template;

use super::explained::{ExplanationPanel, story_url};
use super::plain::{Piece, coded, shown};
use super::timeline::EventRow;
use super::visit::ProjectPage;
use super::waits::{Filter, filters};
use super::when::When;
use crate::evidence::{Cause, Story, advice, title};
use crate::http::App;
use crate::http::download::path_segment;
use crate::model::{Difference, Domain, Latest, MessageFilter, spoken};

/// Messages with which each filter is compared.
const MAX_COMPARED: usize = 3;

#[derive(Template)]
#[template(path = "story.html")]
pub(super) struct StoryView {
    cause: &'static str,
    advice: Vec<Piece>,
    address: String,
    label: Option<String>,
    inbox_url: String,
    /// The cause in one sentence.
    sentence: Vec<Piece>,
    filters: Vec<Filter>,
    timeout: String,
    ended: When,
    /// The filters beside the messages that they exclude, or the address beside the one that got
    /// mail.
    differences: Vec<Compared>,
    explanation: ExplanationPanel,
    timeline: Vec<EventRow>,
}

/// What was expected beside what arrived: a filter and the field of a message that it excludes, or
/// two addresses.
#[derive(PartialEq, Eq)]
struct Compared {
    name: String,
    /// Whether the message has no such field, or no text.
    is_absent: bool,
    difference: Difference,
}

/// The address beside the one that got mail, or the filters beside what they exclude.
fn differences(story: &Story, mail_domain: &Domain) -> Vec<Compared> {
    match story
        .evidence
        .similar
        .first()
        .filter(|_| story.failure.finding.cause == Cause::Typo)
    {
        Some(similar) => {
            let difference = Difference::of(
                &story.failure.address(mail_domain),
                &similar.address(mail_domain),
            );
            vec![Compared {
                name: "address of the wait".to_owned(),
                is_absent: false,
                difference,
            }]
        }
        None => filter_differences(story),
    }
}

/// The filters that are compared with a text, each with the newest messages that it excludes.
fn filter_differences(story: &Story) -> Vec<Compared> {
    let wait = &story.failure.wait;
    let MessageFilter {
        subject,
        from,
        to,
        text,
        header,
        ..
    } = &wait.filter;
    let header = header
        .as_ref()
        .map(|header| (format!("header {}", header.name), header.part.as_str()));
    let texts = [
        ("subject", subject),
        ("from", from),
        ("to", to),
        ("text", text),
    ];
    let texts = texts
        .into_iter()
        .filter_map(|(name, wanted)| Some((name, name.to_owned(), wanted.as_deref()?)));
    let header = header
        .into_iter()
        .map(|(shown, part)| ("header", shown, part));
    let mut compared = Vec::new();
    for (filter, name, wanted) in texts.chain(header) {
        let missed = story
            .evidence
            .latest
            .iter()
            .filter(|message| message.missed_by.contains(&filter));
        for found in missed
            .take(MAX_COMPARED)
            .filter_map(|message| compared_text(message, filter))
        {
            let difference = Difference::with_part(&shown(wanted), &shown(found));
            let one = Compared {
                name: format!("{name} contains"),
                is_absent: found.is_empty(),
                difference,
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
    match filter {
        "subject" => Some(&message.subject),
        "from" => Some(&message.from),
        _ => message
            .found
            .iter()
            .find(|(name, _)| *name == filter)
            .map(|(_, text)| text.as_str()),
    }
}

impl StoryView {
    pub(super) fn new(app: &App, page: &ProjectPage, story: Story) -> Self {
        let base = page.path("");
        let failure = &story.failure;
        let inbox = path_segment(failure.wait.inbox.as_str());
        let inbox_url = format!("{base}/inboxes/{inbox}");
        let mut explanation = ExplanationPanel::of_story(app, &base, &page.smtp, &story);
        let differences = differences(&story, app.service.mail_domain());
        let own = story_url(failure.wait.id);
        let mut timeline = EventRow::all(story.timeline, Some(&inbox_url));
        for event in &mut timeline {
            // Not to this page.
            event.link.take_if(|(_, url)| *url == own);
        }
        // Shown above the evidence.
        let sentence = take(&mut explanation.cause);
        let remedy = take(&mut explanation.remedy);
        Self {
            cause: title(failure.finding.cause),
            advice: if remedy.is_empty() {
                coded(advice(failure.finding.cause))
            } else {
                remedy
            },
            address: failure.address(app.service.mail_domain()),
            label: failure.label.as_deref().map(shown),
            sentence,
            filters: filters(&failure.wait),
            timeout: spoken(failure.wait.timeout),
            differences,
            ended: When::new(failure.ended_at(), app.service.clock().now()),
            explanation,
            timeline,
            inbox_url,
        }
    }

    pub(super) fn title(&self) -> String {
        format!("{}: {}", self.cause, self.address)
    }
}
