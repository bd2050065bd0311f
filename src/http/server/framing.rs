//! Follows the requests of a connection, to notice a line of a head or of a trailer that ends with
//! LF alone. hyper accepts it, but a proxy in front may see another end of the head there, and with
//! it other requests (RFC 9112, section 2.2).

/// Where the next byte of a connection is.
#[derive(Debug, Default)]
pub(super) struct Framing {
    part: Part,
    /// What has arrived of the current line.
    line: Vec<u8>,
    /// What the head says about the body that follows.
    body: Option<Part>,
    is_line_end_bare: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum Part {
    /// Before the first line of a head.
    #[default]
    Start,
    Head,
    /// The bytes that are left of a body with a length.
    Body(u64),
    ChunkSize,
    /// The bytes that are left of a chunk and its line end.
    Chunk(u64),
    Trailer,
}

impl Framing {
    /// Follows the next bytes. Returns whether any line so far ended with LF alone.
    pub(super) fn follow(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            if let Part::Body(left) | Part::Chunk(left) = &mut self.part {
                let skipped =
                    usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                *left -= skipped as u64;
                bytes = &bytes[skipped..];
                match self.part {
                    Part::Body(0) => self.part = Part::Start,
                    Part::Chunk(0) => self.part = Part::ChunkSize,
                    _ => {}
                }
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
                self.line.extend_from_slice(bytes);
                break;
            };
            self.line.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            self.is_line_end_bare |= !line.ends_with(b"\r");
            self.part = self.after(String::from_utf8_lossy(&line).trim());
        }
        self.is_line_end_bare
    }

    /// What follows a line.
    fn after(&mut self, line: &str) -> Part {
        match self.part {
            Part::Start if line.is_empty() => Part::Start,
            Part::Head if line.is_empty() => self.body.take().unwrap_or_default(),
            Part::Trailer if line.is_empty() => Part::Start,
            Part::ChunkSize => match chunk_size(line) {
                0 => Part::Trailer,
                size => Part::Chunk(size.saturating_add(2)),
            },
            Part::Head => {
                self.read_field(line);
                Part::Head
            }
            Part::Start => Part::Head,
            part => part,
        }
    }

    fn read_field(&mut self, line: &str) {
        let Some((name, value)) = line.split_once(':') else {
            return;
        };
        if name.eq_ignore_ascii_case("transfer-encoding") {
            self.body = Some(Part::ChunkSize);
        } else if name.eq_ignore_ascii_case("content-length") && self.body.is_none() {
            let length = value.trim().parse().ok();
            self.body = length.filter(|length| *length > 0).map(Part::Body);
        }
    }
}

/// hyper rejects a chunk whose size is no number.
fn chunk_size(line: &str) -> u64 {
    let end = line.find(|character: char| !character.is_ascii_hexdigit());
    u64::from_str_radix(&line[..end.unwrap_or(line.len())], 16).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNKED: &str = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";

    #[test]
    fn only_a_line_of_a_head_or_trailer_that_ends_with_lf_alone_is_noticed() {
        for (requests, is_bare) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), false),
            ("GET / HTTP/1.1\nHost: a\r\n\r\n".to_owned(), true),
            ("GET / HTTP/1.1\r\nHost: a\n\r\n".to_owned(), true),
            ("GET / HTTP/1.1\r\nHost: a\r\n\n".to_owned(), true),
            (
                "\r\n\r\nGET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n".to_owned(),
                false,
            ),
            (
                "GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\n\r\n".to_owned(),
                true,
            ),
            (
                "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n\n\n\n\n".to_owned(),
                false,
            ),
            (
                "POST / HTTP/1.1\r\ncontent-length:4\r\n\r\n\n\n\n\nGET / HTTP/1.1\n".to_owned(),
                true,
            ),
            (
                "POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\nGET / HTTP/1.1\n".to_owned(),
                true,
            ),
            (
                format!("{CHUNKED}3;x=y\r\n\n\n\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n"),
                false,
            ),
            (
                format!("{CHUNKED}3\r\nabc\r\n0\r\n\r\nGET / HTTP/1.1\n"),
                true,
            ),
            (
                format!("{CHUNKED}0\r\nA: b\r\n\r\nPOST / HTTP/1.1\r\n"),
                false,
            ),
            (format!("{CHUNKED}0\r\nA: b\n\r\n"), true),
        ] {
            assert_eq!(
                Framing::default().follow(requests.as_bytes()),
                is_bare,
                "{requests:?}"
            );
            let mut framing = Framing::default();
            let piecewise = requests
                .bytes()
                .fold(false, |_, byte| framing.follow(&[byte]));
            assert_eq!(piecewise, is_bare, "{requests:?}");
        }
    }
}
