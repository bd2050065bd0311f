//! What one client was told about the mail of one inbox, and what may therefore be in it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::mail::Outcome;

/// The domain of generated addresses.
pub(crate) const DOMAIN: &str = "@restante.example.com";

/// How long an inbox lives.
pub(crate) const LIFETIME: Duration = Duration::from_secs(90);
/// An inbox that expires sooner is not used again: a request may be repeated for so long.
const USED_UNTIL: Duration = Duration::from_secs(45);
/// How late an inbox may be found after its time.
const LATE: Duration = Duration::from_secs(2);

/// What was answered to one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// 250 or 202: it must be stored, this many times.
    Stored(usize),
    /// The same for mail that was sent at the same time as other mail, so that any order is right.
    StoredBeside,
    /// There was no answer, or one that says to try again: it may be stored at most this many
    /// times.
    Unknown(usize),
    /// It was not accepted, or its final dot was never sent: it must not be stored.
    Refused,
}

impl Told {
    /// What the outcome of one message says.
    pub(crate) fn by(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Accepted => Self::Stored(1),
            Outcome::NotSent => Self::Refused,
            // The commit may have been made although its answer was lost.
            Outcome::NoReply => Self::Unknown(1),
            Outcome::Reply(reply) if reply.starts_with('4') => Self::Unknown(1),
            Outcome::Reply(_) => Self::Refused,
        }
    }
}

/// One inbox of a client.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) id: String,
    pub(crate) address: String,
    /// By the token in the subject, in the order of sending: tokens are numbered.
    pub(crate) mail: BTreeMap<u64, Told>,
    /// When it expires, at the earliest and at the latest; `None` if it is permanent.
    pub(crate) life: Option<(Instant, Instant)>,
    /// Whether it was compared with what the client was told, before it expires.
    pub(crate) checked: bool,
    /// After a deletion, the inbox must not be found.
    pub(crate) deleted: bool,
    /// Whether mail to the address with a tag is for this inbox: not if late mail opened it.
    pub(crate) has_tags: bool,
}

impl Inbox {
    /// An inbox that was created since `asked`.
    pub(crate) fn new(id: String, address: String, asked: Instant) -> Self {
        let has_tags = address.ends_with(DOMAIN);
        let life = Some((asked + LIFETIME, Instant::now() + LIFETIME + LATE));
        Self {
            id,
            address,
            mail: BTreeMap::new(),
            life,
            checked: false,
            deleted: false,
            has_tags,
        }
    }

    pub(crate) fn is_usable(&self) -> bool {
        !self.deleted
            && self
                .life
                .is_none_or(|(earliest, _)| earliest > Instant::now() + USED_UNTIL)
    }

    /// Whether it has certainly not expired yet.
    pub(crate) fn lives(&self) -> bool {
        self.life
            .is_none_or(|(earliest, _)| earliest > Instant::now())
    }

    pub(crate) fn has_expired(&self) -> bool {
        self.life.is_some_and(|(_, latest)| latest < Instant::now())
    }

    /// Compares the tokens of a list, oldest first, with what the client was told.
    pub(crate) fn check(&self, listed: &[u64]) -> Vec<(&'static str, String)> {
        let mut broken = Vec::new();
        let stored = |token: u64| listed.iter().filter(|listed| **listed == token).count();
        for (token, told) in &self.mail {
            let stored = stored(*token);
            match *told {
                Told::StoredBeside if stored == 0 => {
                    broken.push(("acknowledged mail is stored", token));
                }
                Told::StoredBeside if stored > 1 => broken.push(("mail is stored once", token)),
                Told::Stored(expected) if stored < expected => {
                    broken.push(("acknowledged mail is stored", token));
                }
                Told::Stored(most) | Told::Unknown(most) if stored > most => {
                    broken.push(("mail is stored once", token));
                }
                Told::Refused if stored > 0 => broken.push(("rejected mail is not stored", token)),
                _ => {}
            }
        }
        broken.extend(
            listed
                .iter()
                .filter(|token| !self.mail.contains_key(token))
                .map(|token| ("mail is stored in its inbox", token)),
        );
        let ordered: Vec<_> = listed
            .iter()
            .filter(|token| matches!(self.mail.get(token), Some(Told::Stored(_))))
            .collect();
        if let Some(pair) = ordered.windows(2).find(|pair| pair[0] > pair[1]) {
            broken.push((
                "messages are in the order of their acknowledgement",
                pair[1],
            ));
        }
        broken
            .into_iter()
            .map(|(promise, token)| {
                (
                    promise,
                    format!(
                        "message {token} of {}: {self:?}, listed {listed:?}",
                        self.address
                    ),
                )
            })
            .collect()
    }
}
