//! An open message with its tabs. Only the selected tab is prepared.

use askama::Template;

use super::html_check::CheckView;
use super::letter::Letter;
use super::mail_list::Listing;
use super::page::{given, subject, with_query};
use super::parts::{PartRow, part_rows};
use super::plain::shown;
use super::visit::ProjectPage;
use crate::http::App;
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{Everything, Timestamp, address_of};
use crate::service::{Head, Verifiable};
use restante_api::Authentication;
use restante_mail::checks::{self, Checks};
use restante_mail::details::Link;
use restante_mail::view::{self, SHOWN_BYTES};
use restante_mail::{Codes, Recognised, Rule, anatomy, display};

/// The maximum number of links that a page shows.
const MAX_LINKS: usize = 1_000;
/// Characters of the line with the code that a page shows.
const LINE_CHARACTERS: usize = 1_000;

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
        matches!(self, Self::Html | Self::HtmlSource)
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
struct ReaderQuery {
    tab: Option<Tab>,
    width: &'static str,
    is_dark: bool,
    /// Whether images of other hosts are shown, this once.
    with_images: bool,
    /// Whether SPF, DKIM and DMARC are checked.
    with_dns: bool,
}

impl ReaderQuery {
    fn new(query: &Query) -> Self {
        let named = |name: &str, label: &str| {
            query
                .first(name)
                .is_some_and(|value| value.eq_ignore_ascii_case(label))
        };
        Self {
            tab: Tab::ALL.into_iter().find(|tab| named("tab", tab.label())),
            width: WIDTHS
                .into_iter()
                .find(|width| named("width", width))
                .unwrap_or(WIDTHS[0]),
            is_dark: named("scheme", "dark"),
            with_images: named("images", "show"),
            with_dns: named("dns", "true"),
        }
    }
}

#[derive(Template)]
#[template(path = "message.html")]
pub(super) struct MessageView {
    subject: String,
    letter: Letter,
    pub(super) id: String,
    /// The list, to which a narrow window goes back.
    list_url: String,
    /// The page after the message was deleted.
    next: String,
    /// The inbox, if the list has those of several.
    inbox: Option<(String, String)>,
    reply_url: String,
    forward_url: String,
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
    Html {
        url: String,
        width: String,
        is_dark: bool,
        widths: Vec<Choice>,
        schemes: Vec<Choice>,
        remote: Remote,
        is_cut: bool,
    },
    Text {
        text: Option<String>,
        is_cut: bool,
    },
    Check(CheckView),
    HtmlSource {
        html: String,
        is_cut: bool,
    },
    Links {
        links: Vec<LinkRow>,
        is_cut: bool,
    },
    Code(Vec<CodeView>),
    Headers {
        fields: Vec<(String, String)>,
        more: usize,
    },
    Parts(Vec<PartRow>),
    Source {
        source: String,
        is_cut: bool,
    },
}

/// A link with its text.
struct LinkRow {
    url: String,
    /// The URL as it is shown.
    address: String,
    text: Option<String>,
    is_web: bool,
    /// Where it is, if not in the HTML.
    place: Option<&'static str>,
}

impl LinkRow {
    fn new(link: Link) -> Self {
        let is_web = link.url.starts_with("https://") || link.url.starts_with("http://");
        let place = (!link.is_in_html).then_some("only in the text");
        let text = link
            .text
            .filter(|text| *text != link.url)
            .as_deref()
            .map(shown);
        Self {
            text,
            address: shown(&link.url),
            url: link.url,
            is_web,
            place,
        }
    }
}

struct CodeView {
    code: String,
    rule: &'static str,
    line: Option<String>,
}

impl CodeView {
    fn new(found: Recognised) -> Self {
        let line = given(found.line.chars().take(LINE_CHARACTERS).collect());
        Self {
            code: found.code,
            rule: explanation(found.rule),
            line,
        }
    }
}

/// A message with the results of parsing its source.
struct Opened<'a> {
    listing: &'a Listing,
    /// The URL of its parts.
    parts_url: String,
    /// Its envelope; its bytes have been read and dropped.
    everything: Everything,
    shown: view::View,
    /// How many different images its HTML would load from other hosts. Of the tab that shows it.
    remote_images: usize,
    /// Of the tab that shows them.
    checks: Checks,
    /// SPF, DKIM and DMARC, if they were requested.
    authentication: Option<Authentication>,
}

