//! What failed in a project: waits that timed out and mail that was rejected, grouped by cause, the
//! newest first; above them the waits that are open. A rejection that a wait failed by is not
//! listed beside that wait.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;

use super::explained::story_url;
use super::failure::PageError;
use super::page::{Choice, Shell, html, time_since, times, with_query};
use super::plain::{Piece, cause, coded, shown};
use super::timeline::timeline_of;
use super::visit::{ProjectPage, looked_cookie, new_failures};
use super::waits::{Filter, OpenWait, filters, open_waits};
use super::when::When;
use crate::evidence::{Cause, Failure, FailureFilter, Finding, Reading, advice, rejection, title};
use crate::http::App;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{RefusalFilter, RefusedMail, Timestamp, Watched};
use crate::service::MAX_REFUSALS_SHOWN;

/// Maximum number of waits that are grouped; older ones are counted by no group.
const MAX_WAITS: usize = 500;
/// Maximum number of entries of a group: on the page of all groups, and if it is the only one.
const MAX_ENTRIES: usize = 5;
const MAX_ENTRIES_OF_ONE: usize = 200;
#[derive(Template)]
#[template(path = "failures.html")]
struct FailuresPage {
    shell: Shell,
    base: String,
    wanted: Wanted,
    causes: Vec<Choice>,
    times: Vec<Choice>,
    open: Vec<OpenWait>,
    groups: Vec<Group>,
    /// What is counted, if there may be more.
    limits: Option<String>,
}

/// The filters of the query.
struct Wanted {
    search: Option<String>,
    cause: Option<String>,
    time: Option<String>,
    group: Option<String>,
}

/// Failures with the same cause.
struct Group {
    key: String,
    cause: &'static str,
    title: &'static str,
    /// The number of waits that timed out.
    waits: usize,
    /// The number of other rejections, and what happened to the mail.
    rejections: usize,
    outcome: &'static str,
    /// The cause in one sentence.
    sentence: Vec<Piece>,
    advice: Vec<Piece>,
    newest_at: Timestamp,
    newest: When,
    entries: Vec<Entry>,
    /// The label and the URL of the page of the group, if that has more entries.
    all: Option<(String, String)>,
}

struct Entry {
    at: Timestamp,
    url: Option<String>,
    address: String,
    label: Option<String>,
    filters: Vec<Filter>,
    when: When,
}

impl Wanted {
    fn new(query: &Query) -> Self {
        let given = |name| query.first(name).filter(|value| !value.is_empty());
        Self {
            search: query.search(),
            cause: given("cause"),
            time: given("time"),
            group: given("group"),
        }
    }

    fn is_any(&self) -> bool {
        [&self.search, &self.cause, &self.time, &self.group]
            .into_iter()
            .any(Option::is_some)
    }

    fn admits(&self, group: &Group) -> bool {
        self.cause
            .as_ref()
            .is_none_or(|cause| *cause == group.cause)
            && self.group.as_ref().is_none_or(|key| *key == group.key)
    }

