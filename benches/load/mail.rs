//! The messages that are offered: prose that compresses as mail does, each with a subject of its own.

use std::fmt::Write as _;

use crate::options::Traffic;

/// Digits of the number in a subject.
const DIGITS: usize = 10;
const SUBJECT: &str = "Subject: load ";

/// A message with a place for its number. Cloning it and writing the number is all that a message costs.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    octets: Vec<u8>,
    number_at: usize,
}

impl Template {
    pub(crate) fn new(traffic: &Traffic) -> Self {
        let mail = match (&traffic.file, traffic.multipart) {
            (Some(path), _) => with_subject(&std::fs::read(path).unwrap()),
            (None, true) => multipart().into_bytes(),
            (None, false) if traffic.attachment => attachment(traffic.size).into_bytes(),
            (None, false) => plain(traffic.size).into_bytes(),
        };
        let mut octets = stuffed(&mail);
        octets.extend_from_slice(b".\r\n");
        let subject = octets.windows(SUBJECT.len()).position(|window| window == SUBJECT.as_bytes()).unwrap();
        Self { octets, number_at: subject + SUBJECT.len() }
    }

    /// The message `number`, ready to be sent behind DATA.
    pub(crate) fn numbered(&mut self, number: u64) -> &[u8] {
        let digits = format!("{number:0DIGITS$}");
        self.octets[self.number_at..self.number_at + DIGITS].copy_from_slice(digits.as_bytes());
        &self.octets
    }

    pub(crate) fn size(&self) -> usize {
        self.octets.len()
    }
}

/// The number in a subject of ours.
pub(crate) fn number(subject: &str) -> Option<u64> {
    subject.strip_prefix(SUBJECT.strip_prefix("Subject: ")?)?.parse().ok()
}

pub(crate) fn plain(size: usize) -> String {
    let mut mail = head("text/plain; charset=utf-8");
    mail.push_str("Your code is 481516.\r\nhttps://shop.test/confirm?token=f3b1c\r\n\r\n");
    let room = size.saturating_sub(mail.len());
    mail.push_str(&prose(room));
    mail.truncate(size.max(200) - 2);
    if mail.ends_with('\r') {
        // Cut off within the end of a line, which must not stay bare.
        mail.replace_range(mail.len() - 1.., ".");
    }
    mail.push_str("\r\n");
    mail
}

/// Text, HTML with a table and inline styles, and an image: 36 KB.
fn multipart() -> String {
    let mut mail = head("multipart/mixed; boundary=\"outer\"");
    let paragraphs: String = prose(11_000).split("\r\n").fold(String::new(), |mut html, line| {
        let _ = write!(html, "<tr><td style=\"padding:8px;color:#333\"><p>{line}</p></td></tr>\r\n");
        html
    });
    let image = base64(9_000, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef");
    let _ = write!(
        mail,
        "--outer\r\nContent-Type: multipart/alternative; boundary=\"inner\"\r\n\r\n\
         --inner\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nYour code is 481516.\r\n{}\r\n\
         --inner\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<html><body><table>\r\n{paragraphs}\
         <tr><td><a href=\"https://shop.test/confirm?token=f3b1c\">Confirm</a></td></tr></table></body></html>\r\n\
         --inner--\r\n--outer\r\nContent-Type: image/png; name=logo.png\r\nContent-Transfer-Encoding: base64\r\n\r\n{}\r\n\
         --outer--\r\n",
        prose(7_000),
        image,
    );
    mail
}

/// A short text, and a file that makes it `size` octets.
fn attachment(size: usize) -> String {
    let mut mail = head("multipart/mixed; boundary=\"outer\"");
    mail.push_str("--outer\r\nContent-Type: text/plain\r\n\r\nYour code is 481516.\r\n");
    mail.push_str("--outer\r\nContent-Type: application/pdf; name=invoice.pdf\r\n");
    mail.push_str("Content-Disposition: attachment\r\nContent-Transfer-Encoding: base64\r\n\r\n");
    let room = size.saturating_sub(mail.len() + 13) / 78 * 76;
    mail.push_str(&base64(room, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"));
    mail.push_str("\r\n--outer--\r\n");
    mail
}

/// `count` characters of an alphabet in lines.
fn base64(count: usize, alphabet: &[u8]) -> String {
    let octets: Vec<u8> = random(17).take(count).map(|value| alphabet[value % alphabet.len()]).collect();
    let lines: Vec<&str> = octets.chunks(76).map(|line| std::str::from_utf8(line).unwrap()).collect();
    lines.join("\r\n")
}

fn head(content_type: &str) -> String {
    format!(
        "From: Shop <app@shop.test>\r\nTo: You <you@restante.test>\r\n{SUBJECT}{:0DIGITS$}\r\n\
         Message-ID: <load@shop.test>\r\nDate: Fri, 20 Nov 2026 09:30:00 +0000\r\nMIME-Version: 1.0\r\n\
         Content-Type: {content_type}\r\n\r\n",
        0
    )
}

/// About `size` octets of words in lines, the same each time.
fn prose(size: usize) -> String {
    let words: Vec<String> = (3..600).map(|seed| random(seed).take(2 + seed % 9).map(letter).collect()).collect();
    let (mut text, mut line) = (String::with_capacity(size + 16), 0);
    for value in random(5) {
        // Short words are the frequent ones, as in prose.
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

/// A generator of numbers that are the same each time.
fn random(seed: usize) -> impl Iterator<Item = usize> {
    let mut state = seed as u64 ^ 0x9e37_79b9_7f4a_7c15;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as usize
    })
}

fn with_subject(mail: &[u8]) -> Vec<u8> {
    let mail = String::from_utf8_lossy(mail).replace("\r\n", "\n").replace('\n', "\r\n");
    let kept = mail.split("\r\n").filter(|line| !line.to_ascii_lowercase().starts_with("subject:"));
    format!("{SUBJECT}{:0DIGITS$}\r\n{}\r\n", 0, kept.collect::<Vec<_>>().join("\r\n")).into_bytes()
}

fn stuffed(mail: &[u8]) -> Vec<u8> {
    let mut octets = Vec::with_capacity(mail.len() + 64);
    for line in mail.split_inclusive(|octet| *octet == b'\n') {
        if line.starts_with(b".") {
            octets.push(b'.');
        }
        octets.extend_from_slice(line);
    }
    octets
}
