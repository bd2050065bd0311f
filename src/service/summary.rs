//! Why a message did not arrive: the first cause that applies, and the sentence about it.

use std::collections::BTreeSet;

use super::activity::TotalUse;
use super::{advice, remedy};
use crate::config::DEFAULT_MAIL_DOMAIN;
use crate::model::{
    Cause, Domain, Finding, Inbox, InboxEnd, Latest, Part, Period, Refusal, RefusalReason, RefusedMail, SessionFailure,
    Similar, Timestamp, ago, quoted, smtp_server, spoken,
};

/// Maximum number of messages that the sentence lists.
const NAMED: usize = 3;
/// Top-level domains that no address outside tests has, and which validators reject them.
const REJECTED: [(&str, &str); 5] = [
    ("example", "Joi does"),
    ("invalid", "pydantic's EmailStr and Joi do"),
    ("local", "pydantic's EmailStr and Joi do"),
    ("localhost", "pydantic's EmailStr and Joi do"),
    ("test", "pydantic's EmailStr and Joi do"),
];
/// Maximum number of characters of a subject in the sentence.
const SUBJECT_CHARACTERS: usize = 80;

/// A cause, its origin, and the sentence.
type Found = (Cause, String, String);

/// What the sentence is based on.
pub(super) struct Facts<'a> {
    pub(super) address: String,
    pub(super) mail_domain: &'a Domain,
    pub(super) inbox: &'a Inbox,
    pub(super) period: Period,
    pub(super) ended: Option<InboxEnd>,
    pub(super) latest: &'a [Latest],
    pub(super) refused: &'a [RefusedMail],
    /// The most similar inbox that received mail, and whether its name is only a few edits away.
    pub(super) similar: Option<(bool, &'a Similar)>,
    /// The newest refusal in the project of a client that may be the application, for any recipient.
    pub(super) last_refusal: Option<&'a RefusedMail>,
    pub(super) watched: TotalUse,
    /// The filters of the wait.
    pub(super) filters: String,
    /// Whether this client used a key of the project, or has sent mail to an inbox of it.
    pub(super) is_own_client: &'a dyn Fn(&RefusedMail) -> bool,
}

