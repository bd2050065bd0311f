//! Shows where a link of a message leads before it is opened: a message may be hostile, and its
//! text may name another address than the link has.

use askama::Template;
use url::Url;

use super::page::{Answer, Shell, html};
use super::plain;
use super::visit::ProjectPage;
use crate::http::query::Query;

#[derive(Template)]
#[template(path = "link.html")]
struct LinkPage {
    shell: Shell,
    /// The URL as the message has it.
    target: String,
    /// The URL to open; `None` if it is not an address of the web.
    web: Option<Url>,
}

pub(super) async fn show(page: ProjectPage, query: Query) -> Answer {
    let target = query.first("to").unwrap_or_default();
    let shell = page.shell("Open a link", "mail").await?;
    let web = web(&target);
    Ok(html(&LinkPage { shell, web, target })?)
}

/// `//host/path` has the scheme of the page that shows it, which is not known here.
fn web(target: &str) -> Option<Url> {
    let target = target.trim();
    let scheme = if target.starts_with("//") {
        "https:"
    } else {
        ""
    };
    let url = Url::parse(&format!("{scheme}{target}")).ok()?;
    Some(url).filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_of_the_web_can_be_opened() {
        let host = |target| web(target)?.host_str().map(str::to_owned);
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
