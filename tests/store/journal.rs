//! The journal: what is kept, for how long, in which order, and who sees it.

use std::time::Duration;

use restante::evidence::{
    Cause, Entry, Evidence, Failure, Finding, NewEntry, Recorded, Sentence, Story,
};
use restante::model::{
    Features, HeaderFilter, InboxId, Latest, MessageFilter, MessageId, ProjectId, Refusal,
    RefusalReason, RefusedMail, Timestamp, WaitEnd, WaitRecord, Watched,
};
use restante::store::Change;
use restante_api::{Event, EventKind};
use uuid::Uuid;

use super::bed::{Bed, HOUR, START, id};

const WEEK: Duration = Duration::from_secs(7 * 24 * 3_600);

/// A refusal of mail to `recipient`.
pub fn refusal(recipient: &str) -> RefusedMail {
    RefusedMail {
        peer: "192.0.2.1:4000".to_owned(),
        sender: "<app@shop.example>".to_owned(),
        recipient: recipient.to_owned(),
        inbox: None,
        authenticated: false,
        reason: RefusalReason::Smtp(Refusal::RelayNotPermitted),
        reply: "550 5.7.1 relay not permitted".to_owned(),
        refused_at: START,
    }
}

/// A rejection as an entry of a project.
pub fn entry(project: ProjectId, refused: &RefusedMail) -> NewEntry {
    NewEntry {
        project,
        subject: refused
            .inbox
            .as_ref()
            .map_or_else(String::new, InboxId::to_string),
        entry: Entry::Refused(refused.clone()),
    }
}

pub fn story(project: ProjectId, ended_at: Timestamp) -> Story {
    let wait = WaitRecord {
        id: Uuid::now_v7(),
        request: Uuid::now_v7(),
        project,
        inbox: InboxId::parse("ada").unwrap(),
        shared: None,
        inbox_created_at: START,
        filter: MessageFilter {
            subject: Some("a\0b".to_owned()),
            header: HeaderFilter::parse("X-Campaign:welcome").ok(),
            has: Features {
                otp: true,
                ..Features::default()
            },
            ..MessageFilter::default()
        },
        started_at: START,
        timeout: Duration::from_secs(15),
        end: Some((ended_at, WaitEnd::Timeout)),
    };
    let finding = Finding {
        cause: Cause::FilterMissed,
        sentence: Sentence::new("From ").quote("a\0b").own(".").advice("Do."),
        origin: "subject=x".to_owned(),
    };
    let failure = Failure {
        wait,
        label: Some("signs up".to_owned()),
        finding,
    };
    Story {
        failure,
        evidence: Evidence::default(),
        timeline: Vec::new(),
    }
}

impl Bed {
    async fn record(&self, refused: &[(ProjectId, RefusedMail)]) {
        let entries = refused
            .iter()
            .map(|(project, refused)| entry(*project, refused));
        self.store.append(entries.collect()).await.unwrap();
        let kinds = refused
            .iter()
            .map(|(project, _)| (*project, RefusedMail::KIND));
        self.store.forget_surplus(kinds).await.unwrap();
    }

    /// The rejections of a project, or of all, newest first.
    async fn rejections(
        &self,
        project: Option<ProjectId>,
        most: usize,
    ) -> Vec<(ProjectId, RefusedMail)> {
        let times = (Timestamp::MIN, Timestamp::MAX);
        let recorded = self.store.recorded(project, "", times, most);
        recorded.await.unwrap()
    }

    async fn tell(&self, stories: &[Story]) {
        let entries = stories.iter().cloned().map(NewEntry::failed);
        self.store.append(entries.collect()).await.unwrap();
        let kinds = stories
            .iter()
            .map(|story| (story.failure.wait.project, Story::KIND));
        self.store.forget_surplus(kinds).await.unwrap();
    }

    async fn told(&self, story: &Story) -> Option<Story> {
        let key = story.failure.wait.id.to_string();
        self.store.recorded_with_key(&key).await.unwrap()
    }
}

