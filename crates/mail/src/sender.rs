//! Finds the sender's address in a From field, including fields that do not conform to RFC 5322,
//! section 3.4.
//!
//! Every `@` outside quotes and comments may be part of an address: the text before it, up to a
//! separator, is the local part, and the text after it is the domain. Within one entry of the list,
//! an address in angle brackets takes precedence over the text before it.

use std::borrow::Cow;

use crate::{charset, encoded_word};

/// Maximum length of an address literal in bytes. One without an end would be searched to the end
/// of the field repeatedly.
const MAX_LITERAL: usize = 255;

/// The first address of a From field.
pub(super) fn address(value: &[u8]) -> Option<String> {
    let text = charset::decode_unlabelled(value);
    let text = without_comments(&text);
    // Some programs encode the address together with the name.
    first_address(&text)
        .or_else(|| first_address(&encoded_word::decode(&text.replace(['\r', '\n'], ""))))
}

/// The text, with each comment replaced by a space. An unclosed parenthesis is an ordinary
/// character.
fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains('(') {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut depth = 0_u32;
    let mut copied = 0;
    for (index, mark) in Marks::new(text) {
        match mark {
            '(' if depth == 0 => {
                kept.push_str(&text[copied..index]);
                (copied, depth) = (index, 1);
            }
            '(' => depth += 1,
            ')' if depth == 1 => {
                kept.push(' ');
                (copied, depth) = (index + 1, 0);
            }
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    kept.push_str(&text[copied..]);
    Cow::Owned(kept)
}

fn first_address(text: &str) -> Option<String> {
    // The first address outside of angle brackets in this entry.
    let mut bare = None;
    let mut in_angle = false;
    for (index, mark) in Marks::new(text) {
        match mark {
            '<' => in_angle = true,
            '>' => in_angle = false,
            // Within angle brackets, a comma belongs to a route (RFC 5322, section 4.4).
            ',' | ';' if !in_angle && bare.is_some() => return bare,
            '@' => match address_at(text, index) {
                Some(address) if in_angle => return Some(address),
                found => bare = bare.or(found),
            },
            _ => {}
        }
    }
    bare
}

/// The address with its at sign at `at`.
fn address_at(text: &str, at: usize) -> Option<String> {
    let before = text[..at].trim_end();
    let after = text[at + 1..].trim_start();
    let local_part = local_part(before);
    let domain = domain(after);
    let rest = &after[domain.len()..];
    // Some programs put apostrophes instead of quotes around an address.
    let (local_part, domain) = match domain.strip_suffix('\'') {
        Some(domain) => (local_part.strip_prefix('\'').unwrap_or(local_part), domain),
        None => (local_part, domain),
    };
    let domain = domain.trim_end_matches('.');
    let is_whole = !local_part.is_empty()
        && !domain.is_empty()
        && !rest.starts_with('@')
        && !before[..before.len() - local_part.len()].ends_with('@');
    is_whole.then(|| format!("{local_part}@{domain}"))
}

/// The word, or the quoted string, at the end of `text`.
fn local_part(text: &str) -> &str {
    if let Some(quoted) = text.strip_suffix('"') {
        let opening = quoted
            .rfind('"')
            .filter(|&opening| !quoted[opening..].contains(char::is_control));
        return opening.map_or("", |opening| &text[opening..]);
    }
    let start = text
        .rfind(is_separator)
        .map_or(0, |index| text.ceil_char_boundary(index + 1));
    &text[start..]
}

fn domain(text: &str) -> &str {
    if text.starts_with('[') {
        let start = &text[..text.floor_char_boundary(MAX_LITERAL)];
        return start.find(']').map_or("", |end| &text[..=end]);
    }
    &text[..text.find(is_separator).unwrap_or(text.len())]
}

fn is_separator(character: char) -> bool {
    character.is_whitespace() || character.is_control() || "<>,;:()[]\"@\\".contains(character)
}

/// The characters with a meaning outside quoted strings.
struct Marks<'a> {
    text: &'a str,
    position: usize,
    /// After this position, quotation marks are not closed.
    last_quote: usize,
}

impl<'a> Marks<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            position: 0,
            last_quote: text.rfind('"').unwrap_or(0),
        }
    }
}

impl Iterator for Marks<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<(usize, char)> {
        let mut quoted = false;
        while let Some(length) =
            self.text[self.position..].find(['"', '\\', '(', ')', '<', '>', '@', ',', ';'])
        {
            let index = self.position + length;
            self.position = index + 1;
            match self.text.as_bytes()[index] {
                b'"' if quoted => quoted = false,
                b'"' => quoted = index < self.last_quote,
                b'\\' => self.position = self.text.ceil_char_boundary(index + 2),
                _ if quoted => {}
                mark => return Some((index, char::from(mark))),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In quadratic time, this takes minutes.
    #[test]
    fn a_long_field_is_read_once() {
        for unit in ["@[", "\"@", "(@"] {
            address(unit.repeat(1024 * 1024 / unit.len()).as_bytes());
        }
    }

    #[test]
    fn addresses_are_found_in_what_from_fields_hold() {
        for (value, expected) in [
            ("a@b.example", Some("a@b.example")),
            ("\"Doe, J.\" <j.doe@b.example>\r\n", Some("j.doe@b.example")),
            ("Doe, J. <j.doe@b.example>", Some("j.doe@b.example")),
            (
                "=?utf-8?Q?J=C3=B6rg_=3Cj=40b=2Eexample=3E?=",
                Some("j@b.example"),
            ),
            ("Friends: a@b.example, c@d.example;", Some("a@b.example")),
            ("a@x.example, B <c@d.example>", Some("a@x.example")),
            ("\"quoted local\"@b.test", Some("\"quoted local\"@b.test")),
            (
                "N <\"quoted local\"@b.test>",
                Some("\"quoted local\"@b.test"),
            ),
            ("\"a@evil.example\" <b@c.example>", Some("b@c.example")),
            ("a@evil.example <b@c.example>", Some("b@c.example")),
            ("a @ b.test", Some("a@b.test")),
            ("<@r:a@b.test>", Some("a@b.test")),
            ("<@r.example,@s.example:a@b.test>", Some("a@b.test")),
            ("A B a@b.test", Some("a@b.test")),
            ("a@b.test>", Some("a@b.test")),
            ("<a@b.test", Some("a@b.test")),
            ("\"A <a@b.test>", Some("a@b.test")),
            ("a@b.test (A (B) C)", Some("a@b.test")),
            ("(not@this.one) a(x)@(y)b.test", Some("a@b.test")),
            (":-( <a@b.test>", Some("a@b.test")),
            ("'a@b.test'", Some("a@b.test")),
            ("mailto:a@b.test", Some("a@b.test")),
            ("a@[127.0.0.1]", Some("a@[127.0.0.1]")),
            ("jörg@bücher.example", Some("jörg@bücher.example")),
            ("A\r\n <a@b.test>", Some("a@b.test")),
            ("a@b@c.test", None),
            ("undisclosed-recipients:;", None),
            ("Nobody", None),
            ("@", None),
            ("", None),
        ] {
            assert_eq!(address(value.as_bytes()).as_deref(), expected, "{value}");
        }
    }
}
