//! Faults: errors of the mail server that a test injects for its own inbox.

use std::time::Duration;

pub use restante_api::FaultPoint;
use restante_api::{FaultAction as Word, MAX_FAULT_SECONDS, MAX_FAULT_TIMES};
use restante_smtp::{Closing, RequestedReply};

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultAction {
    /// The recipient or the message is rejected temporarily (4yz).
    Defer {
        /// The reply; `None` for the default reply.
        reply: Option<RequestedReply>,
    },
    /// The recipient or the message is rejected permanently (5yz).
    Reject {
        /// The reply; `None` for the default reply.
        reply: Option<RequestedReply>,
    },
    /// The connection is closed without a reply.
    Disconnect {
        /// Whether the message is stored first.
        store: Option<bool>,
    },
    /// The connection is reset without a reply.
    Reset {
        /// Whether the message is stored first.
        store: Option<bool>,
    },
    /// The reply is delayed.
    Delay {
        /// How long it is delayed.
        seconds: u16,
    },
    /// The message is accepted but not stored, and its sender gets a delivery status notification.
    Bounce,
    /// The message is accepted but not stored, and nobody is notified.
    Drop,
    /// The message is stored twice.
    Duplicate,
}

/// A fault as a test requests it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When it applies.
    pub at: FaultPoint,
    /// What goes wrong.
    pub action: FaultAction,
    /// How often it applies.
    pub times: u32,
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

impl Fault {
    /// The fault in a request.
    ///
    /// # Errors
    /// [`FieldError`] for the first field that is wrong.
    pub fn requested(fields: &restante_api::Fault) -> Result<Self, FieldError> {
        let at = fields.at.as_deref().ok_or(FieldError::Missing("at"))?;
        let at = FaultPoint::of_word(at).ok_or(FieldError::Invalid("at"))?;
        let times = fields.times.unwrap_or(1);
        if !(1..=MAX_FAULT_TIMES).contains(&times) {
            return Err(FieldError::Invalid("times"));
        }
        let action = FaultAction::requested(at, fields)?;
        let refuses = matches!(
            action,
            FaultAction::Defer { .. } | FaultAction::Reject { .. }
        );
        let may_store = at == FaultPoint::Data && action.closing().is_some();
        for (name, is_given, is_taken) in [
            ("reply", fields.reply.is_some(), refuses),
            (
                "seconds",
                fields.seconds.is_some(),
                matches!(action, FaultAction::Delay { .. }),
            ),
            ("store", fields.store.is_some(), may_store),
        ] {
            if is_given && !is_taken {
                return Err(FieldError::Invalid(name));
            }
        }
        Ok(Self { at, action, times })
    }

    /// The fault as a test would request it.
    #[must_use]
    pub fn request(&self) -> restante_api::Fault {
        let fields = restante_api::Fault {
            at: Some(self.at.as_str().to_owned()),
            action: Some(self.action.as_str().to_owned()),
            times: Some(self.times),
            ..restante_api::Fault::default()
        };
        match &self.action {
            FaultAction::Defer { reply } | FaultAction::Reject { reply } => restante_api::Fault {
                reply: reply.as_ref().map(ToString::to_string),
                ..fields
            },
            FaultAction::Disconnect { store } | FaultAction::Reset { store } => {
                restante_api::Fault {
                    store: *store,
                    ..fields
                }
            }
            FaultAction::Delay { seconds } => restante_api::Fault {
                seconds: Some(*seconds),
                ..fields
            },
            FaultAction::Bounce | FaultAction::Drop | FaultAction::Duplicate => fields,
        }
    }
}

