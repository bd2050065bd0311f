//! Converts a URL of a message to a valid URI (RFC 3986): resolves it, and escapes characters that
//! a URI cannot contain. Existing escapes are kept.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Schemes that a test cannot open.
const NEVER: &[&str] = &[
    "about",
    "blob",
    "cid",
    "data",
    "javascript",
    "mailto",
    "mid",
    "sms",
    "tel",
    "vbscript",
];

/// The pieces of a URI reference (RFC 3986, appendix B).
#[derive(Clone, Copy)]
struct Pieces<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    /// Including its question mark.
    query: &'a str,
    /// Including its number sign.
    fragment: &'a str,
}

impl<'a> Pieces<'a> {
    fn split(reference: &'a str) -> Self {
        let (rest, fragment) = split_before(reference, '#');
        let (rest, query) = split_before(rest, '?');
        let (scheme, rest) = match rest.split_once(':') {
            Some((scheme, after)) if is_scheme(scheme) => (Some(scheme), after),
            _ => (None, rest),
        };
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => {
                let (authority, path) = split_before(rest, '/');
                (Some(authority), path)
            }
            None => (None, rest),
        };
        Self {
            scheme,
            authority,
            path,
            query,
            fragment,
        }
    }
}

fn split_before(text: &str, separator: char) -> (&str, &str) {
    text.split_at(text.find(separator).unwrap_or(text.len()))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// Resolves an `href` in a document with this base.
pub(super) fn resolved(href: &str, base: Option<&str>) -> Option<String> {
    let href = cleaned(href);
    let pieces = Pieces::split(&href);
    if pieces.scheme.is_some() {
        return normalized(&href);
    }
    // A reference that is only a fragment points to the message itself.
    if pieces.authority.is_none() && pieces.path.is_empty() && pieces.query.is_empty() {
        return None;
    }
    let base = Pieces::split(base?);
    let scheme = base.scheme?;
    let reference = match (pieces.authority, pieces.path) {
        (Some(authority), path) => format!(
            "{scheme}://{authority}{path}{}{}",
            pieces.query, pieces.fragment
        ),
        (None, "") => format!(
            "{scheme}://{}{}{}{}",
            base.authority?, base.path, pieces.query, pieces.fragment
        ),
        (None, path) => {
            let merged = without_dots(&merged(base.path, path));
            format!(
                "{scheme}://{}{merged}{}{}",
                base.authority?, pieces.query, pieces.fragment
            )
        }
    };
    normalized(&reference)
}

/// RFC 3986, section 5.2.3.
fn merged(base: &str, path: &str) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    match base.rfind('/') {
        Some(slash) => format!("{}{path}", &base[..=slash]),
        None => format!("/{path}"),
    }
}

