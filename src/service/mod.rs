//! The use cases of callers, SMTP clients and administrators.
//!
//! This layer does not depend on HTTP or SMTP. All use cases are methods of [`Service`], which is
//! cheap to clone and shared by all connections. Its background tasks (the committer, the sweeper,
//! the hub's listener) run on the runtime that started it until [`Service::stop`].

mod activity;
mod addresses;
mod attempt;
mod checks;
mod committer;
mod contents;
mod deletions;
mod deliver;
mod door;
mod error;
mod event_cursor;
mod expire;
mod explain;
mod failures;
mod faults;
mod follow;
mod guesses;
mod health;
mod hub;
mod inboxes;
mod journal;
mod journal_queue;
mod messages;
mod outgoing;
mod progress;
mod project_mail;
mod projects;
mod queue;
mod recipients;
mod rejections;
mod repeatable;
mod responder;
mod retention;
mod search;
mod send;
mod sessions;
mod slots;
mod timeline;
mod turns;
mod wait;

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::clock::Clock;
use crate::config::Limits;
use crate::db::Database;
use crate::evidence::Server;
use crate::jobs::Jobs;
use crate::model::{AcceptedDomains, Domain, ProjectId, Timestamp};
use crate::store::{Policy, Store};

pub use crate::store::{
    Everything, Head, MailEntries, MailEntry, MessageStart, PartsReader, Pieces, Repetition,
    StoredMessage,
};
pub use activity::SmtpConnection;
pub use addresses::{AddressError, ClaimError};
pub use attempt::write;
pub use contents::{CopyError, DatabaseContents, Progress, StoreError};
pub use deliver::{Incoming, Prepared, Receipt};
pub use door::Door;
pub use error::{DeliverError, ProjectError, ServiceError};
pub use event_cursor::EventCursor;
pub use explain::Explanation;
pub use follow::{Follower, News};
pub use guesses::FAILED_GUESS;
pub use health::Unhealthy;
pub use journal::{EntryFilter, Waits};
pub use messages::{ListFilter, MessagePages};
pub use outgoing::{Outbox, OutboxError, QUEUE_LIFETIME};
pub use projects::{Caller, Projects};
pub use rejections::{MAX_REFUSALS_SHOWN, REFUSALS_OF_INBOX};
pub use repeatable::Repeatable;
pub use retention::RetentionError;
pub use send::{Draft, SendPlace};
pub use sessions::{Session, SignInError, Viewer};
pub use turns::in_turns;
pub use wait::{Asked, MAX_WAIT, pause_before_retry};

/// Maximum number of requests of a key that run at once, without its open waits.
const MAX_REQUESTS: usize = 64;

/// The settings of the service.
#[derive(Clone, Debug)]
pub struct Options {
    /// The domain of every inbox.
    pub mail_domain: Domain,
    /// Further domains for which mail is accepted.
    pub accepted: AcceptedDomains,
    /// The limits; the service enforces those on inboxes, messages, requests and keys.
    pub limits: Limits,
    /// The DNS server for the checks of a message; `None` for those of the system.
    pub dns_server: Option<SocketAddr>,
}

impl Options {
    fn policy(&self, default_project: ProjectId, now: Timestamp) -> Policy {
        let Limits {
            inbox_lifetime: lifetime,
            inbox_messages,
            ..
        } = self.limits;
        Policy {
            now,
            lifetime,
            inbox_messages,
            default_project,
            mail_domain: self.mail_domain.clone(),
        }
    }
}

