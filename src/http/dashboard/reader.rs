//! An open message with its tabs. Only the selected tab is prepared.

use askama::Template;

use super::highlight::{Piece, pieces};
use super::html_check::CheckView;
use super::letter::Letter;
use super::page::{given, subject, with_query};
use super::parts::{PartRow, part_rows};
use super::visit::InboxPage;
use crate::http::App;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{Everything, Message, Parts, Timestamp};
use crate::service::ServiceError;
use restante_mail::details::{self, Details, Link};
use restante_mail::{Recognised, Rule, anatomy, display};

/// Bytes of text or raw message that a page shows; the download has all of it.
const SHOWN_BYTES: usize = 1024 * 1024;
/// A message with this many links may have more: the parser stops at 10,000 links or 4 MiB of them, and one has at most
/// 64 KiB.
const MOST_LINKS: usize = 10_000;
const MOST_LINK_BYTES: usize = (4 * 1024 - 64) * 1024;

/// The widths at which the HTML is shown; the first uses all available space.
const WIDTHS: [&str; 4] = ["Fit", "Phone", "Tablet", "Desktop"];

/// A view of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tab {
    Html,
    HtmlSource,
    Check,
    Text,
    Links,
    Code,
    Headers,
    Parts,
    Source,
}

impl Tab {
    const ALL: [Self; 9] = [
        Self::Html,
        Self::Text,
        Self::Links,
        Self::Code,
        Self::Headers,
        Self::Parts,
        Self::Source,
        Self::HtmlSource,
        Self::Check,
    ];

    /// Whether only a message with HTML has it.
    fn needs_html(self) -> bool {
        matches!(self, Self::Html | Self::HtmlSource | Self::Check)
    }

    /// Its label, which is also its name in the query.
    fn label(self) -> &'static str {
        match self {
            Self::Html => "HTML",
            Self::HtmlSource => "HTML source",
            Self::Check => "Check",
            Self::Text => "Text",
            Self::Links => "Links",
            Self::Code => "Code",
            Self::Headers => "Headers",
            Self::Parts => "Parts",
            Self::Source => "Source",
        }
    }
}

/// The view that the query selects.
pub(super) struct ReaderQuery {
    /// The search of the list, which links keep.
    search: Option<String>,
    tab: Option<Tab>,
    width: &'static str,
    is_dark: bool,
    /// Whether images of other hosts are shown, this once.
    with_images: bool,
}

impl ReaderQuery {
    pub(super) fn new(query: &Query, search: Option<String>) -> Self {
        let named = |name: &str, label: &str| query.first(name).is_some_and(|value| value.eq_ignore_ascii_case(label));
        Self {
            search,
            tab: Tab::ALL.into_iter().find(|tab| named("tab", tab.label())),
            width: WIDTHS.into_iter().find(|width| named("width", width)).unwrap_or(WIDTHS[0]),
            is_dark: named("scheme", "dark"),
            with_images: named("images", "show"),
        }
    }
}

/// An open message.
#[derive(Template)]
#[template(path = "message.html")]
pub(super) struct MessageView {
    subject: String,
    letter: Letter,
    inbox_url: String,
    reply_url: String,
    eml_url: String,
    delete_url: String,
    csrf: String,
    code: Option<String>,
    over_budget: Option<String>,
    tabs: Vec<Choice>,
    view: View,
}

/// A link to another view, or to the current one.
struct Choice {
    label: &'static str,
    url: String,
    count: usize,
    is_current: bool,
}

/// The images of other hosts.
struct Remote {
    /// How many there are, if any.
    text: Option<String>,
    /// The page that shows them, or blocks them again.
    url: String,
    is_shown: bool,
}

/// The content of the selected tab.
enum View {
    Html { url: String, width: String, is_dark: bool, widths: Vec<Choice>, schemes: Vec<Choice>, remote: Remote },
    Text { text: Option<String>, is_cut: bool },
    Check(CheckView),
    HtmlSource { pieces: Vec<Piece>, is_cut: bool },
    Links { links: Vec<LinkRow>, is_cut: bool },
    Code(Option<CodeView>),
    Headers(Vec<(String, String)>),
    Parts(Vec<PartRow>),
    Source { source: String, is_cut: bool },
}

