//! Sending from an inbox, and replying to a message.

use askama::Template;

use super::page::{Answer, Shell, again, html, see};
use super::visit::{Form, InboxPage};
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

pub(super) async fn show(page: InboxPage, query: Query) -> Answer {
    let fields = match query.first("reply") {
        Some(id) => {
            let caller = page.caller();
            let message = page.service().message_start(&caller, &id, QUOTED_BYTES);
            Fields::reply_to(message.await?)
        }
        None => Fields::default(),
    };
    Ok(html(&compose_page(&page, fields).await?)?)
}

pub(super) async fn send(page: InboxPage, form: Form) -> Answer {
    let fields = Fields::of(&form);
    match send_draft(&page, &fields).await {
        Ok(_) => Ok(see(&page.path("/outgoing"))),
        Err(error) => {
            let page = compose_page(&page, fields).await?;
            again(error, |problem| ComposePage {
                problem: Some(problem),
                ..page
            })
        }
    }
}

async fn send_draft(page: &InboxPage, fields: &Fields) -> Result<OutgoingId, Error> {
    let text = fields.text.replace("\r\n", "\n");
    let (to, subject, reply) = (
        fields.to.trim(),
        fields.subject.clone(),
        fields.reply.clone(),
    );
    let draft = Draft::new(to, subject, text, String::new(), reply)?;
    let caller = page.caller();
    let place = page.service().begin_send(&caller).await?;
    Ok(page
        .service()
        .send(place, &caller, &page.inbox, draft)
        .await?)
}

impl Fields {
    fn of(form: &Form) -> Self {
        Self {
            to: form.text("to").to_owned(),
            subject: form.text("subject").to_owned(),
            text: form.text("text").to_owned(),
            reply: form.given("reply").map(str::to_owned),
        }
    }

    fn reply_to(MessageStart { head, text, .. }: MessageStart) -> Self {
        let prefix = head.subject.get(..3);
        let is_reply = prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case("re:"));
        let prefix = if is_reply { "" } else { "Re: " };
        Self {
            subject: format!("{prefix}{}", head.subject),
            text: quoted(&head.from, &text),
            to: head.from,
            reply: Some(head.id.to_string()),
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
    match quote.is_empty() {
        true => quote,
        false => format!("\n\n{from} wrote:\n{quote}"),
    }
}

async fn compose_page(page: &InboxPage, fields: Fields) -> Result<ComposePage, Error> {
    let title = match fields.reply {
        Some(_) => "Reply",
        None => "Send a message",
    };
    Ok(ComposePage {
        shell: page.shell(title, "inbox").await?,
        base: page.base(),
        from: page.inbox.address(page.service().mail_domain()),
        fields,
        problem: None,
    })
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
