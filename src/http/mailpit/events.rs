//! `/api/events`: the WebSocket on which Mailpit announces new messages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};

use super::json::Entry;
use super::search::all;
use super::{Admitted, Refused};
use crate::http::App;
use crate::http::server::websocket::{Event, is_asked, open};
use crate::model::{MessageId, Timestamp};
use crate::service::{Caller, Follower, MailEntries, MailEntry, News, ServiceError};

/// Messages that are read at once, and how often after one change.
const PAGE: usize = 20;
const PAGES: usize = 10;
/// How many messages are known to be announced.
const KNOWN: usize = 1_000;

/// A client, and the messages that it knows.
struct Client {
    app: Arc<App>,
    caller: Caller,
    follower: Follower,
    since: Timestamp,
    known: BTreeSet<MessageId>,
    /// Whether a change could not be read.
    is_behind: bool,
}

pub(super) async fn events(
    State(app): State<Arc<App>>,
    admitted: Admitted,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    if !is_asked(&headers) {
        return Err(Refused::Invalid("this is a WebSocket".to_owned()));
    }
    let caller = admitted.caller;
    let follower = app.service.follow_mail(caller).await?;
    let mut client = Client {
        since: app.service.clock().now(),
        app,
        caller,
        follower,
        known: BTreeSet::new(),
        is_behind: false,
    };
    let there = client.page(0).await?;
    let there = there.iter().flat_map(|page| &page.entries);
    client.known = there.map(|one| one.head.id).collect();
    let batches = stream::unfold(client, async |mut client| {
        let batch = client.next().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "a stream of events was interrupted");
            None
        })?;
        Some((stream::iter(batch), client))
    });
    Ok(open(&headers, batches.flatten()))
}

impl Client {
    /// What is sent next; `None` at the end.
    async fn next(&mut self) -> Result<Option<Vec<Event>>, ServiceError> {
        match self.follower.next().await? {
            None => Ok(None),
            Some(News::Heartbeat) if !self.is_behind => Ok(Some(vec![Event::Ping])),
            Some(_) => self.changes().await.map(Some),
        }
    }

    /// The new messages, oldest first, and the counts. Messages need not be committed in the order
    /// of their ids.
    async fn changes(&mut self) -> Result<Vec<Event>, ServiceError> {
        let mut new = BTreeMap::new();
        let mut counts = None;
        self.is_behind = false;
        for number in 0..PAGES {
            let Some(page) = self.page(number * PAGE).await? else {
                self.is_behind = true;
                break;
            };
            counts.get_or_insert((page.found, page.unread));
            let before = new.len();
            let is_new = |one: &MailEntry| {
                one.head.received_at >= self.since && !self.known.contains(&one.head.id)
            };
            let found = page.entries.into_iter().filter(is_new);
            new.extend(found.map(|one| (one.head.id, one)));
            if new.len() == before {
                break;
            }
        }
        self.known.extend(new.keys());
        while self.known.len() > KNOWN {
            self.known.pop_first();
        }
        let domain = self.app.service.mail_domain();
        let mut events: Vec<_> = new
            .into_values()
            .map(|entry| event("new", &json!(Entry::new(entry, domain))))
            .collect();
        if let Some((total, unread)) = counts {
            let version = concat!("v", env!("CARGO_PKG_VERSION"));
            let counts = json!({"Total": total, "Unread": unread, "Version": version});
            events.push(event("stats", &counts));
        }
        Ok(events)
    }

    /// The messages of the project from `start` on; `None` if they cannot be read in time.
    async fn page(&self, start: usize) -> Result<Option<MailEntries>, ServiceError> {
        let service = &self.app.service;
        let page = service.project_mail(&self.caller, all(&self.caller), (start, PAGE));
        match page.await {
            Err(ServiceError::Busy) => Ok(None),
            page => page,
        }
    }
}

fn event(name: &str, data: &Value) -> Event {
    Event::Text(json!({"Type": name, "Data": data}).to_string())
}
