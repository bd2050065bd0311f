//! The mail worker: sends mail from inboxes to other domains, over SMTP.
//!
//! [`worker`] claims due items of the durable queue, each with a lease; [`places`] says which.
//! [`transport`] makes one attempt: it signs the message ([`dkim`]), finds the servers of the
//! recipient's domain ([`route`]), rejects non-public addresses ([`targets`]), and transfers the
//! message ([`client`]). [`settle`] stores the result: sent, to be retried ([`retry`]), or failed,
//! with a bounce to the inbox that sent it ([`bounce`]).
//!
//! [`submit()`] uses the same client for `restante sendmail`, without the queue.
//!
//! Each attempt is counted, and the time of the next one is stored, before a connection is opened.
//! If a worker dies during an attempt, the message is retried later and may be delivered twice,
//! with the same Message-ID.

mod bounce;
mod canonical;
mod client;
mod connection;
mod dkim;
mod error;
mod extensions;
mod failure;
mod mail;
mod peer;
mod places;
mod reply;
mod retry;
mod route;
mod settle;
mod status;
mod submit;
mod targets;
mod tls;
mod transport;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::config::Sending;
use crate::service::Service;

pub use dkim::DkimError;
pub use error::SenderError;
pub use submit::{SubmitError, submit};

/// The mail worker, ready to run.
pub struct Sender(worker::Worker);

impl Sender {
    /// Reads the files in the settings.
    ///
    /// # Errors
    /// [`SenderError`] for the first file that cannot be used.
    pub fn new(settings: &Sending, service: Service) -> Result<Self, SenderError> {
        let transport = transport::Transport::new(settings, &service)?;
        Ok(Self(worker::Worker::new(service, Arc::new(transport))))
    }

    /// Runs until `stop` is cancelled, then gives running attempts `grace` to finish. Unfinished
    /// attempts are retried after the next start.
    pub async fn run(self, stop: CancellationToken, grace: Duration) {
        self.0.run(stop, grace).await;
    }
}
