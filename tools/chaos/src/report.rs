//! The result of a run as a table, and its verdict.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use crate::options::Options;
use crate::world::{Finding, World};

/// What a server may use at the end, in KiB.
const MAX_RESIDENT_KIB: usize = 512 * 1024;
/// Sockets that may be open at the end: listeners, connections to the database, idle connections of
/// these clients.
const MAX_SOCKETS: usize = 150;
/// How long a quiet project may take for a create, a mail and a wait, at the 99th percentile.
const MAX_QUIET: Duration = Duration::from_secs(2);
/// How much longer than alone, at the median. Eight clients share the processors with it.
const MAX_RATIO: u32 = 20;

/// How many findings of a promise are printed, and how much of each, in characters.
const EXAMPLES: usize = 3;
const MAX_DETAIL: usize = 400;

pub(crate) fn print(
    options: &Options,
    world: &World,
    told: &[usize],
    mut busy: Vec<Duration>,
    mut rest: Vec<Duration>,
) -> ExitCode {
    bounded(world, MAX_SOCKETS);
    busy.sort_unstable();
    rest.sort_unstable();
    let median = at(&busy, 50).unwrap_or_default();
    let alone = at(&rest, 50).unwrap_or_default();
    if !options.untimed {
        slow(world, &busy, median, alone);
    }
    println!(
        "seed {}, {} nodes, {} s",
        options.seed, options.nodes, options.seconds
    );
    println!("{:>8} messages checked", told.iter().sum::<usize>());
    world
        .counts()
        .iter()
        .for_each(|(what, count)| println!("{count:>8} {what}"));
    println!(
        "         a quiet project: median {median:?}, p99 {:?}; alone {alone:?}",
        at(&busy, 99).unwrap_or_default()
    );
    let mut moves = world.moves();
    moves.sort_unstable();
    if let (Some(median), Some(slowest)) = (at(&moves, 50), moves.last()) {
        println!("         mail after a promotion: median {median:?}, slowest {slowest:?}");
    }
    let findings = world.findings();
    println!("{:>8} findings", findings.len());
    let mut by_promise: BTreeMap<_, Vec<&Finding>> = BTreeMap::new();
    findings
        .iter()
        .for_each(|finding| by_promise.entry(finding.promise).or_default().push(finding));
    for (promise, broken) in by_promise {
        println!("{:>8} × {promise}, such as", broken.len());
        for finding in broken.iter().take(EXAMPLES) {
            let detail: String = finding.detail.chars().take(MAX_DETAIL).collect();
            println!("{:>14.1} s: {detail}", finding.at.as_secs_f64());
        }
    }
    if findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Whether a quiet project notices the others, from its sorted durations and the medians with and
/// without the others.
fn slow(world: &World, busy: &[Duration], median: Duration, alone: Duration) {
    let promise = "a quiet project notices no other";
    if let Some(slow) = at(busy, 99).filter(|slow| *slow > MAX_QUIET) {
        world.find(promise, format!("{slow:?} at the 99th percentile"));
    }
    if median > MAX_RATIO * alone {
        world.find(
            promise,
            format!("median {median:?}, and {alone:?} when it is alone"),
        );
    }
}

/// A percentile of sorted durations.
fn at(sorted: &[Duration], percent: usize) -> Option<Duration> {
    sorted
        .get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1)))
        .copied()
}

/// Memory and sockets of each node.
pub(crate) fn bounded(world: &World, max_sockets: usize) {
    for node in 0..world.nodes.count() {
        let used = world.nodes.with(node, |server| {
            (server.resident_kib(), server.open_sockets())
        });
        if let Some((memory, sockets)) =
            used.filter(|used| used.0 > MAX_RESIDENT_KIB || used.1 > max_sockets)
        {
            world.find(
                "memory and sockets are bounded",
                format!("{memory} KiB, {sockets} sockets"),
            );
        }
    }
}
