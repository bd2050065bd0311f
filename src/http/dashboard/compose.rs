//! Sending from an inbox, and replying to a message.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::failure::PageError;
use super::page::{Shell, again, html, see};
use super::visit::{Form, InboxPage};
use crate::http::App;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::OutgoingId;
use crate::service::{Draft, MessageStart};

/// Lines of a message that a reply quotes, and their bytes.
const QUOTED_LINES: usize = 200;
const QUOTED_BYTES: usize = 64 * 1024;

#[derive(Template)]
#[template(path = "compose.html")]
struct ComposePage {
    shell: Shell,
    title: &'static str,
    base: String,
    from: String,
    fields: Fields,
    problem: Option<String>,
}

/// The fields of the form.
#[derive(Default)]
struct Fields {
    to: String,
    subject: String,
    text: String,
    /// The id of the message to which this is a reply.
    reply: Option<String>,
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    page: InboxPage,
    query: Query,
) -> Result<Response, PageError> {
    let fields = match query.first("reply") {
        Some(id) => Fields::reply_to(
            app.service
                .message_start(&page.of.caller(), &id, QUOTED_BYTES)
                .await?,
        ),
        None => Fields::default(),
    };
    Ok(html(&compose_page(&app, &page, fields))?)
}

pub(super) async fn send(
    State(app): State<Arc<App>>,
    page: InboxPage,
    form: Form,
) -> Result<Response, PageError> {
    let sent = match draft(&form) {
        Ok(draft) => send_draft(&app, &page, draft).await,
        Err(error) => Err(error),
    };
    match sent {
        Ok(_) => Ok(see(&page.of.path("/outgoing"))),
        Err(error) => {
            let page = compose_page(&app, &page, Fields::of(&form));
            Ok(again(error, |problem| ComposePage {
                problem: Some(problem),
                ..page
            })?)
        }
    }
}

async fn send_draft(app: &App, page: &InboxPage, draft: Draft) -> Result<OutgoingId, Error> {
    let caller = page.of.caller();
    let place = app.service.begin_send(&caller).await?;
    Ok(app.service.send(place, &caller, &page.inbox, draft).await?)
}

impl Fields {
    fn of(form: &Form) -> Self {
        let field = |name| form.text(name).to_owned();
        let reply = form.given("reply").map(str::to_owned);
        Self {
            to: field("to"),
            subject: field("subject"),
            text: field("text"),
            reply,
        }
    }

    fn reply_to(message: MessageStart) -> Self {
        let is_reply = message
            .head
            .subject
            .get(..3)
            .is_some_and(|prefix| prefix.eq_ignore_ascii_case("re:"));
        let subject = if is_reply {
            message.head.subject
        } else {
            format!("Re: {}", message.head.subject)
        };
        let text = quoted(&message.head.from, &message.text);
        Self {
            to: message.head.from,
            subject,
            text,
            reply: Some(message.head.id.to_string()),
        }
    }
}

/// The quoted text of a message for a reply (RFC 3676, section 4.5), with empty lines above for the
/// answer.
fn quoted(from: &str, text: &str) -> String {
    let lines = text.lines().take(QUOTED_LINES);
    let quote: String = lines
        .map(|line| format!(">{}{line}\n", if line.starts_with('>') { "" } else { " " }))
        .collect();
    if quote.is_empty() {
        quote
    } else {
        format!("\n\n{from} wrote:\n{quote}")
    }
}

fn compose_page(app: &App, page: &InboxPage, fields: Fields) -> ComposePage {
    let title = if fields.reply.is_some() {
        "Reply"
    } else {
        "Send a message"
    };
    ComposePage {
        shell: page.of.shell(title, "inbox"),
        title,
        base: page.path(),
        from: page.inbox.address(app.service.mail_domain()),
        fields,
        problem: None,
    }
}

fn draft(form: &Form) -> Result<Draft, Error> {
    let text = form.text("text").replace("\r\n", "\n");
    let reply = form.given("reply").map(str::to_owned);
    Ok(Draft::new(
        form.text("to").trim(),
        form.text("subject").to_owned(),
        text,
        String::new(),
        reply,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_quotes_the_message() {
        assert_eq!(
            quoted("a@b.example", "One\n> two\n\nthree"),
            "\n\na@b.example wrote:\n> One\n>> two\n> \n> three\n"
        );
        assert_eq!(quoted("a@b.example", ""), "");
    }
}
