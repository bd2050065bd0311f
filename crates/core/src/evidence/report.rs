//! The report on a wait that failed, as every client prints it below its own first line: the
//! sentence, what arrived, what was rejected, and which other addresses received mail.

use super::cause::features;
use super::{Evidence, Sentence};
use crate::model::{Domain, Latest, MessageFilter, RefusedMail, Similar};

/// The text, in lines. `summary` is the sentence as its reader has it.
#[must_use]
pub fn report(
    summary: &Sentence,
    evidence: &Evidence,
    filter: &MessageFilter,
    mail_domain: &Domain,
) -> String {
    let summary = line(&summary.to_string());
    let is_new = |parts: &[&str]| !parts.iter().all(|part| summary.contains(part));
    let messages = evidence
        .latest
        .iter()
        .map(|message| arrived(message, filter));
    let refused = evidence.refused.iter();
    let refused = refused.filter(|refused| is_new(&[refused.recipient_address(), &refused.reply]));
    let (accepted, refused): (Vec<_>, Vec<_>) =
        refused.partition(|refused| refused.reason.is_accepted());
    let similar = evidence.similar.iter().filter_map(|similar| {
        let address = similar.address(mail_domain);
        is_new(&[&address]).then(|| other_inbox(&address, similar))
    });
    let title = format!("In the inbox ({}), newest first:", evidence.messages);
    let sections = [
        (title.as_str(), messages.collect::<Vec<_>>()),
        ("Rejected:", refused.into_iter().map(rejection).collect()),
        (
            "Accepted, and not delivered:",
            accepted.into_iter().map(rejection).collect(),
        ),
        ("Other inboxes that received mail:", similar.collect()),
    ];
    let mut report = summary.clone();
    for (title, lines) in sections.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        report = report + "\n" + title;
        for text in lines {
            report = report + "\n  " + &line(&text);
        }
    }
    report
}

/// What a message is not: the filters that exclude it, in words.
#[must_use]
pub fn missed(message: &Latest, filter: &MessageFilter) -> String {
    let words = message.missed_by.iter().map(|name| match *name {
        "has" => features(filter.has),
        "after" => "after the message from which the wait starts".to_owned(),
        "client" => "the client's own filter".to_owned(),
        name => name.to_owned(),
    });
    words.collect::<Vec<_>>().join(", ")
}

fn arrived(message: &Latest, filter: &MessageFilter) -> String {
    let Latest {
        subject,
        from,
        received_at,
        missed_by,
        ..
    } = message;
    let missed = match missed_by.is_empty() {
        true => String::new(),
        false => format!(", not: {}", missed(message, filter)),
    };
    format!("{received_at} \"{subject}\" from {from}{missed}")
}

fn rejection(refused: &RefusedMail) -> String {
    let RefusedMail {
        refused_at, reply, ..
    } = refused;
    match (refused.sender_address(), refused.recipient_address()) {
        (_, "") => {
            let client = refused.client();
            format!("{refused_at} a session of {client} without mail: {reply}")
        }
        (sender, recipient) => format!("{refused_at} from <{sender}> to {recipient}: {reply}"),
    }
}

fn other_inbox(address: &str, similar: &Similar) -> String {
    let Similar {
        messages,
        last_received_at,
        ..
    } = similar;
    match messages {
        1 => format!("{last_received_at} {address}, 1 message"),
        _ => format!("{last_received_at} {address}, {messages} messages"),
    }
}

/// The text on one line.
fn line(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}
