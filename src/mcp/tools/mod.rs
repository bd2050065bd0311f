//! The tools on the service: the functions of the API, for a client that reads text.

mod checks;
mod explain;
mod faults;
mod inboxes;
mod messages;
mod send;
mod wait;

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::error::ToolError;
use super::input::{self, read};
use super::message::JsonObject;
use super::protocol::{Backend, call_result};
use super::setup::{Addresses, Installation};
use super::text;
use crate::service::{Caller, Service};

/// The tools on a service.
#[derive(Clone, Debug)]
pub struct Tools {
    service: Service,
    installation: Arc<Installation>,
}

/// The tools for a caller.
pub(super) struct CallersTools {
    service: Service,
    installation: Arc<Installation>,
    /// How the client reaches the installation.
    addresses: Addresses,
    caller: Caller,
}

/// The result of a tool: a readable text, and the same as data.
struct Answer {
    text: String,
    structured: Value,
}

impl Answer {
    fn new(text: String, structured: &impl Serialize) -> Result<Self, ToolError> {
        Ok(Self {
            text,
            structured: serde_json::to_value(structured).map_err(ToolError::internal)?,
        })
    }

    /// A result whose text is a sentence about it and its fields.
    fn of_fields(about: &str, result: &impl Serialize) -> Result<Self, ToolError> {
        let answer = Self::new(String::new(), result)?;
        let text = text::fields(about, &answer.structured);
        Ok(Self { text, ..answer })
    }
}

impl Tools {
    /// Creates the tools of an installation.
    #[must_use]
    pub fn new(service: Service, installation: Installation) -> Self {
        Self {
            service,
            installation: Arc::new(installation),
        }
    }

    pub(super) fn of(&self, caller: Caller, addresses: Addresses) -> CallersTools {
        CallersTools {
            service: self.service.clone(),
            installation: Arc::clone(&self.installation),
            addresses,
            caller,
        }
    }
}

impl CallersTools {
    async fn answer(&self, name: &str, arguments: JsonObject) -> Result<Answer, ToolError> {
        match name {
            "setup" => read::<input::Nothing>(name, arguments).and_then(|_| self.setup()),
            "create_inbox" => self.create_inbox(read(name, arguments)?).await,
            "delete_inbox" => self.delete_inbox(read(name, arguments)?).await,
            "wait_for_message" => self.wait_for_message(read(name, arguments)?).await,
            "list_messages" => self.list_messages(read(name, arguments)?).await,
            "search_messages" => self.search_messages(read(name, arguments)?).await,
            "get_message" => self.get_message(read(name, arguments)?).await,
            "get_attachment" => self.get_attachment(read(name, arguments)?).await,
            "send_message" => self.send_message(read(name, arguments)?).await,
            "get_outgoing" => self.get_outgoing(read(name, arguments)?).await,
            "check_message" => self.check_message(read(name, arguments)?).await,
            "explain_missing" => self.explain_missing(read(name, arguments)?).await,
            "get_faults" => self.get_faults(read(name, arguments)?).await,
            "set_faults" => self.set_faults(read(name, arguments)?).await,
            // The protocol rejects a tool that is not in the catalogue.
            _ => Err(ToolError::internal(std::fmt::Error)),
        }
    }

    fn setup(&self) -> Result<Answer, ToolError> {
        let setup = self.installation.setup(
            self.service.mail_domain(),
            self.service.accepted(),
            &self.addresses,
        );
        let about = "Let the application under test send its mail to this SMTP server. Mail for every address on the \
                     mail domain is received here; create_inbox makes one.";
        Answer::of_fields(about, &setup)
    }
}

impl Backend for CallersTools {
    async fn call(&self, tool: &str, arguments: JsonObject) -> Value {
        match self.answer(tool, arguments).await {
            Ok(Answer { text, structured }) => call_result(&text, Some(structured)),
            Err(error) => {
                if let ToolError::Internal(cause) = &error {
                    let cause: &(dyn std::error::Error + 'static) = &**cause;
                    tracing::error!(tool, error = cause, "tool failed");
                }
                call_result(&error.to_string(), None)
            }
        }
    }
}
