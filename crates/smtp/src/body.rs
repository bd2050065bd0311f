//! Finds the end of the message data and removes the transparency dots (RFC 5321, section 4.5.2),
//! byte by byte.
//!
//! If two mail systems disagree on the end of a message, a sender can smuggle a second message
//! inside the first. Therefore only CR LF . CR LF ends the data. Every such attack needs a bare CR
//! or LF; a message with one is read to its real end and rejected.

use crate::reply::Refusal;

/// A message that passed more servers than this is in a loop (RFC 5321, section 6.3).
const RECEIVED_FIELDS: usize = 100;

/// Receives the data of one message.
#[derive(Debug)]
pub struct BodyReader {
    limits: BodyLimits,
    place: Place,
    bytes: Vec<u8>,
    /// Bytes of the message so far, including discarded ones.
    size: u64,
    /// Bytes of the line so far.
    line: usize,
    too_large: bool,
    line_too_long: bool,
    bare_line_end: bool,
}

/// The limits of one message, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyLimits {
    /// The message without its transparency dots and its final dot (RFC 1870, section 3).
    pub message: u64,
    /// One line with its CR LF.
    pub line: usize,
}

/// The position in a line, and in the end of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At the start of a line. The first line starts after the CR LF of the DATA command.
    LineStart,
    /// Inside a line.
    Line,
    /// After a CR.
    Cr,
    /// After a dot at the start of a line. The dot is part of the end, or was added for
    /// transparency, so it is not part of the message.
    Dot,
    /// After such a dot, and a CR.
    DotCr,
    /// After the end.
    End,
}

impl BodyReader {
    /// Starts after the CR LF of the DATA command.
    #[must_use]
    pub fn new(limits: BodyLimits) -> Self {
        Self {
            limits,
            place: Place::LineStart,
            bytes: Vec::new(),
            size: 0,
            line: 0,
            too_large: false,
            line_too_long: false,
            bare_line_end: false,
        }
    }

    /// Reads bytes up to the end of the data. Returns their number.
    pub fn read(&mut self, input: &[u8]) -> usize {
        let mut taken = 0;
        if self.bytes.capacity() == 0 && !self.is_discarded() {
            // Most messages arrive in one piece.
            self.bytes.reserve(input.len());
        }
        while taken < input.len() && !self.has_ended() {
            taken += match self.place {
                Place::Line => self.read_run(&input[taken..]),
                _ => 0,
            };
            if let Some(&byte) = input.get(taken) {
                self.step(byte);
                taken += 1;
            }
        }
        taken
    }

    /// Whether the end of the data was received.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.place == Place::End
    }

    /// Bytes of the message so far, including discarded ones.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes of memory that the message uses.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Reserves memory for a message of `bytes`, if possible, because growing in steps fragments
    /// the memory.
    pub fn reserve(&mut self, bytes: usize) {
        let more = bytes.saturating_sub(self.bytes.len());
        // On failure, the message grows in steps.
        let _ = self.bytes.try_reserve_exact(more);
    }

    /// The message as sent, without transparency dots.
    ///
    /// # Errors
    /// Why the message must be rejected.
    pub fn finish(self) -> Result<Vec<u8>, Refusal> {
        // Checked in a fixed order, so that the reply does not depend on how the network divided
        // the data.
        if self.too_large {
            return Err(Refusal::MessageTooLarge);
        }
        if self.bare_line_end {
            return Err(Refusal::BareLineEnd);
        }
        if self.line_too_long {
            return Err(Refusal::DataLineTooLong);
        }
        if received_fields(&self.bytes) > RECEIVED_FIELDS {
            return Err(Refusal::MailLoop);
        }
        Ok(self.bytes)
    }

    fn is_discarded(&self) -> bool {
        self.too_large || self.line_too_long || self.bare_line_end
    }

    /// Reads the bytes before the next CR or LF. Returns their number.
    fn read_run(&mut self, input: &[u8]) -> usize {
        let run = memchr::memchr2(b'\r', b'\n', input).unwrap_or(input.len());
        self.keep(&input[..run]);
        run
    }

    fn step(&mut self, byte: u8) {
        self.place = match (self.place, byte) {
            (Place::DotCr, b'\n') => Place::End,
            (Place::LineStart, b'.') => Place::Dot,
            (Place::Dot, b'\r') => Place::DotCr,
            (Place::Cr, b'\n') => {
                self.keep(b"\n");
                self.line = 0;
                Place::LineStart
            }
            (place, byte) => {
                self.bare_line_end |= matches!(place, Place::Cr | Place::DotCr) || byte == b'\n';
                if place == Place::DotCr {
                    self.keep(b"\r");
                }
                self.keep(&[byte]);
                if byte == b'\r' {
                    Place::Cr
                } else {
                    Place::Line
                }
            }
        };
    }

    /// Counts bytes of the message, and stores them if it can still be accepted.
    fn keep(&mut self, bytes: &[u8]) {
        self.size = self.size.saturating_add(bytes.len() as u64);
        self.line = self.line.saturating_add(bytes.len());
        self.too_large |= self.size > self.limits.message;
        self.line_too_long |= self.line > self.limits.line;
        if self.is_discarded() {
            self.bytes = Vec::new();
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }
}

