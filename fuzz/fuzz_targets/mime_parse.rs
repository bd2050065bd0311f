//! Any bytes as a message; the same bytes give the same result.
#![no_main]

mod invariants;

libfuzzer_sys::fuzz_target!(|raw: &[u8]| {
    let first = invariants::checked(raw);
    assert_eq!(first, restante_mail::parse(raw));
    let _ = restante_mail::threading(raw);
});
