//! The test bed of a case: a new store with a project, and helper functions.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use restante::config::DatabaseUrl;
use restante::db::{Database, Row};
use restante::model::{
    ApiKey, Domain, Inbox, InboxId, InboxKind, MailQuery, MessageId, OutgoingId, ProjectId, Scope,
    SharedAddress, Timestamp, generate_inbox_id,
};
use restante::service::write;
use restante::store::{
    Change, Content, ContentForm, Delivery, Origin, Policy, Search, Store, StoreError,
    StoredMessage, Swept,
};
use restante_deliveries::recipient;
use restante_delivery::{Request, Source, Verdict};

use tokio::sync::mpsc;

use testkit::postgres::TestDatabase;
use testkit::stranded::stranded;
use testkit::{Engine, Start};

use super::inboxes::permanent;

/// The start time of every case.
pub const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);
/// The lifetime of an inbox.
pub const HOUR: Duration = Duration::from_secs(3_600);
/// How long failures are kept.
const KEEP_FAILURES: Duration = Duration::from_secs(7 * 24 * 3_600);
/// Maximum number of messages in an inbox.
pub const FULL: u64 = 5;
/// The sender of every message.
const SENDER: &str = "sender@else.example";

/// A store with its default project.
pub struct Bed {
    pub store: Store,
    pub default_project: ProjectId,
    place: Arc<Place>,
}

/// Kept as long as the bed.
enum Place {
    Directory(tempfile::TempDir),
    Database(TestDatabase),
}

impl Place {
    fn url(&self) -> DatabaseUrl {
        match self {
            Self::Directory(directory) => DatabaseUrl::Sqlite(directory.path().join("restante.db")),
            Self::Database(database) => database.url(),
        }
    }

    /// Checks after every case: no row is left that nothing will ever remove.
    async fn check(&self) {
        assert_eq!(
            stranded(&Database::open(&self.url()).await.unwrap()).await,
            0,
            "rows are stranded"
        );
    }
}

impl Start for Bed {
    async fn test(engine: Engine, case: impl AsyncFnOnce(Self)) {
        let place = match engine {
            Engine::Sqlite => Place::Directory(tempfile::tempdir().unwrap()),
            Engine::Postgres => Place::Database(TestDatabase::create()),
        };
        let bed = Self::at(place).await;
        let place = Arc::clone(&bed.place);
        case(bed).await;
        place.check().await;
    }
}

impl Bed {
    async fn at(place: Place) -> Self {
        let store = open(&place.url()).await;
        let default_project = store.default_project("default", START).await.unwrap();
        Self {
            store,
            default_project,
            place: Arc::new(place),
        }
    }

    /// Closes the store and opens it again.
    pub async fn restart(self) -> Self {
        let Self {
            store,
            default_project,
            place,
        } = self;
        drop(store);
        Self {
            store: open(&place.url()).await,
            default_project,
            place,
        }
    }

    pub fn url(&self) -> DatabaseUrl {
        self.place.url()
    }

    /// The database file of SQLite.
    pub fn file(&self) -> PathBuf {
        match self.place.url() {
            DatabaseUrl::Sqlite(path) => path,
            other => panic!("{other:?} is not a file"),
        }
    }

    pub async fn project(&self, name: &str) -> ProjectId {
        self.store
            .create_project(name, &ApiKey::generate(), START)
            .await
            .unwrap()
            .unwrap()
    }

    /// The announcements of the changes that are made from now on.
    ///
    /// PostgreSQL announces a change some time after its commit, but in the order of the commits.
    /// So a change is made here and waited for: all changes before it have been announced by then.
    pub async fn changes(&self) -> mpsc::UnboundedReceiver<Change> {
        let (sender, mut changes) = mpsc::unbounded_channel();
        self.store.listen(move |announced| {
            announced
                .iter()
                .for_each(|change| drop(sender.send(change.clone())));
        });
        let marker = permanent(self.default_project, "marker");
        assert!(self.store.create_inbox(&marker).await.unwrap());
        while changes.recv().await.unwrap() != Change::Inbox(marker.id.clone()) {}
        changes
    }

    pub fn policy(&self, now: Timestamp) -> Policy {
        let mail_domain = Domain::parse("restante.example.com").unwrap();
        Policy {
            now,
            lifetime: HOUR,
            inbox_messages: FULL,
            default_project: self.default_project,
            mail_domain,
        }
    }

    /// A live inbox made at `START`.
    pub async fn inbox(&self, project: ProjectId, name: &str) -> Inbox {
        let inbox = Inbox {
            id: id(name),
            shared: None,
            project,
            kind: InboxKind::Temporary,
            created_at: START,
            expires_at: Some(START.after(HOUR)),
        };
        assert!(self.store.create_inbox(&inbox).await.unwrap());
        inbox
    }

    /// A live inbox with a shared address made at `START`.
    pub async fn shared(&self, project: ProjectId, address: &str) -> Inbox {
        let inbox = Inbox {
            shared: Some(SharedAddress::from_stored(address.to_owned())),
            ..permanent(project, generate_inbox_id().as_str())
        };
        let inbox = Inbox {
            kind: InboxKind::Temporary,
            expires_at: Some(START.after(HOUR)),
            ..inbox
        };
        assert!(self.store.create_inbox(&inbox).await.unwrap());
        inbox
    }

