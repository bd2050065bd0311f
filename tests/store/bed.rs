//! What a case gets: a store of its own, a project, and words for what it does with them.

use std::time::Duration;

use restante::config::DatabaseUrl;
use restante::db::{Change, Database};
use restante::model::{ApiKey, Inbox, InboxId, InboxKind, MessageId, ProjectId, Timestamp};
use restante::store::{Batch, Content, Delivery, DeliveryError, Outcome, Policy, Selection, Store, Swept};

use tokio::sync::mpsc;

use crate::postgres_database::TestDatabase;

/// The instant at which every case begins.
pub const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);
/// How long an inbox lives here.
pub const HOUR: Duration = Duration::from_secs(3_600);
/// How many messages an inbox takes here.
pub const FULL: u64 = 5;

/// A store with its default project.
pub struct Bed {
    pub store: Store,
    pub default_project: ProjectId,
    url: DatabaseUrl,
    place: Place,
}

/// What goes with the bed.
#[expect(dead_code, reason = "held, not read")]
enum Place {
    Directory(tempfile::TempDir),
    Database(TestDatabase),
}

impl Bed {
    pub async fn sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = DatabaseUrl::Sqlite(directory.path().join("restante.db"));
        Self::open(url, Place::Directory(directory)).await
    }

    pub async fn postgres() -> Self {
        let database = TestDatabase::create();
        Self::open(database.url(), Place::Database(database)).await
    }

    async fn open(url: DatabaseUrl, place: Place) -> Self {
        let store = open(&url).await;
        let default_project = store.default_project("default", START).await.unwrap();
        Self { store, default_project, url, place }
    }

    /// Closes the store and opens it again.
    pub async fn restart(self) -> Self {
        let Self { store, default_project, url, place } = self;
        drop(store);
        Self { store: open(&url).await, default_project, url, place }
    }

    pub async fn project(&self, name: &str) -> ProjectId {
        self.store.create_project(name, &ApiKey::generate(), START).await.unwrap().unwrap()
    }

    /// What is announced from now on.
    pub fn changes(&self) -> mpsc::UnboundedReceiver<Change> {
        let (sender, changes) = mpsc::unbounded_channel();
        self.store.listen(move |announced| announced.iter().for_each(|change| drop(sender.send(change.clone()))));
        changes
    }

    pub fn policy(&self, now: Timestamp) -> Policy {
        Policy { now, lifetime: HOUR, inbox_messages: FULL, default_project: self.default_project }
    }

    /// A live inbox made at `START`.
    pub async fn inbox(&self, project: ProjectId, name: &str) -> Inbox {
        let inbox = Inbox {
            id: id(name),
            project,
            kind: InboxKind::Temporary,
            created_at: START,
            expires_at: Some(START.after(HOUR)),
        };
        assert!(self.store.create_inbox(&inbox).await.unwrap());
        inbox
    }

    pub async fn live(&self, name: &str, now: Timestamp) -> Option<Inbox> {
        self.store.live_inbox(&id(name), now).await.unwrap()
    }

    pub async fn deliver(&self, deliveries: &[Delivery], now: Timestamp) -> Result<Vec<Vec<Outcome>>, DeliveryError> {
        self.store.deliver(&Batch::known(deliveries.into(), self.policy(now))).await
    }

    /// Delivers one message at `now` and returns its ids, in the order of the inboxes' names.
    pub async fn mail(&self, recipients: &[&str], subject: &str, now: Timestamp) -> Vec<MessageId> {
        let outcomes = self.deliver(&[delivery(recipients, subject)], now).await.unwrap();
        outcomes.into_iter().flatten().map(|outcome| outcome.message).collect()
    }

    /// The subjects in a live inbox, the oldest first.
    pub async fn subjects(&self, name: &str, now: Timestamp) -> Vec<String> {
        let Some(inbox) = self.live(name, now).await else { return Vec::new() };
        let page = self.store.page(&inbox, &Selection::new(0, None), i64::MAX, i64::MAX, now).await.unwrap();
        page.messages.into_iter().rev().map(|message| message.subject).collect()
    }

    /// Sweeps until nothing is left to do; returns the number of steps that did something.
    pub async fn sweep(&self, now: Timestamp) -> usize {
        let mut steps = 0;
        while self.store.sweep(now).await.unwrap() == Swept::More {
            steps += 1;
        }
        steps
    }
}

pub fn id(name: &str) -> InboxId {
    InboxId::parse(name).unwrap()
}

pub fn delivery(recipients: &[&str], subject: &str) -> Delivery {
    let raw = format!("From: Sender <sender@else.example>\r\nSubject: {subject}\r\n\r\nThe text of {subject}.\r\n");
    Delivery {
        recipients: recipients.iter().map(|name| id(name)).collect(),
        project: None,
        content: content(raw.as_bytes()),
        outgoing: None,
    }
}

pub fn content(raw: &[u8]) -> Content {
    Content::encode(restante::mime::parse(raw), "sender@else.example".to_owned(), String::new(), raw).unwrap()
}

async fn open(url: &DatabaseUrl) -> Store {
    Store::open(Database::open(url).await.unwrap()).await.unwrap()
}
