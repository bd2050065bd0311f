//! Runs futures in many orders, each chosen by a seed, to find lost wake-ups and leaks after a
//! cancellation.
//!
//! It replaces the runtime: a task is polled only if its waker was called, and a random one of
//! those is next. So every order of the steps between two points of waiting can occur, and a task
//! that nobody will wake is found at once, without a timeout. Code that runs on several threads at
//! the same time is not modelled.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

/// The chance that a task that may be cancelled is dropped in place of its next step: one in this
/// many.
const CANCELLED: u32 = 6;

/// The orders that a test plays, unless a variable says otherwise.
const ORDERS: u64 = 20_000;

/// The seeds of the orders that a test plays: as many as the variable `RESTANTE_TEST_ORDERS` says,
/// or 20,000.
///
/// # Panics
/// If the variable is not a number.
pub fn orders() -> std::ops::Range<u64> {
    let wanted = std::env::var("RESTANTE_TEST_ORDERS");
    0..wanted.map_or(ORDERS, |wanted| {
        wanted.parse().expect("RESTANTE_TEST_ORDERS is a number")
    })
}

/// The tasks of one order.
pub struct Schedule<'a> {
    tasks: Vec<Task<'a>>,
    random: StdRng,
}

struct Task<'a> {
    name: &'static str,
    future: Option<Pin<Box<dyn Future<Output = ()> + 'a>>>,
    woken: Arc<Woken>,
    can_be_cancelled: bool,
}

/// Whether the waker of a task was called since its last step.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl<'a> Schedule<'a> {
    /// An order without tasks.
    pub fn new(seed: u64) -> Self {
        Self {
            tasks: Vec::new(),
            random: StdRng::seed_from_u64(seed),
        }
    }

    /// Adds a task that must finish.
    pub fn add(&mut self, name: &'static str, future: impl Future<Output = ()> + 'a) {
        self.push(name, false, future);
    }

    /// Adds a task that may be dropped before any of its steps.
    pub fn add_cancellable(&mut self, name: &'static str, future: impl Future<Output = ()> + 'a) {
        self.push(name, true, future);
    }

    fn push(
        &mut self,
        name: &'static str,
        can_be_cancelled: bool,
        future: impl Future<Output = ()> + 'a,
    ) {
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        self.tasks.push(Task {
            name,
            future: Some(Box::pin(future)),
            woken,
            can_be_cancelled,
        });
    }

    /// Runs the tasks until none can go on. Returns the names of those that have not finished:
    /// nobody would wake them.
    pub fn run(mut self) -> Vec<&'static str> {
        while let Some(index) = self.next() {
            let cancelled =
                self.tasks[index].can_be_cancelled && self.random.random_range(0..CANCELLED) == 0;
            let task = &mut self.tasks[index];
            if cancelled || task.step().is_ready() {
                task.future = None;
            }
        }
        self.tasks
            .iter()
            .filter(|task| task.future.is_some())
            .map(|task| task.name)
            .collect()
    }

    /// A random task that was woken.
    fn next(&mut self) -> Option<usize> {
        let can_go_on =
            |task: &Task<'_>| task.future.is_some() && task.woken.0.load(Ordering::SeqCst);
        let ready: Vec<usize> = (0..self.tasks.len())
            .filter(|index| can_go_on(&self.tasks[*index]))
            .collect();
        ready.choose(&mut self.random).copied()
    }
}

impl Task<'_> {
    fn step(&mut self) -> Poll<()> {
        self.woken.0.store(false, Ordering::SeqCst);
        let waker = Waker::from(Arc::clone(&self.woken));
        match &mut self.future {
            Some(future) => future.as_mut().poll(&mut Context::from_waker(&waker)),
            None => Poll::Ready(()),
        }
    }
}

/// Lets other tasks run first.
pub async fn pause() {
    let mut is_second = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut is_second, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_task_that_nobody_wakes_is_named() {
        let mut schedule = Schedule::new(1);
        schedule.add("stuck", std::future::pending());
        schedule.add("done", pause());
        assert_eq!(schedule.run(), ["stuck"]);
    }

    #[test]
    fn two_steps_occur_in_both_orders() {
        let firsts: Vec<u32> = (0..50)
            .map(|seed| {
                let first = Cell::new(0);
                let mut schedule = Schedule::new(seed);
                for number in [1, 2] {
                    let first = &first;
                    schedule.add("step", async move {
                        pause().await;
                        if first.get() == 0 {
                            first.set(number);
                        }
                    });
                }
                assert!(schedule.run().is_empty());
                first.get()
            })
            .collect();
        assert!(firsts.contains(&1) && firsts.contains(&2), "{firsts:?}");
    }
}
