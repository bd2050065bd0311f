//! The hosts that are served, and the origins that are accepted: prevents foreign pages in a
//! browser from using this service.

use std::net::IpAddr;

use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};

use super::error::Error;

/// The host, and the port if there is one, that the client asked.
pub(super) fn asked(headers: &HeaderMap) -> Option<Authority> {
    let host = headers.get(HOST)?.to_str().ok()?;
    // A Host header has no user (RFC 9110, section 7.2), but the parser would accept one.
    if host.contains('@') {
        None
    } else {
        host.parse().ok()
    }
}

/// Returns the host to which the client has connected: the name of the base URL, `localhost` or an
/// IP address. Any other name is rejected, because its DNS entry may point here to attack a
/// browser.
pub(super) fn served_host(headers: &HeaderMap, base_url: &str) -> Result<String, Error> {
    let asked = asked(headers).ok_or(Error::WrongHost)?;
    let has_valid_port = asked.port().is_some() || asked.host().len() == asked.as_str().len();
    let name = asked.host().trim_start_matches('[').trim_end_matches(']');
    let own: Option<Uri> = base_url.parse().ok();
    let is_own = own
        .as_ref()
        .and_then(Uri::host)
        .is_some_and(|own| own.eq_ignore_ascii_case(name));
    let served = is_own || name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok();
    if served && has_valid_port {
        Ok(asked.as_str().to_ascii_lowercase())
    } else {
        Err(Error::WrongHost)
    }
}

/// Whether a change was sent by one of this server's pages: browsers send the origin with every
/// POST.
pub(super) fn is_own_origin(headers: &HeaderMap, host: &str) -> bool {
    let origin = headers
        .get(ORIGIN)
        .and_then(|origin| origin.to_str().ok())
        .unwrap_or_default();
    let authority = origin
        .strip_prefix("https://")
        .or_else(|| origin.strip_prefix("http://"));
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        [(name.parse().unwrap(), value.parse().unwrap())]
            .into_iter()
            .collect()
    }

    #[test]
    fn a_name_that_is_not_ours_is_not_served() {
        let served = |host| served_host(&headers("host", host), "https://mail.example/x").is_ok();
        for host in [
            "mail.example",
            "MAIL.example:8025",
            "127.0.0.1:8025",
            "[::1]:8025",
            "localhost:1",
            "10.0.0.7",
        ] {
            assert!(served(host), "{host}");
        }
        for host in [
            "evil.example",
            "mail.example.evil.example",
            "localhost.evil.example",
            "a@mail.example:x",
            "http://localhost/",
            "localhost:$(x)",
            "",
        ] {
            assert!(!served(host), "{host}");
        }
        assert!(served_host(&HeaderMap::new(), "https://mail.example").is_err());
    }

    #[test]
    fn only_our_own_origin_may_make_changes() {
        let own = |origin| is_own_origin(&headers("origin", origin), "mail.example:8025");
        assert!(own("http://mail.example:8025") && own("https://MAIL.example:8025"));
        for origin in [
            "null",
            "",
            "http://mail.example",
            "http://evil.example",
            "mail.example:8025",
        ] {
            assert!(!own(origin), "{origin}");
        }
        assert!(!is_own_origin(&HeaderMap::new(), "mail.example"));
    }
}
