//! Reverse-paths and forward-paths: the `<…>` of MAIL and RCPT (RFC 5321, section 4.1.2, with the
//! UTF-8 of RFC 6531).

use std::borrow::Cow;
use std::fmt;

use crate::reply::Refusal;
use restante_mail::{AcceptedDomains, Domain, EmailAddress};

/// Maximum number of bytes of a path without its angle brackets; with them it may have 256 (RFC
/// 5321, section 4.5.3.1.3).
const PATH_BYTES: usize = 254;

/// The envelope sender as the client wrote it, without angle brackets and source route; empty for
/// the null path `<>`.
///
/// Its local part may be longer than the 64 bytes of an inbox id, because many bounce addresses
/// are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReversePath(String);

/// A recipient as the client wrote it: well-formed, but possibly not a valid address of an inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForwardPath<'a> {
    /// `<postmaster>` (case-insensitive), which means the mail domain (RFC 5321, section 4.1.1.3).
    Postmaster(Cow<'a, str>),
    /// A mailbox at a domain.
    Mailbox {
        /// The local part without quotes.
        local_part: Cow<'a, str>,
        /// The domain.
        domain: Domain,
    },
    /// A mailbox at an address literal such as `[192.0.2.1]`, which is never an accepted domain.
    AddressLiteral,
}

/// The text is not a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a path")]
pub struct InvalidPath;

impl ReversePath {
    /// Reads a path from the start of `text`. Returns the path and the rest of the text.
    ///
    /// # Errors
    /// [`InvalidPath`] if `text` does not start with a path.
    pub fn parse(text: &str) -> Result<(Self, &str), InvalidPath> {
        if let Some(rest) = text.strip_prefix("<>") {
            return Ok((Self::default(), rest));
        }
        let (mailbox, rest) = bracketed(text)?;
        if mailbox.text.len() > PATH_BYTES || mailbox.host.is_empty() {
            return Err(InvalidPath);
        }
        Ok((Self(mailbox.text.to_owned()), rest))
    }

    /// `local-part@domain`, or empty.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is `<>`, the sender of bounces.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for ReversePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<{}>", self.0)
    }
}

impl<'a> ForwardPath<'a> {
    /// Reads a path from the start of `text`. Returns the path and the rest of the text.
    ///
    /// # Errors
    /// [`InvalidPath`] if `text` does not start with a path.
    pub fn parse(text: &'a str) -> Result<(Self, &'a str), InvalidPath> {
        let (mailbox, rest) = bracketed(text)?;
        let path = match mailbox.host {
            "" if mailbox.local_part.eq_ignore_ascii_case("postmaster") => {
                Self::Postmaster(mailbox.local_part)
            }
            host if host.starts_with('[') => Self::AddressLiteral,
            host => Self::Mailbox {
                local_part: mailbox.local_part,
                domain: Domain::parse(host).map_err(|_| InvalidPath)?,
            },
        };
        Ok((path, rest))
    }

    /// Converts the path to an address on the mail domain or an accepted one.
    ///
    /// # Errors
    /// [`Refusal::BadRecipient`] if no inbox can have that address, [`Refusal::RelayNotPermitted`]
    /// if it has another domain.
    pub fn into_address(
        self,
        mail_domain: &Domain,
        accepted: &AcceptedDomains,
    ) -> Result<EmailAddress, Refusal> {
        let (local_part, domain) = match self {
            Self::AddressLiteral => return Err(Refusal::RelayNotPermitted),
            Self::Postmaster(local_part) => (local_part, mail_domain.clone()),
            Self::Mailbox { local_part, domain } => (local_part, domain),
        };
        let is_local = domain == *mail_domain || accepted.accept(&domain);
        match EmailAddress::new(&local_part, domain) {
            Ok(address) if is_local => Ok(address),
            Ok(_) => Err(Refusal::RelayNotPermitted),
            Err(_) => Err(Refusal::BadRecipient),
        }
    }
}

/// A mailbox and its parts, as written in the command.
struct Mailbox<'a> {
    /// The whole mailbox.
    text: &'a str,
    local_part: Cow<'a, str>,
    /// The domain or address literal; empty if there is none.
    host: &'a str,
}

/// Reads `<` [source route `:`] mailbox `>`.
fn bracketed(text: &str) -> Result<(Mailbox<'_>, &str), InvalidPath> {
    let inner = skip_route(text.strip_prefix('<').ok_or(InvalidPath)?)?;
    let (local_part, after) = local_part(inner)?;
    let (host, after) = match after.strip_prefix('@') {
        Some(after) => host(after)?,
        None => ("", after),
    };
    let rest = after.strip_prefix('>').ok_or(InvalidPath)?;
    let text = &inner[..inner.len() - after.len()];
    Ok((
        Mailbox {
            text,
            local_part,
            host,
        },
        rest,
    ))
}

