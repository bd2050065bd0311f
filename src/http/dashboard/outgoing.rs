//! The messages that a project has sent, with the result of every attempt, and buttons to retry or
//! cancel.

use askama::Template;

use super::page::{Answer, Shell, html, see};
use super::plain::{self, When};
use super::visit::ProjectPage;
use crate::http::error::Error;
use crate::model::{Attempt, Outgoing, OutgoingFilter, OutgoingId, OutgoingStatus, Watched};

/// Items on the page.
const MAX_ITEMS_SHOWN: u32 = 200;

#[derive(Template)]
#[template(path = "outgoing.html")]
struct OutgoingPage {
    shell: Shell,
    rows: Vec<(Outgoing, Vec<Attempt>)>,
}

pub(super) async fn list(page: ProjectPage) -> Answer {
    let project = Some(page.project.id);
    // Read before the list, so that a change in between is announced and not missed.
    let watched = Watched::Outgoing(page.project.id);
    let seen = page.service().mark(&watched).await?;
    let filter = OutgoingFilter {
        project,
        ..OutgoingFilter::default()
    };
    let outbox = page.service().outbox();
    let mut attempts = outbox.attempts(page.project.id, MAX_ITEMS_SHOWN).await?;
    let items = outbox.list(&filter, MAX_ITEMS_SHOWN).await?.into_iter();
    let rows = items.map(|item| {
        let of_item = attempts.remove(&item.id).unwrap_or_default();
        (item, of_item)
    });
    let rows = rows.collect();
    let shell = page.shell("Outgoing mail", "outgoing").await?;
    let shell = shell.live(page.path("/events?of=outgoing"), seen);
    Ok(html(&OutgoingPage { shell, rows })?)
}

pub(super) async fn retry(page: ProjectPage) -> Answer {
    let item = own_item(&page).await?;
    page.service().outbox().retry(item).await?;
    Ok(see(&page.path("/outgoing")))
}

pub(super) async fn cancel(page: ProjectPage) -> Answer {
    let item = own_item(&page).await?;
    page.service().outbox().cancel(item).await?;
    Ok(see(&page.path("/outgoing")))
}

/// The item of the path, if the project of the path has sent it.
async fn own_item(page: &ProjectPage) -> Result<OutgoingId, Error> {
    let id = OutgoingId::parse(page.parameter("item")?).map_err(|_| Error::NotFound)?;
    let own = page.service().outbox().own(page.project.id, id).await?;
    own.map(|_| id).ok_or(Error::NotFound)
}