impl Facts<'_> {
    pub(super) fn finding(&self) -> Finding {
        let (cause, origin, marked) = self
            .end()
            .or_else(|| self.match_in_inbox())
            .or_else(|| self.later_refusal())
            .or_else(|| self.named(Part::Wait))
            .or_else(|| self.named(Part::JustBefore))
            .or_else(|| self.neighbour(true))
            .or_else(|| self.failed_session(Part::Wait))
            .or_else(|| self.named(Part::Earlier))
            .or_else(|| self.neighbour(false))
            .or_else(|| self.failed_session(Part::Earlier))
            .or_else(|| self.session_without_mail())
            .or_else(|| self.other_mail())
            .unwrap_or_else(|| self.silence());
        Finding { cause, origin, marked }
    }

    fn end(&self) -> Option<Found> {
        let address = &self.address;
        Some(match self.ended? {
            InboxEnd::Expired(at) => {
                let advice = advice(Cause::InboxExpired);
                (Cause::InboxExpired, String::new(), format!("The inbox {address} expired {}. {advice}", ago(at)))
            }
            InboxEnd::Deleted(at) => {
                let advice = advice(Cause::InboxDeleted);
                (Cause::InboxDeleted, String::new(), format!("The inbox {address} was deleted {}. {advice}", ago(at)))
            }
        })
    }

    fn match_in_inbox(&self) -> Option<Found> {
        let message = self.latest.iter().find(|message| message.missed_by.is_empty())?;
        let ago = ago(message.received_at);
        let text = format!("A matching message is in the inbox: {}, received {ago}.", named(message));
        Some((Cause::Arrived, String::new(), text))
    }

    /// What names the inbox in this part of the period or a later one: messages in it, and rejections.
    fn named(&self, part: Part) -> Option<Found> {
        self.full(part).or_else(|| self.messages(part)).or_else(|| self.refusal(part))
    }

    fn messages(&self, part: Part) -> Option<Found> {
        let is_in = |message: &&Latest| self.period.part_of(message.received_at) <= part;
        let latest: Vec<&Latest> = self.latest.iter().filter(is_in).collect();
        let filters = missed_filters(&latest)?;
        let cause = if filters == "after" { Cause::NothingNew } else { Cause::FilterMissed };
        let messages = latest.iter().take(NAMED).map(|message| named(message)).collect::<Vec<_>>().join(", ");
        let more = if latest.len() > NAMED { " and others" } else { "" };
        let arrived = match latest.len() {
            1 => "A message arrived, but it does not match",
            _ => "Messages arrived, but none matches",
        };
        let origin = if cause == Cause::NothingNew { String::new() } else { self.filters.clone() };
        Some((cause, origin, format!("{arrived} the filters ({filters}): {messages}{more}.")))
    }

    /// A rejection after the message of the cursor, which excludes all messages.
    fn later_refusal(&self) -> Option<Found> {
        let newest = self.latest.first().filter(|newest| newest.missed_by.contains(&"after"))?;
        self.refusal_since(newest.received_at)
    }

    fn refusal(&self, part: Part) -> Option<Found> {
        let refused = self.refusals().find(|refused| self.period.part_of(refused.refused_at) <= part)?;
        Some(self.rejection(refused))
    }

    /// The newest rejection since then.
    fn refusal_since(&self, since: Timestamp) -> Option<Found> {
        self.refusals().find(|refused| refused.refused_at >= since).map(|refused| self.rejection(refused))
    }

    /// A rejection of mail to the inbox, and what to do about it.
    fn rejection(&self, refused: &RefusedMail) -> Found {
        let (cause, origin, text) = rejected(refused);
        match refused.accepting_flag() {
            // The text names the flag.
            Some(_) => (cause, origin, text),
            None => (cause, origin, format!("{text}. {}", remedy(refused, self.mail_domain))),
        }
    }

    /// The inbox was full, and the messages in it do not match.
    fn full(&self, part: Part) -> Option<Found> {
        let is_full = |refused: &&RefusedMail| {
            refused.reason == RefusalReason::Smtp(Refusal::InboxFull) && self.period.part_of(refused.refused_at) <= part
        };
        let filters = missed_filters(&self.latest.iter().collect::<Vec<_>>())?;
        let (cause, origin, text) = rejected(self.refusals().find(is_full)?);
        Some((cause, origin, format!("{text}. None of its messages matches the filters ({filters}).")))
    }

    /// The rejections of mail to this inbox, newest first.
    fn refusals(&self) -> impl Iterator<Item = &RefusedMail> {
        self.refused.iter().filter(|refused| refused.inbox.as_ref() == Some(&self.inbox.id))
    }

    fn neighbour(&self, is_close: bool) -> Option<Found> {
        let (_, similar) = self.similar.filter(|(close, _)| *close == is_close)?;
        let other = similar.address(self.mail_domain);
        let quote = quoted(&other);
        let (address, ago) = (&self.address, ago(similar.last_received_at));
        Some(if is_close {
            let text = format!(
                "No message arrived for {address}, but one arrived for {quote} {ago}. Is the address mistyped?"
            );
            (Cause::Typo, other, text)
        } else {
            let text = format!(
                "No message arrived for {address}, but {ago} a message created the inbox {quote}. \
                 Does the application use that address?"
            );
            (Cause::OtherAddress, other, text)
        })
    }

    /// A session that failed before its client could name a recipient, unless mail was rejected after it. Without mail
    /// from other clients, it is probably the application; otherwise only that of a known client counts.
    fn failed_session(&self, part: Part) -> Option<Found> {
        let is_in = |refused: &&RefusedMail| self.period.part_of(refused.refused_at) <= part;
        let mut failed = self.refused.iter().filter(|refused| is_failed_session(refused)).filter(is_in);
        let failed = failed.find(|refused| !self.was_mail() || (self.is_own_client)(refused))?;
        let is_last =
            self.last_refusal.is_none_or(|last| last.recipient.is_empty() || last.refused_at < failed.refused_at);
        is_last.then(|| self.session(failed))
    }

    /// A session without mail and without an error, if there was no mail at all.
    fn session_without_mail(&self) -> Option<Found> {
        let was_rejected = self.last_refusal.is_some_and(|refused| !refused.recipient.is_empty());
        let is_idle = |refused: &&RefusedMail| matches!(refused.reason, RefusalReason::Session(_));
        let session = self.refused.iter().find(is_idle).filter(|_| !self.was_mail() && !was_rejected)?;
        Some(self.session(session))
    }

    fn was_mail(&self) -> bool {
        self.watched.used.last_message_at.is_some_and(|at| at >= self.period.since)
    }

    fn session(&self, refused: &RefusedMail) -> Found {
        let RefusedMail { reply, refused_at, .. } = refused;
        let (client, ago, address) = (refused.client(), ago(*refused_at), &self.address);
        let remedy = remedy(refused, self.mail_domain);
        let text = format!(
            "Nothing was sent to {address}, but {ago} a session of {client} ended without mail: {reply}. {remedy}"
        );
        (cause_of(&refused.reason), origin_of(refused), text)
    }

    fn other_mail(&self) -> Option<Found> {
        let used = self.used_ways();
        if used.is_empty() {
            return None;
        }
        let used = used.join(" and ");
        let refusal = self.last_refusal.map_or_else(String::new, |refused| {
            let recipient = refused.recipient_address();
            let other = if recipient.eq_ignore_ascii_case(&self.address) { "" } else { "another address, " };
            let of = match recipient {
                "" => String::new(),
                _ => format!(" was of mail to {other}{}", quoted(recipient)),
            };
            let flag = if (self.is_own_client)(refused) { missing_flag(refused) } else { String::new() };
            format!(" The last rejection{of}: {}{flag}", refused.reply)
        });
        let (address, since, older) = (&self.address, self.since(), self.older().unwrap_or_default());
        let text = format!("Clients use {used}, but sent nothing to {address} since {since}.{older}{refusal}");
        let own = self.last_refusal.filter(|refused| (self.is_own_client)(refused));
        let other_domain = own.filter(|refused| refused.accepting_flag().is_some());
        Some(match other_domain {
            Some(refused) => (Cause::OtherDomain, origin_of(refused), text),
            None => (Cause::SentElsewhere, String::new(), text),
        })
    }

    /// The start of the period.
    fn since(&self) -> String {
        match self.period.since {
            since if since == self.inbox.created_at => format!("this inbox was created {}", ago(since)),
            since => format!("{} before the wait started", spoken(self.period.started_at.since(since))),
        }
    }

    /// The newest message in the inbox, if it arrived before the period.
    fn older(&self) -> Option<String> {
        let message = self.latest.first()?;
        Some(format!(" The newest message in it is older: {}, received {}.", named(message), ago(message.received_at)))
    }

    /// The ways by which clients sent something, or may have, in the period.
    fn used_ways(&self) -> Vec<String> {
        let smtp = self.watched.used;
        let is_used = |last: Option<Timestamp>| last.is_some_and(|at| at >= self.period.since);
        let is_smtp_used = smtp.connections_open > 0 || is_used(smtp.last_connection_at.max(smtp.last_message_at));
        let apis = self
            .watched
            .send_apis
            .each()
            .filter(|(_, last)| is_used(*last))
            .map(|(via, _)| format!("the {}", via.title()));
        is_smtp_used.then(|| "SMTP".to_owned()).into_iter().chain(apis).collect()
    }

    fn silence(&self) -> Found {
        let watched_since = self.watched.since;
        let since = if self.period.since >= watched_since {
            self.since()
        } else {
            format!("the service started {}", ago(watched_since))
        };
        let (address, refused) = (smtp_server(), self.refused_by_validators().unwrap_or_default());
        let older = self.older().unwrap_or_default();
        let text = format!(
            "Nothing has connected over SMTP since {since}.{older} Is {address} the application's SMTP server?{refused}"
        );
        (Cause::NothingConnected, String::new(), text)
    }

    /// A possible cause on every domain but the default, which validators of addresses accept: some reject the
    /// top-level domains that are reserved for tests (RFC 2606), or a domain without an MX record.
    fn refused_by_validators(&self) -> Option<String> {
        let domain = self.address.rsplit('@').next().filter(|domain| *domain != DEFAULT_MAIL_DOMAIN)?;
        let rejected = REJECTED.iter().find(|(top, _)| domain.rsplit('.').next() == Some(*top));
        let example = rejected.map_or_else(String::new, |(top, who)| format!(", as {who} for .{top}"));
        Some(format!(" Or does the application's validation reject addresses on {domain}{example}?"))
    }
}

