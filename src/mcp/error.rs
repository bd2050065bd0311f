//! Why a tool failed. Each text starts with the error of the API and then says what to do next.

use restante_mail::compose::ComposeError;

use crate::model::FieldError;
use crate::service::{AddressError, ServiceError, StoreError};

const FITTING: &str = "Call the tool again with arguments that fit its input schema.";

/// The failure of a tool.
#[derive(Debug, thiserror::Error)]
pub(super) enum ToolError {
    #[error("unknown field: {name}. {}", known_fields(.fields))]
    UnknownField { name: String, fields: String },
    #[error("missing field: {0}. {fit}", fit = FITTING)]
    MissingField(String),
    #[error("invalid field: {0}. {fit}", fit = FITTING)]
    InvalidField(&'static str),
    #[error("invalid field: {name}. Write a number from {least} to {most}.")]
    OutOfRange { name: String, least: i64, most: i64 },
    #[error("invalid arguments: {0}. {fit}", fit = FITTING)]
    InvalidArguments(#[source] serde_json::Error),
    #[error(
        "outgoing message not found. send_message returns the id of the message that it sends."
    )]
    OutgoingNotFound,
    #[error(
        "attachment not found. get_message lists the attachments of a message with the index of each; the first has 0."
    )]
    AttachmentNotFound,
    #[error(
        "attachment too large: it has {size} bytes, but this tool returns at most 1 MiB. Download it with the \
         project's key: GET {url}"
    )]
    AttachmentTooLarge { size: usize, url: String },
    #[error("service is busy. Try again in a few seconds.")]
    Busy,
    #[error("service is stopping. Try again when the server is running again.")]
    Stopping,
    #[error("{0}. {remedy}", remedy = address_remedy(.0))]
    Address(AddressError),
    #[error("{0}. {remedy}", remedy = service_remedy(.0))]
    Service(ServiceError),
    #[error(
        "internal error. The server's log has the cause. Try again, or ask the administrator of the server."
    )]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl ToolError {
    pub(super) fn internal(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Internal(Box::new(cause))
    }
}

fn known_fields(fields: &str) -> String {
    match fields {
        "" => "This tool has no fields. Call it without arguments.".to_owned(),
        fields => format!("The fields of this tool are {fields}."),
    }
}

fn address_remedy(error: &AddressError) -> &'static str {
    match error {
        AddressError::NotAccepted => {
            "Use an address on a domain that setup lists, or start the server with --accept-domains and the domain."
        }
        AddressError::Taken => "Use another address, or leave `address` out for a new one.",
        _ => "Write it like ada@example.com, or leave `address` out for a new one.",
    }
}

fn service_remedy(error: &ServiceError) -> &'static str {
    match error {
        ServiceError::InboxNotFound => {
            "It was never created, has expired or was deleted, or belongs to another project. Create a new one with \
             create_inbox; explain_missing says how an inbox of this project has ended."
        }
        ServiceError::MessageNotFound => {
            "It was deleted with its inbox, or belongs to another project. list_messages has the ids that exist."
        }
        ServiceError::RecipientNotFound => {
            "No inbox has this address now. Create one with create_inbox and send to its address."
        }
        ServiceError::RecipientFull => "Delete the recipient's inbox and create a new one.",
        ServiceError::InvalidAfter => {
            "Pass the id of a message that is or was in this inbox, or leave `after` out."
        }
        ServiceError::InvalidBefore => {
            "Pass the id of a message that is or was in this inbox, or leave `before` out."
        }
        ServiceError::PermanentInbox => {
            "Ask the person who owns it, or use a temporary inbox from create_inbox."
        }
        ServiceError::TooManyWaits => {
            "Other calls with this key are waiting. Try again when one has ended."
        }
        ServiceError::TooManySends => {
            "Other calls with this key are sending. Try again when one has ended."
        }
        ServiceError::Unauthorized => {
            "The key is no longer valid: set the new one in the client's configuration."
        }
        _ => "Try again in a few seconds.",
    }
}

impl From<ServiceError> for ToolError {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Stopping => Self::Stopping,
            ServiceError::Unavailable | ServiceError::Busy => Self::Busy,
            ServiceError::Compose(ComposeError::Address(_)) => Self::InvalidField("to"),
            ServiceError::Store(error) => error.into(),
            ServiceError::Compose(_) => Self::internal(error),
            error => Self::Service(error),
        }
    }
}

impl From<AddressError> for ToolError {
    fn from(error: AddressError) -> Self {
        match error {
            AddressError::Store(error) => error.into(),
            error => Self::Address(error),
        }
    }
}

impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        if error.is_unavailable() {
            Self::Busy
        } else {
            Self::internal(error)
        }
    }
}

impl From<FieldError> for ToolError {
    fn from(error: FieldError) -> Self {
        match error {
            FieldError::Missing(name) => Self::MissingField(name.to_owned()),
            FieldError::Invalid(name) => Self::InvalidField(name),
        }
    }
}
