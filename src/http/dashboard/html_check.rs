//! The check of a message's HTML: support by mail clients, the size limit of Gmail, accessibility, and requirements of
//! mailbox providers.

use askama::Template;
use restante_mail::check::{self, Used};
use restante_mail::details::{Details, ListUnsubscribe};
use restante_mail::view::Shown;

use super::when::size;

/// Gmail shows this many bytes of a message's HTML; the rest is on a separate page.
const GMAIL_BYTES: usize = 102 * 1024;
/// Maximum number of clients that are listed for a feature.
const NAMED: usize = 6;

/// The results of the check.
#[derive(Template)]
#[template(path = "check.html")]
pub(super) struct CheckView {
    verdicts: Vec<Verdict>,
    features: Vec<FeatureRow>,
    /// The features that every client supports.
    supported: usize,
}

/// One result.
struct Verdict {
    is_good: bool,
    text: String,
}

/// A feature that some clients do not support.
struct FeatureRow {
    title: &'static str,
    url: String,
    yes: usize,
    partly: usize,
    clients: usize,
    no: String,
    /// How many clients support it, in tenths, for the bar.
    tenths: usize,
}

impl CheckView {
    pub(super) fn new(html: &Shown, details: &Details) -> Self {
        let check = check::check(&html.start);
        let mut verdicts = vec![size_verdict(html.bytes)];
        if check.images > 0 {
            verdicts.push(match check.without_alt {
                0 => good(format!("All {} images have an alt attribute (possibly empty).", check.images)),
                missing => bad(format!("{missing} of {} images have no alt attribute.", check.images)),
            });
        }
        verdicts.push(match check.has_language {
            true => good("The lang attribute is set, so screen readers can pronounce the text correctly."),
            false => bad("The html element has no lang attribute, so screen readers have to guess the language."),
        });
        verdicts.push(match check.has_title {
            true => good("The HTML has a title."),
            false => bad("The HTML has no title; some clients show it as the name of the tab."),
        });
        verdicts.push(unsubscribe_verdict(details.list_unsubscribe.as_ref()));
        verdicts.sort_by_key(|verdict| verdict.is_good);
        Self { verdicts, features: check.features.iter().map(FeatureRow::new).collect(), supported: check.supported }
    }
}

impl FeatureRow {
    fn new(used: &Used) -> Self {
        let clients = used.yes + used.partly + used.no.len();
        let mut no = used.no.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        if used.no.len() > NAMED {
            no.push_str(&format!(" and {} more", used.no.len() - NAMED));
        }
        Self {
            title: used.title,
            url: format!("https://www.caniemail.com/features/{}/", used.slug),
            yes: used.yes,
            partly: used.partly,
            clients,
            no,
            tenths: (2 * used.yes + used.partly) * 5 / clients.max(1),
        }
    }
}

fn size_verdict(bytes: usize) -> Verdict {
    let size = size(bytes as u64);
    if bytes > GMAIL_BYTES {
        bad(format!("The HTML is {size}. Gmail clips a message after 102 KiB and shows the rest on a separate page."))
    } else {
        good(format!("The HTML is {size}, less than the 102 KiB after which Gmail clips a message."))
    }
}

/// RFC 8058 requires an HTTPS URI, and a field which states that a POST to it is enough.
fn unsubscribe_verdict(field: Option<&ListUnsubscribe>) -> Verdict {
    let Some(field) = field else {
        return bad(
            "There is no List-Unsubscribe field. Gmail and Yahoo require it for bulk mail; transactional mail \
             does not need it.",
        );
    };
    let has_https = field.urls.iter().any(|url| url.to_ascii_lowercase().starts_with("https://"));
    match (has_https, field.one_click) {
        (true, true) => good("List-Unsubscribe works with one click (RFC 8058)."),
        (false, _) => bad("List-Unsubscribe has no https URI, so one click is not possible (RFC 8058)."),
        (true, false) => bad(
            "List-Unsubscribe-Post: List-Unsubscribe=One-Click is missing, so one click is not possible (RFC 8058).",
        ),
    }
}

fn good(text: impl Into<String>) -> Verdict {
    Verdict { is_good: true, text: text.into() }
}

fn bad(text: impl Into<String>) -> Verdict {
    Verdict { is_good: false, text: text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_click_needs_both_fields() {
        let field = |url: &str, one_click| ListUnsubscribe { urls: vec![url.to_owned()], one_click };
        assert!(unsubscribe_verdict(Some(&field("HTTPS://a.example/out", true))).is_good);
        assert!(!unsubscribe_verdict(Some(&field("https://a.example/out", false))).is_good);
        assert!(!unsubscribe_verdict(Some(&field("mailto:out@a.example", true))).is_good);
        assert!(!unsubscribe_verdict(None).is_good);
    }

    #[test]
    fn gmail_s_limit_is_102_kib() {
        assert!(size_verdict(GMAIL_BYTES).is_good && !size_verdict(GMAIL_BYTES + 1).is_good);
    }
}
