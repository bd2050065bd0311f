//! The domain's types as values of a statement.

use super::content::ContentForm;
use crate::db::Value;
use crate::model::{
    InboxId, InboxKind, KeyHash, MessageId, OutgoingId, OutgoingStatus, ProjectId, SharedAddress,
    Timestamp, WorkerId,
};

impl From<ProjectId> for Value {
    fn from(id: ProjectId) -> Self {
        Self::Uuid(id.0)
    }
}

impl From<MessageId> for Value {
    fn from(id: MessageId) -> Self {
        Self::Uuid(id.0)
    }
}

impl From<OutgoingId> for Value {
    fn from(id: OutgoingId) -> Self {
        Self::Uuid(id.0)
    }
}

impl From<WorkerId> for Value {
    fn from(id: WorkerId) -> Self {
        Self::Uuid(id.0)
    }
}

impl From<KeyHash> for Value {
    fn from(hash: KeyHash) -> Self {
        Self::from(hash.0.as_slice())
    }
}

impl From<&SharedAddress> for Value {
    fn from(address: &SharedAddress) -> Self {
        Self::from(address.as_str())
    }
}

impl From<&InboxId> for Value {
    fn from(id: &InboxId) -> Self {
        Self::from(id.as_str())
    }
}

impl From<Timestamp> for Value {
    fn from(instant: Timestamp) -> Self {
        Self::Integer(instant.as_millis())
    }
}

impl From<OutgoingStatus> for Value {
    fn from(status: OutgoingStatus) -> Self {
        Self::from(status.as_str())
    }
}

impl From<InboxKind> for Value {
    fn from(kind: InboxKind) -> Self {
        Self::from(kind.as_str())
    }
}

impl From<ContentForm> for Value {
    fn from(form: ContentForm) -> Self {
        Self::Integer(match form {
            ContentForm::Parsed => 0,
            ContentForm::Raw => 1,
        })
    }
}
