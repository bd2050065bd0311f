//! The parameters in paths.

use schemars::JsonSchema;
use serde::Deserialize;

/// The path of an inbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct InboxPath {
    /// The id of an inbox: the local part of its address, in any case.
    #[schemars(length(min = 1), extend("example" = "k3v9w0qdm4xt2p7h"))]
    pub id: String,
}

/// The path of an inbox by its id or its address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct InboxNamePath {
    /// The id of an inbox, or its whole address, in any case. The `@` may be written as it is or as
    /// `%40`.
    #[schemars(length(min = 1), extend("example" = "k3v9w0qdm4xt2p7h"))]
    pub id: String,
}

/// The path of an inbox that is created with a chosen address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct AddressPath {
    /// The whole address, in any case. The `@` may be written as it is or as `%40`.
    #[schemars(length(min = 1), extend("example" = "ada@example.com"))]
    pub id: String,
}

/// The path of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct MessagePath {
    /// The id of a message.
    #[schemars(extend("format" = "uuid", "example" = "019aa0b1-7c3e-7d52-9f60-3b1f6f0f2c11"))]
    pub id: String,
}

/// The path of an attachment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct AttachmentPath {
    /// The id of a message.
    #[schemars(extend("format" = "uuid", "example" = "019aa0b1-7c3e-7d52-9f60-3b1f6f0f2c11"))]
    pub id: String,
    /// The `index` of the attachment in the details of the message, counted from 0.
    pub index: String,
}

/// The path of an outgoing message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct OutgoingPath {
    /// The `id` that sending the message returned.
    pub id: String,
}
