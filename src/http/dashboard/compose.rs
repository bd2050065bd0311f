//! Sending from an inbox, and answering a message.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use super::failure::{Failure, again};
use super::guard::Visit;
use super::inboxes::path_segment;
use super::page::{Shell, html, see};
use crate::http::App;
use crate::http::error::Error;
use crate::model::{EmailAddress, Inbox, Message, OutgoingId};
use crate::service::{Caller, Draft};

#[derive(Template)]
#[template(path = "compose.html")]
struct ComposePage {
    shell: Shell,
    base: String,
    from: String,
    to: String,
    subject: String,
    text: String,
    /// The id of the message that is answered; empty where none is.
    reply: String,
    problem: String,
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    let mut page = blank(&app, &visit).await?;
    if !visit.query("reply").is_empty() {
        let message = app.service.message(&visit.caller()?, visit.query("reply")).await?;
        page.answer(&message);
    }
    Ok(html(&page)?)
}

pub(super) async fn send(
    State(app): State<Arc<App>>,
    Extension(visit): Extension<Arc<Visit>>,
) -> Result<Response, Failure> {
    let (caller, project) = (visit.caller()?, visit.project()?);
    let inbox = app.service.inbox(&caller, visit.param("inbox")).await?;
    let sent = match draft(&visit) {
        Ok(draft) => send_draft(&app, &caller, &inbox, draft).await,
        Err(error) => Err(error),
    };
    match sent {
        Ok(_) => Ok(see(&format!("/projects/{}/outgoing", project.id))),
        Err(error) => {
            let page = blank(&app, &visit).await?;
            Ok(again(error, |problem| page.filled_in(&visit, problem))?)
        }
    }
}

async fn send_draft(app: &App, caller: &Caller, inbox: &Inbox, draft: Draft) -> Result<OutgoingId, Error> {
    let place = app.service.begin_send(caller).await?;
    Ok(app.service.send(place, caller, inbox, draft).await?)
}

impl ComposePage {
    /// The form as it came, with what is wrong with it.
    fn filled_in(self, visit: &Visit, problem: String) -> Self {
        let field = |name| visit.field(name).to_owned();
        Self { to: field("to"), subject: field("subject"), text: field("text"), reply: field("reply"), problem, ..self }
    }

    fn answer(&mut self, message: &Message) {
        self.to.clone_from(&message.from);
        let is_reply = message.subject.get(..3).is_some_and(|prefix| prefix.eq_ignore_ascii_case("re:"));
        self.subject = if is_reply { message.subject.clone() } else { format!("Re: {}", message.subject) };
        self.reply = message.id.to_string();
    }
}

async fn blank(app: &App, visit: &Visit) -> Result<ComposePage, Error> {
    let (caller, project) = (visit.caller()?, visit.project()?);
    let inbox = app.service.inbox(&caller, visit.param("inbox")).await?;
    Ok(ComposePage {
        shell: Shell::new(visit, "Send a message", "inboxes"),
        base: format!("/projects/{}/inboxes/{}", project.id, path_segment(inbox.id.as_str())),
        from: inbox.address(app.service.mail_domain()),
        to: String::new(),
        subject: String::new(),
        text: String::new(),
        reply: String::new(),
        problem: String::new(),
    })
}

fn draft(visit: &Visit) -> Result<Draft, Error> {
    let subject = visit.field("subject");
    if subject.contains(char::is_control) {
        return Err(Error::InvalidField("subject"));
    }
    Ok(Draft {
        to: EmailAddress::parse(visit.field("to").trim()).map_err(|_| Error::InvalidField("to"))?,
        subject: subject.to_owned(),
        text: visit.field("text").replace("\r\n", "\n"),
        html: String::new(),
        in_reply_to: Some(visit.field("reply").to_owned()).filter(|id| !id.is_empty()),
    })
}
