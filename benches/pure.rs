//! The pure parts by themselves: an SMTP dialogue and the reading of everyday mail, with what each allocates.
//! `cargo bench --bench pure`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]

use std::sync::Arc;

use divan::counter::BytesCount;
use divan::{AllocProfiler, Bencher};
use restante::mime::{parse, recognise_code};
use restante::model::{Domain, MessageId};
use restante::smtp::{Event, Session, SessionConfig, Transport};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

const PLAIN: &str = "From: Shop <app@shop.test>\r\nSubject: Your code\r\nMIME-Version: 1.0\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\r\n";
const SENTENCE: &str = "The quick brown fox jumps over the lazy dog while nobody looks.\r\n";

/// Everyday messages by name.
const MESSAGES: &[&str] =
    &["text, 4 KiB", "text with a code, 4 KiB", "text with 100 links", "transactional HTML", "multipart, 30 KB"];

fn message(name: &str) -> Vec<u8> {
    let text = |opening: &str| format!("{PLAIN}{opening}{}", SENTENCE.repeat(58)).into_bytes();
    match name {
        "text, 4 KiB" => text(""),
        "text with a code, 4 KiB" => text("Your code is 481516.\r\nhttps://shop.test/confirm?token=1\r\n"),
        "text with 100 links" => {
            let link = |number| format!("See https://shop.test/orders/{number}?from=mail for more.\r\n");
            format!("{PLAIN}{}", (0..100).map(link).collect::<String>()).into_bytes()
        }
        "transactional HTML" => include_bytes!("../tests/mail/django-password-reset.eml").to_vec(),
        _ => multipart().into_bytes(),
    }
}

fn multipart() -> String {
    let rows = format!("<tr><td style=\"padding:8px\"><p>{SENTENCE}</p></td></tr>\r\n").repeat(110);
    let image = format!("{}\r\n", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3g=").repeat(160);
    format!(
        "From: app@shop.test\r\nSubject: Welcome\r\nContent-Type: multipart/mixed; boundary=m\r\n\r\n\
         --m\r\nContent-Type: multipart/alternative; boundary=a\r\n\r\n\
         --a\r\nContent-Type: text/plain\r\n\r\nYour code is 481516.\r\n{}\r\n\
         --a\r\nContent-Type: text/html\r\n\r\n<table>{rows}</table><a href=\"https://shop.test/confirm\">Confirm</a>\r\n--a--\r\n\
         --m\r\nContent-Type: image/png; name=a.png\r\nContent-Transfer-Encoding: base64\r\n\r\n{image}\r\n--m--\r\n",
        SENTENCE.repeat(100)
    )
}

#[divan::bench(args = MESSAGES)]
fn mime_parse(bencher: Bencher<'_, '_>, name: &str) {
    let message = message(name);
    bencher.counter(BytesCount::of_slice(&message)).bench_local(|| parse(divan::black_box(&message)));
}

/// The search for the code, with what it has to read for it.
#[divan::bench(args = ["text with a code, 4 KiB", "multipart, 30 KB"])]
fn mime_recognise_code(bencher: Bencher<'_, '_>, name: &str) {
    let message = message(name);
    assert_eq!(recognise_code(&message).unwrap().code, "481516");
    bencher.counter(BytesCount::of_slice(&message)).bench_local(|| recognise_code(divan::black_box(&message)));
}

/// A session from its greeting to its last reply, with one message.
#[divan::bench(args = ["text, 4 KiB", "multipart, 30 KB"])]
fn smtp_session(bencher: Bencher<'_, '_>, name: &str) {
    let config = Arc::new(SessionConfig {
        mail_domain: Domain::parse("restante.test").unwrap(),
        host_name: "restante.test".to_owned(),
        message_size: 25 << 20,
        recipients: 100,
        command_line: 2_048,
        data_line: 1 << 20,
        start_tls: true,
    });
    let message = [&message(name)[..], b".\r\n"].concat();
    bencher.counter(BytesCount::of_slice(&message)).bench_local(|| {
        let mut session = Session::new(Arc::clone(&config), Transport { encrypted: false, loopback: true });
        let mut replies = 0;
        let commands: [&[u8]; 5] =
            [b"EHLO a\r\n", b"MAIL FROM:<a@b.test>\r\n", b"RCPT TO:<c@restante.test>\r\n", b"DATA\r\n", &message];
        answer(&mut session, &mut replies);
        for command in commands {
            // As the socket gives them.
            command.chunks(16 * 1024).for_each(|octets| session.receive(octets));
            answer(&mut session, &mut replies);
        }
        assert_eq!(replies, 6);
    });
}

/// Says yes to whatever the session asks.
fn answer(session: &mut Session, replies: &mut u32) {
    loop {
        match session.next() {
            Event::NeedInput => return,
            Event::Send(_) => *replies += 1,
            Event::Sender { .. } => session.sender(Ok(())),
            Event::Recipient(_) => session.recipient(Ok(())),
            Event::Deliver(..) => session.delivered(Ok(vec![MessageId::generate()])),
            other => panic!("{other:?}"),
        }
    }
}
