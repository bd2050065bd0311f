//! The server's side of SMTP as a state machine.
//!

#![warn(missing_docs)]
#![doc = include_str!("../README.md")]
//!
//! # Events
//!
//! The caller calls [`Session::next`] and does what the event says:
//!
//! | event | the caller |
//! |---|---|
//! | [`Event::Send`] | writes the reply into a buffer |
//! | [`Event::NeedInput`] | sends the buffer, reads, calls [`Session::receive`] |
//! | [`Event::HoldBack`] | sends the buffer, waits |
//! | [`Event::StartTls`] | sends the buffer, starts TLS, calls [`Session::tls_started`] |
//! | [`Event::Authenticate`] | checks the credentials, calls [`Session::authenticated`] |
//! | [`Event::Sender`] | calls [`Session::sender`] |
//! | [`Event::Recipient`] | calls [`Session::recipient`] or [`Session::fault`] |
//! | [`Event::Deliver`] | stores the message, calls [`Session::delivered`] or [`Session::fault`] |
//! | [`Event::Refused`] | logs it |
//! | [`Event::Reset`] | sends the buffer, resets the connection |
//! | [`Event::Close`] | sends the buffer, closes the connection |
//!
//! The session is built from [`mod@line`] (bytes to lines), [`command`] and [`path`] (lines to
//! typed commands), [`auth`] (the exchange after AUTH), [`body`] (the end of the data) and
//! [`reply`] (every reply code).

pub mod auth;
pub mod body;
pub mod command;
mod envelope;
mod failure;
mod input;
pub mod line;
pub mod path;
pub mod reply;
pub mod session;

pub use auth::Credentials;
pub use command::Verb;
pub use envelope::Envelope;
pub use failure::SessionFailure;
pub use path::ReversePath;
pub use reply::{Refusal, Reply, RequestedReply};
pub use session::{Closing, Event, Fault, Progress, Said, Session, SessionConfig, Transport};
