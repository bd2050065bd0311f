//! Random sessions, compared with a reference model. The model sees all bytes at once, so it is
//! simple enough to be correct.
//!
//! By default 4,000 sessions are played. To play more:
//!
//! ```text
//! RESTANTE_MODEL_CASES=1000000 cargo test -p restante-smtp random
//! ```

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use restante_dialogs::{Cut, Peer, SessionPeer};

use crate::model;

/// Fragments of random sessions. Whole commands are frequent; broken ones and single bytes are
/// rare.
const COMMANDS: [&str; 26] = [
    "EHLO client.example",
    "HELO client.example",
    "EHLO",
    "MAIL FROM:<a@client.example>",
    "MAIL FROM:<a@client.example>",
    "MAIL FROM:<short@client.example>",
    "MAIL FROM:<a@client.example> SIZE=61",
    "MAIL FROM:<malformed",
    "RCPT TO:<x@restante.example.com>",
    "RCPT TO:<x@restante.example.com>",
    "RCPT TO:<y@restante.example.com>",
    "RCPT TO:<full@restante.example.com>",
    "RCPT TO:<broken@restante.example.com>",
    "RCPT TO:<x@elsewhere.example>",
    "RCPT TO:<malformed",
    "DATA",
    "DATA",
    "RSET",
    "NOOP",
    "VRFY x",
    "EXPN x",
    "QUIT",
    "AUTH PLAIN",
    "AUTH PLAIN AHVzZXIAcnN0X2xpdmVfMDEyMzQ1Njc4OWFiY2RlZg==",
    "AHVzZXIAcnN0X2xpdmVfMDEyMzQ1Njc4OWFiY2RlZg==",
    "AHVzZXIAd3Jvbmc=",
];

const BYTES: [&str; 18] = [
    "\r\n.\r\n",
    "\r\n.\r\n",
    "\r\n.\r\n",
    "\r\n",
    ".\r\n",
    ".",
    "\r",
    "\n",
    "\n.\n",
    "\n.\r\n",
    "\r\n.\n",
    "\r\n.\r",
    "\r\n..",
    "\0",
    "x",
    "*\r\n",
    "..",
    "0123456789012345678901234567890",
];

#[test]
fn the_session_answers_as_the_model_does() {
    let cases = std::env::var("RESTANTE_MODEL_CASES").map_or(4_000, |cases| cases.parse().unwrap());
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    runner
        .run(
            &(sessions(), prop::collection::vec(1..40_usize, 1..20)),
            |(bytes, pieces)| {
                let expected = model::run(&bytes);
                prop_assert_eq!(
                    &play(&bytes, &pieces),
                    &expected,
                    "{}",
                    bytes.escape_ascii()
                );
                Ok(())
            },
        )
        .unwrap();
}

/// Most sessions start with a valid greeting, because the others test little.
fn sessions() -> impl Strategy<Value = Vec<u8>> {
    let command = prop::sample::select(&COMMANDS[..]).prop_map(|command| format!("{command}\r\n"));
    let bytes = prop::sample::select(&BYTES[..]).prop_map(str::to_owned);
    let transaction = Just(
        "MAIL FROM:<a@client.example>\r\nRCPT TO:<x@restante.example.com>\r\nDATA\r\n".to_owned(),
    );
    let fragment = prop_oneof![6 => command, 4 => bytes, 1 => transaction];
    let start = prop_oneof![4 => Just("EHLO client.example\r\n"), 1 => Just("")];
    (start, prop::collection::vec(fragment, 1..40))
        .prop_map(|(start, fragments)| [start.as_bytes(), fragments.concat().as_bytes()].concat())
}

/// Sends the bytes in pieces of these lengths, repeatedly. Returns the replies and the deliveries.
fn play(bytes: &[u8], pieces: &[usize]) -> model::Outcome {
    let mut peer = SessionPeer::new(&model::conditions(), Cut::Nowhere);
    let mut rest = bytes;
    for &piece in pieces.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (sent, left) = rest.split_at(piece.min(rest.len()));
        peer.send(sent);
        rest = left;
    }
    let replies =
        std::iter::from_fn(|| peer.reply_line()).filter(|line| line.get(3..4) == Some(" "));
    let replies = replies
        .map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    model::Outcome {
        replies,
        deliveries: peer.deliveries(),
        closed: peer.is_closed(),
    }
}
