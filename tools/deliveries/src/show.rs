//! A verdict as the cases write it.

use restante_delivery::{Copies, Fate, FaultAction, InboxId, Refusal, UsedFault, Verdict};

/// The text of a verdict.
pub fn shown(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Accepted { copies, reply } => {
            let mut parts: Vec<String> = copies.iter().map(copy).collect();
            parts.extend(reply.as_ref().map(fault));
            parts.join(", ")
        }
        Verdict::Swallowed(used) => fault(used),
        Verdict::Refused(Refusal::Full(inbox)) => format!("refused full {inbox}"),
        Verdict::Refused(Refusal::Disabled(inbox)) => format!("refused disabled {inbox}"),
        Verdict::Refused(Refusal::Foreign(inbox)) => format!("refused foreign {inbox}"),
        Verdict::Refused(Refusal::TooManyBounces(inbox)) => format!("refused too many bounces {inbox}"),
        Verdict::Refused(Refusal::NoInbox(inbox)) => format!("refused no inbox {inbox}"),
        Verdict::Conflict(inbox) => format!("conflict {inbox}"),
        Verdict::LeaseLost => "lease lost".to_owned(),
    }
}

fn copy(copies: &Copies) -> String {
    let inbox = &copies.inbox;
    match &copies.fate {
        Fate::Stored(place) => format!("{inbox} stored {}", place.sequence),
        Fate::Duplicated([one, other]) => format!("{inbox} stored {} {}", one.sequence, other.sequence),
        Fate::Bounced(None) => format!("{inbox} bounced silently"),
        Fate::Bounced(Some(notification)) => {
            let recipients: Vec<&str> = notification.recipients.iter().map(InboxId::as_str).collect();
            format!("{inbox} bounced {} to {}", recipients.join(" "), notification.to)
        }
    }
}

fn fault(used: &UsedFault) -> String {
    let what = match &used.action {
        FaultAction::Defer { .. } => "deferred".to_owned(),
        FaultAction::Reject { .. } => "rejected".to_owned(),
        FaultAction::Disconnect { .. } => "disconnected".to_owned(),
        FaultAction::Delay { seconds } => format!("delayed {seconds}"),
        FaultAction::Bounce | FaultAction::Duplicate => used.action.as_str().to_owned(),
    };
    format!("{what} by {}", used.inbox)
}
