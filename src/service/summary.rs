//! Why a message did not arrive: the first cause that applies, and the sentence about it.

use std::collections::BTreeSet;

use super::activity::TotalUse;
use super::{advice, remedy};
use crate::config::DEFAULT_MAIL_DOMAIN;
use crate::model::{
    Cause, Difference, Domain, Finding, Inbox, InboxEnd, Latest, MessageFilter, Part, Period,
    Refusal, RefusalReason, RefusedMail, SessionFailure, Similar, Timestamp, ago, bracketed, cut,
    given, quoted, smtp_server, spoken, with_remedy,
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
/// Maximum number of characters of a subject, or of a filter, in the sentence.
const MAX_CHARACTERS: usize = 80;

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
    /// The newest refusal in the project of a client that may be the application, for any
    /// recipient.
    pub(super) last_refusal: Option<&'a RefusedMail>,
    pub(super) watched: TotalUse,
    /// The filters of the wait.
    pub(super) filter: &'a MessageFilter,
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
        Finding {
            cause,
            origin,
            marked,
        }
    }

    fn end(&self) -> Option<Found> {
        let (cause, ended) = match self.ended? {
            InboxEnd::Expired(at) => (Cause::InboxExpired, format!("expired {}", ago(at))),
            InboxEnd::Deleted(at) => (Cause::InboxDeleted, format!("was deleted {}", ago(at))),
        };
        let text = format!("The inbox {} {ended}.", self.address);
        Some((cause, String::new(), with_remedy(&text, advice(cause))))
    }

    fn match_in_inbox(&self) -> Option<Found> {
        let message = self
            .latest
            .iter()
            .find(|message| message.missed_by.is_empty())?;
        let ago = ago(message.received_at);
        let text = format!(
            "A matching message is in the inbox: {}, received {ago}.",
            named(message)
        );
        Some((Cause::Arrived, String::new(), text))
    }

    /// What names the inbox in this part of the period or a later one: messages in it, and
    /// rejections.
    fn named(&self, part: Part) -> Option<Found> {
        self.full(part)
            .or_else(|| self.messages(part))
            .or_else(|| self.refusal(part))
    }

    fn messages(&self, part: Part) -> Option<Found> {
        let is_in = |message: &&Latest| self.period.part_of(message.received_at) <= part;
        let latest: Vec<&Latest> = self.latest.iter().filter(is_in).collect();
        let missed = missed_filters(&latest)?;
        let (cause, origin) = match missed.iter().all(|name| *name == "after") {
            true => (Cause::NothingNew, String::new()),
            false => (Cause::FilterMissed, self.filter.key()),
        };
        let arrived = latest
            .iter()
            .take(NAMED)
            .map(|message| compared(message))
            .collect::<Vec<_>>()
            .join(", ");
        let more = if latest.len() > NAMED {
            " and others"
        } else {
            ""
        };
        let text = format!(
            "Expected {}; arrived: {arrived}{more}.",
            expected(self.filter, &missed)
        );
        Some((cause, origin, with_remedy(&text, advice(cause))))
    }

    /// A rejection after the message of the cursor, which excludes all messages.
    fn later_refusal(&self) -> Option<Found> {
        let newest = self
            .latest
            .first()
            .filter(|newest| newest.missed_by.contains(&"after"))?;
        self.refusal_since(newest.received_at)
    }

    fn refusal(&self, part: Part) -> Option<Found> {
        let refused = self
            .refusals()
            .find(|refused| self.period.part_of(refused.refused_at) <= part)?;
        Some(self.rejection(refused))
    }

    /// The newest rejection since then.
    fn refusal_since(&self, since: Timestamp) -> Option<Found> {
        self.refusals()
            .find(|refused| refused.refused_at >= since)
            .map(|refused| self.rejection(refused))
    }

    /// A rejection of mail to the inbox, and what to do about it.
    fn rejection(&self, refused: &RefusedMail) -> Found {
        let (cause, origin, text) = rejected(refused);
        (
            cause,
            origin,
            with_remedy(&format!("{text}."), &remedy(refused, self.mail_domain)),
        )
    }

    /// The inbox was full, and the messages in it do not match.
    fn full(&self, part: Part) -> Option<Found> {
        let is_full = |refused: &&RefusedMail| {
            refused.reason == RefusalReason::Smtp(Refusal::InboxFull)
                && self.period.part_of(refused.refused_at) <= part
        };
        let filters = missed_filters(&self.latest.iter().collect::<Vec<_>>())?;
        let (cause, origin, text) = rejected(self.refusals().find(is_full)?);
        let filters = filters.into_iter().collect::<Vec<_>>().join(", ");
        let text = format!("{text}. None of its messages matches the filters ({filters}).");
        Some((cause, origin, with_remedy(&text, advice(cause))))
    }

    /// The rejections of mail to this inbox, newest first.
    fn refusals(&self) -> impl Iterator<Item = &RefusedMail> {
        self.refused
            .iter()
            .filter(|refused| refused.inbox.as_ref() == Some(&self.inbox.id))
    }

    fn neighbour(&self, is_close: bool) -> Option<Found> {
        let (_, similar) = self.similar.filter(|(close, _)| *close == is_close)?;
        let other = similar.address(self.mail_domain);
        let quote = quoted(&other);
        let address = &self.address;
        let ago = ago(similar.last_received_at);
        Some(if is_close {
            let text = format!(
                "No message arrived for {address}, but one arrived for {quote} {ago}. Is the address mistyped? {}",
                comparison(address, &other)
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

    /// A session that failed before its client could name a recipient, unless mail was rejected
    /// after it. Without mail from other clients, it is probably the application; otherwise only
    /// that of a known client counts.
    fn failed_session(&self, part: Part) -> Option<Found> {
        let is_in = |refused: &&RefusedMail| self.period.part_of(refused.refused_at) <= part;
        let mut failed = self
            .refused
            .iter()
            .filter(|refused| is_failed_session(refused))
            .filter(is_in);
        let failed = failed.find(|refused| !self.was_mail() || (self.is_own_client)(refused))?;
        let is_last = self
            .last_refusal
            .is_none_or(|last| last.recipient.is_empty() || last.refused_at < failed.refused_at);
        is_last.then(|| self.session(failed))
    }

    /// A session without mail and without an error, if there was no mail at all.
    fn session_without_mail(&self) -> Option<Found> {
        let was_rejected = self
            .last_refusal
            .is_some_and(|refused| !refused.recipient.is_empty());
        let is_idle = |refused: &&RefusedMail| matches!(refused.reason, RefusalReason::Session(_));
        let session = self
            .refused
            .iter()
            .find(is_idle)
            .filter(|_| !self.was_mail() && !was_rejected)?;
        Some(self.session(session))
    }

    fn was_mail(&self) -> bool {
        self.watched
            .used
            .last_message_at
            .is_some_and(|at| at >= self.period.since)
    }

    fn session(&self, refused: &RefusedMail) -> Found {
        let RefusedMail {
            reply, refused_at, ..
        } = refused;
        let client = refused.client();
        let ago = ago(*refused_at);
        let address = &self.address;
        let remedy = remedy(refused, self.mail_domain);
        let text = format!(
            "Nothing was sent to {address}, but {ago} a session of {client} ended without mail: {reply}."
        );
        (
            cause_of(&refused.reason),
            origin_of(refused),
            with_remedy(&text, &remedy),
        )
    }

    fn other_mail(&self) -> Option<Found> {
        let used = self.used_ways();
        if used.is_empty() {
            return None;
        }
        let used = used.join(" and ");
        let refusal = self.last_refusal.map_or_else(String::new, |refused| {
            let recipient = refused.recipient_address();
            let other = if recipient.eq_ignore_ascii_case(&self.address) {
                ""
            } else {
                "another address, "
            };
            let of = match recipient {
                "" => String::new(),
                _ => format!(" was of mail to {other}{}", quoted(recipient)),
            };
            format!(" The last rejection{of}: {}", refused.reply)
        });
        let address = &self.address;
        let since = self.since();
        let older = self.older().unwrap_or_default();
        let text = format!(
            "Clients use {used}, but sent nothing to {address} since {since}.{older}{refusal}"
        );
        let own = self
            .last_refusal
            .filter(|refused| (self.is_own_client)(refused));
        let other_domain = own.filter(|refused| refused.accepting_flag().is_some());
        Some(match other_domain {
            Some(refused) => {
                let text = with_remedy(&format!("{text}."), &remedy(refused, self.mail_domain));
                (Cause::OtherDomain, origin_of(refused), text)
            }
            None => (Cause::SentElsewhere, String::new(), text),
        })
    }

    /// The start of the period.
    fn since(&self) -> String {
        match self.period.since {
            since if since == self.inbox.created_at => {
                format!("this inbox was created {}", ago(since))
            }
            since => format!(
                "{} before the wait started",
                spoken(self.period.started_at.since(since))
            ),
        }
    }

    /// The newest message in the inbox, if it arrived before the period.
    fn older(&self) -> Option<String> {
        let message = self.latest.first()?;
        Some(format!(
            " The newest message in it is older: {}, received {}.",
            named(message),
            ago(message.received_at)
        ))
    }

    /// The ways by which clients sent something, or may have, in the period.
    fn used_ways(&self) -> Vec<String> {
        let smtp = self.watched.used;
        let is_used = |last: Option<Timestamp>| last.is_some_and(|at| at >= self.period.since);
        let is_smtp_used =
            smtp.connections_open > 0 || is_used(smtp.last_connection_at.max(smtp.last_message_at));
        let apis = self
            .watched
            .send_apis
            .each()
            .filter(|(_, last)| is_used(*last))
            .map(|(via, _)| format!("the {}", via.title()));
        is_smtp_used
            .then(|| "SMTP".to_owned())
            .into_iter()
            .chain(apis)
            .collect()
    }

    fn silence(&self) -> Found {
        let watched_since = self.watched.since;
        let since = if self.period.since >= watched_since {
            self.since()
        } else {
            format!("the service started {}", ago(watched_since))
        };
        let address = smtp_server();
        let refused = self.refused_by_validators().unwrap_or_default();
        let older = self.older().unwrap_or_default();
        let text = format!(
            "Nothing has connected over SMTP since {since}.{older} Is {address} the application's SMTP server, or has \
             the application not tried to send?{refused}"
        );
        (Cause::NothingConnected, String::new(), text)
    }

    /// A possible cause on every domain but the default, which validators of addresses accept: some
    /// reject the top-level domains that are reserved for tests (RFC 2606), or a domain without an
    /// MX record.
    fn refused_by_validators(&self) -> Option<String> {
        let domain = self
            .address
            .rsplit('@')
            .next()
            .filter(|domain| *domain != DEFAULT_MAIL_DOMAIN)?;
        let rejected = REJECTED
            .iter()
            .find(|(top, _)| domain.rsplit('.').next() == Some(*top));
        let example =
            rejected.map_or_else(String::new, |(top, who)| format!(", as {who} for .{top}"));
        Some(format!(
            " Or does the application's validation reject addresses on {domain}{example}?"
        ))
    }
}

/// The names of the filters that exclude these messages, unless there are no messages.
fn missed_filters<'a>(messages: &[&'a Latest]) -> Option<BTreeSet<&'a str>> {
    let missed = messages
        .iter()
        .flat_map(|message| message.missed_by.iter().copied())
        .collect();
    (!messages.is_empty()).then_some(missed)
}

