//! Why a message did not arrive: the first cause that applies, and the sentence about it.

use std::collections::BTreeSet;
use std::time::Duration;

use restante_api::Exchange;

use super::advice::of_rejection;
use super::similar::{EDITS, most_similar};
use super::{Cause, Evidence, Failure, Finding, Sentence, Server, advice};
use crate::model::{
    DEFAULT_MAIL_DOMAIN, Difference, Features, Inbox, InboxEnd, Latest, MessageFilter, Part,
    Period, Refusal, RefusalReason, RefusedMail, SessionFailure, Similar, SmtpSession, Timestamp,
    TotalUse, WaitEnd, bracketed, cut, fails_login, spoken,
};

/// Maximum number of messages that the sentence lists.
const NAMED: usize = 3;
/// Messages and refusals that the evidence has.
const MAX_LISTED: usize = 10;
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
/// The proposed timeout is this many times the time that a late message took.
const MARGIN: u32 = 2;

/// What is known about an inbox and its project in a period.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    pub server: Server<'a>,
    pub inbox: &'a Inbox,
    pub period: Period,
    pub ended: Option<InboxEnd>,
    /// How the wait ended, if there was one.
    pub end: Option<WaitEnd>,
    /// The filters of the wait.
    pub filter: &'a MessageFilter,
    /// The number of messages in the inbox, and the newest.
    pub messages: i64,
    pub latest: Vec<Latest>,
    /// The rejections of mail to the inbox, and of clients that named no recipient; newest first.
    pub refused: Vec<RefusedMail>,
    /// The rejections in the project, for any recipient, newest first.
    pub refused_in_project: Vec<RefusedMail>,
    /// The latest SMTP session that named the inbox.
    pub last_session: Option<SmtpSession>,
    /// The addresses of clients that sent mail to the project.
    pub own_clients: Vec<String>,
    /// The inboxes of the project that received mail, those with the newest mail first.
    pub with_mail: Vec<Similar>,
    pub watched: TotalUse,
}

/// The facts in the order in which they are likely to be the cause.
struct Decision<'a> {
    facts: &'a Facts<'a>,
    address: String,
    /// The most similar inbox that received mail, and whether its name is only a few edits away.
    similar: Option<(bool, &'a Similar)>,
    /// The other inbox with the newest mail.
    elsewhere: Option<Similar>,
    /// The newest refusal of a client that may be the application.
    last_refusal: Option<&'a RefusedMail>,
}

impl Facts<'_> {
    /// The cause, and the evidence for it.
    #[must_use]
    pub fn decide(mut self) -> (Finding, Evidence) {
        self.mark_compared_by_client();
        if self.ended.is_some() {
            // Clients that named no recipient prove nothing about an inbox that is gone.
            self.refused.retain(|refused| is_of(refused, self.inbox));
        }
        let mut refused = std::mem::take(&mut self.refused);
        // A stable sort: of the same rank, the newest stay first.
        refused.sort_by_key(|refused| self.rank(refused));
        self.refused = refused;
        let mut others = self.with_mail.iter();
        let elsewhere = others.find(|other| other.id != self.inbox.id).cloned();
        let similar = most_similar(self.inbox, std::mem::take(&mut self.with_mail));
        // While no client is known, any client may be the application. Otherwise strangers explain
        // nothing.
        let in_project = &self.refused_in_project;
        let own_refusal = in_project.iter().find(|refused| self.is_of_own(refused));
        let is_any_own = self.own_clients.is_empty();
        let decision = Decision {
            facts: &self,
            address: self.inbox.address(self.server.mail_domain),
            similar: similar
                .first()
                .map(|(distance, similar)| (*distance <= EDITS, similar)),
            elsewhere,
            last_refusal: own_refusal.or_else(|| in_project.first().filter(|_| is_any_own)),
        };
        let finding = decision.finding();
        self.refused.truncate(MAX_LISTED);
        let evidence = Evidence {
            messages: self.messages,
            latest: self.latest,
            refused: self.refused,
            similar: similar.into_iter().map(|(_, similar)| similar).collect(),
            smtp: self.watched.used,
            send_apis: self.watched.send_apis,
        };
        (finding, evidence)
    }

    /// A client that compares messages itself got those that match its other filters, and refused
    /// them.
    fn mark_compared_by_client(&mut self) {
        for message in &mut self.latest {
            if self.filter.client.is_some() && message.missed_by.is_empty() {
                message.missed_by = vec!["client"];
            }
        }
    }

    /// Whether the client of a rejection used a key of the project, or has sent mail to an inbox of
    /// it.
    fn is_of_own(&self, refused: &RefusedMail) -> bool {
        refused.authenticated || self.own_clients.contains(&refused.client())
    }

    /// The place of a rejection in the evidence: of mail to the inbox during the wait or just
    /// before it, of the project's clients during the wait, older ones of both, and all others.
    fn rank(&self, refused: &RefusedMail) -> usize {
        let names_inbox = refused.inbox.is_some();
        match self.period.part_of(refused.refused_at) {
            Part::Wait if names_inbox => 0,
            Part::JustBefore if names_inbox => 1,
            Part::Wait if self.is_of_own(refused) => 2,
            _ if names_inbox || self.is_of_own(refused) => 3,
            _ => 4,
        }
    }
}

