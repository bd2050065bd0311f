//! The whole project: its inboxes, its messages, and a stream that says when mail has arrived.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use restante_api::{
    InboxList, InboxSummary, ListInboxesQuery, MessageSummary, ProjectMessages, SearchMessagesQuery,
};

use crate::http::app::App;
use crate::http::auth::Authenticated;
use crate::http::describe::{BUSY, Operation};
use crate::http::error::Error;
use crate::http::query::{Parameters, given, limit};
use crate::http::response::json;
use crate::model::{
    InboxFilter, InboxId, ListPart, MailQuery, Scope, SearchText, Timestamp, address_of,
};
use crate::service::{MessageStart, News};
use crate::wire;

const DEFAULT_INBOXES: u64 = 100;
const MAX_INBOXES: u64 = 1_000;
const DEFAULT_MESSAGES: u64 = 50;
const MAX_MESSAGES: u64 = 100;
/// Sent immediately, so that the client knows that no later message is missed.
const OPENING: &str = ": open\n\n";

pub(super) async fn inboxes(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    Parameters(query): Parameters<ListInboxesQuery>,
) -> Result<Response, Error> {
    let most = at_most(query.limit, DEFAULT_INBOXES, MAX_INBOXES)?;
    let part = given(query.after).map_or(Ok(ListPart::Start), |after| position(&after));
    let mail_domain = app.service.mail_domain();
    let address = SearchText::new(&query.search, mail_domain);
    let filter = InboxFilter {
        address,
        part: part?,
        ..InboxFilter::default()
    };
    // One more, to know whether the list continues.
    let listed = i64::try_from(most + 1).unwrap_or(i64::MAX);
    let mut found = app
        .service
        .list_inboxes(caller.project, &filter, listed)
        .await?;
    let is_last = found.len() <= most;
    found.truncate(most);
    let last = found.last().filter(|_| !is_last);
    let next = last.map(|last| format!("{}.{}", last.active_at.as_millis(), last.inbox.id));
    let inboxes = found.into_iter().map(|summary| InboxSummary {
        inbox: wire::inbox(&summary.inbox, mail_domain),
        messages: summary.messages,
        last_received_at: summary.last_received_at.map(|at| at.to_string()),
    });
    Ok(json(
        StatusCode::OK,
        &InboxList {
            inboxes: inboxes.collect(),
            next,
        },
    )?)
}

pub(super) fn describe_inboxes(operation: Operation<'_>) -> Operation<'_> {
    operation
        .named(
            "listInboxes",
            "project",
            "List the inboxes of the project",
            "Extension. The latest activity first.",
        )
        .extension()
        .returns::<InboxList>(StatusCode::OK, "A page of the list.")
        .refuses(
            "`limit` or `after` is invalid.",
            &["limit", "after"].map(Error::InvalidParameter),
        )
}

pub(super) async fn messages(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
    Parameters(query): Parameters<SearchMessagesQuery>,
) -> Result<Response, Error> {
    let most = at_most(query.limit, DEFAULT_MESSAGES, MAX_MESSAGES)?;
    let before = given(query.before).map(|before| {
        before
            .parse()
            .map_err(|_| Error::InvalidParameter("before"))
    });
    let mail_domain = app.service.mail_domain();
    let query = MailQuery {
        before: before.transpose()?,
        ..MailQuery::containing(Scope::Project(caller.project), &query.search, mail_domain)
    };
    let (messages, search) = app.service.mail(query, most).await?;
    let messages = messages
        .into_iter()
        .map(|message: MessageStart| MessageSummary {
            id: message.head.id.to_string(),
            to: address_of(
                &message.head.inbox_id,
                message.head.shared.as_ref(),
                mail_domain,
            ),
            inbox_id: message.head.inbox_id.to_string(),
            from: message.head.from,
            subject: message.head.subject,
            code: message.head.code,
            attachments: message.head.attachments,
            received_at: message.head.received_at.to_string(),
        });
    let next = search.position().map(|next| next.to_string());
    Ok(json(
        StatusCode::OK,
        &ProjectMessages {
            messages: messages.collect(),
            next,
        },
    )?)
}

pub(super) fn describe_messages(operation: Operation<'_>) -> Operation<'_> {
    let description = "Extension. Newest first, without the texts.";
    operation
        .named(
            "searchMessages",
            "project",
            "Search the messages of the project",
            description,
        )
        .extension()
        .returns::<ProjectMessages>(StatusCode::OK, "A page of the messages.")
        .refuses(
            "`limit` or `before` is invalid.",
            &["limit", "before"].map(Error::InvalidParameter),
        )
        .refuses_as(&BUSY)
}

pub(super) async fn changes(
    State(app): State<Arc<App>>,
    Authenticated(caller): Authenticated,
) -> Result<Response, Error> {
    let follower = app.service.follow_mail(caller).await?;
    let events = stream::unfold((follower, true), |(mut follower, is_first)| async move {
        let event = match is_first {
            true => OPENING,
            false => match follower.next().await {
                Ok(Some(News::Changed(_))) => "data: changed\n\n",
                Ok(Some(News::Heartbeat)) => ": heartbeat\n\n",
                Ok(None) => return None,
                Err(error) => {
                    tracing::warn!(%error, "a stream of changes was interrupted");
                    return None;
                }
            },
        };
        Some((
            Ok::<_, Infallible>(Bytes::from_static(event.as_bytes())),
            (follower, false),
        ))
    });
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, Body::from_stream(events)).into_response())
}

pub(super) fn describe_changes(operation: Operation<'_>) -> Operation<'_> {
    let description = "Extension. Server-sent events: each says `changed` when a message has arrived in any inbox of \
                       the project, or an inbox was created or deleted. The stream takes no wait of the key.";
    operation
        .named(
            "watchProject",
            "project",
            "A stream of changes",
            description,
        )
        .extension()
        .returns_content(
            "text/event-stream",
            "The stream. It ends with the key or with the server.",
            &[],
        )
        .refuses("The key has 20 open streams.", &[Error::TooManyStreams])
}

fn at_most(text: String, default: u64, most: u64) -> Result<usize, Error> {
    let wanted = limit(text)?.unwrap_or(default);
    let allowed = usize::try_from(wanted).ok().filter(|_| wanted <= most);
    allowed.ok_or(Error::InvalidParameter("limit"))
}

/// The place in the list after an inbox: the time of its activity, and its id.
fn position(after: &str) -> Result<ListPart, Error> {
    let parsed = after.split_once('.').and_then(|(millis, id)| {
        Some(ListPart::After(
            Timestamp::from_millis(millis.parse().ok()?),
            InboxId::parse(id).ok()?,
        ))
    });
    parsed.ok_or(Error::InvalidParameter("after"))
}
