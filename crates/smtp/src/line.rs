//! Splits the client's bytes into command lines. Never stores more of a line than its limit.

/// A larger line buffer is not reused.
const KEPT_BYTES: usize = 256;

/// Collects one line at a time. Only CR LF ends a line (RFC 5321, section 2.3.8).
#[derive(Debug, Default)]
pub struct LineReader {
    line: Vec<u8>,
    /// Bytes of the line so far, including discarded ones.
    length: usize,
    bare_line_end: bool,
    after_cr: bool,
}

/// The text before a CR LF.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its CR LF.
    Whole(Vec<u8>),
    /// A line that was longer than its limit; its text is not kept.
    TooLong,
    /// A line with a bare CR or LF; its text is not kept. The client may have meant several lines;
    /// none of them is executed.
    BareLineEnd,
}

impl LineReader {
    /// Reads bytes up to the end of the line. Returns their number, and the line if its end was
    /// among them. `limit` is in bytes and includes the CR LF.
    pub fn read(&mut self, input: &[u8], limit: usize) -> (usize, Option<Line>) {
        self.line
            .reserve(input.len().min(limit.saturating_sub(self.line.len())));
        for (index, &byte) in input.iter().enumerate() {
            if self.push(byte, limit) {
                return (index + 1, Some(self.finish(limit)));
            }
        }
        (input.len(), None)
    }

    /// Reads one byte. Returns whether it ended the line.
    fn push(&mut self, byte: u8, limit: usize) -> bool {
        let ended = self.after_cr && byte == b'\n';
        self.bare_line_end |= (self.after_cr || byte == b'\n') && !ended;
        self.after_cr = byte == b'\r';
        self.length = self.length.saturating_add(1);
        if self.length <= limit {
            self.line.push(byte);
        }
        ended
    }

    /// Returns the memory of a line for the next one.
    pub fn reuse(&mut self, mut line: Vec<u8>) {
        if self.length == 0 && line.capacity() <= KEPT_BYTES {
            line.clear();
            self.line = line;
        }
    }

    fn finish(&mut self, limit: usize) -> Line {
        let reader = std::mem::take(self);
        if reader.length > limit {
            return Line::TooLong;
        }
        if reader.bare_line_end {
            return Line::BareLineEnd;
        }
        let mut line = reader.line;
        line.truncate(line.len() - b"\r\n".len());
        Line::Whole(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8]) -> Vec<Line> {
        let mut reader = LineReader::default();
        let mut lines = Vec::new();
        let mut rest = input;
        while let (taken, Some(line)) = reader.read(rest, 10) {
            lines.push(line);
            rest = &rest[taken..];
        }
        lines
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn only_cr_lf_ends_a_line() {
        let table: [(&[u8], Vec<Line>); 12] = [
            (b"", vec![]),
            (b"NOOP", vec![]),
            (b"NOOP\r", vec![]),
            (b"NOOP\n", vec![]),
            (b"\r\n", vec![whole("")]),
            (b"NOOP\r\nQUIT\r\nX", vec![whole("NOOP"), whole("QUIT")]),
            (b"12345678\r\n", vec![whole("12345678")]),
            (b"123456789\r\nQUIT\r\n", vec![Line::TooLong, whole("QUIT")]),
            (b"A\nB\r\nQUIT\r\n", vec![Line::BareLineEnd, whole("QUIT")]),
            (b"A\rB\r\n", vec![Line::BareLineEnd]),
            (b"A\r\r\nB\r\n", vec![Line::BareLineEnd, whole("B")]),
            (b"\n\r\n\r\n", vec![Line::BareLineEnd, whole("")]),
        ];
        for (input, expected) in table {
            assert_eq!(
                lines(input),
                expected,
                "{:?}",
                input.escape_ascii().to_string()
            );
        }
    }

    #[test]
    fn an_endless_line_takes_no_memory() {
        let mut reader = LineReader::default();
        for _ in 0..1_000 {
            assert_eq!(reader.read(&[b'x'; 1_000], 100), (1_000, None));
        }
        assert!(reader.line.capacity() < 256);
        assert_eq!(reader.read(b"\r\n", 100), (2, Some(Line::TooLong)));
    }

    #[test]
    fn the_memory_of_a_short_line_is_used_again() {
        let capacity_after = |line: Vec<u8>| {
            let mut reader = LineReader::default();
            reader.reuse(line);
            (reader.line.len(), reader.line.capacity())
        };
        assert_eq!(capacity_after(vec![b'x'; KEPT_BYTES]), (0, KEPT_BYTES));
        assert_eq!(capacity_after(vec![b'x'; KEPT_BYTES + 1]), (0, 0));
    }

    #[test]
    fn a_line_that_has_begun_keeps_its_bytes() {
        let mut reader = LineReader::default();
        reader.read(b"NO", 10);
        reader.reuse(b"QUIT".to_vec());
        assert_eq!(reader.read(b"OP\r\n", 10), (4, Some(whole("NOOP"))));
    }
}
