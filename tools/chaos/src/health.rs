//! The health of each node beside what becomes of its mail: a node must not say that it is healthy while no mail gets in.

use std::thread;
use std::time::{Duration, Instant};

use crate::http::{Http, Request};
use crate::world::World;

/// How often it is requested.
const EVERY: Duration = Duration::from_millis(200);
/// The service promises an answer within two seconds.
const TIMEOUT: Duration = Duration::from_secs(3);
/// How long a node may be healthy while mail waits or fails, and none is acknowledged.
const MAX_STUCK: Duration = Duration::from_secs(5);
/// A delivery starts here before it starts at the node.
const SLACK: Duration = Duration::from_secs(1);

/// Requests the health of a node until the end of the run.
pub(crate) fn watch(world: &World, node: usize) {
    let http = Http::within(TIMEOUT);
    while !world.failures_ended() {
        let asked = Instant::now();
        if let Some(url) = world.nodes.with(node, |server| server.url.clone()) {
            let answer = http.send(&url, "", &Request::get("/v1/health", "/v1/health"));
            let (status, body) = answer.map_or((0, String::new()), |answer| (answer.status, answer.body.to_string()));
            let stuck = world.nodes.deliveries(node).stuck_for(asked);
            world.note(&format!("node {node} health {status} stuck {:.1} {body}", stuck.as_secs_f64()));
            if status == 200 && stuck > MAX_STUCK + SLACK && !world.is_untimed() {
                let detail = format!("node {node} is healthy, and no mail was stored for {stuck:?}");
                world.find("a node without commits is not healthy", detail);
            }
        }
        thread::sleep(EVERY);
    }
}
