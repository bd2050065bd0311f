//! Command lines: how the network divides them makes no difference, and none is longer than its
//! limit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use restante_smtp::line::{Line, LineReader};

const LIMIT: usize = 32;

fuzz_target!(|bytes: &[u8]| {
    let whole = lines(bytes, bytes.len().max(1));
    for piece in [1, 2, 7] {
        assert_eq!(lines(bytes, piece), whole);
    }
    for line in whole {
        if let Line::Whole(line) = line {
            assert!(line.len() + 2 <= LIMIT && !line.contains(&b'\n') && !line.contains(&b'\r'));
        }
    }
});

fn lines(bytes: &[u8], piece: usize) -> Vec<Line> {
    let mut reader = LineReader::default();
    let mut lines = Vec::new();
    for mut piece in bytes.chunks(piece) {
        while !piece.is_empty() {
            let (taken, line) = reader.read(piece, LIMIT);
            piece = &piece[taken..];
            lines.extend(line);
        }
    }
    lines
}
