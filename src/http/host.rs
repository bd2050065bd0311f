//! The hosts that are served, and the origins that are accepted: prevents foreign pages in a
//! browser from using this service.

use std::net::IpAddr;

use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, Uri};

use super::error::Error;

/// The name of the dashboard on this machine. Browsers resolve it to loopback, and send its cookies
/// to no other program there.
const DASHBOARD_NAME: &str = "restante.localhost";
/// What names this machine to programs, most of which cannot resolve the dashboard's name.
const LOOPBACK: &str = "127.0.0.1";

/// The URL at which a browser opens `url`: on this machine, the dashboard has a separate name.
pub fn for_browsers(url: &str) -> String {
    for host in [LOOPBACK, "localhost", "[::1]"] {
        if let Some(rest) = url
            .strip_prefix("http://")
            .and_then(|url| url.strip_prefix(host))
            && (rest.is_empty() || rest.starts_with([':', '/']))
        {
            return format!("http://{DASHBOARD_NAME}{rest}");
        }
    }
    url.to_owned()
}

/// The host, with its port if it has one, at which programs reach what a browser has asked.
pub(super) fn for_programs(host: &str) -> String {
    match host.strip_prefix(DASHBOARD_NAME) {
        Some(port) => format!("{LOOPBACK}{port}"),
        None => host.to_owned(),
    }
}

/// Checks that no page of another site makes a browser send a request, unless to open a page.
/// Returns the host to which the client has connected.
///
/// Browsers send an origin with every request that changes something, and say of each request which
/// site has caused it; other clients do neither. Ports of one host are one site.
pub(super) fn own_host(
    method: &Method,
    headers: &HeaderMap,
    base_url: &str,
) -> Result<String, Error> {
    let host = served_host(headers, base_url)?;
    let is = |name, value| headers.get(name).is_some_and(|found| found == value);
    let is_foreign = is("sec-fetch-site", "cross-site") || is("sec-fetch-site", "same-site");
    let opens_page = method == Method::GET
        && is("sec-fetch-mode", "navigate")
        && is("sec-fetch-dest", "document");
    let has_foreign_origin = headers.contains_key(ORIGIN) && !is_own_origin(headers, &host);
    if has_foreign_origin || is_foreign && !opens_page {
        return Err(Error::ForeignOrigin);
    }
    Ok(host)
}

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

/// Returns the host to which the client has connected: the name of the base URL, that of the
/// dashboard on this machine, `localhost` or an IP address. Any other name is rejected, because its
/// DNS entry may point here to attack a browser.
pub(super) fn served_host(headers: &HeaderMap, base_url: &str) -> Result<String, Error> {
    let wrong = |asked: &str| Error::WrongHost {
        asked: asked.to_owned(),
        base_url: base_url.to_owned(),
    };
    let asked = asked(headers).ok_or_else(|| wrong("(none)"))?;
    let has_valid_port = asked.port().is_some() || asked.host().len() == asked.as_str().len();
    let name = asked.host().trim_start_matches('[').trim_end_matches(']');
    let own: Option<Uri> = base_url.parse().ok();
    let is_own = own
        .as_ref()
        .and_then(Uri::host)
        .is_some_and(|own| own.eq_ignore_ascii_case(name));
    let is_this_machine = ["localhost", DASHBOARD_NAME]
        .iter()
        .any(|own| own.eq_ignore_ascii_case(name));
    let served = is_own || is_this_machine || name.parse::<IpAddr>().is_ok();
    if served && has_valid_port {
        Ok(asked.as_str().to_ascii_lowercase())
    } else {
        Err(wrong(asked.as_str()))
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
            "Restante.localhost:8025",
            "10.0.0.7",
        ] {
            assert!(served(host), "{host}");
        }
        for host in [
            "evil.example",
            "mail.example.evil.example",
            "localhost.evil.example",
            "evil.restante.localhost",
            "evil.localhost",
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
    fn on_this_machine_browsers_use_the_name_of_the_dashboard_and_programs_do_not() {
        for (url, expected) in [
            ("http://127.0.0.1:8025", "http://restante.localhost:8025"),
            ("http://localhost/x", "http://restante.localhost/x"),
            ("http://[::1]:1", "http://restante.localhost:1"),
            ("https://localhost:1", "https://localhost:1"),
            ("http://127.0.0.10:1", "http://127.0.0.10:1"),
            ("http://localhost.example", "http://localhost.example"),
            ("http://10.0.0.7:8025", "http://10.0.0.7:8025"),
        ] {
            assert_eq!(for_browsers(url), expected);
        }
        assert_eq!(for_programs("restante.localhost:8025"), "127.0.0.1:8025");
        assert_eq!(for_programs("localhost:8025"), "localhost:8025");
    }

    #[test]
    fn another_site_may_only_open_a_page() {
        let is_own = |method, site: &str, mode: &str, to: &str| {
            let pairs = [
                ("host", "127.0.0.1:8025"),
                ("sec-fetch-site", site),
                ("sec-fetch-mode", mode),
                ("sec-fetch-dest", to),
            ];
            let headers = pairs
                .into_iter()
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
                .collect();
            own_host(&method, &headers, "http://127.0.0.1:8025").is_ok()
        };
        for site in ["cross-site", "same-site"] {
            assert!(is_own(Method::GET, site, "navigate", "document"));
            assert!(!is_own(Method::POST, site, "navigate", "document"));
            for (mode, to) in [
                ("no-cors", "object"),
                ("navigate", "object"),
                ("navigate", "iframe"),
                ("cors", "empty"),
                ("no-cors", "image"),
            ] {
                assert!(!is_own(Method::GET, site, mode, to), "{site} {mode} {to}");
            }
        }
        for site in ["same-origin", "none"] {
            assert!(is_own(Method::GET, site, "no-cors", "object"));
            assert!(is_own(Method::POST, site, "navigate", "iframe"));
        }
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