/// The number of Received fields in the header section.
fn received_fields(message: &[u8]) -> usize {
    const NAME: &[u8] = b"Received:";
    let lines = message.split(|&byte| byte == b'\n');
    let header = lines.take_while(|line| !line.is_empty() && **line != *b"\r");
    header
        .filter(|line| {
            line.get(..NAME.len())
                .is_some_and(|name| name.eq_ignore_ascii_case(NAME))
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: BodyLimits = BodyLimits {
        message: 40,
        line: 20,
    };

    /// Receives all of `input` in pieces of `piece` bytes. Returns the message and the bytes after
    /// it.
    fn read(
        input: &[u8],
        piece: usize,
        limits: BodyLimits,
    ) -> Option<(Result<Vec<u8>, Refusal>, usize)> {
        let mut reader = BodyReader::new(limits);
        let mut taken = 0;
        for piece in input.chunks(piece) {
            taken += reader.read(piece);
            if reader.has_ended() {
                return Some((reader.finish(), input.len() - taken));
            }
        }
        None
    }

    fn check(input: &[u8], expected: &Option<(Result<Vec<u8>, Refusal>, usize)>) {
        for piece in 1..=input.len() {
            assert_eq!(
                &read(input, piece, LIMITS),
                expected,
                "{} by {piece}",
                input.escape_ascii()
            );
        }
    }

    #[test]
    fn messages_are_unstuffed_and_otherwise_kept() {
        let table: [(&[u8], &[u8]); 11] = [
            (b".\r\n", b""),
            (b"\r\n.\r\n", b"\r\n"),
            (b"a\r\n.\r\n", b"a\r\n"),
            (b"..\r\n.\r\n", b".\r\n"),
            (b"..a\r\n.\r\n", b".a\r\n"),
            (b".a\r\n.\r\n", b"a\r\n"),
            (b"...\r\n...\r\n.\r\n", b"..\r\n..\r\n"),
            (b"a\r\n..b\r\nc.\r\n.\r\n", b"a\r\n.b\r\nc.\r\n"),
            (b"a.\r\n.\r\n", b"a.\r\n"),
            (b"\0\xff\x80\r\n.\r\n", b"\0\xff\x80\r\n"),
            (b"123456789012345678\r\n.\r\n", b"123456789012345678\r\n"),
        ];
        for (input, message) in table {
            check(input, &Some((Ok(message.to_vec()), 0)));
            check(
                &[input, b"QUIT\r\n"].concat(),
                &Some((Ok(message.to_vec()), 6)),
            );
        }
    }

    #[test]
    fn nothing_else_ends_the_data() {
        for end in [
            &b"\n.\n"[..],
            b"\n.\r\n",
            b"\r\n.\n",
            b"\r.\r\n",
            b"\r\n.\r",
            b"\r.\r",
            b"\r\r\n.\r\r\n",
            b"\r\n.\r\r\n",
            b"\r\n\0.\r\n",
            b"\r\n.\0\r\n",
            b"\r\n..\r\n",
            b"\r\n .\r\n",
            b"\r\n. \r\n",
            b"\n\r.\r\n",
            b"\r\n.\r\0\n",
        ] {
            check(&[b"a", end].concat(), &None);
        }
    }

    #[test]
    fn a_bare_line_end_is_refused_at_the_real_end() {
        for trick in [
            &b"\n.\n"[..],
            b"\n.\r\n",
            b"\r\n.\n",
            b"\r.\r\n",
            b"\r.\r",
            b"\r\r\n.\r\r\n",
            b"\r\n.\r\r\n",
            b"\n",
        ] {
            check(
                &[b"a", trick, b"b\r\n.\r\nc"].concat(),
                &Some((Err(Refusal::BareLineEnd), 1)),
            );
        }
    }

    #[test]
    fn limits_count_the_message_and_not_its_dots() {
        let lines = |count: usize| [b"..34567\r\n".repeat(count), b".\r\n".to_vec()].concat();
        check(&lines(5), &Some((Ok(b".34567\r\n".repeat(5)), 0)));
        check(&lines(6), &Some((Err(Refusal::MessageTooLarge), 0)));
        check(
            b"1234567890123456789\r\n.\r\n",
            &Some((Err(Refusal::DataLineTooLong), 0)),
        );
        check(
            b"..345678901234567890\r\n.\r\n",
            &Some((Err(Refusal::DataLineTooLong), 0)),
        );
    }

    #[test]
    fn a_refused_message_is_not_kept() {
        for (message, line, piece) in [
            (1_000, 5_000, &[b'x'; 1_000][..]),
            (100_000, 1_500, &[b'x'; 1_000]),
            (100_000, 2_000, &[b"\n", &[b'x'; 999][..]].concat()),
        ] {
            let mut reader = BodyReader::new(BodyLimits { message, line });
            reader.read(&[b'x'; 1_000]);
            assert_eq!(reader.memory(), 1_000);
            for _ in 1..10 {
                reader.read(piece);
                assert_eq!(reader.memory(), 0);
            }
            assert_eq!(reader.size(), 10_000);
        }
    }

    #[test]
    fn the_memory_for_a_message_of_known_size_is_reserved_once() {
        let mut reader = BodyReader::new(BodyLimits {
            message: 10_000,
            line: 10_000,
        });
        reader.read(b"x");
        reader.reserve(5_000);
        for _ in 0..49 {
            reader.read(&[b'x'; 100]);
        }
        reader.read(&[&[b'x'; 97][..], b"\r\n.\r\n"].concat());
        assert_eq!((reader.size(), reader.memory()), (5_000, 5_000));
    }

    #[test]
    fn a_message_in_one_piece_takes_no_more_memory_than_it_needs() {
        let mut reader = BodyReader::new(BodyLimits {
            message: 10_000,
            line: 10_000,
        });
        reader.read(&b"a line\r\n".repeat(100));
        assert_eq!(reader.memory(), 800);
    }

    #[test]
    fn received_fields_count_in_the_header_only() {
        let limits = BodyLimits {
            message: 1_000_000,
            line: 1_000,
        };
        let field = b"RECEIVED: from a by b\r\n\tid c\r\n";
        let loops = |fields: usize| {
            let message = [
                field.repeat(fields),
                b"X-Received: y\r\n\r\n".to_vec(),
                field.repeat(200),
                b".\r\n".to_vec(),
            ];
            read(&message.concat(), 4_096, limits).unwrap().0.err()
        };
        assert_eq!((loops(100), loops(101)), (None, Some(Refusal::MailLoop)));
    }
}