/// Both addresses, with the characters in brackets in which they differ: only the local parts,
/// unless the domains differ.
fn comparison(address: &str, other: &str) -> String {
    let local_parts = address.rsplit_once('@').zip(other.rsplit_once('@'));
    let local_parts = local_parts.filter(|((_, domain), (_, others))| domain == others);
    let (one, two) = local_parts.map_or((address, other), |((one, _), (two, _))| (one, two));
    let Difference { wanted, found } = Difference::of(one, two);
    format!(
        "Compare {} with {}.",
        bracketed(&wanted),
        quoted(&bracketed(&found))
    )
}

/// What the filters with these names asked for.
fn expected(filter: &MessageFilter, missed: &BTreeSet<&str>) -> String {
    let missed = filter.given().filter(|(name, _)| missed.contains(name));
    let feature = |word| match word {
        "otp" => "a one-time code",
        "code" => "a code",
        _ => "a link",
    };
    let wanted = missed.map(|(name, value)| match name {
        "after" => "a later message".to_owned(),
        "client" => given(&cut(value, MAX_CHARACTERS)),
        "has" => filter
            .has
            .words()
            .into_iter()
            .map(feature)
            .collect::<Vec<_>>()
            .join(" and "),
        name => format!("{name} \"{}\"", given(&cut(value, MAX_CHARACTERS))),
    });
    wanted.collect::<Vec<_>>().join(" and ")
}

