//! What failed in a project: waits and mail that was rejected, grouped by cause, the
//! newest first; above them the waits that are open. A rejection that a wait failed by is not
//! listed beside that wait. The list of rejected mail is the same page without the waits; the
//! administrator has it for all projects.

use std::collections::HashMap;

use askama::Template;
use axum::extract::MatchedPath;
use axum::http::HeaderValue;
use axum::http::header::SET_COOKIE;

use super::page::{Answer, Shell, html, with_query};
use super::plain::{self, Piece, When, cause, coded};
use super::visit::{Visit, looked_cookie};
use crate::evidence::{Cause, Failure, Finding, Reading, advice, rejection, title};
use crate::http::download::path_segment;
use crate::http::error::Error;
use crate::http::query::Query;
use crate::model::{
    InboxId, Project, ProjectId, RefusedMail, Timestamp, WaitEnd, WaitRecord, Watched,
};
use crate::service::{EntryFilter, MAX_REFUSALS_SHOWN};

/// Maximum number of waits that are grouped; older ones are counted by no group.
const MAX_WAITS: usize = 500;
/// Maximum number of entries of a group: on the page of all groups, and if it is the only one.
const MAX_ENTRIES: usize = 5;
const MAX_ENTRIES_OF_ONE: usize = 200;
/// The options of the time filter: the word in the query, the label, and the hours.
const TIMES: [(&str, &str, u64); 3] = [
    ("hour", "Last hour", 1),
    ("day", "Last day", 24),
    ("week", "Last week", 168),
];

#[derive(Template)]
#[template(path = "failures.html")]
struct FailuresPage {
    shell: Shell,
    base: String,
    wanted: Wanted,
    /// The causes that occur, and the one that is chosen: the word and the label.
    causes: Vec<(String, String)>,
    open: Vec<WaitRecord>,
    groups: Vec<Group>,
    /// What is counted, if there may be more.
    limits: Option<String>,
    /// The projects by their ids, for the administrator.
    projects: HashMap<ProjectId, Project>,
}

/// The filters of the query.
struct Wanted {
    only_rejected: bool,
    search: Option<String>,
    cause: Option<String>,
    time: Option<String>,
    group: Option<String>,
}

/// Failures with the same cause.
struct Group {
    key: String,
    /// The word and the label of the cause, or of the reason on the page of rejected mail.
    cause: (String, String),
    /// The number of waits that failed, and how.
    waits: usize,
    ended: &'static str,
    /// The number of other rejections, and what happened to the mail.
    rejections: usize,
    outcome: &'static str,
    /// The cause in one sentence.
    sentence: Vec<Piece>,
    advice: Vec<Piece>,
    newest_at: Timestamp,
    entries: Vec<Entry>,
}

enum Entry {
    Wait(Box<Failure>),
    /// A rejection, the number of equal ones, and when the first of them was.
    Rejection(ProjectId, RefusedMail, usize, Timestamp),
}

impl Wanted {
    fn is_any(&self) -> bool {
        let given = [&self.search, &self.cause, &self.time, &self.group];
        given.into_iter().any(Option::is_some)
    }

    fn admits(&self, group: &Group) -> bool {
        self.cause
            .as_ref()
            .is_none_or(|cause| *cause == group.cause.0)
            && self.group.as_ref().is_none_or(|key| *key == group.key)
    }

    /// How many entries of a group are shown.
    fn entries(&self) -> usize {
        match self.group {
            Some(_) => MAX_ENTRIES_OF_ONE,
            None => MAX_ENTRIES,
        }
    }

    /// Where the chosen time begins.
    fn since(&self, now: Timestamp) -> Option<Timestamp> {
        let (.., hours) = TIMES
            .iter()
            .find(|(word, ..)| self.time.as_deref() == Some(*word))?;
        Some(now.before(std::time::Duration::from_secs(hours * 3_600)))
    }
}

