//! Lists, searches and deletes messages.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::json::{Entry, Messages};
use super::search::{all, parse};
use super::{Admitted, Refused};
use crate::http::App;
use crate::http::body::read;
use crate::http::query::Query;
use crate::http::response::JSON;
use crate::model::{MailChange, MailQuery, MessageId};
use crate::service::{Caller, MailEntries};

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
    answer(&app, &admitted.caller, Some(all(&admitted.caller)), &query).await
}

pub(super) async fn search(
    State(app): State<Arc<App>>,
    admitted: Admitted,
    query: Query,
) -> Result<Response, Refused> {
    let search = required(&app, &admitted.caller, &query).await?;
    answer(&app, &admitted.caller, search, &query).await
}

pub(super) async fn delete(
    State(app): State<Arc<App>>,
    admitted: Admitted,
    body: Body,
) -> Result<Response, Refused> {
    let chosen = chosen(&app, &admitted.caller, body).await?;
    // It has no other fields in Mailpit, so that a search would delete all messages.
    if chosen.read.is_some() || chosen.search.is_some() {
        return Err(Refused::Invalid(
            "the messages to delete are in `IDs`".to_owned(),
        ));
    }
    change(&app, &admitted.caller, chosen, MailChange::Delete).await
}

/// Changes the chosen messages, by default all.
async fn change(
    app: &App,
    caller: &Caller,
    chosen: Chosen,
    change: MailChange,
) -> Result<Response, Refused> {
    let ids = chosen.ids.unwrap_or_default();
    let search = chosen.search.unwrap_or_default();
    if !ids.is_empty() {
        if !search.is_empty() {
            return Err(Refused::Invalid(
                "`IDs` and `Search` exclude each other".to_owned(),
            ));
        }
        // A text that is no id names no message.
        let ids: Vec<MessageId> = ids
            .iter()
            .filter_map(|id| MessageId::parse(id).ok())
            .collect();
        app.service.change_mail(caller, &ids, change).await?;
        return Ok("ok".into_response());
    }
    let search = if search.trim().is_empty() {
        Some(all(caller))
    } else {
        let parsed = parse(&search, app.service.mail_domain()).map_err(Refused::Invalid)?;
        parsed.among_inboxes_of(&app.service, caller).await?
    };
    if let Some(search) = search {
        app.service
            .change_found_mail(caller, search, change)
            .await?;
    }
    Ok("ok".into_response())
}

pub(super) async fn delete_found(
    State(app): State<Arc<App>>,
    admitted: Admitted,
    query: Query,
) -> Result<Response, Refused> {
    if let Some(search) = required(&app, &admitted.caller, &query).await? {
        if search.is_all_of_project() {
            return Err(Refused::Invalid("Error: no search query".to_owned()));
        }
        app.service
            .change_found_mail(&admitted.caller, search, MailChange::Delete)
            .await?;
    }
    Ok("ok".into_response())
}

/// Marks messages as read, or as unread.
pub(super) async fn mark(
    State(app): State<Arc<App>>,
    admitted: Admitted,
    body: Body,
) -> Result<Response, Refused> {
    let chosen = chosen(&app, &admitted.caller, body).await?;
    let is_read = chosen.read.unwrap_or_default();
    let mark = MailChange::Mark { is_read };
    change(&app, &admitted.caller, chosen, mark).await
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
        Some(all(caller))
    };
    let Some(search) = search else {
        return Ok(None);
    };
    let found = app
        .service
        .project_mail(caller, search, (0, 1))
        .await?
        .ok_or(Refused::TooSlow)?;
    Ok(found.entries.first().map(|entry| entry.head.id))
}

async fn answer(
    app: &App,
    caller: &Caller,
    search: Option<MailQuery>,
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
    let is_all = search.as_ref().is_some_and(MailQuery::is_all_of_project);
    let found = match search {
        Some(search) => app
            .service
            .project_mail(caller, search, (start, limit))
            .await?
            .ok_or(Refused::TooSlow)?,
        None => MailEntries::default(),
    };
    let (total, unread) = if is_all {
        (found.found, found.unread)
    } else {
        app.service.count_mail(caller).await?
    };
    let messages: Vec<Entry> = found
        .entries
        .into_iter()
        .map(|entry| Entry::new(entry, app.service.mail_domain()))
        .collect();
    let list = Messages {
        total,
        unread,
        count: messages.len(),
        messages_count: found.found,
        messages_unread: found.unread,
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
async fn required(app: &App, caller: &Caller, query: &Query) -> Result<Option<MailQuery>, Refused> {
    let text = given(query).ok_or_else(|| Refused::Invalid("Error: no search query".to_owned()))?;
    let parsed = parse(&text, app.service.mail_domain()).map_err(Refused::Invalid)?;
    Ok(parsed.among_inboxes_of(&app.service, caller).await?)
}

/// What a body says about messages, in upper or lower case as in Mailpit.
#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
struct Chosen {
    ids: Option<Vec<String>>,
    read: Option<bool>,
    search: Option<String>,
}

/// The body, which may be missing: JSON, or a form. Mailpit deletes all messages if it cannot read
/// a body, or does not know its field; here that is an error.
async fn chosen(app: &App, caller: &Caller, body: Body) -> Result<Chosen, Refused> {
    let mut job = app.service.jobs().job(caller.key.0);
    let body = read(body, MAX_BODY, &mut job).await?;
    if body.trim_ascii().is_empty() {
        return Ok(Chosen::default());
    }
    if body.starts_with(b"ids=") {
        let fields = form_urlencoded::parse(&body).filter(|(name, _)| name == "ids");
        return Ok(Chosen {
            ids: Some(fields.map(|(_, id)| id.into_owned()).collect()),
            ..Chosen::default()
        });
    }
    let invalid = |error| Refused::Invalid(format!("invalid JSON: {error}"));
    let fields: Map<String, Value> = serde_json::from_slice(&body).map_err(invalid)?;
    let fields = fields
        .into_iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .collect();
    serde_json::from_value(Value::Object(fields)).map_err(invalid)
}
