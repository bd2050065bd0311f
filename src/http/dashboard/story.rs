//! The page of a wait that timed out: the cause, what to do, the filters and the evidence. The response of the wait
//! links to it.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use restante_api::{Event, EventKind};

use super::explained::ExplanationPanel;
use super::failure::PageError;
use super::page::{NavPlace, Shell, html, project_path};
use super::visit::{Params, SignedIn};
use super::waits::{Filter, filters};
use super::when::When;
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::model::parse_id;
use crate::service::{advice, title};

#[derive(Template)]
#[template(path = "story.html")]
struct StoryPage {
    shell: Shell,
    cause: &'static str,
    advice: &'static str,
    address: String,
    label: Option<String>,
    inbox_url: String,
    filters: Vec<Filter>,
    timeout: String,
    ended: When,
    explanation: ExplanationPanel,
    timeline: Vec<Event>,
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    SignedIn(session): SignedIn,
    headers: HeaderMap,
    Params(id): Params<String>,
) -> Result<Response, PageError> {
    let id = parse_id(&id).map_err(|_| Error::NotFound)?;
    let story = app.service.story(id).await.map_err(Error::from)?;
    let story = story.filter(|story| session.may_see(story.failure.wait.project)).ok_or(Error::NotFound)?;
    let failure = &story.failure;
    let project = app.service.projects().find(failure.wait.project).await.map_err(Error::from)?;
    let project = project.ok_or(Error::NotFound)?;
    let address = failure.address(app.service.mail_domain());
    let cause = title(failure.finding.cause);
    let base = project_path(&project, "");
    Ok(html(&StoryPage {
        shell: Shell::new(&session, Some(&project), format!("{cause}: {address}"), Some(NavPlace::Waits)),
        cause,
        advice: advice(failure.finding.cause),
        address,
        label: failure.label.clone(),
        inbox_url: format!("{base}/inboxes/{}", path_segment(failure.wait.inbox.as_str())),
        filters: filters(&failure.wait),
        timeout: format!("{} s", failure.wait.timeout.as_secs_f64()),
        ended: When::new(failure.ended_at(), app.service.clock().now()),
        explanation: ExplanationPanel::of_story(&app, &base, &app.smtp(&headers), &story),
        timeline: story.timeline,
    })?)
}