/// Skips `@one,@two:`, which must be accepted and should be ignored (RFC 5321, section 4.1.1.3 and
/// appendix C).
fn skip_route(mut text: &str) -> Result<&str, InvalidPath> {
    if !text.starts_with('@') {
        return Ok(text);
    }
    while let Some(after) = text.strip_prefix('@') {
        let (_, after) = domain(after)?;
        if let Some(mailbox) = after.strip_prefix(':') {
            return Ok(mailbox);
        }
        text = after.strip_prefix(',').ok_or(InvalidPath)?;
    }
    Err(InvalidPath)
}

/// Reads a dot-string or a quoted string.
fn local_part(text: &str) -> Result<(Cow<'_, str>, &str), InvalidPath> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (local_part, rest) = quoted_string(quoted)?;
        return Ok((Cow::Owned(local_part), rest));
    }
    let (local_part, rest) = split_where(text, |character| {
        !is_atom_character(character) && character != '.'
    });
    let atoms_ok = local_part.split('.').all(|atom| !atom.is_empty());
    if atoms_ok {
        Ok((Cow::Borrowed(local_part), rest))
    } else {
        Err(InvalidPath)
    }
}

/// Reads a quoted string after its first quote, and removes the quotes and backslashes.
fn quoted_string(text: &str) -> Result<(String, &str), InvalidPath> {
    let mut unquoted = String::new();
    let mut characters = text.chars();
    loop {
        let character = match characters.next().ok_or(InvalidPath)? {
            '"' => return Ok((unquoted, characters.as_str())),
            '\\' => characters
                .next()
                .filter(char::is_ascii)
                .ok_or(InvalidPath)?,
            character => character,
        };
        if character.is_control() {
            return Err(InvalidPath);
        }
        unquoted.push(character);
    }
}

/// Reads a domain or an address literal.
fn host(text: &str) -> Result<(&str, &str), InvalidPath> {
    if !text.starts_with('[') {
        return domain(text);
    }
    let end = text.find(']').ok_or(InvalidPath)?;
    let literal = &text[1..end];
    let is_dcontent = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'[' | b'\\' | b']');
    if literal.is_empty() || !literal.bytes().all(is_dcontent) {
        return Err(InvalidPath);
    }
    Ok(text.split_at(end + 1))
}

/// Reads a domain. The RFC does not allow underscores, but the names of containers contain them,
/// and containers send mail.
fn domain(text: &str) -> Result<(&str, &str), InvalidPath> {
    let is_part = |character: char| {
        character.is_ascii_alphanumeric()
            || "-_.".contains(character)
            || is_visible_non_ascii(character)
    };
    let (domain, rest) = split_where(text, |character| !is_part(character));
    let labels_ok = domain.split('.').all(|label| !label.is_empty());
    if labels_ok {
        Ok((domain, rest))
    } else {
        Err(InvalidPath)
    }
}

fn is_atom_character(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || "!#$%&'*+-/=?^_`{|}~".contains(character)
        || is_visible_non_ascii(character)
}

fn is_visible_non_ascii(character: char) -> bool {
    !character.is_ascii() && !character.is_control() && !character.is_whitespace()
}