/// The filters that exclude these messages, unless there is none.
fn missed_filters(messages: &[&Latest]) -> Option<String> {
    let missed: BTreeSet<&str> = messages.iter().flat_map(|message| message.missed_by.iter().copied()).collect();
    let filters: Vec<&str> = missed.into_iter().collect();
    (!messages.is_empty()).then(|| filters.join(", "))
}

/// A rejection of mail to the inbox.
fn rejected(refused: &RefusedMail) -> Found {
    let recipient = quoted(refused.recipient_address());
    let (ago, reply, flag) = (ago(refused.refused_at), &refused.reply, missing_flag(refused));
    let text = format!("Mail to {recipient} was rejected {ago}: {reply}{flag}");
    (cause_of(&refused.reason), origin_of(refused), text)
}

/// A session that failed before its client could name a recipient.
fn is_failed_session(refused: &RefusedMail) -> bool {
    refused.inbox.is_none() && refused.reason.ends_session()
}

/// The cause that a rejection, or a session without mail, has. Has no default, so that a new reason does not compile
/// without its cause.
fn cause_of(reason: &RefusalReason) -> Cause {
    match reason {
        RefusalReason::Smtp(refusal) => cause_of_refusal(*refusal),
        RefusalReason::Session(failure) => match failure {
            SessionFailure::UnknownAuthority
            | SessionFailure::CertificateRejected
            | SessionFailure::LeftInHandshake
            | SessionFailure::LeftAfterHandshake
            | SessionFailure::NoCommonTls
            | SessionFailure::HandshakeFailed
            | SessionFailure::StartTlsNotOffered => Cause::TlsFailed,
            SessionFailure::TlsWithoutStartTls => Cause::WrongPort,
            SessionFailure::AuthNotOffered | SessionFailure::NeitherOffered => Cause::LoginFailed,
            SessionFailure::Rejected | SessionFailure::NoMail | SessionFailure::NoCommand => Cause::NoMail,
        },
        RefusalReason::DisconnectedOnRequest | RefusalReason::BouncedOnRequest | RefusalReason::DroppedOnRequest => {
            Cause::Fault
        }
        RefusalReason::InvalidRequest | RefusalReason::Unknown(_) => Cause::Rejected,
    }
}

