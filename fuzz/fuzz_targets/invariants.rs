//! Properties of every parsed message, for any input. Its checks must not fail either.

use restante_mail::checks::checks;
use restante_mail::{ParsedMessage, parse};

/// Parses `raw` and checks the result.
pub fn checked(raw: &[u8]) -> ParsedMessage {
    let message = parse(raw);
    assert!(message.otp.is_empty() || (4..=8).contains(&message.otp.len()));
    assert!(message.otp.bytes().all(|byte| byte.is_ascii_digit()));
    for link in &message.links {
        let forbidden = [' ', '"', '<', '>', '\\', '^', '`', '{', '|', '}'];
        assert!(
            link.is_ascii() && link.contains("://") && !link.contains(forbidden),
            "{link}"
        );
    }
    for text in [&message.subject, &message.text, &message.html] {
        assert!(!text.contains('\0') && !text.contains('\r'));
    }
    assert!(!message.subject.contains('\n'));
    let _ = checks(raw, 0);
    message
}