/// The use cases. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Service(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    jobs: Jobs,
    clock: Clock,
    options: Options,
    default_project: ProjectId,
    projects: Projects,
    hub: hub::Hub,
    wait_slots: slots::Slots,
    send_slots: slots::Slots,
    committer: committer::Committer,
    progress: progress::Progress,
    exceptions: Arc<recipients::Exceptions>,
    fault_news: Arc<faults::FaultNews>,
    activity: activity::Activity,
    journal: journal::Journal,
    sign_ins: guesses::Guesses,
    followers: follow::Followers,
    waits_end: CancellationToken,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Service {
    /// Migrates the database, creates the default project if there is none, and starts the
    /// background tasks.
    ///
    /// # Errors
    /// If the database fails or its schema is newer than this program.
    pub async fn start(
        database: Database,
        clock: Clock,
        options: Options,
    ) -> Result<Self, StoreError> {
        let projects = Projects::open(database, clock.clone()).await?;
        let store = projects.store().clone();
        let default_project = projects.default_project().await?;
        let tasks = TaskTracker::new();
        let stop = CancellationToken::new();
        let hub = hub::Hub::default();
        let exceptions = Arc::new(recipients::Exceptions::new(
            store.deleted_projects().await? > 0,
        ));
        let activity = activity::Activity::new(clock.clone(), store.is_shared());
        let (fault_news, received) = faults::FaultNews::new();
        let fault_news = Arc::new(fault_news);
        listen(&store, &hub, &exceptions, &fault_news);
        // After that, so that no fault is missed in between.
        store
            .inboxes_with_faults(clock.now())
            .await?
            .iter()
            .for_each(|id| exceptions.inbox_has_faults(id));
        let sweeper = expire::Sweeper {
            store: store.clone(),
            clock: clock.clone(),
            keep_failures: options.limits.keep_failures,
            exceptions: Arc::clone(&exceptions),
        };
        tasks.spawn(stop.clone().run_until_cancelled_owned(sweeper.run()));
        let watching = deletions::watch(store.clone(), hub.clone(), clock.clone());
        tasks.spawn(stop.clone().run_until_cancelled_owned(watching));
        let policy = options.policy(default_project, clock.now());
        let progress = progress::Progress::new(clock.clone());
        let probing = health::probe(store.clone(), progress.clone(), clock.clone());
        tasks.spawn(stop.clone().run_until_cancelled_owned(probing));
        let committer = committer::Committer::start(
            store.clone(),
            clock.clone(),
            policy,
            progress.clone(),
            &tasks,
        );
        let background = |work| drop(tasks.spawn(stop.clone().run_until_cancelled_owned(work)));
        if store.is_shared() {
            activity.report(&store).await?;
            quota(&store, &clock, &activity, received, background);
        }
        let waits = slots::Purpose::Wait;
        let sends = slots::Purpose::Send;
        let (journal, writer) = journal::journal();
        let service = Self(Arc::new(Inner {
            sign_ins: guesses::Guesses::new(clock.clone()),
            jobs: Jobs::new(MAX_REQUESTS + usize::from(options.limits.waits_per_key)),
            wait_slots: slots::Slots::new(
                store.locks().clone(),
                waits,
                options.limits.waits_per_key,
            ),
            send_slots: slots::Slots::new(
                store.locks().clone(),
                sends,
                options.limits.sends_per_key,
            ),
            store,
            clock,
            options,
            default_project,
            projects,
            hub,
            committer,
            progress,
            exceptions,
            fault_news,
            activity,
            journal,
            followers: follow::Followers::default(),
            waits_end: CancellationToken::new(),
            stop,
            tasks,
        }));
        // The tracker does not include this task: it ends when the last clone of the service is
        // dropped, and a shutdown does not wait for that.
        tokio::spawn(writer.run(Arc::downgrade(&service.0)));
        Ok(service)
    }

    /// The domain of every inbox.
    #[must_use]
    pub fn mail_domain(&self) -> &Domain {
        &self.0.options.mail_domain
    }

    /// Further domains for which mail is accepted.
    #[must_use]
    pub fn accepted(&self) -> &AcceptedDomains {
        &self.0.options.accepted
    }

    /// What the server accepts, for advice about rejections.
    #[must_use]
    pub fn server(&self) -> Server<'_> {
        Server {
            mail_domain: self.mail_domain(),
            accepted: self.accepted(),
        }
    }

    /// Whether mail for this domain is accepted.
    #[must_use]
    pub fn is_local(&self, domain: &Domain) -> bool {
        domain == self.mail_domain() || self.accepted().accept(domain)
    }

    fn store(&self) -> &Store {
        &self.0.store
    }

    fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// The source of time.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// The walls in front of requests.
    #[must_use]
    pub fn jobs(&self) -> &Jobs {
        &self.0.jobs
    }

    /// The projects and their keys.
    #[must_use]
    pub fn projects(&self) -> &Projects {
        &self.0.projects
    }

    /// The caller with this key; `None` if the key is wrong or no longer valid.
    pub async fn authenticate(&self, key: &str) -> Result<Option<Caller>, StoreError> {
        self.0.projects.authenticate(key).await
    }

    /// The number of queued outgoing items, counted up to 100,000.
    pub async fn queued_outgoing(&self) -> Result<u32, StoreError> {
        self.store().queued_outgoing().await
    }

    /// Ends every open wait with [`ServiceError::Stopping`], and every later one that finds no
    /// message.
    pub fn end_waits(&self) {
        self.0.waits_end.cancel();
    }

    /// Rejects new messages, stores those that were accepted, and ends the background tasks.
    pub async fn stop(&self) {
        self.0.journal.written(None).await;
        self.0.committer.close();
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Closes the database, as the last step. A SQLite database then consists of one file.
    pub async fn close(&self) {
        self.store().close().await;
    }

    fn policy(&self) -> Policy {
        self.0.options.policy(self.0.default_project, self.now())
    }
}

/// Passes the changes of committed transactions on.
fn listen(
    store: &Store,
    hub: &hub::Hub,
    exceptions: &Arc<recipients::Exceptions>,
    news: &Arc<faults::FaultNews>,
) {
    let hub = hub.clone();
    let exceptions = Arc::clone(exceptions);
    let news = Arc::clone(news);
    store.listen(move |changes| {
        exceptions.follow(changes);
        news.follow(changes);
        hub.announce(changes);
    });
}

/// Starts what a node does only if others may share its database.
fn quota(
    store: &Store,
    clock: &Clock,
    activity: &activity::Activity,
    faults: mpsc::Receiver<Uuid>,
    background: impl Fn(BoxFuture<'static, ()>),
) {
    background(Box::pin(activity.clone().keep_reporting(store.clone())));
    background(Box::pin(faults::announce(
        store.clone(),
        activity.node(),
        faults,
    )));
    background(Box::pin(expire::remove_orphans(
        store.clone(),
        clock.clone(),
    )));
    background(Box::pin(health::watch_clock(store.clone(), clock.clone())));
}
