//! Whole sessions: how the network divides the bytes makes no difference, and every delivered
//! message has an envelope on the mail domain.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use restante_mail::Domain;
use restante_smtp::{Event, Refusal, Session, SessionConfig, Transport};

const RECIPIENTS: usize = 3;

fuzz_target!(|bytes: &[u8]| {
    let whole = play(bytes, bytes.len().max(1));
    for piece in [1, 2, 5] {
        assert_eq!(play(bytes, piece), whole);
    }
});

/// Answers everything that the session did, as text.
fn play(bytes: &[u8], piece: usize) -> Vec<String> {
    let mut session = session();
    let mut done = Vec::new();
    if !run(&mut session, &mut done) {
        return done;
    }
    for piece in bytes.chunks(piece) {
        session.receive(piece);
        if !run(&mut session, &mut done) {
            break;
        }
    }
    done
}

fn session() -> Session {
    let config = SessionConfig {
        mail_domain: Domain::parse("restante.example.com").expect("a domain"),
        accepted: Default::default(),
        host_name: "mx.restante.example.com".to_owned(),
        message_size: 200,
        recipients: RECIPIENTS,
        command_line: 100,
        data_line: 40,
        start_tls: false,
        plaintext_auth: false,
        login_required: false,
    };
    Session::new(
        Arc::new(config),
        Transport {
            encrypted: false,
            loopback: true,
        },
    )
}

/// Runs the session until it needs input. Returns whether it is still open.
fn run(session: &mut Session, done: &mut Vec<String>) -> bool {
    loop {
        match session.next() {
            Event::NeedInput => return true,
            Event::Close => return false,
            Event::StartTls | Event::HoldBack(_) | Event::Reset => {
                unreachable!("TLS is not offered, and there are no faults")
            }
            Event::Send(reply) => done.push(reply.to_string()),
            Event::Refused { size, refusal, .. } => done.push(format!("{refusal:?} {size}")),
            Event::Authenticate(credentials) => {
                let is_good = credentials.password.len() % 2 == 0;
                done.push(format!("{credentials:?}"));
                session.authenticated(is_good.then_some(()).ok_or(Refusal::AuthenticationFailed));
            }
            Event::Sender(reverse_path) => {
                done.push(reverse_path.to_string());
                session.sender(Ok(()));
            }
            Event::Recipient(address) => {
                assert_eq!(address.domain().as_str(), "restante.example.com");
                session.recipient(Ok(()));
            }
            Event::Deliver(envelope, message) => {
                assert!((1..=RECIPIENTS).contains(&envelope.recipients.len()));
                done.push(format!("{envelope:?} {message:?}"));
                session.delivered(Ok(Vec::<String>::new()));
            }
        }
    }
}
