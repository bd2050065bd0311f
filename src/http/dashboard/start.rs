//! Getting started: the settings for an application, snippets with the values of this installation
//! and, if there is one, of an inbox, and sample messages for readers who look at the dashboard
//! before their application has sent anything.

use askama::Template;

use super::page::{Answer, Shell, html, see};
use super::visit::{InboxPage, ProjectPage};
use crate::config::{HostAndPort, SmtpAuth};
use crate::model::{Inbox, InboxId, Watched};
use crate::service::Draft;

/// The subjects, the texts, and the HTML around the texts.
const SAMPLES: [(&str, &str, &str); 3] = [
    (
        "Reset your password",
        "Somebody has asked for a new password: https://shop.example/reset?token=c7d1",
        "",
    ),
    (
        "Your receipt",
        "Thank you for your order 1042 of 3 items. We deliver it tomorrow.",
        "<h1>Thank you</h1>",
    ),
    (
        "Confirm your address",
        "Your code is 482913. You can also open https://shop.example/confirm?token=a41f",
        "<h1>Welcome to the shop</h1>",
    ),
];

/// The settings for this installation. The key is not included, because the server has only its
/// hash.
pub(super) struct Setup {
    pub(super) smtp: HostAndPort,
    pub(super) offers_tls: bool,
    pub(super) base_url: String,
    /// Whether the APIs of mail providers are served.
    pub(super) send_apis: bool,
    /// The address to which to send.
    pub(super) address: String,
    /// The inbox to wait on; if there is none, the snippets create one first.
    pub(super) inbox: Option<InboxId>,
    /// Whether mail to this address reaches this project only if the client authenticates with its
    /// key.
    pub(super) needs_key: bool,
    /// The end of the project's newest key.
    pub(super) key_last_four: String,
}

#[derive(Template)]
#[template(path = "start.html")]
struct StartPage {
    shell: Shell,
    setup: Setup,
    /// The path of the inbox that is filled in.
    inbox: Option<String>,
    /// Live messages of the project.
    messages: i64,
}

impl Setup {
    pub(super) fn new(page: &ProjectPage, inbox: Option<&Inbox>) -> Self {
        let mail_domain = page.service().mail_domain();
        let is_other = !page.project.is_default && inbox.is_none();
        Self {
            smtp: page.smtp(),
            offers_tls: page.app.smtp_starttls,
            base_url: page.base_url(),
            send_apis: page.app.send_apis,
            address: match inbox {
                Some(inbox) => inbox.address(mail_domain),
                None => format!("anything@{mail_domain}"),
            },
            inbox: inbox.map(|inbox| inbox.id.clone()),
            needs_key: page.app.smtp_auth == SmtpAuth::Required || is_other,
            key_last_four: page.project.key_last_four.clone(),
        }
    }
}

pub(super) async fn show(page: ProjectPage) -> Answer {
    respond(&page, None).await
}

/// The same with an inbox filled in.
pub(super) async fn show_for_inbox(page: InboxPage) -> Answer {
    respond(&page, Some(&page)).await
}

async fn respond(page: &ProjectPage, inbox: Option<&InboxPage>) -> Answer {
    let service = page.service();
    let project = page.project.id;
    // Read before the messages are counted, so that a change in between is announced and not
    // missed.
    let seen = service.mark(&Watched::Mail(project)).await?;
    let messages = service.inbox_totals(project).await?.messages;
    let shell = page.shell("Getting started", "start").await?;
    Ok(html(&StartPage {
        shell: shell.live(page.path("/events"), seen),
        setup: Setup::new(page, inbox.map(|page| &page.inbox)),
        inbox: inbox.map(InboxPage::base),
        messages,
    })?)
}

/// Sends three sample messages to a new inbox.
pub(super) async fn send_samples(page: ProjectPage) -> Answer {
    let service = page.service();
    let caller = page.caller();
    let inbox = service
        .create_labelled_inbox(&caller, Some("Sample messages"))
        .await?;
    let address = inbox.address(service.mail_domain());
    for (subject, text, heading) in SAMPLES {
        let html = match heading {
            "" => String::new(),
            _ => format!("<html lang=\"en\"><body>{heading}<p>{text}</p></body></html>"),
        };
        let draft = Draft::new(&address, subject.to_owned(), text.to_owned(), html, None)?;
        let place = service.begin_send(&caller).await?;
        service.send(place, &caller, &inbox, draft).await?;
    }
    Ok(see(&page.path("/mail")))
}
