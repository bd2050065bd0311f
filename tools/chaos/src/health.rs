//! The health of each node beside the results of its mail: a node must not say that it is healthy
//! while no mail gets in.

use std::thread;
use std::time::{Duration, Instant};

use crate::http::{Http, Request};
use crate::nodes::Nodes;
use crate::world::World;

/// How often it is requested.
const EVERY: Duration = Duration::from_millis(200);
/// The service promises an answer within two seconds.
const TIMEOUT: Duration = Duration::from_secs(3);
/// How long a node may be healthy while mail waits or fails, and none is acknowledged. A delivery
/// starts here a little before it starts at the node.
const MAX_STUCK: Duration = Duration::from_millis(5_500);

/// Requests the health of a node until the end of the run.
pub(crate) fn watch(world: &World, node: usize) {
    let mut was_wrong = false;
    while !world.failures_ended() {
        let asked = Instant::now();
        let (status, body) = health(&world.nodes, node);
        let stuck = world.nodes.deliveries(node).stuck_for(asked);
        world.note(&format!(
            "node {node} health {status} stuck {:.1} {body}",
            stuck.as_secs_f64()
        ));
        let is_wrong = status == 200 && stuck > MAX_STUCK && !world.is_untimed();
        // One answer may have been right: the node knew of a commit before its client did.
        if is_wrong && was_wrong {
            let detail = format!("node {node} is healthy, and no mail was stored for {stuck:?}");
            world.find("a node that stores no mail is not healthy", detail);
        }
        was_wrong = is_wrong;
        thread::sleep(EVERY);
    }
}

/// The status and the body of the answer of a node; 0 if there is none.
pub(crate) fn health(nodes: &Nodes, node: usize) -> (u16, String) {
    let Some(url) = nodes.with(node, |server| server.url.clone()) else {
        return (0, String::new());
    };
    let answer = Http::within(TIMEOUT).send(&url, "", &Request::get("/v1/health", "/v1/health"));
    answer.map_or((0, String::new()), |answer| {
        (answer.status, answer.body.to_string())
    })
}
