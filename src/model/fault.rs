//! Faults: errors of the mail server that a test injects for its own inbox.

use std::time::Duration;

use restante_smtp::RequestedReply;
use serde::{Serialize, Serializer};

use super::Timestamp;

/// When a fault applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultPoint {
    /// At RCPT TO.
    Rcpt,
    /// When the message has been received.
    Data,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum FaultAction {
    /// The recipient or the message is rejected temporarily (4yz).
    Defer {
        /// The reply; `None` for the default reply.
        #[serde(serialize_with = "reply_text", skip_serializing_if = "Option::is_none")]
        reply: Option<RequestedReply>,
    },
    /// The recipient or the message is rejected permanently (5yz).
    Reject {
        /// The reply; `None` for the default reply.
        #[serde(serialize_with = "reply_text", skip_serializing_if = "Option::is_none")]
        reply: Option<RequestedReply>,
    },
    /// The connection is closed without a reply.
    Disconnect {
        /// Whether the message is stored first.
        #[serde(skip_serializing_if = "Option::is_none")]
        store: Option<bool>,
    },
    /// The reply is delayed.
    Delay {
        /// How long it is delayed.
        seconds: u16,
    },
    /// The message is accepted but not stored, and its sender gets a delivery status notification.
    Bounce,
    /// The message is stored twice.
    Duplicate,
}

/// A fault as a test requests it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// When it applies.
    pub at: FaultPoint,
    /// What goes wrong.
    #[serde(flatten)]
    pub action: FaultAction,
    /// How often it applies.
    pub times: u32,
}

/// The most faults of an inbox.
pub const MOST_FAULTS: usize = 20;
/// The most times that a fault applies.
const MOST_TIMES: u32 = 1_000;
/// The longest delay.
const MOST_SECONDS: u16 = 300;

/// The fields of a fault as given by the test.
#[derive(Clone, Debug, Default)]
pub struct FaultFields {
    /// The name of a [`FaultPoint`].
    pub at: Option<String>,
    /// The name of a [`FaultAction`].
    pub action: Option<String>,
    /// How often it applies; once by default.
    pub times: Option<u32>,
    /// The reply of a rejection.
    pub reply: Option<String>,
    /// The length of a delay.
    pub seconds: Option<u16>,
    /// Whether a disconnection stores the message.
    pub store: Option<bool>,
}

/// Why the fields of a request are refused; names the first one that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// A field is missing.
    #[error("missing field: {0}")]
    Missing(&'static str),
    /// A field has a wrong value, or does not belong to the action.
    #[error("invalid field: {0}")]
    Invalid(&'static str),
}

/// A fault of an inbox, with its uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultState {
    /// The fault.
    pub fault: Fault,
    /// The times at which it was used, in order.
    pub uses: Vec<Timestamp>,
}

impl FaultFields {
    /// Converts the fields to a fault.
    ///
    /// # Errors
    /// [`FieldError`] for the first field that is wrong.
    pub fn fault(&self) -> Result<Fault, FieldError> {
        let at = self.at.as_deref().ok_or(FieldError::Missing("at"))?;
        let at = FaultPoint::of_word(at).ok_or(FieldError::Invalid("at"))?;
        let times = self.times.unwrap_or(1);
        if !(1..=MOST_TIMES).contains(&times) {
            return Err(FieldError::Invalid("times"));
        }
        let action = self.action(at)?;
        let refuses = matches!(action, FaultAction::Defer { .. } | FaultAction::Reject { .. });
        let may_store = at == FaultPoint::Data && matches!(action, FaultAction::Disconnect { .. });
        for (name, is_given, is_taken) in [
            ("reply", self.reply.is_some(), refuses),
            ("seconds", self.seconds.is_some(), matches!(action, FaultAction::Delay { .. })),
            ("store", self.store.is_some(), may_store),
        ] {
            if is_given && !is_taken {
                return Err(FieldError::Invalid(name));
            }
        }
        Ok(Fault { at, action, times })
    }

