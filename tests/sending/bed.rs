//! A service with its mail worker, a manual clock, and a port that no other test uses.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use restante::config::{DatabaseUrl, Outbound, Sending};
use restante::db::Database;
use restante::model::{
    ApiKey, Domain, EmailAddress, Inbox, InboxKind, Outgoing, OutgoingFilter, OutgoingId,
    OutgoingStatus, generate_inbox_id,
};
use restante::sender::Sender;
use restante::service::{Incoming, Options};
use restante::store::Store;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::dns::Dns;
use testkit::port::ReservedPort;
use testkit::{Answer, Engine, Harness, MAIL_DOMAIN, within};

/// The settings of the mail worker.
pub fn sending() -> Sending {
    Sending {
        smtp_hello: Some(Domain::parse("hello.example").unwrap()),
        ..Sending::default()
    }
}

/// A service, its mail worker, and an inbox to send from.
pub struct Bed {
    pub api: Harness,
    pub inbox: String,
    key: ApiKey,
    stop: CancellationToken,
    worker: JoinHandle<()>,
    /// Kept while the worker sends queries.
    dns: Option<Dns>,
}

impl Bed {
    /// Sends mail directly to the servers of `zone`, on the port of `net`.
    pub async fn direct(net: &Net, zone: &str) -> Self {
        Self::direct_with(net, zone, true).await
    }

    pub async fn direct_with(net: &Net, zone: &str, allow_private_targets: bool) -> Self {
        let dns = Dns::start(zone).await;
        let dns_server = Some(dns.address);
        let mut bed = Self::with(Sending {
            dns_server,
            allow_private_targets,
            port: net.port(),
            ..sending()
        })
        .await;
        bed.dns = Some(dns);
        bed
    }

    /// Sends nothing.
    pub async fn off() -> Self {
        Self::with(Sending {
            outbound: Some(Outbound::Off),
            ..sending()
        })
        .await
    }

    pub async fn with(settings: Sending) -> Self {
        let options = Options {
            dns_server: settings.dns_server,
            ..testkit::options(1_000)
        };
        let api = Harness::with_options(Engine::Sqlite, options).await;
        let inbox = api.create_inbox().await;
        let stop = CancellationToken::new();
        let sender = Sender::new(&settings, api.service.clone()).unwrap();
        let worker = tokio::spawn(sender.run(stop.clone(), Duration::ZERO));
        Self {
            key: api.key.clone(),
            api,
            inbox,
            stop,
            worker,
            dns: None,
        }
    }

    /// Sends from an inbox that does not expire.
    pub async fn use_permanent_inbox(&mut self) {
        let url = DatabaseUrl::Sqlite(self.api.directory.path().join("restante.db"));
        let store = Store::open(Database::open(&url).await.unwrap())
            .await
            .unwrap();
        let project = self
            .api
            .service
            .authenticate(self.api.key.as_str())
            .await
            .unwrap()
            .unwrap()
            .project;
        let id = generate_inbox_id();
        let created_at = self.api.clock.now();
        self.inbox = id.to_string();
        let inbox = Inbox {
            id,
            shared: None,
            project,
            kind: InboxKind::Permanent,
            created_at,
            expires_at: None,
        };
        assert!(store.create_inbox(&inbox).await.unwrap());
    }

    /// Sends from an inbox of the other project.
    pub async fn use_other_project(&mut self) {
        self.key = self.api.other_key.clone();
        self.inbox = self.api.create_inbox_with(&self.key).await;
    }

    /// Sends a message whose text is its subject.
    pub async fn send(&self, to: &str, subject: &str) -> OutgoingId {
        self.send_body(json!({"to": to, "subject": subject, "text": subject}))
            .await
    }

    pub async fn send_body(&self, body: serde_json::Value) -> OutgoingId {
        let path = format!("/v1/inboxes/{}/messages", self.inbox);
        let accepted = self
            .api
            .call_with(&self.key, "POST", &path, body.to_string())
            .await;
        assert_eq!(accepted.status, 202, "{accepted:?}");
        OutgoingId::parse(&accepted.text("id")).unwrap()
    }

    /// Delivers a message from this reverse-path, which a fault bounces. Returns the notification.
    pub async fn bounce_to(&self, reverse_path: &str) -> OutgoingId {
        let faults = json!({"faults": [{"at": "data", "do": "bounce"}]}).to_string();
        let set = self
            .api
            .call("PUT", &format!("/v1/inboxes/{}/faults", self.inbox), faults)
            .await;
        assert_eq!(set.status, 200, "{set:?}");
        let incoming = Incoming {
            reverse_path: reverse_path.to_owned(),
            recipients: vec![EmailAddress::parse(&self.sender_address()).unwrap()],
            project: None,
            trace: String::new(),
            reception: None,
            raw: b"Subject: Hello\r\n\r\n".to_vec(),
        };
        self.api.service.deliver(incoming).await.unwrap();
        self.api
            .service
            .outbox()
            .list(&OutgoingFilter::default(), 1)
            .await
            .unwrap()
            .remove(0)
            .id
    }

    /// The item when `reached` is true for it.
    pub async fn until(&self, id: OutgoingId, reached: impl Fn(&Outgoing) -> bool) -> Outgoing {
        let outbox = self.api.service.outbox();
        let changes = outbox.changes();
        within(async {
            loop {
                let item = outbox.find(id).await.unwrap();
                if reached(&item) {
                    return item;
                }
                changes.notified().await;
            }
        })
        .await
    }

    /// The item when it is no longer queued.
    pub async fn settled(&self, id: OutgoingId) -> Outgoing {
        self.until(id, |item| item.status != OutgoingStatus::Queued)
            .await
    }

    /// The item after attempt number `attempt` has ended.
    pub async fn attempted(&self, id: OutgoingId, attempt: u32) -> Outgoing {
        self.until(id, |item| {
            item.attempts == attempt && item.leased_until.is_none()
        })
        .await
    }

    /// Advances the clock until the item is due again.
    pub fn pass_until_due(&self, item: &Outgoing) {
        self.api
            .clock
            .advance(item.due_at.unwrap().since(self.api.clock.now()));
    }

    /// The bounce in the inbox, as the API shows it.
    pub async fn bounce(&self) -> Answer {
        let path = format!(
            "/v1/inboxes/{}/messages/wait?subject=Undelivered&timeout=0",
            self.inbox
        );
        self.api.get(&path).await
    }

    /// Everything in the inbox.
    pub async fn messages(&self) -> usize {
        let list = self
            .api
            .get(&format!("/v1/inboxes/{}/messages", self.inbox))
            .await
            .json();
        list["messages"].as_array().unwrap().len()
    }

    /// Stops the worker as the service does when it stops.
    pub async fn stop(&mut self) {
        self.stop.cancel();
        within(&mut self.worker).await.unwrap();
    }

    pub fn sender_address(&self) -> String {
        format!("{}@{MAIL_DOMAIN}", self.inbox)
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.worker.abort();
    }
}

/// A port that only this test uses, at every address of the loopback network.
pub struct Net(ReservedPort);

impl Net {
    pub fn new() -> Self {
        Self(ReservedPort::new())
    }

    pub fn port(&self) -> u16 {
        self.0.number()
    }

    /// The address with this last number.
    pub fn ip(&self, host: u8) -> IpAddr {
        Ipv4Addr::new(127, 0, 0, host).into()
    }

    pub fn at(&self, host: u8) -> SocketAddr {
        SocketAddr::new(self.ip(host), self.port())
    }
}
