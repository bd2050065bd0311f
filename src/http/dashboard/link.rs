//! Shows where a link of a message leads before it is opened: a message may be hostile, and its
//! text may name another address than the link has.

use askama::Template;
use axum::response::Response;
use url::Url;

use super::failure::PageError;
use super::page::{Shell, html};
use super::plain::shown;
use super::visit::ProjectPage;
use crate::http::query::Query;

#[derive(Template)]
#[template(path = "link.html")]
struct LinkPage {
    shell: Shell,
    /// The URL as the message has it, with invisible characters shown.
    target: String,
    /// Where the browser would connect, and the URL to open; `None` if it is not an address of the
    /// web.
    web: Option<Web>,
}

struct Web {
    host: String,
    url: String,
}

pub(super) async fn show(page: ProjectPage, query: Query) -> Result<Response, PageError> {
    let target = query.first("to").unwrap_or_default();
    let shell = page.shell("Open a link", "mail");
    Ok(html(&LinkPage {
        shell,
        web: Web::parse(&target),
        target: shown(&target),
    })?)
}

impl Web {
    /// `//host/path` has the scheme of the page that shows it, which is not known here.
    fn parse(target: &str) -> Option<Self> {
        let target = target.trim();
        let url = if target.starts_with("//") {
            format!("https:{target}")
        } else {
            target.to_owned()
        };
        let url = Url::parse(&url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"))?;
        Some(Self {
            host: url.host_str()?.to_owned(),
            url: url.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_of_the_web_can_be_opened() {
        let host = |target| Web::parse(target).map(|web| web.host);
        assert_eq!(
            host("https://shop.example@evil.example/x"),
            Some("evil.example".to_owned())
        );
        assert_eq!(host("//shop.example/x"), Some("shop.example".to_owned()));
        for target in [
            "javascript:alert(1)",
            "mailto:a@b.example",
            "data:text/html,x",
            "/sign-out",
            "",
        ] {
            assert_eq!(host(target), None, "{target}");
        }
    }
}
