//! The PostgreSQL of a run: one server, or a primary and a standby that takes over.
//!
//! A commit of the pair returns after the standby has flushed it, so no failover loses what was
//! acknowledged. Without a standby, between a promotion and the start of the next standby, there is
//! no other failover.

use std::sync::atomic::{AtomicUsize, Ordering};

use testkit::eventually;
use testkit::postgres::{Cluster, TestDatabase};

/// The last makes a standby follow again soon after a crash of the primary.
const SETTINGS: [&str; 2] = ["fsync = on", "wal_retrieve_retry_interval = 100ms"];

pub(crate) struct Postgres {
    clusters: Vec<Cluster>,
    /// The database of the run in each cluster.
    databases: Vec<TestDatabase>,
    primary: AtomicUsize,
}

/// How the primary ends before a failover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Death {
    Killed,
    Frozen,
}

impl Death {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Frozen => "frozen",
        }
    }
}

impl Postgres {
    pub(crate) fn start(with_standby: bool) -> Self {
        let cluster = Cluster::start(&SETTINGS);
        let database = TestDatabase::create_in(cluster.url.clone());
        let mut started = Self {
            clusters: vec![cluster],
            databases: vec![database],
            primary: AtomicUsize::new(0),
        };
        if with_standby {
            let standby = started.clusters[0].standby();
            started
                .databases
                .push(started.databases[0].copy_at(&standby));
            started.clusters.push(standby);
            started.replicate();
        }
        started
    }

    /// The URL for a node.
    pub(crate) fn url(&self) -> String {
        let database = &self.databases[0];
        let with = |standby| database.text_with(standby) + "&target_session_attrs=read-write";
        self.clusters.get(1).map_or_else(|| database.text(), with)
    }

    /// The database at the primary.
    pub(crate) fn database(&self) -> &TestDatabase {
        &self.databases[self.primary()]
    }

    /// The primary crashes and starts again after `pause`.
    pub(crate) fn crash(&self, pause: impl FnOnce()) {
        let cluster = &self.clusters[self.primary()];
        cluster.kill();
        pause();
        cluster.resume();
        if self.clusters.len() > 1 {
            self.wait_for_standby();
        }
    }

    /// The primary ends, and after `pause` the standby takes over. After `moved`, there is a new
    /// standby.
    pub(crate) fn fail_over(&self, death: Death, pause: impl FnOnce(), moved: impl FnOnce()) {
        let old = self.primary();
        let new = 1 - self.primary();
        match death {
            Death::Killed => self.clusters[old].kill(),
            Death::Frozen => self.clusters[old].freeze(),
        }
        pause();
        self.databases[new].run("SELECT pg_promote()::text");
        self.primary.store(new, Ordering::SeqCst);
        moved();
        if death == Death::Frozen {
            // It cannot acknowledge a commit meanwhile: nobody follows it.
            self.clusters[old].thaw();
            self.clusters[old].kill();
        }
        self.clusters[old].follow(&self.clusters[new]);
        self.replicate();
    }

    fn primary(&self) -> usize {
        self.primary.load(Ordering::SeqCst)
    }

    /// From now on, a commit returns after the standby has flushed it. A standby copies the
    /// settings of its primary when it is made, before this, so it does not wait for another when
    /// it is promoted.
    fn replicate(&self) {
        let database = self.database();
        database.run("ALTER SYSTEM SET synchronous_standby_names = '*'");
        database.run("SELECT pg_reload_conf()::text");
        self.wait_for_standby();
    }

    /// Waits until the standby has everything that was acknowledged so far, and commits wait for
    /// it.
    fn wait_for_standby(&self) {
        let database = self.database();
        let is_synchronous = "SELECT 'yes' FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'";
        eventually("the standby is synchronous", || {
            database.run(is_synchronous) == ["yes"]
        });
        database.until_copied(&self.databases[1 - self.primary()]);
    }
}
