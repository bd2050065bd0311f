//! The stories of waits that timed out: how many are kept, for how long, and how large they get.

use std::time::Duration;

use restante::model::{
    Cause, Evidence, Failure, Features, Finding, HeaderFilter, InboxId, Latest, MessageFilter,
    MessageId, ProjectId, Story, Timestamp, WaitEnd, WaitRecord,
};
use restante_api::{Event, EventKind};
use uuid::Uuid;

use super::bed::{Bed, START};

const WEEK: Duration = Duration::from_secs(7 * 24 * 3_600);

pub fn story(project: ProjectId, ended_at: Timestamp) -> Story {
    let wait = WaitRecord {
        id: Uuid::now_v7(),
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
        marked: "A sentence.".to_owned(),
        origin: "subject=x".to_owned(),
    };
    let failure = Failure {
        wait,
        label: Some("signs up".to_owned()),
        finding,
        ended: None,
    };
    Story {
        failure,
        evidence: Evidence::default(),
        timeline: Vec::new(),
    }
}

#[testkit::each_engine]
async fn each_project_keeps_its_latest_thousand(bed: Bed) {
    let own = bed.default_project;
    let other = bed.project("other").await;
    let after = |millis| START.after(Duration::from_millis(millis));
    let stories: Vec<Story> = (0..1_001).map(|number| story(own, after(number))).collect();
    let theirs = story(other, START);
    bed.store
        .add_stories(std::slice::from_ref(&theirs))
        .await
        .unwrap();
    bed.store.add_stories(&stories).await.unwrap();
    let is_kept = async |story: &Story| {
        bed.store
            .story(story.failure.wait.id)
            .await
            .unwrap()
            .is_some()
    };
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
    bed.store
        .add_stories(std::slice::from_ref(&told))
        .await
        .unwrap();
    let read = bed
        .store
        .story(told.failure.wait.id)
        .await
        .unwrap()
        .unwrap();
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
    bed.store
        .add_stories(std::slice::from_ref(&long))
        .await
        .unwrap();
    let read = bed
        .store
        .story(long.failure.wait.id)
        .await
        .unwrap()
        .unwrap()
        .timeline;
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
    bed.store
        .add_stories(std::slice::from_ref(&large))
        .await
        .unwrap();
    let read = bed
        .store
        .story(large.failure.wait.id)
        .await
        .unwrap()
        .unwrap()
        .evidence
        .latest;
    assert!((10..25).contains(&read.len()), "{}", read.len());
    assert_eq!(read[0], large.evidence.latest[0]);
}

#[testkit::each_engine]
async fn the_stories_of_a_deleted_project_are_gone(bed: Bed) {
    let own = bed.default_project;
    let other = bed.project("other").await;
    let kept = story(own, START);
    let gone = story(other, START);
    bed.store
        .add_stories(&[kept.clone(), gone.clone()])
        .await
        .unwrap();
    assert!(bed.store.delete_project("other", START).await.unwrap());
    let is_there = async |story: &Story| {
        bed.store
            .story(story.failure.wait.id)
            .await
            .unwrap()
            .is_some()
    };
    assert_eq!(
        (is_there(&kept).await, is_there(&gone).await),
        (true, false)
    );
    bed.sweep(START).await;
    assert_eq!(bed.count("SELECT COUNT(*) FROM stories").await, 1);
}
