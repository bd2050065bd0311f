//! The server's side of SMTP, pure: octets go in, events come out, and no socket, file or clock is touched.
//!
//! [`Session`] is the state machine. It stands on [`mod@line`] (octets to lines), [`command`] and [`path`] (lines to typed
//! commands), [`auth`] (the exchange behind AUTH), [`body`] (the end of the data) and [`reply`] (every code there is).

pub mod auth;
pub mod body;
pub mod command;
mod envelope;
mod input;
pub mod line;
pub mod path;
pub mod reply;
pub mod session;

pub use auth::Credentials;
pub use envelope::Envelope;
pub use path::ReversePath;
pub use reply::{Refusal, Reply};
pub use session::{Event, Progress, Session, SessionConfig, Transport};