impl FaultAction {
    fn requested(at: FaultPoint, fields: &restante_api::Fault) -> Result<Self, FieldError> {
        let word = fields.action.as_deref().ok_or(FieldError::Missing("do"))?;
        match Word::of_word(word).ok_or(FieldError::Invalid("do"))? {
            Word::Defer => Ok(Self::Defer {
                reply: reply(fields, false)?,
            }),
            Word::Reject => Ok(Self::Reject {
                reply: reply(fields, true)?,
            }),
            Word::Disconnect => Ok(Self::Disconnect {
                store: fields.store,
            }),
            Word::Reset => Ok(Self::Reset {
                store: fields.store,
            }),
            Word::Delay => {
                let seconds = fields.seconds.ok_or(FieldError::Missing("seconds"))?;
                let is_valid = (1..=MAX_FAULT_SECONDS).contains(&seconds);
                if is_valid {
                    Ok(Self::Delay { seconds })
                } else {
                    Err(FieldError::Invalid("seconds"))
                }
            }
            Word::Bounce | Word::Drop | Word::Duplicate if at != FaultPoint::Data => {
                Err(FieldError::Invalid("at"))
            }
            Word::Bounce => Ok(Self::Bounce),
            Word::Drop => Ok(Self::Drop),
            Word::Duplicate => Ok(Self::Duplicate),
        }
    }

