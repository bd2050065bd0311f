//! Fills a data directory before the server starts: many keys, and many messages.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use restante::clock::Clock;
use restante::config::DatabaseUrl;
use restante::db::Database;
use restante::model::InboxId;
use restante::service::Projects;
use restante::store::{BusyInbox, Content, Delivery, Policy, Store};

use crate::mail;
use crate::server::KEY;

/// Messages stored in one transaction.
const BATCH: usize = 1_000;
pub(crate) const MESSAGES_AN_INBOX: usize = 10;

async fn open(data_dir: &Path) -> (Database, Projects) {
    let database = Database::open(&DatabaseUrl::Sqlite(data_dir.join("restante.db"))).await.unwrap();
    let projects = Projects::open(database.clone(), Clock::system()).await.unwrap();
    projects.prepare_default(Some(&KEY.parse().unwrap())).await.unwrap();
    (database, projects)
}

/// Makes so many projects and answers their keys.
pub(crate) async fn create_keys(data_dir: &Path, count: usize) -> Vec<String> {
    let (_, projects) = open(data_dir).await;
    let mut keys = Vec::new();
    for number in 0..count {
        keys.push(projects.create(&format!("load-{number}")).await.unwrap().as_str().to_owned());
    }
    keys
}

/// Stores so many messages of 4 KiB, ten an inbox, and answers the inboxes.
pub(crate) async fn fill(data_dir: &Path, messages: usize) -> Vec<String> {
    let (database, _) = open(data_dir).await;
    let store = Store::open(database).await.unwrap();
    let now = Clock::system().now();
    let policy = Policy {
        now,
        lifetime: Duration::from_secs(24 * 3_600),
        inbox_messages: 10_000,
        default_project: store.default_project("default", now).await.unwrap(),
    };
    let inboxes: Vec<InboxId> = (0..messages.div_ceil(MESSAGES_AN_INBOX)).map(|_| InboxId::generate()).collect();
    for from in (0..messages).step_by(BATCH) {
        // Spread, so that an inbox's messages do not lie side by side.
        let deliveries = (from..messages.min(from + BATCH)).map(|number| Delivery {
            recipients: vec![inboxes[number % inboxes.len()].clone()],
            project: None,
            opens_inboxes: true,
            content: content(number),
            outgoing: None,
        });
        store.deliver(&Arc::new(deliveries.collect()), policy, BusyInbox::Wait).await.unwrap();
    }
    inboxes.iter().map(ToString::to_string).collect()
}

fn content(number: usize) -> Content {
    let raw = mail::plain(4_096).replace("load 0000000000", &format!("load {number:010}"));
    let parsed = restante_mail::parse(raw.as_bytes());
    Content::encode(parsed, "app@shop.test".to_owned(), String::new(), raw.as_bytes()).unwrap()
}
