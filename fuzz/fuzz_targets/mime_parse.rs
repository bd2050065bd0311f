//! Any octets as a message; the same octets give the same result.
#![no_main]

mod invariants;

libfuzzer_sys::fuzz_target!(|raw: &[u8]| {
    let first = invariants::checked(raw);
    assert_eq!(first, restante::mime::parse(raw));
    let _ = restante::mime::threading(raw);
});