fn cause_of_refusal(refusal: Refusal) -> Cause {
    match refusal {
        Refusal::BareLineEnd => Cause::BareLineEnd,
        Refusal::InboxFull => Cause::InboxFull,
        Refusal::RelayNotPermitted => Cause::OtherDomain,
        Refusal::DeferredOnRequest | Refusal::RejectedOnRequest => Cause::Fault,
        Refusal::HttpRequest => Cause::WrongPort,
        Refusal::StartTlsOff => Cause::TlsFailed,
        Refusal::EncryptionRequired
        | Refusal::UnknownMechanism
        | Refusal::MalformedAuthentication
        | Refusal::AuthenticationTooLong
        | Refusal::AuthenticationCancelled
        | Refusal::AuthenticationFailed
        | Refusal::AuthenticationRequired
        | Refusal::LoginRequired
        | Refusal::TooManyFailedAuthentications => Cause::LoginFailed,
        _ => Cause::Rejected,
    }
}

/// What rejections with the same origin have in common.
fn origin_of(refused: &RefusedMail) -> String {
    let domain = match refused.accepting_flag() {
        Some(_) => refused.recipient_address().rsplit('@').next().unwrap_or_default(),
        None => "",
    };
    format!("{}:{domain}", refused.reason.label())
}

/// What to do about a refusal because of the recipient's domain.
fn missing_flag(refused: &RefusedMail) -> String {
    refused.accepting_flag().map_or_else(String::new, |flag| format!(". Start the server with {flag} to accept it."))
}

pub(super) fn named(message: &Latest) -> String {
    let subject = match message.subject.char_indices().nth(SUBJECT_CHARACTERS) {
        Some((end, _)) => format!("{}…", &message.subject[..end]),
        None => message.subject.clone(),
    };
    quoted(&format!("\"{subject}\" from {}", message.from))
}
