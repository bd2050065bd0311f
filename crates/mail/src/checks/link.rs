//! Links that lead nowhere, or not where they should.

use core::net::IpAddr;
use restante_api::{CheckName, Severity, SourcePart};

use super::Mail;
use super::problems::{Problems, quoted};
use crate::links;

/// Schemes of links that are no addresses of pages.
const OTHER_SCHEMES: [&str; 8] = [
    "mailto:",
    "tel:",
    "sms:",
    "callto:",
    "webcal:",
    "cid:",
    "geo:",
    "whatsapp:",
];
/// Names that only a local network has.
const LOCAL_SUFFIXES: [&str; 5] = [".localhost", ".local", ".internal", ".lan", ".home.arpa"];

pub(super) fn check(mail: &Mail<'_>, problems: &mut Problems<'_>) {
    problems.start(CheckName::Link);
    let hrefs = || {
        mail.page
            .links
            .iter()
            .map(|link| (SourcePart::Html, link.offset, link.href.trim()))
    };
    let urls = links::urls(mail.text)
        .map(|range| (SourcePart::Text, range.start, mail.text[range].trim()));
    let all: Vec<_> = hrefs().chain(urls).collect();
    let has_https = all
        .iter()
        .any(|(_, _, url)| url.to_ascii_lowercase().starts_with("https://"));
    for (part, offset, href) in all {
        // The check of placeholders reports these.
        if ["{{", "{%", "${", "<%", "*|", "%7B%7B"]
            .iter()
            .any(|start| href.contains(start))
        {
            continue;
        }
        if let Some((severity, wrong)) = wrong(href, mail.page.has_base, has_https) {
            let detail = match href.is_empty() {
                true => wrong.to_owned(),
                false => format!("{wrong}: {}", quoted(href)),
            };
            problems.at(severity, part, offset, detail);
        }
    }
}

/// What is wrong with a link.
fn wrong(href: &str, has_base: bool, has_https: bool) -> Option<(Severity, &'static str)> {
    if href.is_empty() {
        return Some((Severity::Error, "A link is empty"));
    }
    if href.starts_with('#') {
        return (href == "#").then_some((Severity::Warning, "A link leads nowhere"));
    }
    let lower = href.to_ascii_lowercase();
    if lower.starts_with("javascript:") {
        return Some((
            Severity::Error,
            "A link runs a script, which mail clients do not",
        ));
    }
    if lower.starts_with("file:") {
        return Some((Severity::Error, "A link leads to a file of this computer"));
    }
    if OTHER_SCHEMES.iter().any(|scheme| lower.starts_with(scheme)) {
        return None;
    }
    let (scheme, rest) = match lower.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest),
        _ if lower.starts_with("//") => return Some((Severity::Error, "A link has no scheme")),
        _ if has_base => return None,
        _ => {
            return Some((
                Severity::Error,
                "A link is relative, and a mail has no address to which it could be",
            ));
        }
    };
    if !matches!(scheme, "http" | "https") {
        // A link into an application: `myapp://confirm`.
        return None;
    }
    let Some(host) = rest.strip_prefix("//").and_then(host) else {
        return Some((Severity::Error, "A link is not a URL"));
    };
    if href.contains(char::is_whitespace) || href.contains(char::is_control) {
        return Some((Severity::Error, "A link has a space in it"));
    }
    if is_private(&host) {
        return Some((Severity::Warning, "A link leads to a private host"));
    }
    (scheme == "http" && has_https)
        .then_some((Severity::Warning, "A link is not encrypted, unlike others"))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|one: char| one.is_ascii_alphabetic())
        && text.chars().all(|one| one.is_ascii_alphanumeric() || "+-.".contains(one))
        // A host with a port: `localhost:3000`.
        && !matches!(text, "localhost") && !text.contains('.')
}

/// The host of an authority; `None` if it has none that can exist.
fn host(rest: &str) -> Option<String> {
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let (_, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if let Some(address) = host.strip_prefix('[') {
        return address
            .split_once(']')
            .map(|(address, _)| address.to_owned());
    }
    let (host, port) = host.split_once(':').unwrap_or((host, ""));
    let is_name = |host: &str| {
        host.chars()
            .all(|one| one.is_alphanumeric() || matches!(one, '-' | '.' | '_' | '%'))
    };
    let is_valid = !host.is_empty()
        && is_name(host)
        && !host.starts_with('.')
        && !host.contains("..")
        && port.bytes().all(|byte| byte.is_ascii_digit());
    is_valid.then(|| host.to_owned())
}

fn is_private(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => {
            address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_unspecified()
        }
        Ok(IpAddr::V6(address)) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
        }
        Err(_) => {
            let host = host.trim_end_matches('.');
            !host.contains('.') || LOCAL_SUFFIXES.iter().any(|suffix| host.ends_with(suffix))
        }
    }
}