    fn url(&self, base: &str, group: &str) -> String {
        with_query(
            base,
            &[
                ("q", self.search.as_deref()),
                ("time", self.time.as_deref()),
                ("group", Some(group)),
            ],
        )
    }
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    page: ProjectPage,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, PageError> {
    let wanted = Wanted::new(&query);
    let base = page.path("/failures");
    // Read before the list, so that a change in between is announced and not missed.
    let seen = app
        .service
        .mark(&Watched::Failures(page.project.id))
        .await?;
    let (mut groups, limits) = groups(&app, &page, &wanted).await?;
    let causes = causes(&groups, wanted.cause.as_deref());
    groups.retain(|group| wanted.admits(group));
    for group in &mut groups {
        group.shorten(&wanted, &base);
    }
    let times = times(wanted.time.as_deref());
    // Counted after the list was read, which waits until the latest failures are stored.
    let failures = new_failures(&app, &headers, page.project.id).await?;
    let open = if wanted.is_any() {
        Vec::new()
    } else {
        open_waits(&app, &page).await?
    };
    let title = format!("Failures of {}", page.project.name);
    let shell = page
        .shell(title, "failures")
        .live(page.path("/events?of=failures"), seen);
    let shell = Shell { failures, ..shell };
    let mut response = html(&FailuresPage {
        shell,
        base,
        causes,
        times,
        open,
        groups,
        limits,
        wanted,
    })?;
    // A live update does not show that somebody looks.
    if !page.is_part {
        let name = looked_cookie(page.project.id);
        let now = app.service.clock().now().as_millis();
        let cookie = format!("{name}={now}; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax");
        let cookie = HeaderValue::try_from(cookie).map_err(Error::internal)?;
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// The groups that the address and the time select, the one with the newest failure first; and what
/// is counted, if there may be more.
async fn groups(
    app: &App,
    page: &ProjectPage,
    wanted: &Wanted,
) -> Result<(Vec<Group>, Option<String>), Error> {
    let project = Some(page.project.id);
    let now = app.service.clock().now();
    let text = wanted.search.clone().unwrap_or_default();
    let since = time_since(wanted.time.as_deref(), now);
    let filter = FailureFilter {
        project,
        text: text.clone(),
        since,
        ..FailureFilter::default()
    };
    let failed = app.service.failures(&filter, MAX_WAITS).await?;
    let refused = app
        .service
        .refusals(&RefusalFilter {
            project,
            text,
            since,
            reason: None,
        })
        .await?;
    let limits = limits(failed.len(), refused.len());
    let smtp = page.smtp.to_string();
    let read = |finding: &Finding, at, ended_at| {
        let reading = Reading {
            now,
            ended_at,
            smtp_address: &smtp,
        };
        Group::new(finding, reading, at)
    };
    let mut groups: Vec<Group> = Vec::new();
    for failure in &failed {
        let ended_at = failure.ended_at();
        let group = group_of(&mut groups, failure.group(), ended_at, || {
            read(&failure.finding, ended_at, Some(ended_at))
        });
        group.waits += 1;
        group.entries.push(Entry::of_wait(app, failure, now));
    }
    for (_, refused) in refused {
        if failed.iter().any(|failure| failure.is_by(&refused)) {
            continue;
        }
        let finding = rejection(&refused, app.service.server());
        let group = group_of(&mut groups, finding.group(), refused.refused_at, || {
            read(&finding, refused.refused_at, None)
        });
        group.rejections += 1;
        group.outcome = refused.reason.outcome();
        group.entries.push(Entry::of_refusal(page, &refused, now));
    }
    for group in &mut groups {
        group.newest = When::new(group.newest_at, now);
        group
            .entries
            .sort_by_key(|entry| std::cmp::Reverse(entry.at));
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.newest_at));
    Ok((groups, limits))
}

/// The group with this key, which is new if there is none.
fn group_of(
    groups: &mut Vec<Group>,
    key: String,
    at: Timestamp,
    new: impl FnOnce() -> Group,
) -> &mut Group {
    let position = groups
        .iter()
        .position(|group| group.key == key)
        .unwrap_or_else(|| {
            groups.push(Group { key, ..new() });
            groups.len() - 1
        });
    let group = &mut groups[position];
    group.newest_at = group.newest_at.max(at);
    group
}

/// What is counted, if there may be more.
fn limits(waits: usize, rejections: usize) -> Option<String> {
    let is_reached = waits >= MAX_WAITS || rejections >= MAX_REFUSALS_SHOWN;
    is_reached.then(|| {
        format!("Only the latest {MAX_WAITS} waits that timed out and {MAX_REFUSALS_SHOWN} rejections are counted.")
    })
}

/// The causes that occur, and the one that is chosen.
fn causes(groups: &[Group], chosen: Option<&str>) -> Vec<Choice> {
    let mut causes: Vec<Choice> = Vec::new();
    for group in groups {
        if !causes.iter().any(|choice| choice.value == group.cause) {
            let is_current = chosen == Some(group.cause);
            causes.push(Choice {
                value: group.cause.to_owned(),
                label: group.title.to_owned(),
                is_current,
            });
        }
    }
    if let Some(cause) = chosen.filter(|cause| !causes.iter().any(|choice| choice.value == *cause))
    {
        causes.push(Choice {
            value: cause.to_owned(),
            label: Cause::of_word(cause).map_or("Unknown", title).to_owned(),
            is_current: true,
        });
    }
    causes
}

impl Group {
    fn new(finding: &Finding, reading: Reading<'_>, newest_at: Timestamp) -> Self {
        let sentence = finding.sentence.read(reading);
        let what_to_do = sentence.what_to_do();
        Self {
            key: String::new(),
            cause: finding.cause.as_str(),
            title: title(finding.cause),
            waits: 0,
            rejections: 0,
            outcome: "rejected",
            sentence: cause(&sentence),
            advice: coded(what_to_do.unwrap_or_else(|| advice(finding.cause))),
            newest_at,
            newest: When::new(newest_at, reading.now),
            entries: Vec::new(),
            all: None,
        }
    }

    fn count(&self) -> usize {
        self.waits + self.rejections
    }

    /// Leaves the entries that the page shows. A page of all groups links to the other ones.
    fn shorten(&mut self, wanted: &Wanted, base: &str) {
        if wanted.group.is_some() {
            return self.entries.truncate(MAX_ENTRIES_OF_ONE);
        }
        if self.count() > MAX_ENTRIES {
            let label = match self.count() {
                ..=MAX_ENTRIES_OF_ONE => format!("Show all {}", self.count()),
                count => format!("Show the latest {MAX_ENTRIES_OF_ONE} of {count}"),
            };
            self.all = Some((label, wanted.url(base, &self.key)));
        }
        self.entries.truncate(MAX_ENTRIES);
    }
}

/// The page of the rejections of a client that had named no recipient.
fn rejections_url(page: &ProjectPage, refused: &RefusedMail) -> String {
    let client = refused.client();
    let reason = refused.reason.label();
    with_query(
        &page.path("/refused"),
        &[("q", Some(&client)), ("reason", Some(reason))],
    )
}

impl Entry {
    fn of_wait(app: &App, failure: &Failure, now: Timestamp) -> Self {
        Self {
            at: failure.ended_at(),
            url: Some(story_url(failure.wait.id)),
            address: failure.address(app.service.mail_domain()),
            label: failure.label.as_deref().map(shown),
            filters: filters(&failure.wait),
            when: When::new(failure.ended_at(), now),
        }
    }

    fn of_refusal(page: &ProjectPage, refused: &RefusedMail, now: Timestamp) -> Self {
        let recipient = refused.recipient_address();
        let address = if recipient.is_empty() {
            refused.client()
        } else {
            recipient.to_owned()
        };
        Self {
            at: refused.refused_at,
            url: Some(
                timeline_of(&page.path(""), refused)
                    .unwrap_or_else(|| rejections_url(page, refused)),
            ),
            address: shown(&address),
            label: None,
            filters: Vec::new(),
            when: When::new(refused.refused_at, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Sentence;

    const NOW: Timestamp = Timestamp::from_millis(1_795_167_000_123);

    fn group(waits: usize) -> Group {
        let entry = || Entry {
            at: NOW,
            url: None,
            address: String::new(),
            label: None,
            filters: Vec::new(),
            when: When::new(NOW, NOW),
        };
        let finding = Finding {
            cause: Cause::Late,
            sentence: Sentence::default(),
            origin: String::new(),
        };
        let reading = Reading {
            now: NOW,
            ended_at: None,
            smtp_address: "",
        };
        Group {
            waits,
            entries: std::iter::repeat_with(entry).take(waits).collect(),
            ..Group::new(&finding, reading, NOW)
        }
    }

    #[test]
    fn a_group_links_to_its_entries_unless_it_is_open() {
        let shortened = |count, group_key: Option<&str>| {
            let wanted = Wanted {
                search: None,
                cause: None,
                time: None,
                group: group_key.map(str::to_owned),
            };
            let mut group = group(count);
            group.shorten(&wanted, "/failures");
            (group.entries.len(), group.all.map(|(label, _)| label))
        };
        let link = |label: &str| Some(label.to_owned());
        assert_eq!(shortened(5, None), (5, None));
        assert_eq!(shortened(6, None), (5, link("Show all 6")));
        assert_eq!(
            shortened(350, None),
            (5, link("Show the latest 200 of 350"))
        );
        assert_eq!(shortened(350, Some("late")), (200, None));
    }

    #[test]
    fn counts_that_reach_a_limit_say_so() {
        assert_eq!(limits(499, 199), None);
        for (waits, rejections) in [(500, 0), (0, 200)] {
            assert_eq!(
                limits(waits, rejections).unwrap(),
                "Only the latest 500 waits that timed out and 200 rejections are counted."
            );
        }
    }
}