    pub async fn live(&self, name: &str, now: Timestamp) -> Option<Inbox> {
        self.store.live_inbox(&id(name), now).await.unwrap()
    }

    /// Delivers a batch at `now`.
    pub async fn deliver(&self, deliveries: &[Delivery], now: Timestamp) -> Vec<Verdict> {
        write(&self.store, &Arc::new(deliveries.into()), || {
            self.policy(now)
        })
        .await
        .unwrap()
    }

    /// Delivers a batch in which every delivery must be stored. Returns the ids of each.
    pub async fn store(&self, deliveries: &[Delivery], now: Timestamp) -> Vec<Vec<MessageId>> {
        let verdicts = self.deliver(deliveries, now).await;
        let stored = verdicts.iter().map(|verdict| {
            let ids: Vec<MessageId> = verdict
                .messages()
                .map(|(_, place)| MessageId(place.message))
                .collect();
            assert!(!ids.is_empty(), "{verdict:?}");
            ids
        });
        stored.collect()
    }

    /// Delivers one message at `now` and returns its ids, in the order of the recipients.
    pub async fn mail(&self, recipients: &[&str], subject: &str, now: Timestamp) -> Vec<MessageId> {
        self.store(&[delivery(recipients, subject)], now)
            .await
            .remove(0)
    }

    /// Delivers a message without a key to a shared address, and returns the projects that have a
    /// live inbox with it.
    pub async fn mail_to_shared(&self, address: &str, now: Timestamp) -> Vec<ProjectId> {
        self.mail(&[address], "shared", now).await;
        let address = SharedAddress::from_stored(address.to_owned());
        let holders = self
            .store
            .holders_of_address(&address, None, now)
            .await
            .unwrap();
        holders
            .into_iter()
            .filter(|holder| holder.is_live)
            .map(|holder| holder.project)
            .collect()
    }

    /// A message, if `project` owns it.
    pub async fn message(
        &self,
        project: ProjectId,
        message: MessageId,
        now: Timestamp,
    ) -> Result<Option<StoredMessage>, StoreError> {
        match self.store.find_message(project, message, now).await? {
            Some(found) => self.store.opened(found).await,
            None => Ok(None),
        }
    }

    /// The bytes of a message as received, if `project` owns it.
    pub async fn raw(&self, project: ProjectId, message: MessageId) -> Option<Vec<u8>> {
        let found = self.store.find_message(project, message, START).await;
        let raw = self.store.form(&found.unwrap()?, ContentForm::Raw).await;
        let mut pieces = raw.unwrap()?;
        let mut raw = Vec::new();
        while let Some(piece) = pieces.next().await.unwrap() {
            raw.extend_from_slice(&piece);
        }
        Some(raw)
    }

    /// The subjects in a live inbox, the oldest first.
    pub async fn subjects(&self, name: &str, now: Timestamp) -> Vec<String> {
        let Some(inbox) = self.live(name, now).await else {
            return Vec::new();
        };
        let mut search = Search::newest_first(MailQuery::new(Scope::Inbox(inbox)));
        let page = self
            .store
            .page(&mut search, (64, usize::MAX), None, now)
            .await
            .unwrap();
        page.into_iter()
            .rev()
            .map(|message| message.head.subject)
            .collect()
    }

    /// The number that a statement returns.
    pub async fn count(&self, sql: &'static str) -> i64 {
        let database = Database::open(&self.place.url()).await.unwrap();
        let rows = database.query(sql, vec![]).await.unwrap();
        Row::only(rows, Row::get).unwrap()
    }

    /// Sweeps until nothing is left to do. Returns the number of steps that removed something.
    pub async fn sweep(&self, now: Timestamp) -> usize {
        let mut steps = 0;
        while self.store.sweep(now, KEEP_FAILURES).await.unwrap() == Swept::More {
            steps += 1;
        }
        steps
    }
}

pub fn id(name: &str) -> InboxId {
    InboxId::parse(name).unwrap()
}

pub fn delivery(recipients: &[&str], subject: &str) -> Delivery {
    let raw = format!(
        "From: Sender <sender@else.example>\r\nSubject: {subject}\r\n\r\nThe text of {subject}.\r\n"
    );
    let source = Source::Client {
        project: None,
        reverse_path: SENDER.to_owned(),
    };
    let recipients = recipients.iter().map(|text| recipient(text)).collect();
    Delivery {
        request: Request { recipients, source },
        content: content(raw.as_bytes()),
        outgoing: None,
    }
}

/// The same delivery from a client with a key of this project.
pub fn by(project: ProjectId, mut delivery: Delivery) -> Delivery {
    delivery.request.source = Source::Client {
        project: Some(project),
        reverse_path: SENDER.to_owned(),
    };
    delivery
}

/// The same delivery from the service itself for this project, with the lease that it needs.
pub fn own(project: ProjectId, lease: Option<OutgoingId>, mut delivery: Delivery) -> Delivery {
    delivery.request.source = Source::Service {
        project,
        lease: lease.map(|item| item.0),
    };
    delivery
}

pub fn content(raw: &[u8]) -> Content {
    Content::encode(
        restante_mail::parse(raw),
        SENDER.to_owned(),
        Origin::default(),
        raw,
    )
}

async fn open(url: &DatabaseUrl) -> Store {
    Store::open(Database::open(url).await.unwrap())
        .await
        .unwrap()
}
