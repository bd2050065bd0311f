//! Tests of the session that dialogs cannot express.

use super::*;
use crate::command::Verb;
use crate::reply::RefusedPath;

fn session() -> Session {
    let config = SessionConfig {
        mail_domain: Domain::parse("restante.example.com").unwrap(),
        accepted: Default::default(),
        host_name: "mx.restante.example.com".to_owned(),
        message_size: 1_000,
        recipients: 10,
        command_line: 100,
        data_line: 500,
        start_tls: true,
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

/// Sends bytes, accepts everything, and returns the replies and the other events.
fn run(session: &mut Session, bytes: &str) -> (Vec<Reply>, Vec<Event>) {
    let mut replies = Vec::new();
    let mut events = Vec::new();
    session.receive(bytes.as_bytes());
    loop {
        match session.next() {
            Event::NeedInput => return (replies, events),
            Event::Send(reply) => replies.push(reply),
            Event::Close => {
                events.push(Event::Close);
                return (replies, events);
            }
            event => {
                session.sender(Ok(()));
                session.recipient(Ok(()));
                session.authenticated(Ok(()));
                events.push(event);
            }
        }
    }
}

const DATA: &str = "EHLO client.example\r\nMAIL FROM:<a@client.example> SIZE=700\r\nRCPT TO:<x@restante.example.com>\r\nDATA\r\n";

#[test]
fn progress_is_known_while_a_message_arrives() {
    let mut session = session();
    assert_eq!(session.progress(), None);
    run(&mut session, DATA);
    assert_eq!(
        session.progress(),
        Some(Progress {
            received: 0,
            memory: 0
        })
    );
    session.reserve(500);
    assert_eq!(
        session.progress(),
        Some(Progress {
            received: 0,
            memory: 500
        })
    );
    run(&mut session, &"0123456\r\n".repeat(10));
    let progress = session.progress().unwrap();
    assert_eq!(progress.received, 90);
    assert!((90..1_000).contains(&progress.memory));
    run(&mut session, &"0123456\r\n".repeat(200));
    assert_eq!(
        session.progress(),
        Some(Progress {
            received: 1_890,
            memory: 0
        })
    );
    run(&mut session, ".\r\n");
    assert_eq!(session.progress(), None);
}

#[test]
fn the_envelope_says_how_the_message_arrived() {
    let mut session = session();
    assert!(!session.is_authenticated());
    run(
        &mut session,
        "EHLO client.example\r\nAUTH PLAIN AHVzZXIAcGFzcw==\r\n",
    );
    let (_, events) = run(
        &mut session,
        "MAIL FROM:<> BODY=8BITMIME\r\nRCPT TO:<x@restante.example.com>\r\nDATA\r\nhi\r\n.\r\n",
    );
    let Some(Event::Deliver(envelope, message)) = events.last() else {
        panic!("{events:?}")
    };
    assert_eq!(
        (envelope.protocol(), &*envelope.client_name),
        ("ESMTPA", "client.example")
    );
    assert!(
        session.is_authenticated() && envelope.authenticated && envelope.reverse_path.is_null()
    );
    assert_eq!(message, b"hi\r\n");
}

#[test]
fn a_rejected_message_keeps_its_envelope() {
    let mut session = session();
    let (replies, events) = run(&mut session, &format!("{DATA}a\nb\r\n.\r\n"));
    let Some(Event::Refused {
        envelope,
        size: 5,
        refusal: Refusal::BareLineEnd,
    }) = events.last()
    else {
        panic!("{events:?}")
    };
    assert_eq!(envelope.recipients.len(), 1);
    assert_eq!(
        replies.last().unwrap().refusal(),
        Some(Refusal::BareLineEnd)
    );
}

#[test]
fn a_rejected_path_gets_a_reply() {
    let mut session = session();
    let (replies, _) = run(
        &mut session,
        "HELO c\r\nMAIL FROM:<a@\r\nMAIL FROM:<>\r\nRCPT TO:<b@c>\r\nRCPT TO:<d\r\n",
    );
    let paths: Vec<_> = replies.iter().filter_map(Reply::path).cloned().collect();
    let sender = |path: &str| RefusedPath::Sender(path.into());
    let recipient = |path: &str| RefusedPath::Recipient(path.into());
    assert_eq!(paths, [sender("<a@"), recipient("<b@c>"), recipient("<d")]);
}

#[test]
fn nothing_moves_while_a_question_is_open() {
    let mut session = session();
    session.receive(b"HELO c\r\nMAIL FROM:<>\r\nNOOP\r\n");
    while !matches!(session.next(), Event::Sender(_)) {}
    session.delivered(Ok(Vec::<String>::new()));
    session.recipient(Ok(()));
    session.tls_started();
    session.receive(b"QUIT\r\n");
    assert_eq!(session.next(), Event::NeedInput);
    session.sender(Err(Refusal::DiskShort));
    let refused = Reply::refused_sender(Refusal::DiskShort, Some("<>"));
    for expected in [
        Event::Send(refused),
        Event::Send(Reply::ok()),
        Event::Send(Reply::goodbye()),
        Event::Close,
    ] {
        assert_eq!(session.next(), expected);
    }
}

#[test]
fn bytes_are_read_in_their_order_although_a_reply_is_pending() {
    let mut session = session();
    session.receive(format!("{DATA}one ").as_bytes());
    loop {
        match session.next() {
            Event::Sender(_) => session.sender(Ok(())),
            Event::Recipient(_) => session.recipient(Ok(())),
            Event::Send(reply) if reply.code() == 354 => break,
            _ => {}
        }
    }
    let (_, events) = run(&mut session, "two\r\n.\r\n");
    assert!(
        matches!(events.last(), Some(Event::Deliver(_, message)) if message == b"one two\r\n"),
        "{events:?}"
    );
}

#[test]
fn no_bytes_before_the_handshake_are_no_reason_to_close() {
    let mut session = session();
    session.receive(b"EHLO c\r\nSTARTTLS\r\n");
    while session.next() != Event::StartTls {}
    session.receive(b"");
    assert_eq!(session.last_said(), Said::Command(Verb::StartTls));
    session.tls_started();
    assert_eq!(session.last_said(), Said::Nothing);
    run(&mut session, "nonsense\r\n");
    assert_eq!(session.last_said(), Said::Other);
    let (replies, _) = run(&mut session, "NOOP\r\n");
    assert_eq!(replies, [Reply::ok()]);
}

#[test]
fn bytes_between_the_220_and_the_handshake_close_the_session() {
    for late in [false, true] {
        let mut session = session();
        session.receive(b"EHLO c\r\nSTARTTLS\r\n");
        while session.next() != Event::Send(Reply::start_tls()) {}
        if late {
            assert_eq!(session.next(), Event::StartTls);
        }
        session.receive(b"R");
        session.tls_started();
        session.receive(b"SET\r\n");
        assert_eq!(session.next(), Event::Close);
    }
}

#[test]
fn a_closed_session_stays_closed() {
    let mut session = session();
    session.close(Refusal::TooManyConnections);
    session.close(Refusal::TimedOut);
    session.receive(b"NOOP\r\n");
    assert_eq!(
        session.next(),
        Event::Send(Reply::refused(Refusal::TooManyConnections))
    );
    assert_eq!(
        (session.next(), session.next()),
        (Event::Close, Event::Close)
    );
    assert!(session.input.is_empty());
}

#[test]
fn an_idle_session_is_small() {
    assert!(size_of::<Session>() < 1_024, "{}", size_of::<Session>());
}
