//! MCP (Model Context Protocol): tools with which a coding agent tests mail.
//!
//! [`catalogue`] defines the tools. [`Protocol`] implements MCP with rmcp and is independent of the
//! tools. A [`Backend`] executes the tools: [`Tools`] calls the service, and [`ServerRelay`] passes
//! a call on to a server's `/mcp`, for `restante mcp`. [`Endpoint`] is the streamable HTTP
//! transport without sessions; the HTTP layer checks the host, the origin and the key before it.
//!
//! The content of messages is untrusted. [`text`] puts it between delimiters that it cannot forge,
//! and no content of a message is copied to a description, an instruction or an error.

mod catalogue;
mod endpoint;
mod error;
mod input;
mod output;
mod protocol;
mod relay;
mod running;
mod schema;
mod setup;
mod text;
mod tools;

pub use endpoint::Endpoint;
pub use protocol::{Backend, Protocol};
pub use relay::{RelayError, ServerRelay};
pub use setup::{Addresses, Installation};
pub use tools::Tools;

/// The path of the endpoint.
pub const PATH: &str = "/mcp";