pub(super) async fn list(visit: Visit, route: MatchedPath, query: Query) -> Answer {
    let service = visit.service();
    let wanted = Wanted {
        only_rejected: route.as_str().ends_with("/refused"),
        search: query.search(),
        cause: query.first("cause"),
        time: query.first("time"),
        group: query.first("group"),
    };
    let project = visit.project.as_ref().map(|project| project.id);
    // Read before the list, so that a change in between is announced and not missed.
    let watched = project.map_or(Watched::Refused(None), Watched::Failures);
    let seen = service.mark(&watched).await?;
    let (mut all, mut limits) = groups(&visit, &wanted, None).await?;
    let causes = causes(&all, wanted.cause.as_deref());
    if let (true, Some(reason)) = (wanted.only_rejected, &wanted.cause) {
        // There are older ones than in the list of all.
        (all, limits) = groups(&visit, &wanted, Some(reason)).await?;
    }
    all.retain(|group| wanted.admits(group));
    let open = match project {
        Some(project) if !wanted.only_rejected && !wanted.is_any() => {
            service.open_waits(project).await?
        }
        _ => Vec::new(),
    };
    let projects = match project {
        Some(_) => Vec::new(),
        None => service.projects().list().await?,
    };
    let (title, place) = match (&visit.project, wanted.only_rejected) {
        (None, _) => ("Rejected mail".to_owned(), "all-refused"),
        (Some(_), true) => ("Rejected mail".to_owned(), "refused"),
        (Some(project), false) => (format!("Failures of {}", project.name), "failures"),
    };
    // Counts the failures after the list was read, which waits until the latest ones are stored.
    let shell = visit.shell(title, place).await?;
    let base = match wanted.only_rejected {
        true => format!("{}/refused", shell.base()),
        false => format!("{}/failures", shell.base()),
    };
    let events = match project {
        Some(_) => format!("{}/events?of=failures", shell.base()),
        None => "/refused/events".to_owned(),
    };
    let mut response = html(&FailuresPage {
        shell: shell.live(events, seen),
        base,
        causes,
        open,
        groups: all,
        limits,
        projects: projects
            .into_iter()
            .map(|project| (project.id, project))
            .collect(),
        wanted,
    })?;
    // A live update does not show that somebody looks.
    if let Some(project) = project.filter(|_| place == "failures" && !visit.is_part) {
        let name = looked_cookie(project);
        let now = visit.now.as_millis();
        let cookie = format!("{name}={now}; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax");
        let cookie = HeaderValue::try_from(cookie).map_err(Error::internal)?;
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// The groups that the search and the time select, the one with the newest failure first; and what
/// is counted, if there may be more.
async fn groups(
    visit: &Visit,
    wanted: &Wanted,
    reason: Option<&str>,
) -> Result<(Vec<Group>, Option<String>), Error> {
    let service = visit.service();
    let now = visit.now;
    let project = visit.project.as_ref().map(|project| project.id);
    let text = wanted.search.clone().unwrap_or_default();
    let since = wanted.since(now);
    let filter = EntryFilter {
        project,
        text,
        since,
        ..EntryFilter::default()
    };
    let failed = match wanted.only_rejected {
        true => Vec::new(),
        false => service.failures(&filter, MAX_WAITS).await?,
    };
    let word = reason.unwrap_or_default().to_owned();
    let mut refused = service.refusals(&EntryFilter { word, ..filter }).await?;
    let limits = limits(failed.len(), refused.len());
    refused.retain(|(_, refused)| !(wanted.only_rejected && refused.reason.is_accepted()));
    let smtp_address = &visit.smtp().to_string();
    let mut groups: Vec<Group> = Vec::new();
    refused.retain(|(_, refused)| !failed.iter().any(|failure| failure.is_by(refused)));
    for failure in failed {
        let ended_at = Some(failure.ended_at());
        let reading = Reading {
            now,
            ended_at,
            smtp_address,
        };
        let group = Group::of(&mut groups, &failure.finding, reading, failure.ended_at());
        group.waits += 1;
        group.ended = match failure.wait.end {
            Some((_, WaitEnd::Timeout)) => "timed out",
            _ => "failed",
        };
        group.entries.push(Entry::Wait(Box::new(failure)));
    }
    for (project, refused) in refused {
        let finding = rejection(&refused, service.server());
        let reading = Reading {
            now,
            ended_at: None,
            smtp_address,
        };
        let group = Group::of(&mut groups, &finding, reading, refused.refused_at);
        if wanted.only_rejected {
            let reason = refused.reason.label();
            group.cause = (reason.to_owned(), plain::phrase(reason));
        }
        group.outcome = refused.reason.outcome();
        group.add(project, refused);
    }
    for group in &mut groups {
        group
            .entries
            .sort_by_key(|entry| std::cmp::Reverse(entry.at()));
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.newest_at));
    Ok((groups, limits))
}

/// What is counted, if there may be more.
fn limits(waits: usize, rejections: usize) -> Option<String> {
    let is_reached = waits >= MAX_WAITS || rejections >= MAX_REFUSALS_SHOWN;
    is_reached.then(|| {
        format!("Only the latest {MAX_WAITS} waits that failed and {MAX_REFUSALS_SHOWN} rejections are counted.")
    })
}

/// The causes that occur, and the one that is chosen.
fn causes(groups: &[Group], chosen: Option<&str>) -> Vec<(String, String)> {
    let chosen = chosen.map(|word| {
        let label = Cause::of_word(word)
            .map_or_else(|| plain::phrase(word), |cause| title(cause).to_owned());
        (word.to_owned(), label)
    });
    let mut causes: Vec<_> = groups
        .iter()
        .map(|group| group.cause.clone())
        .chain(chosen)
        .collect();
    let mut known = Vec::new();
    causes.retain(|(word, _)| {
        let is_new = !known.contains(word);
        known.push(word.clone());
        is_new
    });
    causes
}

impl Group {
    /// The group of a finding, which is new if there is none.
    fn of<'a>(
        groups: &'a mut Vec<Self>,
        finding: &Finding,
        reading: Reading<'_>,
        at: Timestamp,
    ) -> &'a mut Self {
        let key = finding.group();
        let known = groups.iter().position(|group| group.key == key);
        let position = known.unwrap_or_else(|| {
            groups.push(Self::new(finding, reading, at));
            groups.len() - 1
        });
        let group = &mut groups[position];
        group.newest_at = group.newest_at.max(at);
        group
    }

    fn new(finding: &Finding, reading: Reading<'_>, newest_at: Timestamp) -> Self {
        let sentence = finding.sentence.read(reading);
        let what_to_do = sentence.what_to_do();
        Self {
            key: finding.group(),
            cause: (
                finding.cause.as_str().to_owned(),
                title(finding.cause).to_owned(),
            ),
            waits: 0,
            ended: "failed",
            rejections: 0,
            outcome: "rejected",
            sentence: cause(&sentence),
            advice: coded(what_to_do.unwrap_or_else(|| advice(finding.cause))),
            newest_at,
            entries: Vec::new(),
        }
    }

    /// Adds a rejection, older than those before it; equal ones are one entry.
    fn add(&mut self, project: ProjectId, refused: RefusedMail) {
        self.rejections += 1;
        for entry in &mut self.entries {
            let Entry::Rejection(known, other, count, first_at) = entry else {
                continue;
            };
            let is_same = *known == project
                && (&other.reply, &other.sender, &other.recipient)
                    == (&refused.reply, &refused.sender, &refused.recipient)
                && other.client() == refused.client();
            if is_same {
                (*count, *first_at) = (*count + 1, refused.refused_at);
                return;
            }
        }
        let first_at = refused.refused_at;
        self.entries
            .push(Entry::Rejection(project, refused, 1, first_at));
    }

    /// The label and the URL of the page of the group, if that has more entries.
    fn all(&self, wanted: &Wanted, base: &str) -> Option<(String, String)> {
        let count = self.entries.len();
        let label = match count {
            ..=MAX_ENTRIES_OF_ONE => format!("Show all {count}"),
            _ => format!("Show the latest {MAX_ENTRIES_OF_ONE} of {count}"),
        };
        let parameters = [
            ("q", wanted.search.as_deref()),
            ("time", wanted.time.as_deref()),
            (
                "cause",
                wanted.cause.as_deref().filter(|_| wanted.only_rejected),
            ),
            ("group", Some(&*self.key)),
        ];
        let is_more = wanted.group.is_none() && count > MAX_ENTRIES;
        is_more.then(|| (label, with_query(base, &parameters)))
    }
}