fn split_where(text: &str, is_end: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(is_end).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_reverse_paths() {
        for (text, path, rest) in [
            ("<>", "", ""),
            ("<> SIZE=1", "", " SIZE=1"),
            ("<a@b.example>", "a@b.example", ""),
            ("<a@b.example> BODY=7BIT", "a@b.example", " BODY=7BIT"),
            ("<@one.example,@two.example:a@b.example>", "a@b.example", ""),
            ("<\"a b>\\\"\"@b.example>x", "\"a b>\\\"\"@b.example", "x"),
            ("<a@[192.0.2.1]>", "a@[192.0.2.1]", ""),
            ("<a@[IPv6:2001:db8::1]>", "a@[IPv6:2001:db8::1]", ""),
            ("<root@my_app_1>", "root@my_app_1", ""),
            ("<jörg@bücher.example>", "jörg@bücher.example", ""),
        ] {
            let (parsed, after) = ReversePath::parse(text).unwrap();
            assert_eq!(
                (parsed.as_str(), parsed.is_null(), after),
                (path, path.is_empty(), rest),
                "{text}"
            );
        }
    }

    #[test]
    fn a_reverse_path_has_at_most_254_bytes() {
        let path =
            |length: usize| format!("<{}@b.example>", "a".repeat(length - "@b.example".len()));
        assert!(ReversePath::parse(&path(254)).is_ok());
        assert_eq!(ReversePath::parse(&path(255)), Err(InvalidPath));
    }

    #[test]
    fn refuses_what_is_no_reverse_path() {
        let long = format!("<a@{}.example>", ["d"; 124].join("."));
        for text in [
            "",
            "<",
            ">",
            "a@b.example",
            "<a>",
            "<postmaster>",
            "<a@b.example",
            "<@b.example>",
            "<a@>",
            "<.a@b>",
            "<a.@b>",
            "<a..b@c>",
            "<a b@c>",
            "<a@b..c>",
            "<a@.b>",
            "<a@b.>",
            "<a@b c>",
            "<a@b@c>",
            "<\"a@b>",
            "<\"a\\\"@b>",
            "<\"a\"b@c>",
            "<a@[]>",
            "<a@[1>",
            "<a@[1[]>",
            "<@one:>",
            "<@one,two:a@b>",
            "<@one,@two>",
            "<@:a@b>",
            "< a@b>",
            "<<a@b>>",
            "<\"a\\é\"@b>",
            "<a\u{a0}b@c>",
            &long,
        ] {
            assert_eq!(ReversePath::parse(text), Err(InvalidPath), "{text}");
        }
    }

    fn recipient(path: &str) -> Result<String, Option<Refusal>> {
        accepted_recipient(path, "")
    }

    fn accepted_recipient(path: &str, accepted: &str) -> Result<String, Option<Refusal>> {
        let (path, rest) = ForwardPath::parse(path).map_err(|InvalidPath| None)?;
        assert_eq!(rest, "");
        let mail_domain = Domain::parse("bücher.example").unwrap();
        path.into_address(&mail_domain, &accepted.parse().unwrap())
            .map(|address| address.to_string())
            .map_err(Some)
    }

    #[test]
    fn reads_recipients_of_the_mail_domain() {
        for (path, address) in [
            (
                "<Some.One+tag@BÜCHER.example>",
                "Some.One+tag@xn--bcher-kva.example",
            ),
            ("<a@XN--BCHER-KVA.example>", "a@xn--bcher-kva.example"),
            (
                "<\"some.one\"@bücher.example>",
                "some.one@xn--bcher-kva.example",
            ),
            ("<\"\\a\"@bücher.example>", "a@xn--bcher-kva.example"),
            ("<jörg@bücher.example>", "jörg@xn--bcher-kva.example"),
            (
                "<@relay.example:a@bücher.example>",
                "a@xn--bcher-kva.example",
            ),
            ("<PostMaster>", "PostMaster@xn--bcher-kva.example"),
        ] {
            assert_eq!(recipient(path), Ok(address.to_owned()), "{path}");
        }
    }

    #[test]
    fn accepts_recipients_of_further_domains() {
        let malformed = None;
        let bad = Some(Refusal::BadRecipient);
        let relay = Some(Refusal::RelayNotPermitted);
        for (accepted, path, address) in [
            ("example.com", "<Ada@EXAMPLE.com>", Ok("Ada@example.com")),
            ("example.com", "<ada@sub.example.com>", Err(relay)),
            ("*.shop.test", "<ada@a.shop.test>", Ok("ada@a.shop.test")),
            ("*.shop.test", "<ada@shop.test>", Err(relay)),
            ("*", "<root@localhost>", Ok("root@localhost")),
            ("*", "<ada@BÜCHER.test>", Ok("ada@xn--bcher-kva.test")),
            ("*", "<jörg@example.com>", Ok("jörg@example.com")),
            ("*", "<ada@[127.0.0.1]>", Err(relay)),
            ("*", "<ada@[IPv6:::1]>", Err(relay)),
            ("*", "<ada@example.com.>", Err(malformed)),
            ("*", "<ada@b_c.example>", Err(malformed)),
            ("*", "<\"a b\"@example.com>", Ok("\"a b\"@example.com")),
            ("*", "<\"a@b\"@example.com>", Err(bad)),
            ("*", "<postmaster>", Ok("postmaster@xn--bcher-kva.example")),
        ] {
            assert_eq!(
                accepted_recipient(path, accepted),
                address.map(str::to_owned),
                "{accepted} {path}"
            );
        }
    }

    #[test]
    fn explains_why_other_recipients_are_rejected() {
        let malformed = None;
        let bad = Some(Refusal::BadRecipient);
        let relay = Some(Refusal::RelayNotPermitted);
        let long = format!("<{}@bücher.example>", "a".repeat(65));
        let long_elsewhere = format!("<{}@other.example>", "a".repeat(65));
        for (path, refusal) in [
            ("<>", malformed),
            ("<a>", malformed),
            ("<a@b_c.example>", malformed),
            ("<\"\"@bücher.example>", bad),
            ("<\"a@b\"@bücher.example>", bad),
            (&long, bad),
            (&long_elsewhere, bad),
            ("<a@other.example>", relay),
            ("<a@sub.bücher.example>", relay),
            ("<a@[192.0.2.1]>", relay),
            ("<a@[IPv6:::1]>", relay),
            ("<\"a@bücher.example\"@other.example>", bad),
            ("<@bücher.example:a@other.example>", relay),
            ("<a%bücher.example@other.example>", relay),
        ] {
            assert_eq!(recipient(path), Err(refusal), "{path}");
        }
    }
}
