//! The lists of the dashboard, and the marks that show whether they have changed.

use std::time::Duration;

use restante::evidence::NewEntry;
use restante::model::{
    Domain, Fault, FaultAction, FaultPoint, FoundInbox, Holdings, InboxEnd, InboxFilter, InboxKind,
    InboxTotals, ListPart, RefusedMail, SearchText, Timestamp, WaitEnd, Watched,
};

use super::bed::{Bed, HOUR, START, id};
use super::inboxes::permanent;
use super::journal::{entry, refusal, story};

async fn listed(bed: &Bed, filter: InboxFilter, limit: i64, now: Timestamp) -> Vec<String> {
    let found = bed
        .store
        .list_inboxes(bed.default_project, &filter, limit, now)
        .await
        .unwrap();
    found
        .into_iter()
        .map(|summary| summary.inbox.id.to_string())
        .collect()
}

#[testkit::each_engine]
async fn inboxes_are_listed_newest_first_with_their_last_message(bed: Bed) {
    bed.inbox(bed.default_project, "empty").await;
    bed.mail(&["box"], "One", START.after(HOUR / 4)).await;
    bed.mail(&["box"], "Two", START.after(HOUR / 2)).await;
    let found = bed
        .store
        .list_inboxes(
            bed.default_project,
            &InboxFilter::default(),
            10,
            START.after(HOUR / 2),
        )
        .await;
    let [full, empty] = found.unwrap().try_into().unwrap();
    assert_eq!((full.inbox.id, full.messages), (id("box"), 2));
    assert_eq!(
        (full.last_subject.as_deref(), full.last_sender.as_deref()),
        (Some("Two"), Some("sender@else.example"))
    );
    assert_eq!(full.last_received_at, Some(START.after(HOUR / 2)));
    assert_eq!(
        (empty.messages, empty.last_subject, empty.last_received_at),
        (0, None, None)
    );
    assert_eq!(
        listed(&bed, InboxFilter::default(), 10, START.after(HOUR)).await,
        ["box"],
        "the other one has ended"
    );
}

#[testkit::each_engine]
async fn of_a_long_last_subject_the_list_reads_the_start(bed: Bed) {
    bed.mail(&["box"], &"x".repeat(100_000), START).await;
    let found = bed
        .store
        .list_inboxes(bed.default_project, &InboxFilter::default(), 10, START)
        .await
        .unwrap();
    assert_eq!(found[0].last_subject.as_deref().map(str::len), Some(1_001));
}

#[testkit::each_engine]
async fn inboxes_are_found_by_a_part_of_their_address_their_kind_and_page_by_page(bed: Bed) {
    for name in ["alpha", "al_pha", "beta"] {
        bed.inbox(bed.default_project, name).await;
    }
    bed.inbox(bed.project("other").await, "alphabet").await;
    assert!(
        bed.store
            .claim_inbox(&permanent(bed.default_project, "gamma"))
            .await
            .unwrap()
            .is_some()
    );
    let text = |text: &str| SearchText::new(text, &Domain::parse("restante.example.com").unwrap());
    let address = |wanted: &str| InboxFilter {
        address: text(wanted),
        ..InboxFilter::default()
    };
    assert_eq!(
        listed(&bed, address("PHA"), 10, START).await,
        ["alpha", "al_pha"]
    );
    assert_eq!(listed(&bed, address("l_p"), 10, START).await, ["al_pha"]);
    assert_eq!(
        listed(&bed, address("Alpha@restante.example.com"), 10, START).await,
        ["alpha"]
    );
    assert_eq!(
        listed(&bed, address("pha@restante.example.com"), 10, START).await,
        [""; 0]
    );
    let kind = |kind| InboxFilter {
        kind: Some(kind),
        ..InboxFilter::default()
    };
    assert_eq!(
        listed(&bed, kind(InboxKind::Permanent), 10, START).await,
        ["gamma"]
    );
    assert_eq!(
        listed(&bed, kind(InboxKind::Temporary), 10, START).await,
        ["beta", "alpha", "al_pha"]
    );
    let part = |part| InboxFilter {
        part,
        ..InboxFilter::default()
    };
    assert_eq!(
        listed(&bed, InboxFilter::default(), 2, START).await,
        ["gamma", "beta"]
    );
    let after = ListPart::After(START, id("beta"));
    assert_eq!(
        listed(&bed, part(after), 2, START).await,
        ["alpha", "al_pha"]
    );
    let before = ListPart::Before(START, id("al_pha"));
    assert_eq!(
        listed(&bed, part(before), 2, START).await,
        ["beta", "alpha"]
    );
}

