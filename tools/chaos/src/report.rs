//! The result of a run as a table, and its verdict.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use crate::options::Options;
use crate::world::{Finding, World};

/// What a server may use at the end, in KiB.
const MAX_RESIDENT_KIB: usize = 512 * 1024;
/// Sockets that may be open at the end: listeners, connections to the database, idle connections of these clients.
const MAX_SOCKETS: usize = 150;
/// How long a quiet project may take for a create, a mail and a wait, at the 99th percentile.
const MAX_QUIET: Duration = Duration::from_secs(2);

/// How many findings of a promise are printed, and how much of each, in characters.
const EXAMPLES: usize = 3;
const MAX_DETAIL: usize = 400;

pub(crate) fn print(options: &Options, world: &World, told: &[usize], quiet: &[Duration]) -> ExitCode {
    bounded(world);
    let mut quiet = quiet.to_vec();
    quiet.sort_unstable();
    let at = |percent: usize| quiet.get((quiet.len() * percent / 100).min(quiet.len().saturating_sub(1))).copied();
    if let Some(slow) = at(99).filter(|slow| *slow > MAX_QUIET) {
        world.find("a quiet project notices no other", format!("{slow:?} at the 99th percentile"));
    }
    println!("seed {}, {} nodes, {} s", options.seed, options.nodes, options.seconds);
    println!("{:>8} messages checked", told.iter().sum::<usize>());
    world.counts().iter().for_each(|(what, count)| println!("{count:>8} {what}"));
    println!("         a quiet project in peace: median {:?}, p99 {:?}, {} rounds", at(50), at(99), quiet.len());
    let findings = world.findings();
    println!("{:>8} findings", findings.len());
    let mut by_promise: BTreeMap<_, Vec<&Finding>> = BTreeMap::new();
    findings.iter().for_each(|finding| by_promise.entry(finding.promise).or_default().push(finding));
    for (promise, broken) in by_promise {
        println!("{:>8} × {promise}, such as", broken.len());
        for finding in broken.iter().take(EXAMPLES) {
            let detail: String = finding.detail.chars().take(MAX_DETAIL).collect();
            println!("{:>14.1} s: {detail}", finding.at.as_secs_f64());
        }
    }
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Memory and sockets of each node.
fn bounded(world: &World) {
    for node in 0..world.nodes.count() {
        let used = world.nodes.with(node, |server| (server.resident_kib(), server.open_sockets()));
        if let Some((memory, sockets)) = used.filter(|used| used.0 > MAX_RESIDENT_KIB || used.1 > MAX_SOCKETS) {
            world.find("memory and sockets are bounded", format!("{memory} KiB, {sockets} sockets"));
        }
    }
}
