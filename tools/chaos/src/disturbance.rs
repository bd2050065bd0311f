//! Makes things fail, one after another, chosen by the seed.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use crate::health::health;
use crate::mail::{Mail, Outcome, send};
use crate::options::{Failure, Options};
use crate::postgres::{Death, Postgres};
use crate::world::World;

/// The peace between two failures, in milliseconds. In the longer half, strict promises are
/// checked.
const PEACE: std::ops::Range<u64> = 500..9_000;

/// How wrong a clock is, in seconds.
const HOURS: i32 = 2 * 3_600;
/// A node compares its clock with that of the database every five seconds.
const NOTICED: Duration = Duration::from_secs(8);
/// No node takes this long to follow a promotion.
const GIVEN_UP: Duration = Duration::from_secs(60);

/// Settings that must make no difference to the clients.
const SETTINGS: [&[&str]; 3] = [
    &["--max-smtp-connections", "64"],
    &["--mailpit-api", "key"],
    &["--keep-failures", "1h"],
];

pub(crate) struct Disturber<'a> {
    world: &'a World,
    failures: Vec<Failure>,
    random: StdRng,
}

impl<'a> Disturber<'a> {
    pub(crate) fn new(world: &'a World, options: &Options) -> Self {
        let random = StdRng::seed_from_u64(world.seed.wrapping_mul(7_919));
        Self {
            world,
            failures: options.failures(),
            random,
        }
    }

    /// Lets things fail until the end of the run.
    pub(crate) fn run(mut self) {
        loop {
            let peace = Duration::from_millis(self.random.random_range(PEACE));
            for _ in 0..peace.as_millis() / 50 {
                if !self.world.goes_on() {
                    return self.world.end_failures();
                }
                thread::sleep(Duration::from_millis(50));
            }
            if let Some(failure) = self.failures.choose(&mut self.random).copied() {
                let node = self.random.random_range(0..self.world.nodes.count());
                let percent = self.random.random_range(0..=100);
                self.fail(failure, node, percent);
            }
        }
    }

    fn fail(&self, failure: Failure, node: usize, percent: u32) {
        let world = self.world;
        let nodes = &self.world.nodes;
        let pause = |seconds: u32| thread::sleep(seconds * Duration::from_millis(10) * percent);
        match failure {
            Failure::Kill => world.fail("failures: kill", || {
                nodes.kill(node);
                pause(1);
                nodes.resume(node);
            }),
            Failure::Stop => world.fail("failures: stop", || {
                if let Some(wrong) = nodes.stop(node) {
                    world.find("a node stops in order within its grace", wrong);
                }
                nodes.resume(node);
            }),
            Failure::Freeze => world.fail("failures: freeze", || {
                nodes.with(node, |server| server.signal("STOP"));
                pause(3);
                nodes.with(node, |server| server.signal("CONT"));
            }),
            Failure::Terminate => world.fail("failures: terminate", || {
                self.postgres().database().end_connections();
            }),
            Failure::Cancel => world.fail("failures: cancel", || self.cancel(percent)),
            Failure::Lock => world.fail("failures: lock", || self.lock(percent)),
            Failure::Crash => world.fail("failures: crash", || self.postgres().crash(|| pause(2))),
            Failure::FailOver => world.fail("failures: failover", || {
                let death = if percent.is_multiple_of(2) {
                    Death::Killed
                } else {
                    Death::Frozen
                };
                self.postgres()
                    .fail_over(death, || pause(3), || self.until_mail_is_stored(death));
            }),
            Failure::Clock => world.fail("failures: clock", || self.step_clock(node, percent)),
            Failure::FreezeBackend => {
                world.fail("failures: freeze a process of PostgreSQL", || {
                    if let Some(backend) = self.backend(percent) {
                        signal(&backend, "STOP");
                        pause(3);
                        signal(&backend, "CONT");
                    }
                });
            }
            Failure::Reconfigure => world.fail("failures: reconfigure", || {
                self.restart(
                    node,
                    SETTINGS[usize::try_from(percent).unwrap() % SETTINGS.len()],
                );
            }),
            Failure::FullDisk => world.fail("failures: full disk", || {
                self.restart(node, &["--min-free-disk", "1000000GiB"]);
                pause(2);
                self.restart(node, &[]);
            }),
        }
    }

    /// Stops a node in order, and starts it with more flags.
    fn restart(&self, node: usize, flags: &[&str]) {
        if let Some(wrong) = self.world.nodes.stop(node) {
            self.world
                .find("a node stops in order within its grace", wrong);
        }
        self.world.nodes.resume_with(node, flags);
    }

    fn postgres(&self) -> &Postgres {
        self.world
            .nodes
            .postgres()
            .expect("such failures are chosen only with PostgreSQL")
    }

    /// The clock of a node steps by two hours and, after the node has noticed, back.
    fn step_clock(&self, node: usize, percent: u32) {
        let nodes = &self.world.nodes;
        nodes.set_clock(
            node,
            if percent.is_multiple_of(2) {
                HOURS
            } else {
                -HOURS
            },
        );
        thread::sleep(NOTICED);
        if health(&self.world.nodes, node).0 == 200 && !self.world.is_untimed() {
            self.world.find(
                "a node whose clock is wrong is not healthy",
                format!("node {node}"),
            );
        }
        nodes.set_clock(node, 0);
    }

    /// Waits until each node stores mail after a promotion.
    fn until_mail_is_stored(&self, death: Death) {
        let promoted = Instant::now();
        let recipients = ["after-a-failover@restante.example.com".to_owned()];
        let mail = Mail {
            recipients: &recipients,
            subject: "after a failover",
            text: "Here again.",
            key: None,
        };
        for node in 0..self.world.nodes.count() {
            let address = self
                .world
                .nodes
                .with(node, |server| server.smtp.clone())
                .expect("all nodes run");
            let deliver = || self.world.deliver(node, || send(&address, &mail));
            while deliver() != Outcome::Accepted && promoted.elapsed() < GIVEN_UP {}
        }
        self.world.moved(death.name(), promoted.elapsed());
    }

    /// The id of a process that serves a node.
    fn backend(&self, number: u32) -> Option<String> {
        let sql = "SELECT pid::text FROM pg_stat_activity
                   WHERE datname = current_database() AND application_name = 'restante' ORDER BY pid";
        let backends = self.postgres().database().run(sql);
        let index = usize::try_from(number).ok()? % backends.len().max(1);
        backends.get(index).cloned()
    }

    /// Cancels the running statements, at moments that nobody can foresee.
    fn cancel(&self, percent: u32) {
        let sql = "SELECT pg_cancel_backend(pid)::text FROM pg_stat_activity
                   WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'";
        for _ in 0..20 + percent {
            self.postgres().database().run(sql);
        }
    }

    /// Holds a lock that every delivery needs.
    fn lock(&self, percent: u32) {
        let seconds = f64::from(percent) / 50.0;
        let sql = format!(
            "BEGIN; LOCK TABLE messages IN EXCLUSIVE MODE; SELECT pg_sleep({seconds})::text; COMMIT"
        );
        self.postgres().database().run(&sql);
    }
}

fn signal(process: &str, name: &str) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), process])
        .status()
        .expect("kill runs");
    // It may have ended.
    let _ = sent.success();
}