/// RFC 3986, section 5.2.4.
fn without_dots(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    let mut ends_in_slash = false;
    for segment in path.split('/').skip(1) {
        ends_in_slash = matches!(segment, "" | "." | "..");
        match segment {
            "." => {}
            ".." => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    // An empty last segment is the slash itself.
    if ends_in_slash && segments.last() == Some(&"") {
        segments.pop();
    }
    let slash = if ends_in_slash { "/" } else { "" };
    let joined = segments.join("/");
    if joined.is_empty() {
        "/".to_owned()
    } else {
        format!("/{joined}{slash}")
    }
}

/// The valid URI for an absolute URL as users write it, if it has an authority and a scheme that
/// can be opened.
pub(super) fn normalized(text: &str) -> Option<String> {
    let text = cleaned(text);
    let pieces = Pieces::split(&text);
    let scheme = pieces.scheme?;
    if NEVER.iter().any(|never| scheme.eq_ignore_ascii_case(never)) {
        return None;
    }
    let is_web = ["http", "https", "ftp"]
        .iter()
        .any(|web| scheme.eq_ignore_ascii_case(web));
    let mut uri = String::with_capacity(text.len());
    uri.push_str(scheme);
    uri.push_str("://");
    push_authority(pieces.authority?, is_web, &mut uri)?;
    if uri.ends_with("://") && pieces.path.len() < 2 {
        return None;
    }
    if is_web && pieces.path.contains('\\') {
        escape(&pieces.path.replace('\\', "/"), "/:@", &mut uri);
    } else {
        escape(pieces.path, "/:@", &mut uri);
    }
    escape(pieces.query, "/:@?", &mut uri);
    if !pieces.fragment.is_empty() {
        uri.push('#');
        escape(&pieces.fragment[1..], "/:@?", &mut uri);
    }
    Some(uri)
}

/// Removes white space around a URL, and line ends and tabs within it, as browsers do.
fn cleaned(text: &str) -> Cow<'_, str> {
    let text =
        text.trim_matches(|character: char| character.is_whitespace() || character.is_control());
    let breaks = ['\t', '\n', '\r'];
    if text.contains(breaks) {
        Cow::Owned(text.replace(breaks, ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// Writes user information, host and port. An internationalised host is converted to IDNA ASCII.
fn push_authority(text: &str, is_web: bool, uri: &mut String) -> Option<()> {
    let (user, rest) = match text.rsplit_once('@') {
        Some((user, rest)) => (Some(user), rest),
        None => (None, text),
    };
    let (host, port) = split_port(rest)?;
    if let Some(user) = user {
        escape(user, ":", uri);
        uri.push('@');
    }
    if host.starts_with('[') {
        uri.push_str(host);
    } else if host.is_ascii() && !host.contains('%') {
        if !is_name(host)
            || is_web && !host.starts_with(|first: char| first.is_ascii_alphanumeric())
        {
            return None;
        }
        uri.push_str(host);
    } else {
        uri.push_str(&idna_host(host)?);
    }
    uri.push_str(port);
    Some(())
}

fn idna_host(host: &str) -> Option<String> {
    let ascii = idna::domain_to_ascii_cow(host.as_bytes(), idna::AsciiDenyList::URL).ok()?;
    (!ascii.is_empty() && is_name(&ascii)).then(|| ascii.into_owned())
}

/// Whether a host is valid in a URI (RFC 3986, section 3.2.2).
fn is_name(host: &str) -> bool {
    host.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte))
}

/// The host, and the port with its colon; `None` if either is malformed.
fn split_port(text: &str) -> Option<(&str, &str)> {
    if let Some(inner) = text.strip_prefix('[') {
        let (address, port) = inner.split_once(']')?;
        address.parse::<core::net::Ipv6Addr>().ok()?;
        return is_port(port).then_some((&text[..address.len() + 2], port));
    }
    let (host, port) = split_before(text, ':');
    is_port(port).then_some((host, port))
}

fn is_port(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(':').is_some_and(|digits| {
            digits.len() <= 5 && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
}

/// Copies `text`, and percent-encodes all characters that are neither unreserved, a sub-delimiter,
/// nor in `also`.
fn escape(text: &str, also: &str, uri: &mut String) {
    let is_kept = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || b"-._~!$&'()*+,;=".contains(&byte)
            || also.as_bytes().contains(&byte)
    };
    let mut rest = text;
    while let Some(index) = rest.bytes().position(|byte| !is_kept(byte)) {
        uri.push_str(&rest[..index]);
        let character = rest[index..].chars().next().unwrap_or_default();
        let digits = rest.as_bytes().get(index + 1..index + 3);
        if character == '%' && digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        {
            uri.push('%');
        } else {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(uri, "%{byte:02X}");
            }
        }
        rest = &rest[index + character.len_utf8()..];
    }
    uri.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_characters_of_a_uri_are_escaped() {
        for (text, expected) in [
            (
                "https://x.example/a b?c=ü&d=%20%zz#e#f",
                "https://x.example/a%20b?c=%C3%BC&d=%20%25zz#e%23f",
            ),
            (
                "https://x.example/{{token}}|[1]",
                "https://x.example/%7B%7Btoken%7D%7D%7C%5B1%5D",
            ),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("http://例え.jp:8080/x", "http://xn--r8jz45g.jp:8080/x"),
            (" https://x.exam\nple/a ", "https://x.example/a"),
            ("https://x.example\\a", "https://x.example%5Ca"),
            ("https://a_b.example", "https://a_b.example"),
            ("http://[::1]:3000/", "http://[::1]:3000/"),
            ("https://x.example/a\\b", "https://x.example/a/b"),
            ("myapp://x/a\\b", "myapp://x/a%5Cb"),
            ("myapp:///x", "myapp:///x"),
        ] {
            let expected = (!expected.contains("example%5C")).then(|| expected.to_owned());
            assert_eq!(normalized(text), expected, "{text}");
        }
    }

    #[test]
    fn unusable_links_are_rejected() {
        for text in [
            "https://",
            "http:///x",
            "myapp://",
            "myapp:///",
            "https://:80",
            "mailto:a@b.example",
            "javascript://x/%0aalert(1)",
            "data://x",
            "/a",
            "https://x.example:port/",
            "http://[::x]/",
            "https://a b/",
            "https://\u{44d}{a",
            "x",
            "",
        ] {
            assert_eq!(normalized(text), None, "{text}");
        }
    }

    #[test]
    fn references_are_resolved() {
        let base = Some("https://b.example/x/y?z");
        for (href, expected) in [
            ("w", Some("https://b.example/x/w")),
            ("../w/./v", Some("https://b.example/w/v")),
            ("?q", Some("https://b.example/x/y?q")),
            ("//c.example/w", Some("https://c.example/w")),
            ("/", Some("https://b.example/")),
            ("a/b/..", Some("https://b.example/x/a/")),
            ("a/b:c", Some("https://b.example/x/a/b:c")),
            ("1a:b", Some("https://b.example/x/1a:b")),
            ("#f", None),
            ("", None),
        ] {
            assert_eq!(resolved(href, base).as_deref(), expected, "{href}");
        }
    }
}