#[testkit::each_engine]
async fn inboxes_show_what_failed_there_and_are_filtered_by_it(bed: Bed) {
    for name in ["quiet", "refused", "waited"] {
        bed.inbox(bed.default_project, name).await;
    }
    let own = bed.default_project;
    let other = bed.project("other").await;
    let rejected = |inbox: &str, refused_at| RefusedMail {
        inbox: Some(id(inbox)),
        refused_at,
        ..refusal("<a@b>")
    };
    let before = Timestamp::from_millis(START.as_millis() - 1);
    let refusals = [
        (own, rejected("refused", START)),
        (own, rejected("quiet", before)),
        (other, rejected("quiet", START)),
    ];
    let refusals = refusals.map(|(project, refused)| entry(project, &refused));
    bed.store.append(refusals.into()).await.unwrap();
    let mut stories = [
        story(own, START),
        story(own, START),
        story(other, START),
        story(own, START),
    ];
    for (story, name) in stories
        .iter_mut()
        .zip(["waited", "waited", "quiet", "quiet"])
    {
        story.failure.wait.inbox = id(name);
    }
    // Of an earlier inbox with this address.
    stories[3].failure.wait.inbox_created_at = before;
    stories[3].failure.wait.end = Some((before, WaitEnd::Timeout));
    let stories = stories.map(NewEntry::failed);
    bed.store.append(stories.into()).await.unwrap();
    let failed = InboxFilter {
        with_failures: true,
        counts_failures: true,
        ..InboxFilter::default()
    };
    let found = bed
        .store
        .list_inboxes(own, &failed, 10, START)
        .await
        .unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|one| (one.inbox.id.as_str(), one.timeouts, one.rejections))
        .collect();
    assert_eq!(found, [("waited", 2, 0), ("refused", 0, 1)]);
    let counted = InboxFilter {
        counts_failures: true,
        ..InboxFilter::default()
    };
    let all = bed
        .store
        .list_inboxes(own, &counted, 10, START)
        .await
        .unwrap();
    let quiet = all.iter().find(|one| one.inbox.id == id("quiet")).unwrap();
    assert_eq!((all.len(), quiet.timeouts, quiet.rejections), (3, 0, 0));
}

#[testkit::each_engine]
async fn inboxes_with_the_latest_mail_come_first(bed: Bed) {
    for name in ["one", "two", "three"] {
        bed.inbox(bed.default_project, name).await;
    }
    bed.mail(&["one"], "Late", START.after(HOUR / 4)).await;
    let now = START.after(HOUR / 2);
    assert_eq!(
        listed(&bed, InboxFilter::default(), 10, now).await,
        ["one", "two", "three"]
    );
    let with_mail = InboxFilter {
        with_mail: true,
        ..InboxFilter::default()
    };
    assert_eq!(listed(&bed, with_mail, 10, now).await, ["one"]);
    let totals = bed
        .store
        .inbox_totals(bed.default_project, now)
        .await
        .unwrap();
    assert_eq!(
        totals,
        InboxTotals {
            inboxes: 3,
            with_mail: 1,
            messages: 1
        }
    );
}

#[testkit::each_engine]
async fn a_project_s_messages_and_bytes_are_those_that_live(bed: Bed) {
    let holdings = async |now| {
        let one = bed
            .store
            .holdings(Some(bed.default_project), now)
            .await
            .unwrap();
        assert_eq!(bed.store.holdings(None, now).await.unwrap(), one);
        let Holdings { messages, bytes } =
            one.get(&bed.default_project).copied().unwrap_or_default();
        (messages, bytes)
    };
    assert_eq!(holdings(START).await, (0, 0));
    bed.mail(&["one", "two"], "Shared", START).await;
    let (messages, bytes) = holdings(START).await;
    assert!(messages == 2 && bytes > 0, "{messages} {bytes}");
    bed.mail(&["one"], "More", START).await;
    assert!(holdings(START).await.1 > bytes);
    assert_eq!(holdings(START.after(HOUR)).await, (0, 0));
    let other = bed.project("other").await;
    bed.inbox(other, "theirs").await;
    bed.mail(&["theirs", "three"], "More", START).await;
    let all = bed.store.holdings(None, START).await.unwrap();
    assert_eq!(
        (
            all.len(),
            all[&other].messages,
            all[&bed.default_project].messages
        ),
        (2, 1, 4)
    );
}