#[testkit::each_engine]
async fn each_project_keeps_its_latest_thousand(bed: Bed) {
    let own = bed.default_project;
    let other = bed.project("other").await;
    let after = |millis| START.after(Duration::from_millis(millis));
    let stories: Vec<Story> = (0..1_001).map(|number| story(own, after(number))).collect();
    let theirs = story(other, START);
    bed.tell(std::slice::from_ref(&theirs)).await;
    bed.tell(&stories).await;
    let is_kept = async |story: &Story| bed.told(story).await.is_some();
    assert_eq!(
        (
            is_kept(&stories[0]).await,
            is_kept(&stories[1]).await,
            is_kept(&theirs).await
        ),
        (false, true, true)
    );

    bed.sweep(after(500).after(WEEK)).await;
    assert_eq!(
        (
            is_kept(&stories[500]).await,
            is_kept(&stories[501]).await,
            is_kept(&theirs).await
        ),
        (false, true, false)
    );
}

#[testkit::each_engine]
async fn a_story_comes_back_as_it_was_and_is_limited(bed: Bed) {
    let mut told = story(bed.default_project, START);
    told.evidence.latest = vec![Latest {
        id: MessageId::generate(),
        from: "shop@app.example".to_owned(),
        subject: "Welcome".to_owned(),
        received_at: START,
        missed_by: vec!["subject", "text", "has"],
        found: vec![("text", "The closest line".to_owned())],
    }];
    told.timeline = vec![Event::new(
        START.to_string(),
        EventKind::Created,
        "Created".to_owned(),
    )];
    bed.tell(std::slice::from_ref(&told)).await;
    let read = bed.told(&told).await.unwrap();
    // With a NUL, which PostgreSQL stores only in JSON.
    assert_eq!(read.failure.wait.filter, told.failure.wait.filter);
    assert_eq!(
        (&read.evidence, &read.timeline),
        (&told.evidence, &told.timeline)
    );

    let mut long = story(bed.default_project, START);
    let event = |number| {
        Event::new(
            START.to_string(),
            EventKind::Stored,
            format!("{number}{}", "x".repeat(1_000)),
        )
    };
    long.timeline = (0..1_000).map(event).collect();
    bed.tell(std::slice::from_ref(&long)).await;
    let read = bed.told(&long).await.unwrap().timeline;
    let size: usize = read.iter().map(|event| event.text.len()).sum();
    assert!((10_000..64 * 1024).contains(&size), "{size}");
    assert_eq!(
        (read.first(), read.last()),
        (long.timeline.first(), long.timeline.last())
    );

    // The evidence is limited too.
    let mut large = story(bed.default_project, START);
    let latest = |number: u32| Latest {
        id: MessageId::generate(),
        from: number.to_string(),
        subject: "\u{1}".repeat(500),
        received_at: START,
        missed_by: Vec::new(),
        found: Vec::new(),
    };
    large.evidence.latest = (0..100).map(latest).collect();
    bed.tell(std::slice::from_ref(&large)).await;
    let read = bed.told(&large).await.unwrap().evidence.latest;
    assert!((10..25).contains(&read.len()), "{}", read.len());
    assert_eq!(read[0], large.evidence.latest[0]);
}

#[testkit::each_engine]
async fn the_stories_of_a_deleted_project_are_gone(bed: Bed) {
    let own = bed.default_project;
    let other = bed.project("other").await;
    let kept = story(own, START);
    let gone = story(other, START);
    bed.tell(&[kept.clone(), gone.clone()]).await;
    assert!(bed.store.delete_project("other", START).await.unwrap());
    let is_there = async |story: &Story| bed.told(story).await.is_some();
    assert_eq!(
        (is_there(&kept).await, is_there(&gone).await),
        (true, false)
    );
    bed.sweep(START).await;
    assert_eq!(bed.count("SELECT COUNT(*) FROM journal").await, 1);
}

