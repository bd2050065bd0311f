//! The service in the test's process: a real database in a new directory, a clock that only the
//! test advances, two projects, and the router without a port.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Extensions, HeaderMap, HeaderValue, Request};
use http_body_util::BodyExt;
use restante::clock::{Clock, Instant};
use restante::config::{
    Data, DatabaseUrl, Limits, Listeners, MailpitApi, Outbound, Sending, Settings, SmtpAuth,
};
use restante::db::Database;
use restante::http::{App, BaseUrl, router};
use restante::model::{ApiKey, Domain, EmailAddress, MessageId, Timestamp};
use restante::service::{Incoming, Options, Service};
use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tower::ServiceExt;

use crate::postgres::TestDatabase;

/// The domain of every inbox in the tests.
pub const MAIL_DOMAIN: &str = "restante.example.com";
/// The base URL of the router.
pub const BASE_URL: &str = "http://restante.example.com:8025";
/// The start time of every test: 2026-11-20T09:30:00.123Z.
pub const START: Timestamp = Timestamp::from_millis(1_795_167_000_123);

/// How long a wait takes that shall time out. Nothing else in the service sleeps for as long, so a
/// task that sleeps by the clock until then is the wait.
pub const SHORT_WAIT: Duration = Duration::from_millis(1_007);

/// A running service, with two projects.
pub struct Harness {
    pub service: Service,
    pub clock: Clock,
    pub router: Router,
    /// The key of the default project, used unless a request has another.
    pub key: ApiKey,
    /// The key of another project.
    pub other_key: ApiKey,
    pub directory: TempDir,
    // Dropped after the service.
    database: Option<TestDatabase>,
}

/// The engines on which every case runs.
#[derive(Clone, Copy)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// What a case of [`each_engine`](crate::each_engine) starts with.
pub trait Start: Sized {
    /// Runs `case` on an engine, as one test.
    fn test(engine: Engine, case: impl AsyncFnOnce(Self)) -> impl Future<Output = ()>;
}

impl Start for Engine {
    async fn test(engine: Engine, case: impl AsyncFnOnce(Self)) {
        case(engine).await;
    }
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: String,
    /// What the router says to the server.
    pub extensions: Extensions,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        assert_eq!(self.headers["content-type"], "application/json", "{self:?}");
        serde_json::from_str(&self.body).unwrap()
    }

    /// The status and the text of an error.
    pub fn error(&self) -> (u16, String) {
        let json = self.json();
        let fields = json.as_object().unwrap();
        assert_eq!(fields.keys().collect::<Vec<_>>(), ["error"], "{json}");
        (self.status, json["error"].as_str().unwrap().to_owned())
    }

    /// A text field of the JSON body.
    pub fn text(&self, field: &str) -> String {
        self.json()[field].as_str().unwrap().to_owned()
    }
}

impl Harness {
    /// Starts a new service.
    pub async fn start() -> Self {
        Self::on(Engine::Sqlite).await
    }

    /// Starts a service on a new database.
    pub async fn on(engine: Engine) -> Self {
        Self::accepting(engine, "").await
    }

    /// Starts a service that accepts mail for these domains too (`--accept-domains`).
    pub async fn accepting(engine: Engine, domains: &str) -> Self {
        Self::with_options(
            engine,
            Options {
                accepted: domains.parse().unwrap(),
                ..options(1_000)
            },
        )
        .await
    }

