//! What one client was told about the mail of one inbox, and what may therefore be in it.

use std::collections::BTreeMap;

/// The domain of generated addresses.
pub(crate) const DOMAIN: &str = "@restante.example.com";

/// What was answered to one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// 250 or 202: it must be stored, this many times.
    Stored(usize),
    /// There was no answer, or one that says to try again: it may be stored at most this many times.
    Unknown(usize),
    /// It was not accepted, or its final dot was never sent: it must not be stored.
    Refused,
}

/// One inbox of a client.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) id: String,
    pub(crate) address: String,
    /// By the token in the subject, in the order of sending: tokens are numbered.
    pub(crate) mail: BTreeMap<u64, Told>,
    /// After a deletion, the inbox must not be found.
    pub(crate) deleted: bool,
    /// Whether mail to the address with a tag is for this inbox: not if late mail opened it.
    pub(crate) has_tags: bool,
}

impl Inbox {
    pub(crate) fn new(id: String, address: String) -> Self {
        let has_tags = address.ends_with(DOMAIN);
        Self { id, address, mail: BTreeMap::new(), deleted: false, has_tags }
    }

    /// Compares the tokens of a list, oldest first, with what the client was told.
    pub(crate) fn check(&self, listed: &[u64]) -> Vec<(&'static str, String)> {
        let mut broken = Vec::new();
        let stored = |token: u64| listed.iter().filter(|listed| **listed == token).count();
        for (token, told) in &self.mail {
            let stored = stored(*token);
            match *told {
                Told::Stored(expected) if stored < expected => broken.push(("acknowledged mail is stored", token)),
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
        let ordered: Vec<_> =
            listed.iter().filter(|token| matches!(self.mail.get(token), Some(Told::Stored(_)))).collect();
        if let Some(pair) = ordered.windows(2).find(|pair| pair[0] > pair[1]) {
            broken.push(("messages are in the order of their acknowledgement", pair[1]));
        }
        broken
            .into_iter()
            .map(|(promise, token)| {
                (promise, format!("message {token} of {}: {self:?}, listed {listed:?}", self.address))
            })
            .collect()
    }
}
