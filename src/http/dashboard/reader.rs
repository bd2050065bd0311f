//! An open message with its tabs. Only the selected tab is prepared.

use restante_api::{Code, Link, Mailbox, MessageChecks, OtpRule};
use restante_mail::checks::checks;
use restante_mail::view::{self, SHOWN_BYTES, View};
use restante_mail::{anatomy, display};

use super::list::MailList;
use super::page::{Choice, with_query};
use super::visit::ProjectPage;
use crate::authentication::Signed;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{Via, address_of};
use crate::service::{Everything, Head};

/// The maximum number of links that a page shows.
const MAX_LINKS: usize = 1_000;
/// Maximum number of addresses of one field that are shown.
const MAX_ADDRESSES: usize = 50;
/// The widths at which the HTML is shown; the first uses all available space.
const WIDTHS: [&str; 4] = ["Fit", "Phone", "Tablet", "Desktop"];

/// A view of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tab {
    Html,
    Text,
    Links,
    Code,
    Headers,
    Parts,
    Source,
    HtmlSource,
    Check,
}

/// The tabs with their labels, which are also their names in the query.
const TABS: [(Tab, &str); 9] = [
    (Tab::Html, "HTML"),
    (Tab::Text, "Text"),
    (Tab::Links, "Links"),
    (Tab::Code, "Code"),
    (Tab::Headers, "Headers"),
    (Tab::Parts, "Parts"),
    (Tab::Source, "Source"),
    (Tab::HtmlSource, "HTML source"),
    (Tab::Check, "Check"),
];

pub(super) struct MessageView {
    /// Its envelope; its bytes have been read and dropped.
    pub(super) everything: Everything,
    pub(super) view: View,
    pub(super) address: String,
    /// The path of its inbox.
    pub(super) inbox_url: String,
    /// The path of its parts.
    pub(super) parts_url: String,
    /// The page after the message was deleted.
    pub(super) next: String,
    pub(super) tab: Tab,
    pub(super) tabs: Vec<Choice>,
    /// How it can be displayed: widths and colours of HTML, or fonts of text.
    pub(super) display: Vec<Vec<Choice>>,
    pub(super) width: String,
    pub(super) is_dark: bool,
    pub(super) is_mono: bool,
    /// Whether images of other hosts are shown, this once.
    pub(super) with_images: bool,
    /// How many different images its HTML would load from other hosts.
    pub(super) remote_images: usize,
    /// The page that shows them, or blocks them again.
    pub(super) images_url: String,
    /// The page with the results of SPF, DKIM and DMARC.
    pub(super) dns_url: String,
    pub(super) checks: MessageChecks,
}