fn is_of(refused: &RefusedMail, inbox: &Inbox) -> bool {
    refused.inbox.as_ref() == Some(&inbox.id)
}

impl Decision<'_> {
    fn finding(&self) -> Finding {
        self.inbox_end()
            .or_else(|| self.unexpected())
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
            .unwrap_or_else(|| self.silence())
    }

    fn inbox_end(&self) -> Option<Finding> {
        let (cause, ended, at) = match self.facts.ended? {
            InboxEnd::Expired(at) => (Cause::InboxExpired, "expired", at),
            InboxEnd::Deleted(at) => (Cause::InboxDeleted, "was deleted", at),
        };
        let sentence = Sentence::new(format!("The inbox {} {ended} ", self.address));
        let sentence = match self.facts.end {
            Some(WaitEnd::InboxEnded) => sentence.own("while the wait was open."),
            _ => sentence.ago(at).own("."),
        };
        Some(Finding::new(cause, sentence.advice(advice(cause))))
    }

    /// A message that arrived although its wait expected none is the failure.
    fn unexpected(&self) -> Option<Finding> {
        let Some(WaitEnd::Unexpected(id)) = self.facts.end else {
            return None;
        };
        let message = self.facts.latest.iter().find(|message| message.id == id)?;
        let sentence = Sentence::new("No message was expected, but one arrived: ")
            .quote(named(message))
            .own(".")
            .advice(advice(Cause::Unexpected));
        Some(Finding::new(Cause::Unexpected, sentence))
    }

    fn match_in_inbox(&self) -> Option<Finding> {
        let message = self
            .facts
            .latest
            .iter()
            .find(|message| message.missed_by.is_empty())?;
        let sentence = Sentence::new("A matching message is in the inbox: ")
            .quote(named(message))
            .own(", received ")
            .ago(message.received_at)
            .own(".");
        Some(Finding::new(Cause::Arrived, sentence))
    }

    /// What names the inbox in this part of the period or a later one: messages in it, and
    /// rejections.
    fn named(&self, part: Part) -> Option<Finding> {
        self.full(part)
            .or_else(|| self.messages(part))
            .or_else(|| self.refusal(part))
            .or_else(|| self.unfinished(part))
    }

    fn is_in(&self, part: Part, at: Timestamp) -> bool {
        self.facts.period.part_of(at) <= part
    }

    fn messages(&self, part: Part) -> Option<Finding> {
        let Facts { latest, filter, .. } = self.facts;
        let is_in = |message: &&Latest| self.is_in(part, message.received_at);
        let latest = closest(latest.iter().filter(is_in).collect());
        let missed = missed_filters(&latest)?;
        let (cause, origin) = match missed.iter().all(|name| *name == "after") {
            true => (Cause::NothingNew, String::new()),
            false => (Cause::FilterMissed, filter_origin(&missed, &latest)),
        };
        let wanted = filter
            .given()
            .filter(|(name, _)| missed.contains(name))
            .map(|(name, value)| expected(name, &value, filter.has));
        let arrived = latest
            .iter()
            .take(NAMED)
            .map(|message| Sentence::default().quote(compared(message)));
        let more = if latest.len() > NAMED {
            " and others"
        } else {
            ""
        };
        let sentence = joined(Sentence::new("Expected "), " and ", wanted).own("; arrived: ");
        let sentence = joined(sentence, ", ", arrived)
            .own(format!("{more}."))
            .advice(advice(cause));
        Some(Finding::new(cause, sentence).of(origin))
    }

    /// A rejection after the message of the cursor, which excludes all messages.
    fn later_refusal(&self) -> Option<Finding> {
        let newest = self
            .facts
            .latest
            .first()
            .filter(|newest| newest.missed_by.contains(&"after"))?;
        let refused = self
            .refusals()
            .find(|refused| refused.refused_at >= newest.received_at)?;
        Some(rejection(refused, self.facts.server))
    }

    fn refusal(&self, part: Part) -> Option<Finding> {
        let refused = self
            .refusals()
            .find(|refused| self.is_in(part, refused.refused_at))?;
        Some(rejection(refused, self.facts.server))
    }

    /// A session named the inbox and left, without a rejection.
    fn unfinished(&self, part: Part) -> Option<Finding> {
        let session = self.facts.last_session.as_ref()?;
        let is_answered = |exchange: &Exchange| {
            let is_accepted = exchange.command == "(message)" && exchange.reply.starts_with('2');
            is_accepted || exchange.reply.starts_with(['4', '5'])
        };
        let is_unfinished = session.has_failed && !session.exchanges.iter().any(is_answered);
        if !is_unfinished || !self.is_in(part, session.ended_at) {
            return None;
        }
        let (client, address) = (&session.client, &self.address);
        let sentence = Sentence::new(format!("A session of {client} named {address} "))
            .ago(session.ended_at)
            .own(", but ended before its message was complete.")
            .advice("See the log of the application: it closed the connection, or was stopped.");
        Some(Finding::new(Cause::NoMail, sentence).of("unfinished"))
    }

    /// The inbox was full, and the messages in it do not match.
    fn full(&self, part: Part) -> Option<Finding> {
        let Facts { latest, filter, .. } = self.facts;
        let is_full = |refused: &&RefusedMail| {
            refused.reason == RefusalReason::Smtp(Refusal::InboxFull)
                && self.is_in(part, refused.refused_at)
        };
        let missed = missed_filters(&latest.iter().collect::<Vec<_>>())?;
        let names = missed.into_iter().map(|name| match (name, &filter.client) {
            ("has", _) => Sentence::new(features(filter.has)),
            ("after", _) => Sentence::new("later messages"),
            ("client", Some(client)) => Sentence::default().given(client),
            (name, _) => Sentence::new(name),
        });
        let refused = self.refusals().find(is_full)?;
        let sentence = rejected(refused).own(". None of its messages matches the filters (");
        let sentence = joined(sentence, ", ", names).own(").");
        let sentence = sentence.advice(advice(Cause::InboxFull));
        Some(Finding::new(Cause::InboxFull, sentence).of(origin_of(refused)))
    }

    /// The rejections of mail to this inbox, newest first.
    fn refusals(&self) -> impl Iterator<Item = &RefusedMail> {
        let Facts { refused, inbox, .. } = self.facts;
        refused.iter().filter(|refused| is_of(refused, inbox))
    }

    fn neighbour(&self, is_close: bool) -> Option<Finding> {
        let (_, similar) = self.similar.filter(|(close, _)| *close == is_close)?;
        let other = similar.address(self.facts.server.mail_domain);
        let address = &self.address;
        let at = similar.last_received_at;
        let start = format!("No message arrived for {address}, but ");
        Some(if is_close {
            let sentence = Sentence::new(start + "one arrived for ")
                .quote(&other)
                .own(" ")
                .ago(at)
                .own(". Is the address mistyped? ")
                .then(comparison(address, &other));
            Finding::new(Cause::Typo, sentence)
        } else {
            let sentence = Sentence::new(start)
                .ago(at)
                .own(" a message created the inbox ")
                .quote(&other)
                .own(". Does the application use that address?");
            Finding::new(Cause::OtherAddress, sentence)
        })
    }

    /// A session that failed before its client could name a recipient, unless mail was rejected
    /// after it. Without mail from other clients, it is probably the application; otherwise only
    /// that of a known client counts.
    fn failed_session(&self, part: Part) -> Option<Finding> {
        let failed = self.facts.refused.iter().find(|refused| {
            is_failed_session(refused)
                && self.is_in(part, refused.refused_at)
                && (!self.was_mail() || self.facts.is_of_own(refused))
        })?;
        let is_last = self
            .last_refusal
            .is_none_or(|last| last.recipient.is_empty() || last.refused_at < failed.refused_at);
        is_last.then(|| self.session(failed))
    }

    /// A session without mail and without an error, if there was no mail at all.
    fn session_without_mail(&self) -> Option<Finding> {
        let was_rejected = self
            .last_refusal
            .is_some_and(|refused| !refused.recipient.is_empty());
        let is_idle = |refused: &&RefusedMail| matches!(refused.reason, RefusalReason::Session(_));
        let session = self
            .facts
            .refused
            .iter()
            .find(is_idle)
            .filter(|_| !self.was_mail() && !was_rejected)?;
        Some(self.session(session))
    }

    fn was_mail(&self) -> bool {
        self.is_used(self.facts.watched.used.last_message_at)
    }

    fn is_used(&self, last: Option<Timestamp>) -> bool {
        last.is_some_and(|at| at >= self.facts.period.since)
    }

    fn session(&self, refused: &RefusedMail) -> Finding {
        let start = format!("Nothing was sent to {}, but ", self.address);
        let sentence = Sentence::new(start)
            .ago(refused.refused_at)
            .own(format!(
                " a session of {} ended without mail: ",
                refused.client()
            ))
            .given(&refused.reply)
            .own(".")
            .advice(of_rejection(refused, self.facts.server));
        Finding::new(cause_of(&refused.reason), sentence).of(origin_of(refused))
    }

    fn other_mail(&self) -> Option<Finding> {
        let used = self.used_ways();
        if used.is_empty() {
            return None;
        }
        let used = used.join(" and ");
        let sentence = Sentence::new(format!(
            "Clients use {used}, but nothing arrived for {} since ",
            self.address
        ))
        .then(self.since())
        .own(".")
        .then(self.older());
        let sentence = match &self.elsewhere {
            Some(other) => sentence
                .own(" The newest mail went to ")
                .quote(other.address(self.facts.server.mail_domain))
                .own(", ")
                .ago(other.last_received_at)
                .own("."),
            None => sentence,
        };
        let sentence = match self.last_refusal {
            Some(last) => sentence.own(" ").then(rejected(last)).own("."),
            None => sentence,
        };
        let foreign = self
            .last_refusal
            .filter(|last| last.foreign_domain().is_some() && self.facts.is_of_own(last));
        let (cause, origin, what_to_do) = match foreign {
            Some(last) => {
                let what_to_do = of_rejection(last, self.facts.server);
                (Cause::OtherDomain, origin_of(last), what_to_do)
            }
            None => {
                let what_to_do = advice(Cause::SentElsewhere).to_owned();
                (Cause::SentElsewhere, String::new(), what_to_do)
            }
        };
        Some(Finding::new(cause, sentence.advice(what_to_do)).of(origin))
    }

    /// The start of the period.
    fn since(&self) -> Sentence {
        let Period {
            since, started_at, ..
        } = self.facts.period;
        if since == self.facts.inbox.created_at {
            return Sentence::new("this inbox was created ").ago(since);
        }
        let before = spoken(started_at.since(since));
        Sentence::new(format!("{before} before the wait started"))
    }

    /// The newest message in the inbox, if it arrived before the period.
    fn older(&self) -> Sentence {
        let Some(message) = self.facts.latest.first() else {
            return Sentence::default();
        };
        Sentence::new(" The newest message in it is older: ")
            .quote(named(message))
            .own(", received ")
            .ago(message.received_at)
            .own(".")
    }

    /// The ways by which clients sent something, or may have, in the period.
    fn used_ways(&self) -> Vec<String> {
        let TotalUse {
            used: smtp,
            send_apis,
            ..
        } = self.facts.watched;
        let is_smtp_used = smtp.connections_open > 0
            || self.is_used(smtp.last_connection_at.max(smtp.last_message_at));
        let apis = send_apis
            .each()
            .filter(|(_, last)| self.is_used(*last))
            .map(|(via, _)| format!("the {}", via.title()));
        is_smtp_used
            .then(|| "SMTP".to_owned())
            .into_iter()
            .chain(apis)
            .collect()
    }

    fn silence(&self) -> Finding {
        let watched_since = self.facts.watched.since;
        let since = if self.facts.period.since >= watched_since {
            self.since()
        } else {
            Sentence::new("the service started ").ago(watched_since)
        };
        let sentence = Sentence::new("Nothing has connected over SMTP since ")
            .then(since)
            .own(".")
            .then(self.older())
            .own(" Is ")
            .smtp_server()
            .own(" the application's SMTP server, or has the application not tried to send?");
        let sentence = match self.refused_by_validators() {
            Some(question) => sentence.own(question),
            None => sentence,
        };
        Finding::new(Cause::NothingConnected, sentence)
    }

    /// A possible cause on every domain but the default, which validators of addresses accept: some
    /// reject the top-level domains that are reserved for tests (RFC 2606), or a domain without an
    /// MX record.
    fn refused_by_validators(&self) -> Option<String> {
        let (_, domain) = self.address.rsplit_once('@')?;
        if domain == DEFAULT_MAIL_DOMAIN {
            return None;
        }
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

impl Finding {
    /// A finding that has only its cause in common with others.
    fn new(cause: Cause, sentence: Sentence) -> Self {
        Self {
            cause,
            sentence,
            origin: String::new(),
        }
    }

    fn of(self, origin: impl Into<String>) -> Self {
        Self {
            origin: origin.into(),
            ..self
        }
    }
}

/// A message that arrived just after the wait of a failure had ended is its cause.
#[must_use]
pub fn late(failure: &Failure, message: &Latest) -> Finding {
    let late_by = message.received_at.since(failure.ended_at());
    let took = message.received_at.since(failure.wait.started_at);
    // Rounded up to five seconds.
    let proposed = Duration::from_secs((took * MARGIN).as_secs().div_ceil(5).max(1) * 5);
    // The client's own filters have not been compared with it.
    let which = match failure.wait.filter.client {
        Some(_) => "A message",
        None => "A matching message",
    };
    let late_by = spoken(late_by);
    let sentence = Sentence::new(format!(
        "{which} arrived {late_by} after the wait had ended: "
    ))
    .quote(named(message))
    .own(".")
    .advice(format!(
        "Use a timeout of {} s instead of {}: a wait ends as soon as the message arrives.",
        proposed.as_secs(),
        spoken(failure.wait.timeout)
    ));
    Finding::new(Cause::Late, sentence)
}

/// A rejection as the cause of a failure, with what to do about it.
#[must_use]
pub fn rejection(refused: &RefusedMail, server: Server<'_>) -> Finding {
    let advice = of_rejection(refused, server);
    let sentence = rejected(refused).own(".").advice(advice);
    Finding::new(cause_of(&refused.reason), sentence).of(origin_of(refused))
}

/// The key of the group to which a rejection belongs, with the failures that it causes.
#[must_use]
pub fn rejection_group(refused: &RefusedMail) -> String {
    let finding = Finding::new(cause_of(&refused.reason), Sentence::default());
    finding.of(origin_of(refused)).group()
}

/// The names of the filters that exclude these messages, unless there are no messages.
fn missed_filters<'a>(messages: &[&'a Latest]) -> Option<BTreeSet<&'a str>> {
    let missed = messages
        .iter()
        .flat_map(|message| message.missed_by.iter().copied())
        .collect();
    (!messages.is_empty()).then_some(missed)
}

