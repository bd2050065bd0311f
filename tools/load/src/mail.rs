//! The messages to send: prose with the same compression ratio as real mail. Each has its own
//! subject.

/// Digits of the number in a subject.
const DIGITS: usize = 10;
const SUBJECT: &str = "Subject: load ";

/// A message with a place for its number, so that another message costs only a copy and writing the
/// number.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    number_at: usize,
}

impl Template {
    pub(crate) fn new(size: usize) -> Self {
        let mail = plain(size).into_bytes();
        let mut bytes = stuffed(&mail);
        bytes.extend_from_slice(b".\r\n");
        let subject = bytes
            .windows(SUBJECT.len())
            .position(|window| window == SUBJECT.as_bytes())
            .unwrap();
        Self {
            bytes,
            number_at: subject + SUBJECT.len(),
        }
    }

    /// The message `number`, ready to be sent after DATA.
    pub(crate) fn numbered(&mut self, number: u64) -> &[u8] {
        let digits = format!("{number:0DIGITS$}");
        self.bytes[self.number_at..self.number_at + DIGITS].copy_from_slice(digits.as_bytes());
        &self.bytes
    }

    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }
}

/// The number in a subject that this module has written.
pub(crate) fn number(subject: &str) -> Option<u64> {
    subject
        .strip_prefix(SUBJECT.strip_prefix("Subject: ")?)?
        .parse()
        .ok()
}

/// The subject of the message `number`.
pub(crate) fn subject(number: u64) -> String {
    format!("load {number:0DIGITS$}")
}

/// The text of a message of about this size.
pub(crate) fn text(size: usize) -> String {
    plain(size)[head().len()..].to_owned()
}

/// Prose with a code and two links.
fn plain(size: usize) -> String {
    let mut mail = head();
    mail.push_str("Your code is 481516.\r\nhttps://shop.test/confirm?token=f3b1c\r\nhttps://shop.test/help\r\n\r\n");
    let room = size.saturating_sub(mail.len());
    mail.push_str(&prose(room));
    mail.truncate(size.max(200) - 2);
    if mail.ends_with('\r') {
        // Cut between the CR and the LF: the rest of the line end is removed.
        mail.replace_range(mail.len() - 1.., ".");
    }
    mail.push_str("\r\n");
    mail
}

fn head() -> String {
    format!(
        "From: Shop <app@shop.test>\r\nTo: You <you@restante.example.com>\r\n{SUBJECT}{:0DIGITS$}\r\n\
         Message-ID: <load@shop.test>\r\nDate: Fri, 20 Nov 2026 09:30:00 +0000\r\nMIME-Version: 1.0\r\n\
         Content-Type: text/plain; charset=utf-8\r\n\r\n",
        0
    )
}

/// About `size` bytes of words in lines, always the same.
fn prose(size: usize) -> String {
    let words: Vec<String> = (3..600)
        .map(|seed| random(seed).take(2 + seed % 9).map(letter).collect())
        .collect();
    let mut text = String::with_capacity(size + 16);
    let mut line = 0;
    for value in random(5) {
        // Short words are more frequent, as in prose.
        let word = &words[(value % words.len()) * (value / 7 % words.len()) / words.len()];
        line += word.len() + 1;
        text.push_str(word);
        text.push_str(if line > 70 { "\r\n" } else { " " });
        line = if line > 70 { 0 } else { line };
        if text.len() >= size {
            return text;
        }
    }
    text
}

fn letter(value: usize) -> char {
    char::from(b"etaoinshrdlucmfwypvbgkjqxz"[(value % 26) * (value / 26 % 26) / 26])
}

/// A random number generator with a fixed seed.
fn random(seed: usize) -> impl Iterator<Item = usize> {
    let mut state = seed as u64 ^ 0x9e37_79b9_7f4a_7c15;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as usize
    })
}

fn stuffed(mail: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(mail.len() + 64);
    for line in mail.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b".") {
            bytes.push(b'.');
        }
        bytes.extend_from_slice(line);
    }
    bytes
}
