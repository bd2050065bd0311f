//! The domain's types as values of a statement and as columns of a row.

use bytes::Bytes;
use uuid::Uuid;

use super::content::ContentForm;
use crate::db::{Column, Value};
use crate::model::{
    InboxId, InboxKind, KeyHash, MessageId, OutgoingId, OutgoingStatus, ProjectId, SharedAddress,
    Timestamp, WorkerId,
};

macro_rules! values_of {
    ($($type:ty, $stored:expr;)*) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::from($stored(value))
            }
        })*
    };
}

values_of! {
    ProjectId, |id: ProjectId| id.0;
    MessageId, |id: MessageId| id.0;
    OutgoingId, |id: OutgoingId| id.0;
    WorkerId, |id: WorkerId| id.0;
    KeyHash, |hash: KeyHash| Bytes::copy_from_slice(&hash.0);
    Timestamp, Timestamp::as_millis;
    OutgoingStatus, OutgoingStatus::as_str;
    InboxKind, InboxKind::as_str;
    &InboxId, InboxId::as_str;
    &SharedAddress, SharedAddress::as_str;
}

impl From<ContentForm> for Value {
    fn from(form: ContentForm) -> Self {
        Self::Integer(match form {
            ContentForm::Parsed => 0,
            ContentForm::Raw => 1,
        })
    }
}

/// Types whose value is always that of another one.
macro_rules! columns {
    ($($type:ty: $stored:ty, $read:expr;)*) => {
        $(impl Column for $type {
            const EXPECTED: &'static str = <$stored>::EXPECTED;

            fn of(value: Value) -> Option<Self> {
                <$stored>::of(value).map($read)
            }
        })*
    };
}

columns! {
    Timestamp: i64, Self::from_millis;
    ProjectId: Uuid, Self;
    MessageId: Uuid, Self;
    OutgoingId: Uuid, Self;
    InboxId: String, Self::from_stored;
    SharedAddress: String, Self::from_stored;
}

impl Column for KeyHash {
    const EXPECTED: &'static str = "a hash";

    fn of(value: Value) -> Option<Self> {
        Bytes::of(value)?.as_ref().try_into().ok().map(Self)
    }
}
