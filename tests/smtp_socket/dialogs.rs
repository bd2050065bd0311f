//! The dialogs over a real socket, plain and encrypted, in lockstep and pipelined.
//!
//! Dialogs that need a failing service, or a connection from elsewhere, are played only against the
//! pure session.

use std::collections::HashSet;

use restante::config::{Settings, SmtpAuth};
use tokio::runtime::Handle;

use crate::server::Server;
use crate::socket_peer::SocketPeer;
use restante_dialogs::{Action, Cut, Dialog, ServerEvent, SessionPeer};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_lockstep() {
    play_all(false, Dialog::clone).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_lockstep_encrypted() {
    play_all(true, Dialog::clone).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pipelined() {
    play_all(false, Dialog::pipelined).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pipelined_encrypted() {
    play_all(true, Dialog::pipelined).await;
}

async fn play_all(encrypted: bool, form: fn(&Dialog) -> Dialog) {
    let dialogs: Vec<_> = Dialog::all()
        .into_iter()
        .filter(|dialog| applies(dialog, encrypted))
        .collect();
    assert!(dialogs.len() >= 80, "only {} dialogs apply", dialogs.len());
    let mut problems = Vec::new();
    for dialog in &dialogs {
        problems.extend(play(form(dialog), encrypted).await.err());
    }
    assert!(
        problems.is_empty(),
        "{} of {} dialogs:\n{}",
        problems.len(),
        dialogs.len(),
        problems.join("\n")
    );
}

/// Whether the dialog fits a service that works and a client on this machine.
fn applies(dialog: &Dialog, encrypted: bool) -> bool {
    let mut conditions = dialog.conditions.clone();
    if !conditions.refused.is_empty()
        || (encrypted && !conditions.start_tls)
        || (conditions.encrypted && !encrypted)
    {
        return false;
    }
    if names_a_recipient_twice(dialog) || (encrypted && refuses_connection(dialog)) {
        return false;
    }
    (conditions.loopback, conditions.encrypted) = (true, encrypted);
    dialog
        .play(&mut SessionPeer::new(&conditions, Cut::Nowhere))
        .is_ok()
}

async fn play(dialog: Dialog, encrypted: bool) -> Result<(), String> {
    let server = Server::with(|settings| apply_conditions(settings, &dialog)).await;
    server.set_faults(&dialog.conditions.faults).await;
    let runtime = Handle::current();
    let playing = tokio::task::spawn_blocking(move || {
        let mut peer = SocketPeer::connect(&server, runtime, &dialog, encrypted);
        dialog.play(&mut peer)
    });
    playing.await.unwrap()
}

fn apply_conditions(settings: &mut Settings, dialog: &Dialog) {
    let limits = &mut settings.limits;
    let conditions = &dialog.conditions;
    limits.message_size = conditions.message_size;
    limits.recipients = conditions.recipients;
    limits.command_line = conditions.command_line;
    limits.data_line = conditions.data_line;
    settings.listeners.smtp_starttls = conditions.start_tls;
    if conditions.keys_only {
        settings.listeners.smtp_auth = if conditions.login_required {
            SmtpAuth::Required
        } else {
            SmtpAuth::Keys
        };
    }
    if refuses_connection(dialog) {
        limits.smtp_connections = 0;
    }
}

fn refuses_connection(dialog: &Dialog) -> bool {
    dialog
        .steps
        .iter()
        .any(|step| step.action == Action::Server(ServerEvent::RefusesConnection))
}

/// The service stores one message for both, so the reply has fewer lines.
fn names_a_recipient_twice(dialog: &Dialog) -> bool {
    dialog.deliveries.iter().any(|delivery| {
        let recipients: HashSet<_> = delivery.envelope[1..].iter().collect();
        recipients.len() < delivery.envelope.len() - 1
    })
}
