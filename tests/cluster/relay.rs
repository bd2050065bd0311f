//! An SMTP relay that accepts everything, records the sender of each message, and can delay its
//! answer to one node.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use testkit::smtp::read_message;

/// Longer than any pause of the load.
const LONG: Duration = Duration::from_secs(60);

/// A relay. Its threads end with the test.
pub(crate) struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified of each accepted message.
    more: Condvar,
}

#[derive(Default)]
pub(crate) struct State {
    /// Every message, including copies, in the order of arrival.
    pub(crate) taken: Vec<Taken>,
    /// How many nodes have been killed so far.
    deaths: usize,
    /// The node that gets no answer to the end of a message.
    held: Option<String>,
}

/// An accepted message. Its sender may not have received the reply.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub(crate) message_id: String,
    /// The node's name in EHLO.
    pub(crate) node: String,
    /// How many nodes had been killed when the connection was opened.
    pub(crate) deaths: usize,
}

impl Relay {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = Self {
            address: listener.local_addr().unwrap(),
            shared: Arc::default(),
        };
        let shared = Arc::clone(&relay.shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&shared);
                // A kill has closed this connection.
                thread::spawn(move || drop(shared.converse(stream.unwrap())));
            }
        });
        relay
    }

    pub(crate) fn url(&self) -> String {
        format!("smtp://{}", self.address)
    }

    /// Answers `node` no more. Returns the message whose reply the node waits for.
    pub(crate) fn hold(&self, node: &str) -> Taken {
        let mut state = self.state();
        state.held = Some(node.to_owned());
        let before = state.taken.len();
        let held = |state: &State| {
            state.taken[before..]
                .iter()
                .find(|taken| taken.node == node)
                .cloned()
        };
        drop(state);
        held(&self.wait_until(|state| held(state).is_some())).unwrap()
    }

    /// Records that nodes were killed, and answers all nodes again.
    pub(crate) fn count_death(&self) {
        let mut state = self.state();
        state.deaths += 1;
        state.held = None;
    }

    /// Returns when the condition is true.
    pub(crate) fn wait_until(&self, is_so: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waited = self
            .shared
            .more
            .wait_timeout_while(self.state(), LONG, |state| !is_so(state));
        let (state, waited) = waited.unwrap();
        assert!(!waited.timed_out(), "the load does not go on");
        state
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap()
    }
}

impl Shared {
    fn converse(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let deaths = self.state.lock().unwrap().deaths;
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let mut node = String::new();
        stream.write_all(b"220 relay.example\r\n")?;
        while let Some(line) = lines.next().transpose()? {
            if let Some(name) = line.strip_prefix("EHLO ") {
                name.clone_into(&mut node);
            } else if line == "DATA" {
                stream.write_all(b"354 go on\r\n")?;
                let Some(message_id) = read_message(&mut lines)? else {
                    return Ok(());
                };
                if self.take(Taken {
                    message_id,
                    node: node.clone(),
                    deaths,
                }) {
                    // The next event is the end of the connection.
                    continue;
                }
            }
            stream.write_all(b"250 ok\r\n")?;
        }
        Ok(())
    }

    /// Records a message. Returns whether its sender must wait for the answer.
    fn take(&self, taken: Taken) -> bool {
        let mut state = self.state.lock().unwrap();
        let held = state.held.as_ref() == Some(&taken.node);
        state.taken.push(taken);
        self.more.notify_all();
        held
    }
}
