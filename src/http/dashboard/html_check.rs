//! The tab with the problems of a message, and the HTML features that some mail clients do not
//! support.

use askama::Template;
use restante_api::{Authentication, AuthenticationResult};
use restante_mail::checks::html_support::Used;
use restante_mail::checks::{Checks, Problem};

use super::plain::{Piece, coded, shown};

/// Maximum number of clients that are listed for a feature.
const NAMED: usize = 6;

/// The results of the checks.
#[derive(Template)]
#[template(path = "check.html")]
pub(super) struct CheckView {
    problems: Vec<ProblemRow>,
    has_html: bool,
    features: Vec<FeatureRow>,
    /// The features that every client supports.
    supported: usize,
    percent: u8,
    results: Vec<ResultRow>,
    /// The URL of this tab with the results of SPF, DKIM and DMARC.
    dns_url: String,
}

/// A result of SPF, DKIM or DMARC.
struct ResultRow {
    name: &'static str,
    result: &'static str,
    detail: Vec<Piece>,
    is_pass: bool,
}

struct ProblemRow {
    severity: &'static str,
    check: &'static str,
    detail: Vec<Piece>,
    /// The part and the line.
    place: String,
    source: String,
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
    pub(super) fn new(
        checks: Checks,
        authentication: Option<&Authentication>,
        dns_url: String,
    ) -> Self {
        let support = checks.html.unwrap_or_default();
        let results = authentication.into_iter().flat_map(Authentication::results);
        let row = |(name, result, detail): (_, AuthenticationResult, &str)| ResultRow {
            name,
            result: result.as_str(),
            detail: coded(&shown(detail)),
            is_pass: result == AuthenticationResult::Pass,
        };
        Self {
            problems: checks.problems.iter().map(ProblemRow::new).collect(),
            has_html: !support.features.is_empty() || support.supported > 0,
            percent: support.percent(),
            features: support.features.iter().map(FeatureRow::new).collect(),
            supported: support.supported,
            results: results.map(row).collect(),
            dns_url,
        }
    }
}

impl ProblemRow {
    fn new(problem: &Problem) -> Self {
        let place = match (problem.part, problem.line) {
            (Some(part), Some(line)) => format!("{}, line {line}", part.as_str()),
            _ => String::new(),
        };
        Self {
            severity: problem.severity.as_str(),
            check: problem.check.as_str(),
            detail: coded(&shown(&problem.detail)),
            place,
            source: problem.source.as_deref().map(shown).unwrap_or_default(),
        }
    }
}

impl FeatureRow {
    fn new(used: &Used) -> Self {
        let clients = used.clients();
        let mut no = used
            .no
            .iter()
            .take(NAMED)
            .copied()
            .collect::<Vec<_>>()
            .join(", ");
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