impl MessageView {
    pub(super) async fn read(
        app: &App,
        page: &ProjectPage,
        message: Head,
        listing: &Listing,
        next: String,
        query: &Query,
    ) -> Result<Self, Error> {
        let inbox = path_segment(message.inbox_id.as_str());
        let inbox_url = page.path(&format!("/inboxes/{inbox}"));
        let address = address_of(
            &message.inbox_id,
            message.shared.as_ref(),
            app.service.mail_domain(),
        );
        let query = &ReaderQuery::new(query);
        let opened = Opened::read(app, page, message, listing, query).await?;
        let has_html = opened.shown.html.bytes > 0;
        let tab = query
            .tab
            .unwrap_or(if has_html { Tab::Html } else { Tab::Text });
        let tab = if tab.needs_html() && !has_html {
            Tab::Text
        } else {
            tab
        };
        let url = format!("{inbox_url}/messages/{}", opened.everything.id);
        Ok(Self {
            subject: subject(&opened.everything.subject),
            letter: opened.letter(&address, app.service.clock().now()),
            reply_url: format!("{inbox_url}/send?reply={}", opened.everything.id),
            forward_url: format!("{url}/forward"),
            id: opened.everything.id.to_string(),
            list_url: listing.base.clone(),
            next,
            eml_url: format!("{}/eml", opened.parts_url),
            delete_url: format!("{url}/delete"),
            csrf: page.session.csrf_token.clone(),
            code: opened
                .shown
                .details
                .codes
                .labelled
                .first()
                .map(|found| found.code.clone()),
            over_budget: opened
                .shown
                .anatomy
                .over_budget
                .map(|budget| budget.to_string()),
            tabs: opened.tabs(tab, has_html),
            view: opened.view(tab, query),
            inbox: listing.inbox.is_none().then_some((inbox_url, address)),
        })
    }
}

impl<'a> Opened<'a> {
    async fn read(
        app: &App,
        page: &ProjectPage,
        message: Head,
        listing: &'a Listing,
        query: &ReaderQuery,
    ) -> Result<Self, Error> {
        let shows_html = matches!(query.tab, None | Some(Tab::Html));
        let is_checked = query.tab == Some(Tab::Check);
        let with_dns = is_checked && query.with_dns;
        let (mut everything, job) = app.service.read_message(&page.caller(), message).await?;
        let raw = std::mem::take(&mut everything.raw);
        let received_at = everything.received_at;
        let reading = job.run(move || {
            let checks = is_checked.then(|| checks::checks(&raw, received_at.as_millis() / 1_000));
            let shown = view::view(&raw);
            let remote_images = shows_html.then(|| display::remote_images(&shown.html.start));
            (
                shown,
                remote_images,
                checks,
                with_dns.then(|| Verifiable::read(&raw)),
            )
        });
        let ((shown, remote_images, checks, verifiable), _) =
            reading.await.map_err(Error::internal)?;
        let authentication = match &verifiable {
            Some(message) => {
                let project = page.project.id;
                let envelope = &everything.envelope;
                Some(
                    app.service
                        .authentication(project, message, envelope, received_at)
                        .await?,
                )
            }
            None => None,
        };
        Ok(Self {
            listing,
            parts_url: page.path(&format!("/messages/{}", everything.id)),
            everything,
            shown,
            remote_images: remote_images.unwrap_or_default(),
            checks: checks.unwrap_or_default(),
            authentication,
        })
    }

    /// The page with a view of the message.
    fn url(&self, parameters: &[(&str, Option<&str>)]) -> String {
        self.listing.message_url(self.everything.id, parameters)
    }

    fn tabs(&self, current: Tab, has_html: bool) -> Vec<Choice> {
        let tabs = Tab::ALL
            .into_iter()
            .filter(|tab| has_html || !tab.needs_html());
        let choice = |tab: Tab| Choice {
            label: tab.label(),
            url: self.url(&[("tab", Some(tab.label()))]),
            count: self.count(tab),
            is_current: tab == current,
        };
        tabs.map(choice).collect()
    }

    fn count(&self, tab: Tab) -> usize {
        match tab {
            Tab::Links => self.shown.details.links.len(),
            Tab::Parts => self
                .shown
                .anatomy
                .parts
                .iter()
                .filter(|part| part.is_attachment || part.is_image)
                .count(),
            _ => 0,
        }
    }