    /// Starts a service with these options.
    pub async fn with_options(engine: Engine, options: Options) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = Clock::manual(START);
        let (url, test_database) = match engine {
            Engine::Sqlite => (
                DatabaseUrl::Sqlite(directory.path().join("restante.db")),
                None,
            ),
            Engine::Postgres => {
                let database = TestDatabase::create();
                (database.url(), Some(database))
            }
        };
        let database = Database::open(&url).await.unwrap();
        let service = Service::start(database, clock.clone(), options)
            .await
            .unwrap();
        let key = ApiKey::generate();
        service
            .projects()
            .prepare_default(Some(&key))
            .await
            .unwrap();
        let other_key = service.projects().create("other").await.unwrap();
        let router = router(app(&service));
        Self {
            service,
            clock,
            router,
            key,
            other_key,
            directory,
            database: test_database,
        }
    }

    /// The result of `work`, in which one login or sign-in fails. That takes a second.
    pub async fn refused<T>(&self, work: impl Future<Output = T>) -> T {
        // Afterwards no other task sleeps until the same time.
        self.clock.advance(Duration::from_millis(1));
        let second = Duration::from_secs(1);
        let until = self.clock.instant().after(second);
        let time = async {
            self.clock.until_sleeping(until).await;
            self.clock.advance(second);
        };
        within(async { tokio::join!(work, time).0 }).await
    }

    /// The result of `work` while time passes, a second at a time.
    pub async fn passing<T>(&self, work: impl Future<Output = T>) -> T {
        let time = async {
            loop {
                tokio::time::sleep(Duration::from_millis(10)).await;
                self.clock.advance(Duration::from_secs(1));
            }
        };
        tokio::select! {
            done = work => done,
            () = time => unreachable!("time ended"),
        }
    }

    /// Sends this request.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        answer(self.router.clone(), request).await
    }

    /// Sends a request with the key of the default project.
    pub async fn call(&self, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        self.call_with(&self.key, method, path, body).await
    }

    /// Sends a request with `key`.
    pub async fn call_with(
        &self,
        key: &ApiKey,
        method: &str,
        path: &str,
        body: impl Into<Body>,
    ) -> Answer {
        self.send(request(key, method, path, body)).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, Body::empty()).await
    }

    /// Sends a GET from a new task. Aborting the task closes the connection.
    pub fn spawn_get(&self, path: &str) -> JoinHandle<Answer> {
        self.spawn_get_with(&self.key, path)
    }

    /// Like [`Harness::spawn_get`], with `key`.
    pub fn spawn_get_with(&self, key: &ApiKey, path: &str) -> JoinHandle<Answer> {
        tokio::spawn(answer(
            self.router.clone(),
            request(key, "GET", path, Body::empty()),
        ))
    }

    /// Creates an inbox and returns its id.
    pub async fn create_inbox(&self) -> String {
        self.create_inbox_with(&self.key).await
    }

    /// Creates an inbox of the project of `key`, and returns its id.
    pub async fn create_inbox_with(&self, key: &ApiKey) -> String {
        let created = self
            .call_with(key, "POST", "/v1/inboxes", Body::empty())
            .await;
        assert_eq!(created.status, 201, "{created:?}");
        created.text("id")
    }

    /// Makes an inbox permanent, as only an administrator can.
    pub async fn make_permanent(&self, inbox: &str) {
        self.run_sql(&format!(
            "UPDATE inboxes SET kind = 'permanent', expires_at = NULL WHERE id = '{inbox}'"
        ))
        .await;
        assert_eq!(
            self.get(&format!("/v1/inboxes/{inbox}")).await.text("kind"),
            "permanent"
        );
    }

    /// Runs a statement on the database, without the service.
    pub async fn run_sql(&self, sql: &str) {
        match &self.database {
            Some(database) => database.run_beside(sql).await,
            None => {
                let path = self.directory.path().join("restante.db");
                rusqlite::Connection::open(path)
                    .unwrap()
                    .execute(sql, [])
                    .unwrap();
            }
        }
    }

    /// Delivers a message with this subject to an inbox and returns its id.
    pub async fn deliver(&self, inbox: &str, subject: &str) -> String {
        self.deliver_raw(
            inbox,
            &format!("From: Shop <shop@example.com>\r\nSubject: {subject}\r\n\r\nHello\r\n"),
        )
        .await
    }

    /// Delivers a whole message to an inbox and returns its id.
    pub async fn deliver_raw(&self, inbox: &str, raw: &str) -> String {
        let incoming = Incoming {
            reverse_path: "bounces@example.com".to_owned(),
            recipients: vec![EmailAddress::parse(&format!("{inbox}@{MAIL_DOMAIN}")).unwrap()],
            project: None,
            trace: "Return-Path: <bounces@example.com>\r\n".to_owned(),
            reception: None,
            raw: raw.as_bytes().to_vec(),
        };
        let ids: Vec<MessageId> = self.service.deliver(incoming).await.unwrap();
        ids[0].to_string()
    }

    /// The answer to a short wait that no message ends: mostly 408.
    pub async fn time_out(&self, inbox: &str, query: &str) -> Answer {
        self.time_out_with(&self.key, inbox, query).await
    }

    /// The same with this key.
    pub async fn time_out_with(&self, key: &ApiKey, inbox: &str, query: &str) -> Answer {
        let timeout = SHORT_WAIT.as_millis();
        let deadline = self.clock.instant().after(SHORT_WAIT);
        let path = format!("/v1/inboxes/{inbox}/messages/wait?{query}&timeout={timeout}");
        self.at_deadline(deadline, self.spawn_get_with(key, &path))
            .await
    }

    /// The same with these headers.
    pub async fn time_out_saying(
        &self,
        headers: &[(&'static str, &'static str)],
        inbox: &str,
        query: &str,
    ) -> Answer {
        let timeout = SHORT_WAIT.as_millis();
        let deadline = self.clock.instant().after(SHORT_WAIT);
        let path = format!("/v1/inboxes/{inbox}/messages/wait?{query}&timeout={timeout}");
        let request = self.saying(headers, &path);
        let waiting = tokio::spawn(answer(self.router.clone(), request));
        self.at_deadline(deadline, waiting).await
    }

    /// The answer to a GET with these headers.
    pub async fn get_saying(&self, headers: &[(&'static str, &'static str)], path: &str) -> Answer {
        answer(self.router.clone(), self.saying(headers, path)).await
    }

    fn saying(&self, headers: &[(&'static str, &'static str)], path: &str) -> Request<Body> {
        let mut request = request(&self.key, "GET", path, Body::empty());
        for (name, value) in headers {
            request
                .headers_mut()
                .insert(*name, HeaderValue::from_static(value));
        }
        request
    }

    /// Advances the clock to the deadline of `wait` as soon as it sleeps until then. Returns its
    /// answer. A wait that ends before, because it is refused for example, leaves the clock as it
    /// is.
    pub async fn at_deadline(&self, deadline: Instant, mut wait: JoinHandle<Answer>) -> Answer {
        let sleeping = async {
            tokio::select! {
                answer = &mut wait => Some(answer.unwrap()),
                () = self.clock.until_sleeping(deadline) => None,
            }
        };
        if let Some(answer) = within(sleeping).await {
            return answer;
        }
        self.clock.advance(deadline.since(self.clock.instant()));
        within(wait).await.unwrap()
    }
}