/// A link with its text.
struct LinkRow {
    url: String,
    text: Option<String>,
    is_web: bool,
    /// Where it is, if not in the HTML.
    place: Option<&'static str>,
}

impl LinkRow {
    fn new(link: Link) -> Self {
        let is_web = link.url.starts_with("https://") || link.url.starts_with("http://");
        let place = (!link.is_in_html).then_some("only in the text");
        Self { text: link.text.filter(|text| *text != link.url), url: link.url, is_web, place }
    }
}

struct CodeView {
    code: String,
    rule: Option<&'static str>,
    line: Option<String>,
}

/// A message with the results of parsing its source.
struct Opened {
    /// The URL of the message in its inbox.
    url: String,
    /// The URL of its parts.
    parts_url: String,
    /// Its envelope, and the memory that it takes.
    everything: Everything,
    raw: Vec<u8>,
    anatomy: anatomy::Anatomy,
    details: Details,
    parts: Parts,
}

impl MessageView {
    pub(super) async fn read(
        app: &App,
        page: &InboxPage,
        message: Message,
        query: &ReaderQuery,
    ) -> Result<Self, Error> {
        let opened = Opened::read(app, page, &message).await?;
        let has_html = !opened.parts.html.is_empty();
        let tab = query.tab.unwrap_or(if has_html { Tab::Html } else { Tab::Text });
        let tab = if tab.needs_html() && !has_html { Tab::Text } else { tab };
        let inbox_url = page.path();
        let address = page.inbox.address(app.service.mail_domain());
        Ok(Self {
            subject: subject(&message.subject).to_owned(),
            letter: opened.letter(&address, app.service.clock().now()),
            reply_url: format!("{inbox_url}/send?reply={}", message.id),
            inbox_url,
            eml_url: format!("{}/eml", opened.parts_url),
            delete_url: format!("{}/delete", opened.url),
            csrf: page.of.session.csrf_token.clone(),
            code: given(opened.parts.otp.clone()),
            over_budget: opened.anatomy.over_budget.map(|budget| budget.to_string()),
            tabs: opened.tabs(tab, has_html, query.search.as_deref()),
            view: opened.view(tab, query),
        })
    }
}

impl Opened {
    async fn read(app: &App, page: &InboxPage, message: &Message) -> Result<Self, Error> {
        let mut everything = app.service.whole_message(&page.of.caller(), &message.id.to_string()).await?;
        let raw = std::mem::take(&mut everything.raw);
        // Parsing a large message takes time, so it runs on a blocking thread.
        let reading = tokio::task::spawn_blocking(move || (details::with_anatomy(&raw), raw));
        let ((anatomy, details), raw) = reading.await.map_err(Error::internal)?;
        Ok(Self {
            url: format!("{}/messages/{}", page.path(), message.id),
            parts_url: page.of.path(&format!("/messages/{}", message.id)),
            everything,
            raw,
            anatomy,
            details,
            parts: message.parts.read().map_err(ServiceError::from)?,
        })
    }

    fn tabs(&self, current: Tab, has_html: bool, search: Option<&str>) -> Vec<Choice> {
        let tabs = Tab::ALL.into_iter().filter(|tab| has_html || !tab.needs_html());
        let choice = |tab: Tab| {
            let url = with_query(&self.url, &[("q", search), ("tab", Some(tab.label()))]);
            Choice { label: tab.label(), url, count: self.count(tab), is_current: tab == current }
        };
        tabs.map(choice).collect()
    }

    fn count(&self, tab: Tab) -> usize {
        match tab {
            Tab::Links => self.details.links.len(),
            Tab::Parts => self.anatomy.parts.iter().filter(|part| part.is_attachment || part.is_image).count(),
            _ => 0,
        }
    }