    fn view(self, tab: Tab, query: &ReaderQuery) -> View {
        let dns = [("tab", Some(tab.label())), ("dns", Some("true"))];
        let dns_url = self.url(&dns);
        if tab == Tab::Html {
            return self.html(query);
        }
        let view::View {
            anatomy,
            details,
            text,
            html,
            source,
        } = self.shown;
        match tab {
            Tab::Html | Tab::HtmlSource => View::HtmlSource {
                is_cut: html.is_cut(),
                html: html.start,
            },
            Tab::Text => View::Text {
                is_cut: text.is_cut(),
                text: given(text.start),
            },
            Tab::Links => links_view(details.links),
            Tab::Code => View::Code(found_codes(details.codes)),
            Tab::Headers => {
                // The fields that this server has added come first.
                let mut fields = anatomy::dissect(self.everything.trace.as_bytes()).fields;
                fields.extend(anatomy.fields);
                let fields = fields
                    .iter()
                    .map(|(name, value)| (shown(name), shown(value)))
                    .collect();
                View::Headers {
                    fields,
                    more: anatomy.more_fields,
                }
            }
            Tab::Parts => View::Parts(part_rows(&anatomy.parts, &self.parts_url)),
            Tab::Check => View::Check(CheckView::new(
                self.checks,
                self.authentication.as_ref(),
                dns_url,
            )),
            Tab::Source => View::Source {
                is_cut: source.is_cut(),
                source: source.start,
            },
        }
    }

    fn letter(&self, recipient: &str, now: Timestamp) -> Letter {
        let envelope = &self.everything.envelope;
        let received_at = self.everything.received_at;
        let bytes = self.shown.source.bytes;
        Letter::new(
            &self.shown.details,
            envelope,
            recipient,
            bytes,
            received_at,
            now,
            &self.parts_url,
        )
    }

    /// The images that the HTML would load from other hosts.
    fn remote(&self, query: &ReaderQuery) -> Remote {
        let text = match self.remote_images {
            0 => None,
            1 if query.with_images => Some("1 remote image is shown".to_owned()),
            1 => Some("1 remote image is blocked".to_owned()),
            count if query.with_images => Some(format!("{count} remote images are shown")),
            count => Some(format!("{count} remote images are blocked")),
        };
        let scheme = query.is_dark.then_some("dark");
        let images = (!query.with_images).then_some("show");
        let parameters = [
            ("tab", Some("HTML")),
            ("width", Some(query.width)),
            ("scheme", scheme),
            ("images", images),
        ];
        Remote {
            text,
            url: self.url(&parameters),
            is_shown: query.with_images,
        }
    }

    fn html(&self, query: &ReaderQuery) -> View {
        let choice = |label, width: &str, is_dark: bool| {
            let scheme = is_dark.then_some("dark");
            let parameters = [
                ("tab", Some("HTML")),
                ("width", Some(width)),
                ("scheme", scheme),
            ];
            let is_current = width == query.width && is_dark == query.is_dark;
            Choice {
                label,
                url: self.url(&parameters),
                count: 0,
                is_current,
            }
        };
        View::Html {
            url: with_query(
                &format!("{}/html", self.parts_url),
                &[("images", query.with_images.then_some("show"))],
            ),
            remote: self.remote(query),
            is_cut: self.shown.html.is_cut(),
            width: query.width.to_ascii_lowercase(),
            is_dark: query.is_dark,
            widths: WIDTHS
                .map(|width| choice(width, width, query.is_dark))
                .into(),
            schemes: vec![
                choice("Light", query.width, false),
                choice("Dark", query.width, true),
            ],
        }
    }
}

fn links_view(links: Vec<Link>) -> View {
    let count = links.len();
    let mut bytes = 0;
    let fits = |link: &Link| {
        bytes += link.url.len() + link.text.as_ref().map_or(0, String::len);
        bytes <= SHOWN_BYTES
    };
    let links: Vec<_> = links
        .into_iter()
        .take(MAX_LINKS)
        .take_while(fits)
        .map(LinkRow::new)
        .collect();
    View::Links {
        is_cut: links.len() < count,
        links,
    }
}

/// The labelled codes; if there is none, the one-time code that has no label.
fn found_codes(codes: Codes) -> Vec<CodeView> {
    let Codes { otp, labelled } = codes;
    let shown = if labelled.is_empty() {
        otp.into_iter().collect()
    } else {
        labelled
    };
    shown.into_iter().map(CodeView::new).collect()
}

fn explanation(rule: Rule) -> &'static str {
    match rule {
        Rule::DomainBound => "The last line binds the code to a domain.",
        Rule::LabelBefore => "A label is directly before the code.",
        Rule::LabelAfter => "A label follows the code.",
        Rule::AloneBelowLabel => {
            "The code is alone on its line, and a label is a few lines above it."
        }
        Rule::SameSentence => "A label is in the same sentence as the code.",
        Rule::AloneAboveLabel => "The code is alone on its line, and a label is on the next line.",
        Rule::SixDigits => {
            "No label was found; this is the first six-digit number. It is only the otp field."
        }
    }
}