impl Entry {
    fn at(&self) -> Timestamp {
        match self {
            Self::Wait(failure) => failure.ended_at(),
            Self::Rejection(_, refused, ..) => refused.refused_at,
        }
    }
}

/// The timeline that shows a rejection with its transcript; if the client had named no recipient,
/// the rejections of the client.
fn rejection_url(project: &ProjectId, refused: &RefusedMail) -> String {
    let base = format!("/projects/{project}");
    let address = Some(refused.recipient_address()).filter(|address| !address.is_empty());
    // On a domain that is not accepted, the local part is no inbox.
    let own = refused
        .inbox
        .as_ref()
        .filter(|_| refused.foreign_domain().is_none());
    match own.map(InboxId::as_str).or(address) {
        Some(name) => format!("{base}/inboxes/{}/timeline", path_segment(name)),
        None => {
            let client = refused.client();
            let reason = refused.reason.label();
            let parameters = [("q", Some(&*client)), ("cause", Some(reason))];
            with_query(&format!("{base}/refused"), &parameters)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Sentence;
    use crate::model::RefusalReason;

    const NOW: Timestamp = Timestamp::from_millis(1_795_167_000_123);

    fn group(rejections: usize) -> Group {
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
        let mut group = Group::new(&finding, reading, NOW);
        for number in 0..rejections {
            let refused = RefusedMail {
                peer: "192.0.2.1:25".to_owned(),
                sender: String::new(),
                recipient: format!("<{number}@shop.example>"),
                inbox: None,
                authenticated: false,
                reason: RefusalReason::from_label("inbox_full".to_owned()),
                reply: "452".to_owned(),
                refused_at: NOW,
            };
            group.add(ProjectId(uuid::Uuid::nil()), refused);
        }
        group
    }

    #[test]
    fn a_group_links_to_its_entries_unless_it_is_open() {
        let shown = |count, open: Option<&str>| {
            let wanted = Wanted {
                only_rejected: false,
                search: None,
                cause: None,
                time: None,
                group: open.map(str::to_owned),
            };
            let all = group(count).all(&wanted, "/failures");
            (wanted.entries(), all.map(|(label, _)| label))
        };
        let link = |label: &str| Some(label.to_owned());
        assert_eq!(shown(5, None), (5, None));
        assert_eq!(shown(6, None), (5, link("Show all 6")));
        assert_eq!(shown(350, None), (5, link("Show the latest 200 of 350")));
        assert_eq!(shown(350, Some("late")), (200, None));
    }

    #[test]
    fn counts_that_reach_a_limit_say_so() {
        assert_eq!(limits(499, 199), None);
        for (waits, rejections) in [(500, 0), (0, 200)] {
            assert_eq!(
                limits(waits, rejections).unwrap(),
                "Only the latest 500 waits that failed and 200 rejections are counted."
            );
        }
    }
}