impl MessageView {
    pub(super) async fn read(
        page: &ProjectPage,
        message: Head,
        list: &MailList,
        query: &Query,
    ) -> Result<Self, Error> {
        let service = page.service();
        let is = |name, value: &str| {
            let given = query.first(name);
            given.is_some_and(|given| given.eq_ignore_ascii_case(value))
        };
        let chosen = TABS.into_iter().find(|(_, label)| is("tab", label));
        let is_checked = chosen.is_some_and(|(tab, _)| tab == Tab::Check);
        let shows_html = chosen.is_none_or(|(tab, _)| tab == Tab::Html);
        let with_dns = is_checked && is("dns", "true");
        let (mut everything, job) = service.read_message(&page.caller(), message).await?;
        let raw = std::mem::take(&mut everything.raw);
        let received_at = everything.head.received_at;
        let reading = job.run(move || {
            let checks = match is_checked {
                true => checks(&raw, received_at.as_millis() / 1_000),
                false => MessageChecks::default(),
            };
            let view = view::view(&raw);
            let remote_images = match shows_html {
                true => display::remote_images(&view.html.start),
                false => 0,
            };
            let verifiable = with_dns.then(|| Signed::read(&raw));
            (view, remote_images, checks, verifiable)
        });
        let ((view, remote_images, mut checks, verifiable), _) =
            reading.await.map_err(Error::internal)?;
        if let Some(message) = &verifiable {
            let envelope = &everything.envelope;
            let project = page.project.id;
            let checking = service.authentication(project, message, envelope, received_at);
            checks.authentication = Some(checking.await?);
        }
        let has_html = view.html.bytes > 0;
        let has = |tab| has_html || !matches!(tab, Tab::Html | Tab::HtmlSource);
        let default = if has_html { Tab::Html } else { Tab::Text };
        let tab = chosen.map_or(default, |(tab, _)| tab);
        let tab = if has(tab) { tab } else { Tab::Text };
        let url = |more: &[(&str, Option<&str>)]| list.url(everything.head.id, more);
        let tabs = TABS.into_iter().filter(|(tab, _)| has(*tab));
        let tabs = tabs.map(|(one, label)| Choice {
            label,
            url: url(&[("tab", Some(label))]),
            count: count(&view, one),
            is_current: one == tab,
        });
        let width = WIDTHS
            .into_iter()
            .find(|width| is("width", width))
            .unwrap_or(WIDTHS[0]);
        let is_dark = is("scheme", "dark");
        let is_mono = is("font", "mono");
        let with_images = is("images", "show");
        let html = |label, of_width, dark: bool, images: bool| Choice {
            label,
            url: url(&[
                ("tab", Some("HTML")),
                ("width", Some(of_width)),
                ("scheme", dark.then_some("dark")),
                ("images", images.then_some("show")),
            ]),
            count: 0,
            is_current: of_width == width && dark == is_dark,
        };
        let font = |label, mono: bool| Choice {
            label,
            url: url(&[("tab", Some("Text")), ("font", mono.then_some("mono"))]),
            count: 0,
            is_current: mono == is_mono,
        };
        let display = match tab {
            Tab::Html => vec![
                WIDTHS
                    .map(|width| html(width, width, is_dark, false))
                    .into(),
                [("Light", false), ("Dark", true)]
                    .map(|(label, dark)| html(label, width, dark, false))
                    .into(),
            ],
            Tab::Text => vec![vec![font("Proportional", false), font("Monospace", true)]],
            _ => Vec::new(),
        };
        let id = &everything.head.inbox_id;
        let shared = everything.head.shared.as_ref();
        Ok(Self {
            address: address_of(id, shared, service.mail_domain()),
            inbox_url: page.inbox_path(id.as_str()),
            parts_url: page.path(&format!("/messages/{}", everything.head.id)),
            next: list.after(everything.head.id),
            tab,
            tabs: tabs.collect(),
            display,
            width: width.to_ascii_lowercase(),
            is_dark,
            is_mono,
            with_images,
            remote_images,
            images_url: html("", width, is_dark, !with_images).url,
            dns_url: url(&[("tab", Some("Check")), ("dns", Some("true"))]),
            checks,
            view,
            everything,
        })
    }

    /// The page of the message in its inbox.
    pub(super) fn url(&self) -> String {
        format!("{}/messages/{}", self.inbox_url, self.everything.head.id)
    }

    /// The URL of the frame with the HTML.
    pub(super) fn html_url(&self) -> String {
        let images = self.with_images.then_some("show");
        with_query(&format!("{}/html", self.parts_url), &[("images", images)])
    }

    /// Whether the HTML has no style for dark schemes, and is shown inverted.
    pub(super) fn is_inverted(&self) -> bool {
        self.is_dark && !self.view.html.start.contains("color-scheme")
    }