/// A rejection of mail to the inbox.
fn rejected(refused: &RefusedMail) -> Found {
    let recipient = quoted(refused.recipient_address());
    let text = format!(
        "Mail to {recipient} was rejected {}: {}",
        ago(refused.refused_at),
        refused.reply
    );
    (cause_of(&refused.reason), origin_of(refused), text)
}

/// A session that failed before its client could name a recipient.
fn is_failed_session(refused: &RefusedMail) -> bool {
    refused.inbox.is_none() && refused.reason.ends_session()
}

/// The cause that a rejection, or a session without mail, has. Has no default, so that a new reason
/// does not compile without its cause.
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
            SessionFailure::Rejected | SessionFailure::NoMail | SessionFailure::NoCommand => {
                Cause::NoMail
            }
        },
        RefusalReason::DisconnectedOnRequest
        | RefusalReason::BouncedOnRequest
        | RefusalReason::DroppedOnRequest => Cause::Fault,
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
        Some(_) => refused
            .recipient_address()
            .rsplit('@')
            .next()
            .unwrap_or_default(),
        None => "",
    };
    format!("{}:{domain}", refused.reason.label())
}

pub(super) fn named(message: &Latest) -> String {
    quoted(&name(message))
}

/// A message with the parts of its content that come closest to the filters.
fn compared(message: &Latest) -> String {
    let found = message.found.iter().filter(|(_, part)| !part.is_empty());
    let parts = found
        .map(|(name, part)| format!(" with {name} \"{}\"", cut(part.as_str(), MAX_CHARACTERS)));
    quoted(&format!("{}{}", name(message), parts.collect::<String>()))
}

fn name(message: &Latest) -> String {
    format!(
        "\"{}\" from {}",
        cut(message.subject.as_str(), MAX_CHARACTERS),
        message.from
    )
}
