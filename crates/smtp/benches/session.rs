//! The time and the allocations of one session with one message. `cargo bench -p restante-smtp`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark fails by panicking"
)]

use std::sync::Arc;

use divan::counter::BytesCount;
use divan::{AllocProfiler, Bencher};
use restante_mail::Domain;
use restante_smtp::{Event, Session, SessionConfig, Transport};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// A message of `sentences` lines of 65 bytes.
fn message(sentences: usize) -> Vec<u8> {
    let sentence = "The quick brown fox jumps over the lazy dog while nobody looks.\r\n";
    format!(
        "From: Shop <app@shop.test>\r\nSubject: Your code\r\n\r\n{}",
        sentence.repeat(sentences)
    )
    .into_bytes()
}

/// A session from its greeting to its last reply, with one message.
#[divan::bench(args = [62, 460])]
fn session(bencher: Bencher<'_, '_>, sentences: usize) {
    let config = Arc::new(SessionConfig {
        mail_domain: Domain::parse("restante.example.com").unwrap(),
        accepted: Default::default(),
        host_name: "restante.example.com".to_owned(),
        message_size: 25 << 20,
        recipients: 100,
        command_line: 2_048,
        data_line: 1 << 20,
        start_tls: true,
        plaintext_auth: false,
        login_required: false,
    });
    let message = [&message(sentences)[..], b".\r\n"].concat();
    bencher
        .counter(BytesCount::of_slice(&message))
        .bench_local(|| {
            let mut session = Session::new(
                Arc::clone(&config),
                Transport {
                    encrypted: false,
                    loopback: true,
                },
            );
            let mut replies = 0;
            let commands: [&[u8]; 5] = [
                b"EHLO a\r\n",
                b"MAIL FROM:<a@b.test>\r\n",
                b"RCPT TO:<c@restante.example.com>\r\n",
                b"DATA\r\n",
                &message,
            ];
            answer(&mut session, &mut replies);
            for command in commands {
                // In pieces, as a socket returns them.
                command
                    .chunks(16 * 1024)
                    .for_each(|bytes| session.receive(bytes));
                answer(&mut session, &mut replies);
            }
            assert_eq!(replies, 6);
        });
}

/// Accepts everything.
fn answer(session: &mut Session, replies: &mut u32) {
    loop {
        match session.next() {
            Event::NeedInput => return,
            Event::Send(_) => *replies += 1,
            Event::Sender(_) => session.sender(Ok(())),
            Event::Recipient(_) => session.recipient(Ok(())),
            Event::Deliver(..) => {
                session.delivered(Ok(vec!["01890a5d-ac96-774b-bcce-b302099a8057"]));
            }
            other => panic!("{other:?}"),
        }
    }
}