    /// The fields with people, and how many more each has.
    pub(super) fn fields(&self) -> [(&'static str, &[Mailbox], usize); 4] {
        let details = &self.view.details;
        let all: [(_, &[Mailbox]); 4] = [
            ("From", &details.from),
            ("To", &details.to),
            ("Cc", &details.cc),
            ("Reply-To", &details.reply_to),
        ];
        all.map(|(name, people)| {
            let (shown, more) = people.split_at(people.len().min(MAX_ADDRESSES));
            (name, shown, more.len())
        })
    }

    /// The lines of the envelope and the connection.
    pub(super) fn envelope(&self) -> Vec<(&'static str, String)> {
        let envelope = &self.everything.envelope;
        let details = &self.view.details;
        let given = |given: Option<&str>, absent: &str| {
            let given = given.filter(|given| !given.is_empty());
            given.unwrap_or(absent).to_owned()
        };
        let tls = envelope.client.as_ref().map_or("", |_| "not encrypted");
        let authenticated = envelope
            .authenticated
            .map(|is| if is { "yes" } else { "no" });
        let mut lines = vec![
            (
                "Envelope sender",
                given(Some(&envelope.from), "<> (the null sender)"),
            ),
            ("Envelope recipient", self.address.clone()),
            ("Received by", given(envelope.via.map(Via::title), "")),
            ("Client", given(envelope.client.as_deref(), "")),
            ("HELO name", given(envelope.helo.as_deref(), "")),
            ("TLS", given(envelope.tls.as_deref(), tls)),
            ("Authenticated", given(authenticated, "")),
            ("Date field", given(details.date.as_deref(), "")),
            ("Message-ID", given(details.message_id.as_deref(), "")),
            ("In reply to", given(details.in_reply_to.as_deref(), "")),
        ];
        lines.retain(|(_, value)| !value.is_empty());
        lines
    }

    /// The links, as many as fit on a page.
    pub(super) fn links(&self) -> Vec<&Link> {
        let mut bytes = 0;
        let fits = |link: &&Link| {
            bytes += link.url.len() + link.text.as_ref().map_or(0, String::len);
            bytes <= SHOWN_BYTES
        };
        let links = self.view.details.links.iter().take(MAX_LINKS);
        links.take_while(fits).collect()
    }

    /// The labelled codes; if there is none, the one-time code that has no label.
    pub(super) fn codes(&self) -> Vec<&Code> {
        let codes = &self.view.details.codes;
        match codes.labelled.is_empty() {
            true => codes.otp.iter().collect(),
            false => codes.labelled.iter().collect(),
        }
    }

    /// The header; the fields that this server has added come first.
    pub(super) fn header(&self) -> Vec<(String, String)> {
        let mut fields = anatomy::dissect(self.everything.trace.as_bytes()).fields;
        fields.extend(self.view.anatomy.fields.iter().cloned());
        fields
    }

    /// The text in pieces, and whether each is a link.
    pub(super) fn linked_text(&self) -> Vec<(bool, &str)> {
        linked(&self.view.text.start)
    }
}

fn count(view: &View, tab: Tab) -> usize {
    let parts = view.anatomy.parts.iter();
    match tab {
        Tab::Links => view.details.links.len(),
        Tab::Parts => parts
            .filter(|part| part.is_attachment || part.is_image)
            .count(),
        _ => 0,
    }
}

/// The text in pieces, and whether each is a link of the web.
fn linked(text: &str) -> Vec<(bool, &str)> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut from = 0;
    while let Some(found) = text[from..].find("http") {
        let at = from + found;
        from = at + "http".len();
        let rest = &text[at..];
        if rest.starts_with("http://") || rest.starts_with("https://") {
            let is_end = |character: char| character.is_whitespace() || "<>\"".contains(character);
            let url = &rest[..rest.find(is_end).unwrap_or(rest.len())];
            let url = url.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '\'']);
            pieces.extend([(false, &text[start..at]), (true, url)]);
            start = at + url.len();
            from = from.max(start);
        }
    }
    pieces.push((false, &text[start..]));
    pieces
}

/// Why a code was recognised.
pub(super) fn explanation(found: &Code) -> &'static str {
    match found.rule {
        OtpRule::DomainBound => "The last line binds the code to a domain.",
        OtpRule::LabelBefore => "A label is directly before the code.",
        OtpRule::LabelAfter => "A label follows the code.",
        OtpRule::AloneBelowLabel => {
            "The code is alone on its line, and a label is a few lines above it."
        }
        OtpRule::SameSentence => "A label is in the same sentence as the code.",
        OtpRule::AloneAboveLabel => {
            "The code is alone on its line, and a label is on the next line."
        }
        OtpRule::SixDigits => {
            "No label was found; this is the first six-digit number. It is only the otp field."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_web_in_a_text_are_links() {
        let text = "Open https://a.example/x?y=1, or (http://b.example). http is no link, httpx:// neither";
        let links = |text| {
            let pieces = linked(text);
            assert_eq!(
                pieces.iter().map(|(_, piece)| *piece).collect::<String>(),
                text
            );
            let links = pieces.into_iter().filter(|(is_link, _)| *is_link);
            links.map(|(_, link)| link).collect::<Vec<_>>()
        };
        assert_eq!(links(text), ["https://a.example/x?y=1", "http://b.example"]);
        assert!(links("").is_empty() && links("javascript:alert(1)").is_empty());
        assert_eq!(links("<https://ä.example/ö>"), ["https://ä.example/ö"]);
    }
}
