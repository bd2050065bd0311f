//! The end of the data is where a simple search finds CR LF . CR LF. How the network divides the
//! bytes makes no difference.
#![no_main]

use libfuzzer_sys::fuzz_target;
use restante_smtp::Refusal;
use restante_smtp::body::{BodyLimits, BodyReader};

const LIMITS: BodyLimits = BodyLimits {
    message: 200,
    line: 40,
};

fuzz_target!(|bytes: &[u8]| {
    let data = [b"\r\n", bytes].concat();
    let end = data
        .windows(5)
        .position(|window| window == b"\r\n.\r\n")
        .map(|place| place + 3);
    let whole = read(bytes, bytes.len().max(1));
    assert_eq!(whole.0, end.unwrap_or(bytes.len()));
    assert_eq!(whole.1.is_some(), end.is_some());
    for piece in [1, 2, 3, 11] {
        assert_eq!(read(bytes, piece), whole);
    }
    if let Some(Ok(message)) = whole.1 {
        assert!(message.len() as u64 <= LIMITS.message);
        let stuffed = [&b"\r\n"[..], &message].concat();
        assert!(stuffed.ends_with(b"\r\n"));
        let lines = message.split(|&byte| byte == b'\n');
        assert!(
            lines
                .clone()
                .all(|line| line.is_empty() || line.ends_with(b"\r"))
        );
        assert!(
            lines
                .clone()
                .all(|line| line.iter().filter(|&&byte| byte == b'\r').count() <= 1)
        );
    }
});

/// The number of bytes that were taken, and the message if its end was received.
fn read(bytes: &[u8], piece: usize) -> (usize, Option<Result<Vec<u8>, Refusal>>) {
    let mut reader = BodyReader::new(LIMITS);
    let mut taken = 0;
    for piece in bytes.chunks(piece) {
        taken += reader.read(piece);
        assert!(reader.memory() as u64 <= 2 * LIMITS.message + piece.len() as u64);
        if reader.has_ended() {
            return (taken, Some(reader.finish()));
        }
    }
    (taken, None)
}
