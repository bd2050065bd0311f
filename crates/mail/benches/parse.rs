//! The time and the allocations of parsing ordinary mail. `cargo bench --bench parse`.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use divan::counter::BytesCount;
use divan::{AllocProfiler, Bencher};
use restante_mail::parse;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

const HEAD: &str = "From: Shop <app@shop.test>\r\nTo: a@restante.example.com\r\nSubject: Your code\r\n\
    Message-ID: <1@shop.test>\r\nDate: Fri, 20 Nov 2026 09:30:00 +0000\r\nMIME-Version: 1.0\r\n";
const PLAIN: &str = "Content-Type: text/plain; charset=utf-8\r\n\r\n";
const HTML: &str = "Content-Type: text/html; charset=utf-8\r\n\r\n";
const SENTENCE: &str = "The quick brown fox jumps over the lazy dog while nobody looks.\r\n";
const OPENING: &str = "Your code is 481516.\r\nhttps://shop.test/confirm?token=f3b1c\r\n\
    Not you? https://shop.test/help\r\n\r\n";

/// Ordinary messages, by name.
const MESSAGES: &[&str] = &[
    "prose, 4 KB",
    "code and 2 links, 4 KB",
    "code and 2 links, text and HTML, 8 KB",
    "text with 100 links",
    "transactional HTML",
    "multipart, 30 KB",
];

fn message(name: &str) -> Vec<u8> {
    let text =
        |opening: &str| format!("{HEAD}{PLAIN}{opening}{}", SENTENCE.repeat(58)).into_bytes();
    match name {
        "prose, 4 KB" => text(""),
        "code and 2 links, 4 KB" => text(OPENING),
        "code and 2 links, text and HTML, 8 KB" => alternative().into_bytes(),
        "text with 100 links" => {
            let link =
                |number| format!("See https://shop.test/orders/{number}?from=mail for more.\r\n");
            format!("{HEAD}{PLAIN}{}", (0..100).map(link).collect::<String>()).into_bytes()
        }
        "transactional HTML" => include_bytes!("../tests/mail/django-password-reset.eml").to_vec(),
        _ => multipart().into_bytes(),
    }
}

fn alternative() -> String {
    let paragraphs = format!("<p style=\"margin:0\">{SENTENCE}</p>\r\n").repeat(44);
    format!(
        "{HEAD}Content-Type: multipart/alternative; boundary=a\r\n\r\n\
         --a\r\n{PLAIN}{OPENING}{}\r\n\
         --a\r\n{HTML}<html><body><h1>Your code is <b>481516</b></h1>\
         <a href=\"https://shop.test/confirm?token=f3b1c\">Confirm</a> {paragraphs}\
         <a href=\"https://shop.test/help\">Not you?</a></body></html>\r\n--a--\r\n",
        SENTENCE.repeat(58)
    )
}

fn multipart() -> String {
    let rows = format!("<tr><td style=\"padding:8px\"><p>{SENTENCE}</p></td></tr>\r\n").repeat(110);
    let image = format!(
        "{}\r\n",
        "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3g="
    )
    .repeat(160);
    format!(
        "{HEAD}Content-Type: multipart/mixed; boundary=m\r\n\r\n\
         --m\r\nContent-Type: multipart/alternative; boundary=a\r\n\r\n\
         --a\r\n{PLAIN}Your code is 481516.\r\n{}\r\n\
         --a\r\n{HTML}<table>{rows}</table><a href=\"https://shop.test/confirm\">Confirm</a>\r\n--a--\r\n\
         --m\r\nContent-Type: image/png; name=a.png\r\nContent-Transfer-Encoding: base64\r\n\r\n{image}\r\n--m--\r\n",
        SENTENCE.repeat(100)
    )
}

#[divan::bench(args = MESSAGES)]
fn whole(bencher: Bencher<'_, '_>, name: &str) {
    let message = message(name);
    bencher
        .counter(BytesCount::of_slice(&message))
        .bench_local(|| parse(divan::black_box(&message)));
}
