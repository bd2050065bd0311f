//! The canonical form `relaxed` of DKIM (RFC 6376, section 3.4): servers on the way may change
//! white space.

use std::io::Write;

/// RFC 6376, section 3.4.2, without the line end.
pub(super) fn relaxed_field(name: &str, value: &[u8]) -> Vec<u8> {
    let unfolded: Vec<u8> = value
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    let words = unfolded
        .split(|byte| matches!(byte, b' ' | b'\t'))
        .filter(|word| !word.is_empty());
    let mut canonical = name.to_ascii_lowercase().into_bytes();
    canonical.push(b':');
    canonical.extend(words.collect::<Vec<_>>().join(&b' '));
    canonical
}

/// Writes the canonical form of a body that arrives in pieces (RFC 6376, section 3.4.4): white
/// space at line ends and empty lines at the end are ignored, and other white space becomes one
/// space.
#[derive(Debug)]
pub(super) struct RelaxedBody<W> {
    canonical: W,
    /// Empty lines that are written if another line follows.
    empty_lines: usize,
    /// Whether the current line has a word.
    has_word: bool,
    /// Whether white space, or a CR, was read that is written if a word follows.
    space: bool,
    cr: bool,
}

impl<W: Write> RelaxedBody<W> {
    pub(super) fn new(canonical: W) -> Self {
        Self {
            canonical,
            empty_lines: 0,
            has_word: false,
            space: false,
            cr: false,
        }
    }

    pub(super) fn add(&mut self, piece: &[u8]) {
        for &byte in piece {
            match byte {
                b'\n' => self.end_line(),
                _ if std::mem::take(&mut self.cr) => {
                    self.word(b'\r');
                    self.add_to_line(byte);
                }
                _ => self.add_to_line(byte),
            }
        }
    }

    /// Ends the last line, and returns the writer.
    pub(super) fn finish(mut self) -> W {
        if self.has_word {
            self.end_line();
        }
        self.canonical
    }

    fn add_to_line(&mut self, byte: u8) {
        match byte {
            b'\r' => self.cr = true,
            b' ' | b'\t' => self.space = true,
            _ => self.word(byte),
        }
    }

    fn word(&mut self, byte: u8) {
        for _ in 0..std::mem::take(&mut self.empty_lines) {
            self.write(b"\r\n");
        }
        if std::mem::take(&mut self.space) {
            self.write(b" ");
        }
        self.has_word = true;
        self.write(&[byte]);
    }

    fn end_line(&mut self) {
        (self.space, self.cr) = (false, false);
        if std::mem::take(&mut self.has_word) {
            self.write(b"\r\n");
        } else {
            self.empty_lines += 1;
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        // Writing into memory or a hash cannot fail.
        let _ = self.canonical.write_all(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relaxed_body(body: &[u8], piece: usize) -> Vec<u8> {
        let mut relaxed = RelaxedBody::new(Vec::new());
        body.chunks(piece).for_each(|piece| relaxed.add(piece));
        relaxed.finish()
    }

    #[test]
    fn the_pieces_of_a_body_do_not_matter() {
        for (body, canonical) in [
            // The standard's example, RFC 6376, section 3.4.5.
            (&b" C \r\nD \t E\r\n\r\n\r\n"[..], &b" C\r\nD E\r\n"[..]),
            (b"", b""),
            (b"\r\n", b""),
            (b"\r\n\r\n", b""),
            (b" \t\r\n", b""),
            (b"a", b"a\r\n"),
            (b"a \r", b"a\r\n"),
            (b"a\n\n \nb\n", b"a\r\n\r\n\r\nb\r\n"),
            (b"a\rb \r\r\n", b"a\rb \r\r\n"),
        ] {
            for piece in 1..=body.len().max(1) {
                assert_eq!(
                    relaxed_body(body, piece),
                    canonical,
                    "{} in pieces of {piece}",
                    body.escape_ascii()
                );
            }
        }
    }

    #[test]
    fn a_field_is_one_line_with_single_spaces() {
        assert_eq!(relaxed_field("A", b" X"), b"a:X");
        assert_eq!(relaxed_field("B", b" Y\t\r\n\tZ  "), b"b:Y Z");
    }
}