/// The options of a service whose inboxes hold this many messages.
pub fn options(inbox_messages: u64) -> Options {
    let limits = Limits {
        inbox_messages,
        ..Limits::default()
    };
    Options {
        mail_domain: Domain::parse(MAIL_DOMAIN).unwrap(),
        accepted: restante::model::AcceptedDomains::default(),
        limits,
        dns_server: None,
    }
}

/// The settings of a server on free ports, with SQLite in this directory.
pub fn settings(data_dir: &Path) -> Settings {
    Settings {
        listeners: Listeners {
            http_listen: "127.0.0.1:0".parse().unwrap(),
            smtp_listen: "127.0.0.1:0".parse().unwrap(),
            ..Listeners::default()
        },
        sending: Sending {
            outbound: Some(Outbound::Off),
            ..Sending::default()
        },
        mail_domain: Domain::parse(MAIL_DOMAIN).unwrap(),
        data: Data {
            data_dir: data_dir.to_owned(),
            ..Data::default()
        },
        ..Settings::default()
    }
}

/// The application over HTTP of this service.
pub fn app(service: &Service) -> App {
    App {
        service: service.clone(),
        limits: Limits::default(),
        base_url: BaseUrl::Configured(BASE_URL.to_owned()),
        smtp_port: 1025,
        smtp_public_address: None,
        smtp_starttls: true,
        smtps_port: None,
        self_signed: true,
        mcp: true,
        send_apis: true,
        mailpit_api: MailpitApi::default(),
        smtp_auth: SmtpAuth::default(),
        data_dir: PathBuf::from("."),
        trusted_proxies: Vec::new(),
    }
}

/// A request with a key.
pub fn request(key: &ApiKey, method: &str, path: &str, body: impl Into<Body>) -> Request<Body> {
    let request = Request::builder().method(method).uri(path);
    request
        .header("authorization", format!("Bearer {}", key.as_str()))
        .body(body.into())
        .unwrap()
}

/// Fails the test if `future` takes longer than any step of a test should.
pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future)
        .await
        .expect("the test hangs")
}

/// Polls until the condition is true; fails the test if it does not become true.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    const LONG: Duration = Duration::from_secs(60);
    let start = std::time::Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LONG, "{what}: not within {LONG:?}");
        // A pause leaves the processor to the server.
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub async fn answer(router: Router, request: Request<Body>) -> Answer {
    let response = within(router.oneshot(request)).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = within(body.collect()).await.unwrap().to_bytes();
    let is_text = !parts.headers.contains_key("content-encoding");
    let body = if is_text {
        String::from_utf8(body.to_vec()).unwrap()
    } else {
        String::new()
    };
    Answer {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body,
        extensions: parts.extensions,
    }
}
