//! Information about the server.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json as value;

use super::{Admitted, Refused};
use crate::http::App;
use crate::http::error::Error;
use crate::http::response::json;

/// The version, and the number of messages. What Mailpit shows of its process is 0.
pub(super) async fn info(
    State(app): State<Arc<App>>,
    admitted: Admitted,
) -> Result<Response, Refused> {
    let (messages, unread) = app.service.count_mail(&admitted.caller).await?;
    let version = concat!("v", env!("CARGO_PKG_VERSION"));
    let info = value!({
        "Version": version,
        "LatestVersion": version,
        "Database": "",
        "DatabaseSize": 0,
        "Messages": messages,
        "Unread": unread,
        "Tags": {},
        "RuntimeStats": {
            "Uptime": 0, "Memory": 0, "MessagesDeleted": 0, "SMTPAccepted": 0, "SMTPAcceptedSize": 0, "SMTPRejected": 0,
            "SMTPIgnored": 0,
        },
    });
    Ok(json(StatusCode::OK, &info)?)
}

/// The features of the web interface that helpers ask for: none is on.
pub(super) async fn webui() -> Result<Response, Refused> {
    let features = value!({
        "Label": "",
        "MessageRelay": {
            "Enabled": false, "SMTPServer": "", "ReturnPath": "", "AllowedRecipients": "", "BlockedRecipients": "",
            "OverrideFrom": "", "PreserveMessageIDs": false, "RecipientAllowlist": "",
        },
        "SpamAssassin": false,
        "ChaosEnabled": false,
        "DuplicatesIgnored": false,
        "HideDeleteAllButton": false,
    });
    Ok(json(StatusCode::OK, &features)?)
}

/// No message has a tag.
pub(super) async fn tags() -> Result<Response, Refused> {
    Ok(json(StatusCode::OK, &value!([]))?)
}

/// As of a Mailpit that was started without it.
pub(super) async fn chaos() -> Refused {
    Refused::Invalid("Chaos is not enabled: this server has faults for each inbox".to_owned())
}

pub(super) async fn live() -> StatusCode {
    StatusCode::OK
}

pub(super) async fn ready(State(app): State<Arc<App>>) -> Result<StatusCode, Refused> {
    let healthy = app.service.check_health().await;
    healthy
        .map(|()| StatusCode::OK)
        .map_err(|_| Error::Busy.into())
}

/// For a client that waits until the base URL answers.
pub(super) async fn home() -> &'static str {
    "This is Restante. It answers Mailpit's API here: give this URL to a test helper as the base URL of Mailpit.\n"
}
