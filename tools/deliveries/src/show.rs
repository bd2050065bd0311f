//! A verdict as the cases write it.

use restante_delivery::{
    Copies, Fate, FaultAction, InboxId, Recipient, Refusal, UsedFault, Verdict,
};

/// The text of a verdict. `name` returns the name of an inbox.
pub fn shown(verdict: &Verdict, name: &dyn Fn(&InboxId) -> String) -> String {
    match verdict {
        Verdict::Accepted { copies, reply } => {
            let mut parts: Vec<String> = copies.iter().map(|copies| copy(copies, name)).collect();
            parts.extend(reply.as_ref().map(|used| fault(used, name)));
            parts.join(", ")
        }
        Verdict::Swallowed(used) => fault(used, name),
        Verdict::Refused(Refusal::Full(inbox)) => format!("refused full {}", name(inbox)),
        Verdict::Refused(Refusal::Disabled(inbox)) => format!("refused disabled {inbox}"),
        Verdict::Refused(Refusal::Foreign(inbox)) => format!("refused foreign {inbox}"),
        Verdict::Refused(Refusal::TooManyBounces(inbox)) => {
            format!("refused too many bounces {}", name(inbox))
        }
        Verdict::Refused(Refusal::NoInbox(recipient)) => format!("refused no inbox {recipient}"),
        Verdict::Refused(Refusal::Ambiguous(address)) => format!("refused ambiguous {address}"),
        Verdict::Conflict(recipient) => format!("conflict {recipient}"),
        Verdict::LeaseLost => "lease lost".to_owned(),
    }
}

fn copy(copies: &Copies, name: &dyn Fn(&InboxId) -> String) -> String {
    let inbox = name(&copies.inbox);
    match &copies.fate {
        Fate::Stored(place) => format!("{inbox} stored {}", place.sequence),
        Fate::Duplicated([one, other]) => {
            format!("{inbox} stored {} {}", one.sequence, other.sequence)
        }
        Fate::Dropped => format!("{inbox} dropped"),
        Fate::Bounced(None) => format!("{inbox} bounced silently"),
        Fate::Bounced(Some(notification)) => {
            let recipients: Vec<String> = notification
                .recipients
                .iter()
                .map(Recipient::to_string)
                .collect();
            format!(
                "{inbox} bounced {} to {}",
                recipients.join(" "),
                notification.to
            )
        }
    }
}

fn fault(used: &UsedFault, name: &dyn Fn(&InboxId) -> String) -> String {
    let what = match &used.action {
        FaultAction::Defer { .. } => "deferred".to_owned(),
        FaultAction::Reject { .. } => "rejected".to_owned(),
        FaultAction::Disconnect { .. } => "disconnected".to_owned(),
        FaultAction::Reset { .. } => "reset".to_owned(),
        FaultAction::Delay { seconds } => format!("delayed {seconds}"),
        FaultAction::Bounce | FaultAction::Drop | FaultAction::Duplicate => {
            used.action.as_str().to_owned()
        }
    };
    format!("{what} by {}", name(&used.inbox))
}
