//! The URL at which a client reaches the service.

use axum::http::HeaderMap;

use super::host::{for_browsers, for_programs, served_host};

/// The URL at which clients reach the service, without a slash at the end.
#[derive(Clone, Debug)]
pub enum BaseUrl {
    Configured(String),
    /// That of the listener. A client may reach it by another address, or by a port that is mapped
    /// to it.
    Listener(String),
}

impl BaseUrl {
    /// The URL without regard to a client.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let (Self::Configured(url) | Self::Listener(url)) = self;
        url
    }

    /// The URL for the client of a request with these headers: without a configured one, that of
    /// its `Host`, if it is `localhost` or an IP address. Any other name may be unknown to the
    /// people who read the response.
    pub(super) fn for_client(&self, headers: &HeaderMap) -> String {
        let host = match self {
            Self::Configured(_) => None,
            Self::Listener(url) => served_host(headers, url).ok(),
        };
        host.map_or_else(
            || self.as_str().to_owned(),
            |host| format!("http://{}", for_programs(&host)),
        )
    }

    /// The URL at which the client of a request with these headers opens pages.
    #[must_use]
    pub fn for_pages(&self, headers: &HeaderMap) -> String {
        match self {
            Self::Configured(url) => url.clone(),
            Self::Listener(_) => for_browsers(&self.for_client(headers)),
        }
    }

    /// Whether browsers reach the service over TLS.
    pub(super) fn is_https(&self) -> bool {
        self.as_str().starts_with("https:")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn for_client(url: &BaseUrl, host: &'static str) -> String {
        url.for_client(
            &[("host".parse().unwrap(), host.parse().unwrap())]
                .into_iter()
                .collect(),
        )
    }

    #[test]
    fn a_configured_url_is_that_of_every_client() {
        let url = BaseUrl::Configured("https://mail.example".to_owned());
        assert_eq!(for_client(&url, "127.0.0.1:49153"), "https://mail.example");
        assert_eq!(url.for_client(&HeaderMap::new()), "https://mail.example");
        assert_eq!(url.for_pages(&HeaderMap::new()), "https://mail.example");
    }

    #[test]
    fn without_a_configured_url_it_is_the_one_that_the_client_asked() {
        let url = BaseUrl::Listener("http://127.0.0.1:8025".to_owned());
        for (host, expected) in [
            ("localhost:49153", "http://localhost:49153"),
            ("restante.localhost:49153", "http://127.0.0.1:49153"),
            ("172.17.0.2:8025", "http://172.17.0.2:8025"),
            ("[::1]:49153", "http://[::1]:49153"),
            ("restante:8025", "http://127.0.0.1:8025"),
            ("evil.example", "http://127.0.0.1:8025"),
            ("user@localhost:1", "http://127.0.0.1:8025"),
            ("http://localhost/x", "http://127.0.0.1:8025"),
            ("localhost:1/x?y", "http://127.0.0.1:8025"),
            ("localhost:$(x)", "http://127.0.0.1:8025"),
        ] {
            assert_eq!(for_client(&url, host), expected, "{host}");
        }
        assert_eq!(url.for_client(&HeaderMap::new()), "http://127.0.0.1:8025");
        assert_eq!(
            url.for_pages(&HeaderMap::new()),
            "http://restante.localhost:8025"
        );
    }
}
