//! Mail addresses: a local part and a domain. The owner of the mail domain decides how local parts
//! compare.

use std::fmt;

/// Maximum number of bytes of a local part (RFC 5321, section 4.5.3.1.1).
const LOCAL_PART_BYTES: usize = 64;
/// Maximum number of bytes of an address: a path may have 256 with its angle brackets (RFC 5321,
/// section 4.5.3.1.3).
const ADDRESS_BYTES: usize = 254;

/// The text is not an address to which mail can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a mail address: expected local-part@domain")]
pub struct InvalidAddress;

/// A domain as IDNA ASCII in lower case: `bücher.example` is `xn--bcher-kva.example`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Domain(String);

impl Domain {
    /// Parses a domain name, internationalised or not.
    ///
    /// # Errors
    /// [`InvalidAddress`] for text that is not a host name: empty labels, characters other than
    /// letters, digits and hyphens.
    pub fn parse(name: &str) -> Result<Self, InvalidAddress> {
        let ascii = idna::domain_to_ascii_cow(name.as_bytes(), idna::AsciiDenyList::STD3)
            .map_err(|_| InvalidAddress)?;
        let label_ok = |label: &str| (1..=63).contains(&label.len());
        if ascii.len() > 253 || !ascii.split('.').all(label_ok) {
            return Err(InvalidAddress);
        }
        Ok(Self(ascii.into_owned()))
    }

    /// The name in IDNA ASCII, lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// `local-part@domain`. The local part keeps its upper and lower case. It is a dot-atom; if it has
/// spaces, or dots where a dot-atom may not have them, it is a quoted string: `"ada b"@x.example`.
/// Other local parts that need quotes are not accepted, so that none has an `@`, a bracket or a
/// backslash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EmailAddress {
    local_part: String,
    domain: Domain,
}

impl EmailAddress {
    /// Combines parts that a parser has already separated. The local part has no quotes.
    ///
    /// # Errors
    /// [`InvalidAddress`] if the local part has other characters than those of a dot-atom (RFC
    /// 5322, section 3.2.3, with the UTF-8 of RFC 6531) and spaces, or a part is too long.
    pub fn new(local_part: &str, domain: Domain) -> Result<Self, InvalidAddress> {
        let local_part = written(local_part).ok_or(InvalidAddress)?;
        let too_long = local_part.len() > LOCAL_PART_BYTES
            || local_part.len() + 1 + domain.as_str().len() > ADDRESS_BYTES;
        if too_long {
            return Err(InvalidAddress);
        }
        Ok(Self { local_part, domain })
    }

    /// Parses one bare address: no display name, no angle brackets.
    ///
    /// # Errors
    /// [`InvalidAddress`] for any other text.
    pub fn parse(text: &str) -> Result<Self, InvalidAddress> {
        let (local_part, domain) = text.rsplit_once('@').ok_or(InvalidAddress)?;
        let quoted = local_part
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        if quoted.is_none() && !is_dot_atom(local_part) {
            return Err(InvalidAddress);
        }
        Self::new(quoted.unwrap_or(local_part), Domain::parse(domain)?)
    }

    /// The part before the `@`, with quotes if it needs them.
    #[must_use]
    pub fn local_part(&self) -> &str {
        &self.local_part
    }

    /// The part after the `@`.
    #[must_use]
    pub fn domain(&self) -> &Domain {
        &self.domain
    }
}

impl fmt::Display for EmailAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.local_part, self.domain)
    }
}

/// A local part without its `+tag`, if it has one. Both are as [`EmailAddress::local_part`].
#[must_use]
pub fn without_tag(local_part: &str) -> Option<String> {
    let (base, _) = local_part.split_once('+')?;
    written(base.strip_prefix('"').unwrap_or(base))
}

/// The local part, in quotes if it needs them; `None` if it is empty or has other characters than
/// those of a dot-atom and spaces.
fn written(local_part: &str) -> Option<String> {
    if is_dot_atom(local_part) {
        return Some(local_part.to_owned());
    }
    let is_allowed = |character| is_atom_character(character) || matches!(character, '.' | ' ');
    (!local_part.is_empty() && local_part.chars().all(is_allowed))
        .then(|| format!("\"{local_part}\""))
}

fn is_dot_atom(text: &str) -> bool {
    text.split('.')
        .all(|atom| !atom.is_empty() && atom.chars().all(is_atom_character))
}

fn is_atom_character(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || "!#$%&'*+-/=?^_`{|}~".contains(character)
        || (!character.is_ascii() && !character.is_control() && !character.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_mail_can_be_sent_to() {
        for (text, shown) in [
            ("a@b.example", "a@b.example"),
            ("First.Last+tag@B.EXAMPLE", "First.Last+tag@b.example"),
            ("jörg@bücher.example", "jörg@xn--bcher-kva.example"),
            ("o'neil@localhost", "o'neil@localhost"),
            ("\"Odd 1\"@b.example", "\"Odd 1\"@b.example"),
            ("\"a..b\"@b.example", "\"a..b\"@b.example"),
            ("\".a\"@b.example", "\".a\"@b.example"),
            ("\"a.b+c\"@b.example", "a.b+c@b.example"),
        ] {
            assert_eq!(
                EmailAddress::parse(text).map(|address| address.to_string()),
                Ok(shown.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn a_tag_starts_at_the_first_plus() {
        for (local_part, base) in [
            ("shop+a+b", Some("shop")),
            ("\"odd 1+a b\"", Some("\"odd 1\"")),
            ("\"shop+a b\"", Some("shop")),
            ("shop", None),
            ("+shop", None),
            ("\"+odd 1\"", None),
        ] {
            assert_eq!(without_tag(local_part).as_deref(), base, "{local_part}");
        }
    }

    #[test]
    fn refuses_everything_else() {
        let long_local = format!("{}@b.example", "a".repeat(65));
        let long_domain = format!("a@{}", vec!["d".repeat(60); 5].join("."));
        for text in [
            "",
            "a",
            "@b",
            "a@",
            "a@b..c",
            "a@.b",
            ".a@b",
            "a.@b",
            "a..b@c",
            "a b@c",
            "<a@b>",
            "a@b>",
            "a@b\r\n",
            "a\0@b",
            "a,b@c",
            "\"\"@c",
            "\"@c",
            "\"a@b\"@c",
            "\"a\\ b\"@c",
            "\"a\"b\"@c",
            "\"a<b\"@c",
            "\"a,b\"@c",
            "\"a\tb\"@c",
            "\"a b\" @c",
            "a@[127.0.0.1]",
            "a@b c",
            "a@@b",
            "a@b_c",
            "N <a@b>",
            &long_local,
            &long_domain,
        ] {
            assert_eq!(EmailAddress::parse(text), Err(InvalidAddress), "{text:?}");
        }
    }
}
