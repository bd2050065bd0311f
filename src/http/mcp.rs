//! `/mcp`: checks the host, the origin and the key, reads the body, and hands both to the MCP
//! endpoint.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::post;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use super::app::App;
use super::auth::Authenticated;
use super::body::read;
use super::error::Error;
use super::host::own_host;
use crate::large::SMALL;
use crate::mcp::{Addresses, Endpoint, Installation, PATH, Tools};

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
    let tools = Tools::new(
        app.service.clone(),
        installation,
        addresses(app, &HeaderMap::new()),
    );
    let endpoint = Endpoint::new(tools, largest_body(app));
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
    parts.extensions.insert(addresses(&app, &parts.headers));
    let mut job = app.service.jobs().job(caller.key.0);
    let body = read(body, largest_body(&app), &mut job).await?;
    let is_small = body.len() <= SMALL.min(app.limits.body);
    let request = Request::from_parts(parts, body);
    if is_small {
        return Ok(endpoint.handle(caller, request).await);
    }
    // Parsing a large one takes a while.
    let runtime = Handle::current();
    let most = app.limits.body;
    // It waits for work on large data, so it must not be one.
    let answering = spawn_blocking(move || {
        let _held = job;
        if request.body().len() > most && !Endpoint::takes_large(request.body()) {
            return Err(Error::BodyTooLarge);
        }
        Ok(runtime.block_on(endpoint.handle(caller, request)))
    });
    answering.await.map_err(Error::internal)?
}