    /// The name that is stored and shown.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        self.word().as_str()
    }

    /// The word of the API.
    #[must_use]
    pub fn word(&self) -> Word {
        match self {
            Self::Defer { .. } => Word::Defer,
            Self::Reject { .. } => Word::Reject,
            Self::Disconnect { .. } => Word::Disconnect,
            Self::Reset { .. } => Word::Reset,
            Self::Delay { .. } => Word::Delay,
            Self::Bounce => Word::Bounce,
            Self::Drop => Word::Drop,
            Self::Duplicate => Word::Duplicate,
        }
    }

    /// How often a message is stored if this fault applies to it.
    #[must_use]
    pub fn copies(&self) -> u64 {
        match self {
            Self::Defer { .. } | Self::Reject { .. } | Self::Bounce | Self::Drop => 0,
            Self::Disconnect { store } | Self::Reset { store } => u64::from(*store == Some(true)),
            Self::Delay { .. } => 1,
            Self::Duplicate => 2,
        }
    }

    /// Whether this fault changes the reply to a message, which all its recipients share. Any other
    /// fault concerns only its own inbox.
    #[must_use]
    pub fn changes_reply(&self) -> bool {
        match self {
            Self::Defer { .. } | Self::Reject { .. } | Self::Delay { .. } => true,
            Self::Disconnect { .. } | Self::Reset { .. } => true,
            Self::Bounce | Self::Drop | Self::Duplicate => false,
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

    /// How the connection ends, if this fault ends it.
    #[must_use]
    pub fn closing(&self) -> Option<Closing> {
        match self {
            Self::Disconnect { .. } => Some(Closing::Close),
            Self::Reset { .. } => Some(Closing::Reset),
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

fn reply(
    fields: &restante_api::Fault,
    is_permanent: bool,
) -> Result<Option<RequestedReply>, FieldError> {
    let Some(text) = &fields.reply else {
        return Ok(None);
    };
    let reply = RequestedReply::parse(text).filter(|reply| reply.is_permanent() == is_permanent);
    reply.map(Some).ok_or(FieldError::Invalid("reply"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    /// The fault of a body such as `{"at": "data", "do": "drop"}`.
    fn requested(body: &str) -> Result<Fault, FieldError> {
        Fault::requested(&serde_json::from_str(body).unwrap())
    }

    #[test]
    fn a_fault_is_shown_as_it_was_requested() {
        for body in [
            r#"{"at":"rcpt","do":"defer","times":1}"#,
            r#"{"at":"data","do":"defer","times":1000,"reply":"451 4.7.1 Greylisted"}"#,
            r#"{"at":"data","do":"reject","times":1}"#,
            r#"{"at":"rcpt","do":"reject","times":2,"reply":"550 5.1.1 No such user"}"#,
            r#"{"at":"rcpt","do":"disconnect","times":1}"#,
            r#"{"at":"data","do":"disconnect","times":1,"store":true}"#,
            r#"{"at":"data","do":"reset","times":1,"store":false}"#,
            r#"{"at":"rcpt","do":"delay","times":1,"seconds":1}"#,
            r#"{"at":"data","do":"delay","times":1,"seconds":300}"#,
            r#"{"at":"data","do":"bounce","times":1}"#,
            r#"{"at":"data","do":"drop","times":1}"#,
            r#"{"at":"data","do":"duplicate","times":1}"#,
        ] {
            let fault = requested(body).unwrap();
            assert_eq!(serde_json::to_string(&fault.request()).unwrap(), body);
        }
        assert_eq!(requested(r#"{"at":"data","do":"drop"}"#).unwrap().times, 1);
    }

    #[test]
    fn the_first_wrong_field_is_named() {
        let missing = FieldError::Missing;
        let invalid = FieldError::Invalid;
        for (body, error) in [
            ("{}", missing("at")),
            (r#"{"at":"mail"}"#, invalid("at")),
            (r#"{"at":"data"}"#, missing("do")),
            (r#"{"at":"data","do":"explode"}"#, invalid("do")),
            (r#"{"at":"data","do":"drop","times":0}"#, invalid("times")),
            (
                r#"{"at":"data","do":"drop","times":1001}"#,
                invalid("times"),
            ),
            (r#"{"at":"rcpt","do":"bounce"}"#, invalid("at")),
            (r#"{"at":"rcpt","do":"drop"}"#, invalid("at")),
            (r#"{"at":"rcpt","do":"duplicate"}"#, invalid("at")),
            (
                r#"{"at":"data","do":"defer","reply":"550 5.1.1 No"}"#,
                invalid("reply"),
            ),
            (
                r#"{"at":"data","do":"reject","reply":"451 4.7.1 Later"}"#,
                invalid("reply"),
            ),
            (
                r#"{"at":"data","do":"drop","reply":"451 4.7.1 Later"}"#,
                invalid("reply"),
            ),
            (r#"{"at":"data","do":"delay"}"#, missing("seconds")),
            (
                r#"{"at":"data","do":"delay","seconds":0}"#,
                invalid("seconds"),
            ),
            (
                r#"{"at":"data","do":"delay","seconds":301}"#,
                invalid("seconds"),
            ),
            (
                r#"{"at":"data","do":"defer","seconds":1}"#,
                invalid("seconds"),
            ),
            (
                r#"{"at":"rcpt","do":"reset","store":true}"#,
                invalid("store"),
            ),
            (
                r#"{"at":"data","do":"bounce","store":true}"#,
                invalid("store"),
            ),
        ] {
            assert_eq!(requested(body), Err(error), "{body}");
        }
    }

    #[test]
    fn each_action_has_its_effect_on_the_reply() {
        let reply = RequestedReply::parse("451 4.7.1 Greylisted").unwrap();
        let deferred = RequestedReply::deferred();
        let rejected = RequestedReply::rejected();
        let nine = Duration::from_secs(9);
        let close = Closing::Close;
        let reset = Closing::Reset;
        for (action, refusal, closing, delay) in [
            (
                FaultAction::Defer { reply: None },
                Some(deferred),
                None,
                None,
            ),
            (
                FaultAction::Defer {
                    reply: Some(reply.clone()),
                },
                Some(reply),
                None,
                None,
            ),
            (
                FaultAction::Reject { reply: None },
                Some(rejected),
                None,
                None,
            ),
            (
                FaultAction::Disconnect { store: None },
                None,
                Some(close),
                None,
            ),
            (
                FaultAction::Reset { store: Some(true) },
                None,
                Some(reset),
                None,
            ),
            (FaultAction::Delay { seconds: 9 }, None, None, Some(nine)),
            (FaultAction::Bounce, None, None, None),
            (FaultAction::Drop, None, None, None),
            (FaultAction::Duplicate, None, None, None),
        ] {
            assert_eq!(
                (action.refusal(), action.closing(), action.delay()),
                (refusal, closing, delay),
                "{action:?}"
            );
        }
    }
}
