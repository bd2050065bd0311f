//! The secret of a second factor, as base32 or as an `otpauth://` URI: no text makes the parser
//! fail, and what it accepts gives codes of 6 to 8 digits.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use restante::totp::Totp;

fuzz_target!(|text: &str| {
    let Ok(totp) = Totp::parse(text) else { return };
    for seconds in [0, 59, 1_795_167_000, u64::MAX / 1_000] {
        let at = Duration::from_secs(seconds);
        let code = totp.code(at);
        assert!(
            (6..=8).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_digit()),
            "{text}: {code}"
        );
        let later = at + totp.pause(at);
        assert!(
            totp.pause(later).is_zero(),
            "{text}: the code of {later:?} ends too soon"
        );
    }
});
