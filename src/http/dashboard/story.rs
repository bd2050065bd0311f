//! The page of a wait that timed out: the cause, what to do, and then the filters and the evidence.
//! The response of the wait links to it.

use std::mem::take;
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::explained::{ExplanationPanel, story_url};
use super::failure::PageError;
use super::page::{NavPlace, Shell, html, project_path};
use super::plain::{Piece, coded, shown};
use super::timeline::EventRow;
use super::visit::{Params, SignedIn};
use super::waits::{Filter, filters};
use super::when::When;
use crate::evidence::{Cause, Story, advice, title};
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::model::{Difference, Domain, Latest, MessageFilter, parse_id, spoken};

/// Messages with which each filter is compared.
const MAX_COMPARED: usize = 3;

#[derive(Template)]
#[template(path = "story.html")]
struct StoryPage {
    shell: Shell,
    cause: &'static str,
    advice: Vec<Piece>,
    address: String,
    label: Option<String>,
    inbox_url: String,
    failures_url: String,
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

pub(super) async fn show(
    State(app): State<Arc<App>>,
    SignedIn(session): SignedIn,
    headers: HeaderMap,
    Params(id): Params<String>,
) -> Result<Response, PageError> {
    let id = parse_id(&id).map_err(|_| Error::NotFound)?;
    let story = app
        .service
        .story(id, session.project())
        .await
        .map_err(Error::from)?;
    let story = story
        .filter(|story| session.may_see(story.failure.wait.project))
        .ok_or(Error::NotFound)?;
    let failure = &story.failure;
    let project = app
        .service
        .projects()
        .find(failure.wait.project)
        .await
        .map_err(Error::from)?;
    let project = project.ok_or(Error::NotFound)?;
    let address = failure.address(app.service.mail_domain());
    let cause = title(failure.finding.cause);
    let base = project_path(&project, "");
    let inbox_url = format!(
        "{base}/inboxes/{}",
        path_segment(failure.wait.inbox.as_str())
    );
    let failures = app
        .service
        .recent_failures(project.id)
        .await
        .map_err(Error::from)?;
    let title = format!("{cause}: {address}");
    let mut explanation = ExplanationPanel::of_story(&app, &base, &app.smtp(&headers), &story);
    let differences = differences(&story, app.service.mail_domain());
    let own = story_url(id);
    let mut timeline = EventRow::all(story.timeline, Some(&inbox_url));
    for event in &mut timeline {
        // Not to this page.
        event.link.take_if(|(_, url)| *url == own);
    }
    // Shown above the evidence.
    let sentence = take(&mut explanation.cause);
    let remedy = take(&mut explanation.remedy);
    Ok(html(&StoryPage {
        shell: Shell::new(&session, Some(&project), title, Some(NavPlace::Failures))
            .with_failures(failures),
        cause,
        advice: if remedy.is_empty() {
            coded(advice(failure.finding.cause))
        } else {
            remedy
        },
        address,
        label: failure.label.as_deref().map(shown),
        failures_url: format!("{base}/failures"),
        sentence,
        filters: filters(&failure.wait),
        timeout: spoken(failure.wait.timeout),
        differences,
        ended: When::new(failure.ended_at(), app.service.clock().now()),
        explanation,
        timeline,
        inbox_url,
    })?)
}