/// Of messages that all came before the cursor, those that only it excludes, if there are any.
fn closest(mut messages: Vec<&Latest>) -> Vec<&Latest> {
    let is_older = |message: &&Latest| message.missed_by.contains(&"after");
    let is_only_older = |message: &&Latest| message.missed_by == ["after"];
    if messages.iter().all(is_older) && messages.iter().any(is_only_older) {
        messages.retain(is_only_older);
    }
    messages
}

/// Waits that differ only in numbers, ids and addresses have the same origin.
fn filter_origin(missed: &BTreeSet<&str>, latest: &[&Latest]) -> String {
    let kinds: Vec<&str> = missed.iter().copied().collect();
    let arrived = latest.first().map_or("", |newest| &newest.subject);
    format!("{}:{}", kinds.join(" "), masked(arrived))
}

/// A subject with `#` for each word that has a digit, and `@` for each address.
fn masked(subject: &str) -> String {
    let masked = subject.split_whitespace().map(|word| match word {
        word if word.contains('@') => "@",
        word if word.contains(char::is_numeric) => "#",
        word => word,
    });
    masked.collect::<Vec<_>>().join(" ")
}

/// The sentences after a sentence, with a separator between them.
fn joined(start: Sentence, separator: &str, sentences: impl Iterator<Item = Sentence>) -> Sentence {
    let mut joined = start;
    for (number, sentence) in sentences.enumerate() {
        if number > 0 {
            joined = joined.own(separator);
        }
        joined = joined.then(sentence);
    }
    joined
}

