//! Explains why a message did not arrive.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use super::inboxes::InboxView;
use crate::http::app::App;
use crate::http::auth::{Authenticated, PathId};
use crate::http::error::Error;
use crate::http::query::Query;
use crate::http::response::json;
use crate::model::{Domain, RefusedMail, Timestamp};
use crate::service::Explanation;
use crate::store::{InboxEnd, Latest, Similar};

#[derive(Serialize)]
struct ExplanationView<'a> {
    summary: &'a str,
    inbox: Option<InboxView<'a>>,
    ended: Option<EndView>,
    messages: MessagesView<'a>,
    refused: Vec<RefusedView<'a>>,
    similar: Vec<SimilarView>,
    smtp: SmtpView,
}

#[derive(Serialize)]
struct EndView {
    reason: &'static str,
    at: Timestamp,
}

#[derive(Serialize)]
struct MessagesView<'a> {
    count: i64,
    latest: Vec<LatestView<'a>>,
}

#[derive(Serialize)]
struct LatestView<'a> {
    id: String,
    from: &'a str,
    subject: &'a str,
    received_at: Timestamp,
    missed_by: &'a [&'static str],
}

#[derive(Serialize)]
struct RefusedView<'a> {
    at: Timestamp,
    client: String,
    sender: &'a str,
    recipient: &'a str,
    reply: &'a str,
}

#[derive(Serialize)]
struct SimilarView {
    address: String,
    messages: i64,
    last_received_at: Timestamp,
}

#[derive(Serialize)]
struct SmtpView {
    connections_open: i64,
    last_connection_at: Option<Timestamp>,
    last_message_at: Option<Timestamp>,
}

impl<'a> ExplanationView<'a> {
    fn new(explanation: &'a Explanation, mail_domain: &Domain) -> Self {
        let inbox = explanation.ended.is_none().then(|| InboxView::new(&explanation.inbox, mail_domain));
        let smtp = explanation.smtp;
        Self {
            summary: &explanation.summary,
            inbox,
            ended: explanation.ended.map(InboxEnd::reason_and_time).map(|(reason, at)| EndView { reason, at }),
            messages: MessagesView {
                count: explanation.messages,
                latest: explanation.latest.iter().map(latest).collect(),
            },
            refused: explanation.refused.iter().map(refused).collect(),
            similar: explanation.similar.iter().map(|similar| similar_view(similar, mail_domain)).collect(),
            smtp: SmtpView {
                connections_open: smtp.connections_open,
                last_connection_at: smtp.last_connection_at,
                last_message_at: smtp.last_message_at,
            },
        }
    }
}

fn latest(message: &Latest) -> LatestView<'_> {
    LatestView {
        id: message.id.to_string(),
        from: &message.from,
        subject: &message.subject,
        received_at: message.received_at,
        missed_by: &message.missed_by,
    }
}

fn refused(refused: &RefusedMail) -> RefusedView<'_> {
    RefusedView {
        at: refused.refused_at,
        client: refused.client(),
        sender: refused.sender_address(),
        recipient: refused.recipient_address(),
        reply: &refused.reply,
    }
}

fn similar_view(similar: &Similar, mail_domain: &Domain) -> SimilarView {
    SimilarView {
        address: similar.id.at(mail_domain),
        messages: similar.messages,
        last_received_at: similar.last_received_at,
    }
}

pub(super) async fn explain(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    id: PathId,
    query: Query,
) -> Result<Response, Error> {
    let filter = query.message_filter()?;
    let explanation = app.service.explain(&caller, &id.0, &filter, &app.smtp_address()).await?;
    Ok(json(StatusCode::OK, &ExplanationView::new(&explanation, app.service.mail_domain()))?)
}
