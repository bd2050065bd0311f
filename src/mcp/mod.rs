//! MCP (Model Context Protocol): tools with which a coding agent tests mail.
//!
//! [`catalogue`] defines the tools. `protocol` has the methods of MCP and is
//! independent of the tools. A [`Backend`] executes the tools: [`Tools`] calls the service, and
//! the relay of `restante mcp` passes a call on to a server; it [`speak`]s over standard input and
//! output. [`Endpoint`] is the streamable HTTP transport without sessions; the
//! HTTP layer checks the host, the origin and the key before it.
//!
//! The content of messages is untrusted. [`text`] puts it between delimiters that it cannot forge,
//! and no content of a message is copied to a description, an instruction or an error.

mod catalogue;
mod endpoint;
mod error;
mod input;
mod message;
mod output;
mod protocol;
mod running;
mod schema;
mod setup;
mod stdio;
mod text;
mod tools;

pub use endpoint::Endpoint;
pub use message::{JsonObject, Message, RpcError};
pub use protocol::{Backend, call_result};
pub use setup::{Addresses, Installation};
pub use stdio::speak;
pub use tools::Tools;

/// The path of the endpoint.
pub const PATH: &str = "/mcp";
