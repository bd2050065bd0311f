//! Any bytes as text with a code: they may hide a code, but must never make the search fail.
#![no_main]

mod invariants;

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    invariants::checked(
        &[
            b"Content-Type: text/plain; charset=utf-8\n\nYour code is ",
            text,
        ]
        .concat(),
    );
    invariants::checked(
        &[
            b"Subject: 482913 ",
            text,
            b"\nContent-Type: text/html; charset=utf-8\n\n",
            text,
        ]
        .concat(),
    );
});
