//! Lists, searches and deletes messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use super::json::{Entry, Messages};
use super::search::{Parsed, parse};
use super::{Admitted, Refused};
use crate::http::App;
use crate::http::body::read;
use crate::http::query::Query;
use crate::http::response::JSON;
use crate::model::{MailEntries, MailSearch, MessageId};
use crate::service::Caller;

/// How many messages a page has by default, as in Mailpit, and at most.
const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 1_000;
/// Where a page may start at most.
const MAX_START: usize = 100_000;
/// Maximum size of a request that names messages.
const MAX_BODY: usize = 1024 * 1024;

pub(super) async fn list(
    State(app): State<Arc<App>>,
    admitted: Admitted,
    query: Query,
) -> Result<Response, Refused> {
    answer(&app, &admitted.caller, Some(&MailSearch::default()), &query).await
}

pub(super) async fn search(
    State(app): State<Arc<App>>,
    admitted: Admitted,
    query: Query,
) -> Result<Response, Refused> {
    let search = required(&app, &admitted.caller, &query).await?;
    answer(&app, &admitted.caller, search.as_ref(), &query).await
}

pub(super) async fn delete(
    State(app): State<Arc<App>>,
    admitted: Admitted,
    body: Body,
) -> Result<Response, Refused> {
    let named = named(&app, &admitted.caller, body).await?;
    if named.is_empty() {
        app.service
            .delete_found_mail(&admitted.caller, &MailSearch::default())
            .await?;
    } else {
        // A text that is no id names no message.
        let ids: Vec<MessageId> = named
            .iter()
            .filter_map(|id| MessageId::parse(id).ok())
            .collect();
        app.service.delete_mail(&admitted.caller, &ids).await?;
    }
    Ok("ok".into_response())
}

pub(super) async fn delete_found(
    State(app): State<Arc<App>>,
    admitted: Admitted,
    query: Query,
) -> Result<Response, Refused> {
    if let Some(search) = required(&app, &admitted.caller, &query).await? {
        if search.is_empty() {
            return Err(Refused::Invalid("Error: no search query".to_owned()));
        }
        app.service
            .delete_found_mail(&admitted.caller, &search)
            .await?;
    }
    Ok("ok".into_response())
}

/// Marks messages as read: accepted, without an effect.
pub(super) async fn mark(
    State(app): State<Arc<App>>,
    admitted: Admitted,
    body: Body,
) -> Result<Response, Refused> {
    let mut job = app.service.jobs().job(admitted.caller.key.0);
    read(body, MAX_BODY, &mut job).await?;
    Ok("ok".into_response())
}

/// The id of the newest message that matches the search of the query, or of all messages.
pub(super) async fn latest(
    app: &App,
    caller: &Caller,
    query: &Query,
) -> Result<Option<MessageId>, Refused> {
    let search = if given(query).is_some() {
        required(app, caller, query).await?
    } else {
        Some(MailSearch::default())
    };
    let Some(search) = search else {
        return Ok(None);
    };
    let found = app
        .service
        .project_mail(caller, &search, (0, 1))
        .await?
        .ok_or(Refused::TooSlow)?;
    Ok(found.entries.first().map(|entry| entry.id))
}

async fn answer(
    app: &App,
    caller: &Caller,
    search: Option<&MailSearch>,
    query: &Query,
) -> Result<Response, Refused> {
    if query.first("before").is_some() {
        return Err(Refused::Invalid(
            "`before` is not supported: use `start`".to_owned(),
        ));
    }
    let number = |name: &str| {
        query
            .first(name)
            .and_then(|text| text.parse::<usize>().ok())
    };
    let start = number("start").unwrap_or(0);
    if start > MAX_START {
        return Err(Refused::Invalid(format!(
            "`start` is larger than {MAX_START}"
        )));
    }
    // For Mailpit, 0 is no limit.
    let limit = number("limit").unwrap_or(DEFAULT_LIMIT);
    let limit = if limit == 0 {
        MAX_LIMIT
    } else {
        limit.min(MAX_LIMIT)
    };
    let found = match search {
        Some(search) => app
            .service
            .project_mail(caller, search, (start, limit))
            .await?
            .ok_or(Refused::TooSlow)?,
        None => MailEntries {
            entries: Vec::new(),
            found: 0,
        },
    };
    let total = match search {
        Some(search) if search.is_empty() => found.found,
        _ => app.service.count_mail(caller).await?,
    };
    let messages: Vec<Entry> = found
        .entries
        .into_iter()
        .map(|entry| Entry::new(entry, app.service.mail_domain()))
        .collect();
    let list = Messages {
        total,
        unread: total,
        count: messages.len(),
        messages_count: found.found,
        messages_unread: found.found,
        start,
        tags: [],
        messages,
    };
    Ok(([(CONTENT_TYPE, JSON)], serde_json::to_vec(&list)?).into_response())
}

fn given(query: &Query) -> Option<String> {
    query
        .first("query")
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
}

/// The search of the query; `None` if it can find nothing.
async fn required(
    app: &App,
    caller: &Caller,
    query: &Query,
) -> Result<Option<MailSearch>, Refused> {
    Ok(parsed(query)?
        .among_inboxes_of(&app.service, caller)
        .await?)
}

fn parsed(query: &Query) -> Result<Parsed, Refused> {
    let text = given(query).ok_or_else(|| Refused::Invalid("Error: no search query".to_owned()))?;
    parse(&text).map_err(Refused::Invalid)
}

/// The messages in the body, which may be missing: JSON, or a form. Mailpit deletes all messages if
/// it cannot read a body, or does not know its field; here that is an error.
async fn named(app: &App, caller: &Caller, body: Body) -> Result<Vec<String>, Refused> {
    let mut job = app.service.jobs().job(caller.key.0);
    let body = read(body, MAX_BODY, &mut job).await?;
    if body.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    if body.starts_with(b"ids=") {
        let fields = form_urlencoded::parse(&body).filter(|(name, _)| name == "ids");
        return Ok(fields.map(|(_, id)| id.into_owned()).collect());
    }
    let fields: BTreeMap<String, Option<Vec<String>>> = serde_json::from_slice(&body)
        .map_err(|error| Refused::Invalid(format!("invalid JSON: {error}")))?;
    let mut ids = Vec::new();
    for (name, named) in fields {
        // As in Mailpit, the case does not matter.
        if !name.eq_ignore_ascii_case("ids") {
            return Err(Refused::Invalid(format!(
                "unknown field: {name}; the messages are in `IDs`"
            )));
        }
        ids.extend(named.unwrap_or_default());
    }
    Ok(ids)
}
