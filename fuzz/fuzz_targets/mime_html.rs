//! Any bytes as the HTML of a message.
#![no_main]

mod invariants;

libfuzzer_sys::fuzz_target!(|html: &[u8]| {
    invariants::checked(&[b"Content-Type: text/html; charset=utf-8\n\n", html].concat());
});