#[testkit::each_engine]
async fn the_end_of_a_wait_replaces_its_start_and_moves_the_mark(bed: Bed) {
    let project = bed.default_project;
    let inbox = id("ada");
    let ended = story(project, START).failure.wait;
    let open = WaitRecord {
        end: None,
        ..ended.clone()
    };
    let record = async |wait: &WaitRecord| {
        let new = NewEntry::of(project, &inbox, Entry::Wait(Box::new(wait.clone())));
        bed.store.append(vec![new]).await.unwrap();
        let watched = Watched::Failures(project);
        bed.store.mark(&watched, START).await.unwrap()
    };
    let waits = async |word| {
        let times = (Timestamp::MIN, Timestamp::MAX);
        let found = bed.store.recorded(Some(project), word, times, 10);
        let found: Vec<(_, WaitRecord)> = found.await.unwrap();
        found.into_iter().map(|(_, wait)| wait).collect::<Vec<_>>()
    };
    let first = record(&open).await;
    assert_eq!(waits(Entry::OPEN).await, [open]);
    let second = record(&ended).await;
    assert!(first.parse::<u64>().unwrap() < second.parse().unwrap());
    assert_eq!(waits(Entry::OPEN).await, []);
    assert_eq!(waits("").await, [ended]);
    let other = bed.project("other").await;
    let others = Watched::Failures(other);
    assert_eq!(bed.store.mark(&others, START).await.unwrap(), "0");
}

#[testkit::each_engine]
async fn entries_are_selected_by_word_and_time(bed: Bed) {
    let project = bed.default_project;
    let late = START.after(HOUR);
    let mut full = refusal("<full@b>");
    (full.reason, full.refused_at) = (RefusalReason::Smtp(Refusal::InboxFull), late);
    bed.record(&[(project, refusal("<away@c>")), (project, full)])
        .await;
    let found = async |word, times| {
        let found = bed.store.recorded(None, word, times, 10).await.unwrap();
        let recipients = found.into_iter();
        let recipients = recipients.map(|(_, refused): (_, RefusedMail)| refused.recipient);
        recipients.collect::<Vec<_>>()
    };
    let word = Refusal::RelayNotPermitted.label();
    let [always, later, before] = [
        (Timestamp::MIN, Timestamp::MAX),
        (late, Timestamp::MAX),
        (Timestamp::MIN, START),
    ];
    assert_eq!(found(word, always).await, ["<away@c>"]);
    assert_eq!(found("", later).await, ["<full@b>"]);
    assert_eq!(found("", before).await, ["<away@c>"]);
}

#[testkit::each_engine]
async fn a_refusal_of_a_client_replaces_its_earlier_one(bed: Bed) {
    let project = bed.default_project;
    let other = bed.project("other").await;
    let of_client = |peer: &str, reply: usize| {
        let mut refused = refusal("");
        (refused.peer, refused.reply) = (peer.to_owned(), reply.to_string());
        refused
    };
    bed.record(&[
        (project, refusal("<a@b>")),
        (other, of_client("192.0.2.1", 0)),
    ])
    .await;
    for number in 0..30 {
        let batch = (0..50).map(|guess| (project, of_client("192.0.2.1", 50 * number + guess)));
        let batch: Vec<_> = batch
            .chain([(project, of_client("2001:db8::1", number))])
            .collect();
        bed.record(&batch).await;
    }
    let found = bed.rejections(Some(project), 100).await;
    let found: Vec<_> = found
        .iter()
        .map(|(_, refused)| (refused.peer.as_str(), refused.reply.as_str()))
        .collect();
    let first = ("192.0.2.1:4000", "550 5.7.1 relay not permitted");
    assert_eq!(found, [("2001:db8::1", "29"), ("192.0.2.1", "1499"), first]);
    assert_eq!(bed.rejections(Some(other), 100).await.len(), 1);
}

