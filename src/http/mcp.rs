//! `/mcp`: checks the host, the origin and the key, reads the body, and hands both to the MCP
//! endpoint.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::post;

use super::app::App;
use super::auth::Authenticated;
use super::body::read;
use super::error::Error;
use super::host::own_host;
use crate::mcp::{Addresses, Endpoint, Installation, Message, PATH, Tools};

/// What a request needs in addition to the text of a message: the envelope and the field names.
const BESIDE_MESSAGE: usize = 16 * 1024;

pub(super) fn router(app: &App) -> Router<Arc<App>> {
    if !app.mcp {
        return Router::new();
    }
    let installation = Installation {
        starttls: app.smtp_starttls,
        smtp_auth: app.smtp_auth,
        smtps_port: app.smtps_port,
        self_signed: app.self_signed,
    };
    let endpoint = Endpoint::new(Tools::new(app.service.clone(), installation));
    let answer =
        move |State(app): State<Arc<App>>, request: Request| answer(endpoint, app, request);
    Router::new().route(PATH, post(answer))
}

fn addresses(app: &App, headers: &HeaderMap) -> Addresses {
    Addresses {
        base_url: app.base_url.for_client(headers),
        smtp: app.smtp(headers),
    }
}

fn largest_body(app: &App) -> usize {
    app.limits.send_body.saturating_add(BESIDE_MESSAGE)
}

async fn answer(
    endpoint: Endpoint,
    app: Arc<App>,
    request: Request<Body>,
) -> Result<Response, Error> {
    let (mut parts, body) = request.into_parts();
    own_host(&parts.method, &parts.headers, app.base_url.as_str())?;
    let Authenticated(caller) = Authenticated::from_request_parts(&mut parts, &app).await?;
    let mut job = app.service.jobs().job(caller.key.0);
    let body = read(body, largest_body(&app), &mut job).await?;
    let is_large = body.len() > app.limits.body;
    let reading = job.run(move || Message::read(&body));
    let (message, _job) = reading.await.map_err(Error::internal)?;
    // Only a message that is sent may be larger than other bodies.
    let tool = message.as_ref().map(Message::tool);
    if is_large && tool.ok() != Some("send_message") {
        return Err(Error::BodyTooLarge);
    }
    let addresses = addresses(&app, &parts.headers);
    Ok(endpoint
        .handle(caller, addresses, &parts.headers, message)
        .await)
}