#[testkit::each_engine]
async fn a_mark_changes_with_what_it_marks_and_with_nothing_else(bed: Bed) {
    let project = bed.default_project;
    let all = Watched::Inboxes(project);
    let one = Watched::Inbox(project, id("box"));
    let refused = Watched::Refused(Some(project));
    let marks = async |now| {
        let mark = async |watched| bed.store.mark(watched, now).await.unwrap();
        [
            mark(&all).await,
            mark(&one).await,
            mark(&refused).await,
            mark(&Watched::Refused(None)).await,
        ]
    };
    let mut last = marks(START).await;
    // Which marks the step has changed.
    let mut changed = async |now| {
        let new = marks(now).await;
        let changed = [0, 1, 2, 3].map(|at: usize| new[at] != last[at]);
        last = new;
        changed
    };
    assert_eq!(changed(START).await, [false; 4]);
    bed.inbox(project, "box").await;
    assert_eq!(changed(START).await, [true, true, false, false]);
    bed.mail(&["else"], "x", START).await;
    assert_eq!(changed(START).await, [true, false, false, false]);
    bed.mail(&["box"], "x", START).await;
    assert_eq!(changed(START).await, [true, true, false, false]);
    // Another list of faults with as many uses, and none.
    let inbox = bed.live("box", START).await.unwrap();
    for action in [FaultAction::Duplicate, FaultAction::Bounce] {
        let faults = [Fault {
            at: FaultPoint::Data,
            action,
            times: 2,
        }];
        assert!(
            bed.store
                .set_faults(&inbox, &faults, START)
                .await
                .unwrap()
                .is_some()
        );
        assert_eq!(changed(START).await, [true, true, false, false]);
    }
    assert!(
        bed.store
            .set_faults(&inbox, &[], START)
            .await
            .unwrap()
            .is_some()
    );
    assert_eq!(changed(START).await, [true, true, false, false]);
    let id = bed.mail(&["box"], "y", START).await[0];
    assert_eq!(changed(START).await, [true, true, false, false]);
    assert!(bed.store.delete_message(project, id, START).await.unwrap());
    assert_eq!(changed(START).await, [true, true, false, false]);
    bed.sweep(START).await;
    assert_eq!(changed(START).await, [false; 4]);
    let other = bed.project("other").await;
    bed.inbox(other, "theirs").await;
    assert_eq!(changed(START).await, [false; 4]);
    bed.store
        .append(vec![entry(other, &refusal("<a@b>"))])
        .await
        .unwrap();
    assert_eq!(changed(START).await, [false, false, false, true]);
    bed.store
        .append(vec![entry(project, &refusal("<a@b>"))])
        .await
        .unwrap();
    // The list of inboxes shows what failed in each.
    assert_eq!(changed(START).await, [true, false, true, true]);
    assert_eq!(
        changed(START.after(HOUR)).await,
        [true, true, false, false],
        "what ends is a change, too"
    );
}

#[testkit::each_engine]
async fn inboxes_are_found_the_exact_one_first_and_for_30_days_after_their_end(bed: Bed) {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let text = |text: &str| SearchText::new(text, &Domain::parse("restante.example.com").unwrap());
    let other = bed.project("other").await;
    for (project, name) in [
        (bed.default_project, "u5"),
        (bed.default_project, "u59"),
        (other, "xu5"),
    ] {
        bed.inbox(project, name).await;
    }
    bed.mail(&["u59"], "Later", START.after(HOUR / 4)).await;
    let ids = |found: Vec<FoundInbox>| {
        found
            .into_iter()
            .map(|one| one.inbox.id.to_string())
            .collect::<Vec<_>>()
    };
    let now = START.after(HOUR / 2);
    let own = bed.default_project;
    assert_eq!(
        ids(bed
            .store
            .find_inboxes(own, &text("u5"), false, 10, now)
            .await
            .unwrap()),
        ["u5", "u59"]
    );
    let whole = text("u5@restante.example.com");
    assert_eq!(
        ids(bed
            .store
            .find_inboxes(own, &whole, false, 10, now)
            .await
            .unwrap()),
        ["u5"]
    );
    assert_eq!(
        ids(bed
            .store
            .find_inboxes(own, &whole, true, 10, now)
            .await
            .unwrap()),
        [""; 0]
    );

    assert!(
        bed.store
            .end_inbox(&bed.live("u5", now).await.unwrap(), now)
            .await
            .unwrap()
    );
    assert_eq!(
        ids(bed
            .store
            .find_inboxes(own, &whole, false, 10, now)
            .await
            .unwrap()),
        [""; 0]
    );
    let ended = bed
        .store
        .find_inboxes(own, &whole, true, 10, now)
        .await
        .unwrap();
    assert_eq!(ended[0].end, Some(InboxEnd::Deleted(now)));
    let later = START.after(HOUR + DAY);
    assert_eq!(
        ids(bed
            .store
            .find_inboxes(own, &text("u5"), true, 10, later)
            .await
            .unwrap()),
        ["u5", "u59"]
    );
    assert_eq!(
        ids(bed
            .store
            .find_inboxes(other, &text("u5"), true, 10, later)
            .await
            .unwrap()),
        ["xu5"]
    );
    assert_eq!(
        ids(bed
            .store
            .find_inboxes(own, &text("u5"), true, 10, later.after(30 * DAY))
            .await
            .unwrap()),
        [""; 0]
    );
}