#[testkit::each_engine]
async fn every_reason_survives_a_round_trip(bed: Bed) {
    let mut reasons: Vec<_> = Refusal::ALL
        .iter()
        .copied()
        .map(RefusalReason::Smtp)
        .collect();
    let unknown = RefusalReason::Unknown("from_the_future".to_owned());
    let accepted = [
        RefusalReason::BouncedOnRequest,
        RefusalReason::DroppedOnRequest,
    ];
    reasons.extend(
        [RefusalReason::DisconnectedOnRequest, unknown]
            .into_iter()
            .chain(accepted),
    );
    let refused = reasons.iter().map(|reason| {
        let refused = RefusedMail {
            reason: reason.clone(),
            ..refusal("<a@b>")
        };
        (bed.default_project, refused)
    });
    bed.record(&refused.collect::<Vec<_>>()).await;
    let found = bed.rejections(None, 100).await;
    assert!(
        found
            .iter()
            .rev()
            .map(|(_, refused)| &refused.reason)
            .eq(&reasons)
    );
}

#[testkit::each_engine]
async fn refusals_are_listed_newest_first_by_project(bed: Bed) {
    let project = bed.default_project;
    let other = bed.project("other").await;
    let mut changes = bed.changes().await;
    let refused = [
        (project, refusal("<first@b>")),
        (other, refusal("<theirs@b>")),
        (project, refusal("<last@b>")),
    ];
    bed.record(&refused).await;
    assert_eq!(changes.recv().await, Some(Change::Journal));
    let recipients = async |project, limit| {
        let refusals = bed.rejections(project, limit).await;
        refusals
            .into_iter()
            .map(|(_, refused)| refused.recipient)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        recipients(Some(project), 10).await,
        ["<last@b>", "<first@b>"]
    );
    assert_eq!(recipients(Some(other), 10).await, ["<theirs@b>"]);
    assert_eq!(recipients(None, 2).await, ["<last@b>", "<theirs@b>"]);
    assert_eq!(
        bed.rejections(Some(other), 1).await,
        [(other, refusal("<theirs@b>"))]
    );
}

#[testkit::each_engine]
async fn of_a_flood_of_refusals_the_latest_thousand_are_kept(bed: Bed) {
    let other = bed.project("other").await;
    bed.record(&[(other, refusal("<quiet@b>"))]).await;
    let flood: Vec<_> = (0..1_100)
        .map(|number| (bed.default_project, refusal(&number.to_string())))
        .collect();
    for batch in flood.chunks(300) {
        bed.record(batch).await;
    }
    let kept = bed.rejections(Some(bed.default_project), usize::MAX).await;
    assert_eq!(
        (
            kept.len(),
            kept[0].1.recipient.as_str(),
            kept[999].1.recipient.as_str()
        ),
        (1_000, "1099", "100")
    );
    assert_eq!(bed.rejections(Some(other), 10).await.len(), 1);
}

#[testkit::each_engine]
async fn an_address_is_its_project_s_while_it_is_reserved(bed: Bed) {
    let project = bed.project("shop").await;
    bed.inbox(project, "box").await;
    assert_eq!(
        bed.store.owner_of_address(&id("box")).await.unwrap(),
        Some(project)
    );
    bed.sweep(START.after(HOUR)).await;
    assert_eq!(
        bed.store.owner_of_address(&id("box")).await.unwrap(),
        Some(project)
    );
    assert_eq!(bed.store.owner_of_address(&id("none")).await.unwrap(), None);
}

#[testkit::each_engine]
async fn a_deleted_project_takes_its_refusals_along(bed: Bed) {
    let project = bed.project("shop").await;
    bed.record(&[
        (project, refusal("<a@b>")),
        (bed.default_project, refusal("<c@d>")),
    ])
    .await;
    assert!(bed.store.delete_project("shop", START).await.unwrap());
    let all = bed.rejections(None, 10).await;
    assert!(
        all.iter()
            .map(|(_, refused)| refused)
            .eq([&refusal("<c@d>")])
    );
}
