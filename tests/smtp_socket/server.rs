//! A receiver on a free port, and access to its service.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use restante::clock::Clock;
use restante::config::{DatabaseUrl, MIB, Settings};
use restante::db::Database;
use restante::model::{ApiKey, EmailAddress, Fault, FaultAction, FaultPoint, InboxId, Timestamp};
use restante::receiver::Receiver;
use restante::service::{ListFilter, Service};
use restante::store::Store;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::SupportedProtocolVersion;
use tokio_util::sync::CancellationToken;

use crate::client::Client;
use restante_dialogs::API_KEY;

/// How long running sessions may take to end.
pub(crate) const GRACE: Duration = Duration::from_secs(10);

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// The address for implicit TLS, if the test enables it.
    pub(crate) tls_address: Option<SocketAddr>,
    pub(crate) clock: Clock,
    pub(crate) service: Service,
    pub(crate) settings: Settings,
    stop: CancellationToken,
    running: JoinHandle<()>,
    store: Store,
    _directory: tempfile::TempDir,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Starts with settings that a test changes.
    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut settings = testkit::settings(directory.path());
        // The disk of a test machine may be small.
        settings.limits.free_disk = MIB;
        change(&mut settings);
        let clock = Clock::manual(Timestamp::from_millis(1_800_000_000_000));
        let database = Database::open(&settings.data.url()).await.unwrap();
        let store = Store::open(database.clone()).await.unwrap();
        let service = Service::start(
            database,
            clock.clone(),
            testkit::options(settings.limits.inbox_messages),
        )
        .await
        .unwrap();
        service
            .projects()
            .prepare_default(Some(&API_KEY.parse().unwrap()))
            .await
            .unwrap();
        let receiver = Receiver::bind(&settings, service.clone()).await.unwrap();
        let address = receiver.local_addr();
        let tls_address = receiver.tls_addr();
        let stop = CancellationToken::new();
        let running = tokio::spawn(receiver.run(stop.clone(), GRACE));
        Self {
            address,
            tls_address,
            clock,
            service,
            settings,
            stop,
            running,
            store,
            _directory: directory,
        }
    }

    /// A client that has not yet read the greeting.
    pub(crate) async fn connect(&self) -> Client<TcpStream> {
        Client::new(TcpStream::connect(self.address).await.unwrap())
    }

    /// A client of the second listener that has not yet read the greeting.
    pub(crate) async fn connect_encrypted(
        &self,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Client<TlsStream<TcpStream>> {
        Client::new(TcpStream::connect(self.tls_address.unwrap()).await.unwrap())
            .handshake(versions)
            .await
    }

    /// A client that has read the greeting and sent EHLO.
    pub(crate) async fn greeted(&self) -> Client<TcpStream> {
        let mut client = self.connect().await;
        assert!(client.reply().await.starts_with("220 "));
        assert!(
            client
                .command("EHLO client.example")
                .await
                .starts_with("250")
        );
        client
    }

    /// Advances the clock by `step` until `work` is done: the server may not have been waiting at
    /// the first step.
    pub(crate) async fn passing<T>(&self, step: Duration, work: impl Future<Output = T>) -> T {
        let passing = async {
            loop {
                self.clock.advance(step);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            done = work => done,
            () = passing => unreachable!("time ended"),
        }
    }

    /// Creates the inboxes of these faults and gives them theirs.
    pub(crate) async fn set_faults(&self, faults: &[restante_dialogs::Fault]) {
        let mut lists: BTreeMap<&str, Vec<Fault>> = BTreeMap::new();
        for fault in faults {
            lists.entry(&fault.inbox).or_default().push(fault_of(fault));
        }
        let caller = self.service.authenticate(API_KEY).await.unwrap().unwrap();
        for (address, faults) in lists {
            let (name, _) = address.split_once('@').unwrap();
            let inbox = self
                .service
                .create_permanent_inbox(caller.project, name)
                .await
                .unwrap();
            self.service.set_faults(&inbox, &faults).await.unwrap();
        }
    }

    pub(crate) fn begin_stop(&self) {
        self.stop.cancel();
    }

    /// Waits until a stop is complete.
    pub(crate) async fn ended(self) {
        tokio::time::timeout(Duration::from_secs(20), self.running)
            .await
            .expect("the receiver goes on")
            .unwrap();
    }

    pub(crate) async fn new_project(&self, name: &str) -> ApiKey {
        self.service.projects().create(name).await.unwrap()
    }

    /// The messages of the inbox for `address`, oldest first, as received.
    pub(crate) async fn messages(&self, address: &str) -> Vec<Vec<u8>> {
        self.messages_of(API_KEY, address).await
    }

    /// The same with another key.
    pub(crate) async fn messages_of(&self, key: &str, address: &str) -> Vec<Vec<u8>> {
        let caller = self.service.authenticate(key).await.unwrap().unwrap();
        let id = InboxId::of(&EmailAddress::parse(address).unwrap());
        let Ok(inbox) = self.service.inbox(&caller, id.as_str()).await else {
            return Vec::new();
        };
        let mut pages = self
            .service
            .list(&inbox, &ListFilter::default())
            .await
            .unwrap();
        let mut raw = Vec::new();
        while let Some(page) = pages.next_page().await.unwrap() {
            for message in page {
                let (whole, _job) = self
                    .service
                    .whole_message(&caller, &message.head.id.to_string())
                    .await
                    .unwrap();
                raw.push(whole.raw);
            }
        }
        raw.reverse();
        raw
    }

    /// The SMTP sessions in the timeline of an inbox, each as text.
    pub(crate) async fn smtp_sessions(&self, inbox: &str) -> Vec<String> {
        let caller = self.service.authenticate(API_KEY).await.unwrap().unwrap();
        let (events, _) = self.service.timeline(&caller, inbox, None).await.unwrap();
        events
            .iter()
            .filter(|event| !event.commands.is_empty())
            .map(|event| format!("{event:?}"))
            .collect()
    }

    /// The TLS version of each message of an inbox, oldest first.
    pub(crate) async fn tls_versions(&self, inbox: &str) -> Vec<String> {
        let caller = self.service.authenticate(API_KEY).await.unwrap().unwrap();
        let inbox = self.service.inbox(&caller, inbox).await.unwrap();
        let mut pages = self
            .service
            .list(&inbox, &ListFilter::default())
            .await
            .unwrap();
        let mut versions = Vec::new();
        for message in pages.next_page().await.unwrap().unwrap() {
            let (whole, _job) = self
                .service
                .whole_message(&caller, &message.head.id.to_string())
                .await
                .unwrap();
            versions.extend(whole.envelope.tls);
        }
        versions.reverse();
        versions
    }

    /// The number of messages in all inboxes.
    pub(crate) async fn message_count(&self) -> usize {
        usize::try_from(self.store.stored().await.unwrap().0).unwrap()
    }

    /// A separate connection to the service's database.
    pub(crate) fn database(&self) -> rusqlite::Connection {
        let DatabaseUrl::Sqlite(path) = self.settings.data.url() else {
            panic!("this suite runs on SQLite")
        };
        rusqlite::Connection::open(path).unwrap()
    }
}

fn fault_of(fault: &restante_dialogs::Fault) -> Fault {
    let action = match fault.action.clone() {
        restante_dialogs::FaultAction::Defer(reply) => FaultAction::Defer { reply },
        restante_dialogs::FaultAction::Reject(reply) => FaultAction::Reject { reply },
        restante_dialogs::FaultAction::Disconnect { store } => FaultAction::Disconnect {
            store: store.then_some(true),
        },
        restante_dialogs::FaultAction::Reset { store } => FaultAction::Reset {
            store: store.then_some(true),
        },
        restante_dialogs::FaultAction::Delay(seconds) => FaultAction::Delay { seconds },
        restante_dialogs::FaultAction::Bounce => FaultAction::Bounce,
        restante_dialogs::FaultAction::Drop => FaultAction::Drop,
        restante_dialogs::FaultAction::Duplicate => FaultAction::Duplicate,
    };
    Fault {
        at: if fault.at_data {
            FaultPoint::Data
        } else {
            FaultPoint::Rcpt
        },
        action,
        times: 1,
    }
}