    fn view(self, tab: Tab, query: &ReaderQuery) -> View {
        match tab {
            Tab::Html => self.html(query),
            Tab::Text => {
                let is_cut = self.parts.text.len() > SHOWN_BYTES;
                View::Text { text: given(shown(self.parts.text)), is_cut }
            }
            Tab::Links => {
                let links = self.details.links;
                let bytes: usize = links.iter().map(|link| link.url.len()).sum();
                let is_cut = links.len() >= MOST_LINKS || bytes > MOST_LINK_BYTES;
                View::Links { is_cut, links: links.into_iter().map(LinkRow::new).collect() }
            }
            Tab::Code => View::Code(code_view(self.parts.otp, self.details.code)),
            Tab::Headers => {
                // The fields that this server has added come first.
                let mut fields = anatomy::dissect(self.everything.trace.as_bytes()).fields;
                fields.extend(self.anatomy.fields);
                View::Headers(fields)
            }
            Tab::Parts => View::Parts(part_rows(&self.anatomy.parts, &self.parts_url)),
            Tab::Check => View::Check(CheckView::new(&self.parts.html, &self.details)),
            Tab::HtmlSource => {
                let is_cut = self.parts.html.len() > SHOWN_BYTES;
                View::HtmlSource { pieces: pieces(&shown(self.parts.html)), is_cut }
            }
            Tab::Source => {
                let is_cut = self.raw.len() > SHOWN_BYTES;
                View::Source { source: shown(String::from_utf8_lossy(&self.raw).into_owned()), is_cut }
            }
        }
    }

    fn letter(&self, recipient: &str, now: Timestamp) -> Letter {
        let (envelope, received_at) = (&self.everything.envelope, self.everything.received_at);
        Letter::new(&self.details, envelope, recipient, self.raw.len(), received_at, now, &self.parts_url)
    }

    /// The images that the HTML would load from other hosts.
    fn remote(&self, query: &ReaderQuery) -> Remote {
        let text = match display::remote_images(&self.parts.html) {
            0 => None,
            1 if query.with_images => Some("1 remote image is shown".to_owned()),
            1 => Some("1 remote image is blocked".to_owned()),
            count if query.with_images => Some(format!("{count} remote images are shown")),
            count => Some(format!("{count} remote images are blocked")),
        };
        let (search, scheme) = (query.search.as_deref(), query.is_dark.then_some("dark"));
        let images = (!query.with_images).then_some("show");
        let parameters = [
            ("q", search),
            ("tab", Some("HTML")),
            ("width", Some(query.width)),
            ("scheme", scheme),
            ("images", images),
        ];
        Remote { text, url: with_query(&self.url, &parameters), is_shown: query.with_images }
    }

    fn html(&self, query: &ReaderQuery) -> View {
        let choice = |label, width: &str, is_dark: bool| {
            let (search, scheme) = (query.search.as_deref(), is_dark.then_some("dark"));
            let parameters = [("q", search), ("tab", Some("HTML")), ("width", Some(width)), ("scheme", scheme)];
            let is_current = width == query.width && is_dark == query.is_dark;
            Choice { label, url: with_query(&self.url, &parameters), count: 0, is_current }
        };
        View::Html {
            url: with_query(&format!("{}/html", self.parts_url), &[("images", query.with_images.then_some("show"))]),
            remote: self.remote(query),
            width: query.width.to_ascii_lowercase(),
            is_dark: query.is_dark,
            widths: WIDTHS.map(|width| choice(width, width, query.is_dark)).into(),
            schemes: vec![choice("Light", query.width, false), choice("Dark", query.width, true)],
        }
    }
}

/// The start of a text, as long as a page shows it.
fn shown(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(SHOWN_BYTES));
    text
}

/// The code that the API returns, with the reason if the reason belongs to this code.
fn code_view(code: String, recognised: Option<Recognised>) -> Option<CodeView> {
    let recognised = recognised.filter(|recognised| recognised.code == code);
    let rule = recognised.as_ref().map(|recognised| explanation(recognised.rule));
    let line = recognised.and_then(|recognised| given(recognised.line));
    given(code).map(|code| CodeView { code, rule, line })
}

fn explanation(rule: Rule) -> &'static str {
    match rule {
        Rule::DomainBound => "The last line binds the code to a domain.",
        Rule::LabelBefore => "A label is directly before the code.",
        Rule::LabelAfter => "A label follows the code.",
        Rule::AloneBelowLabel => "The code is alone on its line, and a label is a few lines above it.",
        Rule::SameSentence => "A label is in the same sentence as the code.",
        Rule::AloneAboveLabel => "The code is alone on its line, and a label is on the next line.",
        Rule::SixDigits => "No label was found; this is the first six-digit number.",
    }
}