/// Both addresses, with the characters in brackets in which they differ: only the local parts,
/// unless the domains differ.
fn comparison(address: &str, other: &str) -> Sentence {
    let local_parts = address.rsplit_once('@').zip(other.rsplit_once('@'));
    let local_parts = local_parts.filter(|((_, domain), (_, others))| domain == others);
    let (one, two) = local_parts.map_or((address, other), |((one, _), (two, _))| (one, two));
    let Difference { wanted, found } = Difference::of(one, two);
    Sentence::new(format!("Compare {} with ", bracketed(&wanted)))
        .quote(bracketed(&found))
        .own(".")
}

/// What a filter asked for.
fn expected(name: &str, value: &str, has: Features) -> Sentence {
    match name {
        "after" => Sentence::new("a later message"),
        "client" => Sentence::default().given(cut(value, MAX_CHARACTERS)),
        "has" => Sentence::new(features(has)),
        name => Sentence::new(format!("{name} \""))
            .given(cut(value, MAX_CHARACTERS))
            .own("\""),
    }
}

/// What a message must have.
pub(super) fn features(has: Features) -> String {
    let feature = |word| match word {
        "otp" => "a one-time code",
        "code" => "a code",
        _ => "a link",
    };
    let features: Vec<_> = has.words().into_iter().map(feature).collect();
    features.join(" and ")
}