    fn action(&self, at: FaultPoint) -> Result<FaultAction, FieldError> {
        match self.action.as_deref().ok_or(FieldError::Missing("do"))? {
            "defer" => Ok(FaultAction::Defer { reply: self.reply(false)? }),
            "reject" => Ok(FaultAction::Reject { reply: self.reply(true)? }),
            "disconnect" => Ok(FaultAction::Disconnect { store: self.store }),
            "delay" => {
                let seconds = self.seconds.ok_or(FieldError::Missing("seconds"))?;
                let is_valid = (1..=MOST_SECONDS).contains(&seconds);
                if is_valid { Ok(FaultAction::Delay { seconds }) } else { Err(FieldError::Invalid("seconds")) }
            }
            "bounce" | "duplicate" if at != FaultPoint::Data => Err(FieldError::Invalid("at")),
            "bounce" => Ok(FaultAction::Bounce),
            "duplicate" => Ok(FaultAction::Duplicate),
            _ => Err(FieldError::Invalid("do")),
        }
    }

    fn reply(&self, is_permanent: bool) -> Result<Option<RequestedReply>, FieldError> {
        let Some(text) = &self.reply else { return Ok(None) };
        let reply = RequestedReply::parse(text).filter(|reply| reply.is_permanent() == is_permanent);
        reply.map(Some).ok_or(FieldError::Invalid("reply"))
    }
}

impl Fault {
    /// Its fields, as a test would give them.
    #[must_use]
    pub fn fields(&self) -> FaultFields {
        let (at, action) = (Some(self.at.as_str().to_owned()), Some(self.action.as_str().to_owned()));
        let fields = FaultFields { at, action, times: Some(self.times), ..FaultFields::default() };
        match &self.action {
            FaultAction::Defer { reply } | FaultAction::Reject { reply } => {
                FaultFields { reply: reply.as_ref().map(ToString::to_string), ..fields }
            }
            FaultAction::Disconnect { store } => FaultFields { store: *store, ..fields },
            FaultAction::Delay { seconds } => FaultFields { seconds: Some(*seconds), ..fields },
            FaultAction::Bounce | FaultAction::Duplicate => fields,
        }
    }
}

impl FaultPoint {
    /// The name that is stored and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rcpt => "rcpt",
            Self::Data => "data",
        }
    }

    /// The point with this name.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Rcpt, Self::Data].into_iter().find(|point| point.as_str() == word)
    }
}

impl FaultAction {
    /// The name that is stored and shown.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Defer { .. } => "defer",
            Self::Reject { .. } => "reject",
            Self::Disconnect { .. } => "disconnect",
            Self::Delay { .. } => "delay",
            Self::Bounce => "bounce",
            Self::Duplicate => "duplicate",
        }
    }

    /// How often a message is stored if this fault applies to it.
    #[must_use]
    pub fn copies(&self) -> u64 {
        match self {
            Self::Defer { .. } | Self::Reject { .. } | Self::Bounce => 0,
            Self::Disconnect { store } => u64::from(*store == Some(true)),
            Self::Delay { .. } => 1,
            Self::Duplicate => 2,
        }
    }

    /// Whether this fault changes the reply to a message, which all its recipients share. Any other fault concerns
    /// only its own inbox.
    #[must_use]
    pub fn changes_reply(&self) -> bool {
        match self {
            Self::Defer { .. } | Self::Reject { .. } | Self::Disconnect { .. } | Self::Delay { .. } => true,
            Self::Bounce | Self::Duplicate => false,
        }
    }

    /// The reply of the rejection, if this fault rejects.
    #[must_use]
    pub fn refusal(&self) -> Option<RequestedReply> {
        match self {
            Self::Defer { reply } => Some(reply.clone().unwrap_or_else(RequestedReply::deferred)),
            Self::Reject { reply } => Some(reply.clone().unwrap_or_else(RequestedReply::rejected)),
            _ => None,
        }
    }

    /// The delay of the reply, if there is one.
    #[must_use]
    pub fn delay(&self) -> Option<Duration> {
        match self {
            Self::Delay { seconds } => Some(Duration::from_secs((*seconds).into())),
            _ => None,
        }
    }
}

impl FaultState {
    /// How often the fault has been used.
    #[must_use]
    pub fn used(&self) -> u32 {
        u32::try_from(self.uses.len()).unwrap_or(u32::MAX)
    }

    /// How many uses are left.
    #[must_use]
    pub fn left(&self) -> u32 {
        self.fault.times.saturating_sub(self.used())
    }
}

fn reply_text<S: Serializer>(reply: &Option<RequestedReply>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&reply.as_ref().map(ToString::to_string).unwrap_or_default())
}
