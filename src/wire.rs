//! Domain types as the types of the API, for everything that shows them outside: HTTP and the tools
//! for coding agents.

use restante_api::{
    Arrived, ArrivedMessages, EndReason, Ended, MissedBy, Refused, SendApisUse, Similar, SmtpUse,
};

use crate::evidence::Evidence;
use crate::model::{
    Attempt, Domain, FaultState, Inbox, InboxEnd, Latest, Outgoing, OutgoingStatus, RefusedMail,
};
use crate::service::Explanation;

pub(crate) fn inbox(inbox: &Inbox, mail_domain: &Domain) -> restante_api::Inbox {
    restante_api::Inbox {
        id: inbox.id.to_string(),
        address: inbox.address(mail_domain),
        kind: inbox.kind,
        created_at: inbox.created_at.to_string(),
        expires_at: inbox.expires_at.map(|at| at.to_string()),
    }
}

/// An outgoing message with its attempts.
pub(crate) fn outgoing(item: Outgoing, attempts: Vec<Attempt>) -> restante_api::Outgoing {
    let attempt = |attempt: Attempt| restante_api::Attempt {
        at: attempt.attempted_at.map(|at| at.to_string()),
        server: attempt.server,
        reply: attempt.reply,
    };
    restante_api::Outgoing {
        id: item.id.to_string(),
        inbox_id: item.inbox.to_string(),
        to: item.recipient,
        subject: item.subject,
        status: item.status,
        attempts: attempts.into_iter().map(attempt).collect(),
        next_attempt_at: item
            .due_at
            .filter(|_| item.status == OutgoingStatus::Queued)
            .map(|at| at.to_string()),
        created_at: item.created_at.to_string(),
    }
}

/// The faults of an inbox.
pub(crate) fn faults(faults: &[FaultState]) -> restante_api::FaultList {
    restante_api::FaultList {
        faults: faults.iter().map(fault).collect(),
    }
}

fn fault(state: &FaultState) -> restante_api::FaultState {
    let fault = &state.fault;
    let restante_api::Fault {
        reply,
        seconds,
        store,
        ..
    } = fault.request();
    restante_api::FaultState {
        at: fault.at,
        action: fault.action.word(),
        times: fault.times,
        reply,
        seconds,
        store,
        left: state.left(),
        used: state.used(),
        uses: state.uses.iter().map(ToString::to_string).collect(),
    }
}

/// The explanation of a missing message.
pub(crate) fn explanation(
    explanation: Explanation,
    mail_domain: &Domain,
) -> restante_api::Explanation {
    let Evidence {
        messages,
        latest,
        refused: rejected,
        similar,
        smtp,
        send_apis: used,
    } = explanation.evidence;
    let similar = similar.iter().map(|similar| Similar {
        address: similar.address(mail_domain),
        messages: similar.messages,
        last_received_at: similar.last_received_at.to_string(),
    });
    restante_api::Explanation {
        inbox: explanation
            .ended
            .is_none()
            .then(|| inbox(&explanation.inbox, mail_domain)),
        ended: explanation.ended.map(ended),
        messages: ArrivedMessages {
            count: messages,
            latest: latest.into_iter().map(arrived).collect(),
        },
        refused: rejected.into_iter().map(refused).collect(),
        similar: similar.collect(),
        smtp: SmtpUse {
            connections_open: smtp.connections_open,
            last_connection_at: smtp.last_connection_at.map(|at| at.to_string()),
            last_message_at: smtp.last_message_at.map(|at| at.to_string()),
        },
        send_apis: send_apis(used),
        summary: explanation.summary.to_string(),
        report: explanation.report,
        cause: explanation.cause,
    }
}

fn send_apis(used: crate::model::SendApisUse) -> SendApisUse {
    let [ses, resend, sendgrid, postmark, mailgun] = used.0.map(|at| at.map(|at| at.to_string()));
    SendApisUse {
        ses,
        resend,
        sendgrid,
        postmark,
        mailgun,
    }
}

fn ended(end: InboxEnd) -> Ended {
    let (reason, at) = match end {
        InboxEnd::Expired(at) => (EndReason::Expired, at),
        InboxEnd::Deleted(at) => (EndReason::Deleted, at),
    };
    Ended {
        reason,
        at: at.to_string(),
    }
}

fn arrived(message: Latest) -> Arrived {
    Arrived {
        id: message.id.to_string(),
        from: message.from,
        subject: message.subject,
        received_at: message.received_at.to_string(),
        missed_by: message
            .missed_by
            .into_iter()
            .filter_map(MissedBy::of_word)
            .collect(),
    }
}

fn refused(refused: RefusedMail) -> Refused {
    Refused {
        at: refused.refused_at.to_string(),
        client: refused.client(),
        sender: refused.sender_address().to_owned(),
        recipient: refused.recipient_address().to_owned(),
        reply: refused.reply,
    }
}