/// What happened to a mail; of a client that named no recipient, to its session.
fn rejected(refused: &RefusedMail) -> Sentence {
    let start = match refused.recipient_address() {
        "" => Sentence::new(format!(
            "A session of {} ended without mail ",
            refused.client()
        )),
        recipient => Sentence::new("Mail to ")
            .quote(recipient)
            .own(format!(" was {} ", refused.reason.outcome())),
    };
    start
        .ago(refused.refused_at)
        .own(": ")
        .given(&refused.reply)
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
        refusal if fails_login(refusal) => Cause::LoginFailed,
        _ => Cause::Rejected,
    }
}

/// What rejections with the same origin have in common.
fn origin_of(refused: &RefusedMail) -> String {
    let domain = refused.foreign_domain().unwrap_or_default();
    format!("{}:{domain}", refused.reason.label())
}

fn named(message: &Latest) -> String {
    let subject = cut(message.subject.as_str(), MAX_CHARACTERS);
    format!("\"{subject}\" from {}", message.from)
}

/// A message with the parts of its content that come closest to the filters.
fn compared(message: &Latest) -> String {
    let found = message.found.iter().filter(|(_, part)| !part.is_empty());
    let parts = found.map(|(name, part)| format!(" with {name} \"{}\"", cut(part, MAX_CHARACTERS)));
    named(message) + &parts.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::masked;

    #[test]
    fn numbers_ids_and_addresses_do_not_tell_subjects_apart() {
        for (subject, expected) in [
            ("Your order #1234 has shipped", "Your order # has shipped"),
            ("Order 4f0c-99: Ada, welcome", "Order # Ada, welcome"),
            ("Invite for  ada@shop.example", "Invite for @"),
            ("Welcome", "Welcome"),
        ] {
            assert_eq!(masked(subject), expected);
        }
    }
}
