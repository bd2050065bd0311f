//! File descriptors: every connection takes one, and a shell often allows no more than a thousand.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Enough for all SMTP connections and tens of thousands of waits.
const WANTED: u64 = 65_536;

/// Allows the process as many as are wanted, or as many as it may have.
pub(super) fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = maximum.map_or(WANTED, |maximum| maximum.min(WANTED));
    if current.is_some_and(|current| current < raised) {
        // Where the system refuses, what it allowed before has to do.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum });
    }
}
