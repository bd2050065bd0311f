//! Any bytes as text with links, and as the target of a link.
#![no_main]

mod invariants;

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    invariants::checked(&[b"\n\n", text].concat());
    let html: &[u8] = b"Content-Type: text/html\n\n<base href=https://b.example/a/b><a href='";
    invariants::checked(&[html, text, b"'>x</a>"].concat());
});
