//! The evidence of an explanation, read as it was at an earlier time: a story that is recorded late
//! says the same.

use std::time::Duration;

use restante::model::{
    Inbox, MessageFilter, Period, RefusedMail, SendApisUse, SmtpUse, Timestamp, TotalUse,
};
use restante_api::EventKind;
use uuid::Uuid;

use super::bed::{Bed, START, id};
use super::journal::{entry, refusal};

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u32) -> Timestamp {
    START.after(seconds * SECOND)
}

/// The numbers of messages in the inbox, of the listed ones, of rejections, of other inboxes with
/// their messages, and of clients, until then.
async fn counts(
    bed: &Bed,
    inbox: &Inbox,
    until: Timestamp,
) -> (i64, usize, usize, Vec<i64>, usize) {
    let store = &bed.store;
    let project = inbox.project;
    let period = Period::of_inbox(inbox, until);
    let latest = store
        .latest_messages(inbox, (&MessageFilter::default(), 0), 10, until)
        .await
        .unwrap();
    let past = store.past_of(inbox, until, 10).await.unwrap();
    let arrived = past.iter().filter(|event| event.kind == EventKind::Stored);
    assert_eq!(arrived.count(), latest.len());
    let refused = store.rejections_of(inbox, project, period, 10).await;
    let refused = refused.unwrap();
    let times = (period.since, period.until);
    let in_project = store.recorded(Some(project), "", times, 10).await.unwrap();
    let in_project: Vec<(_, RefusedMail)> = in_project;
    assert_eq!(in_project.len(), refused.len());
    let others = store.inboxes_with_mail(project, period).await.unwrap();
    let others = others
        .into_iter()
        .filter(|other| other.id != inbox.id)
        .map(|other| other.messages)
        .collect();
    let count = store.message_count_at(inbox, until).await.unwrap();
    (
        count,
        latest.len(),
        refused.len(),
        others,
        store.clients_of(project, until).await.unwrap().len(),
    )
}

#[testkit::each_engine]
async fn evidence_is_read_as_it_was(bed: Bed) {
    let inbox = bed.inbox(bed.default_project, "box").await;
    bed.mail(&["box"], "One", at(10)).await;
    bed.mail(&["other"], "One", at(10)).await;
    let mut refused = refusal("<box@restante.example.com>");
    (refused.inbox, refused.refused_at) = (Some(id("box")), at(10));
    bed.store
        .append(vec![entry(bed.default_project, &refused)])
        .await
        .unwrap();
    let then = counts(&bed, &inbox, at(10)).await;
    assert_eq!(
        (then.0, then.1, then.2, then.3.as_slice()),
        (1, 1, 1, &[1][..])
    );
    assert_eq!(counts(&bed, &inbox, at(9)).await, (0, 0, 0, Vec::new(), 0));

    bed.mail(&["box"], "Two", at(20)).await;
    bed.mail(&["other", "another"], "Two", at(20)).await;
    refused.refused_at = at(20);
    bed.store
        .append(vec![entry(bed.default_project, &refused)])
        .await
        .unwrap();
    assert_eq!(counts(&bed, &inbox, at(10)).await, then);
    let now = counts(&bed, &inbox, at(20)).await;
    assert_eq!((now.0, now.1, now.2), (2, 2, 2));
    // An inbox that got mail only before the period is none of them.
    let period = Period {
        since: at(15),
        started_at: at(15),
        until: at(20),
    };
    assert_eq!(
        bed.store
            .inboxes_with_mail(inbox.project, period)
            .await
            .unwrap()
            .len(),
        3
    );
    let period = Period {
        since: at(11),
        started_at: at(11),
        until: at(15),
    };
    assert_eq!(
        bed.store
            .inboxes_with_mail(inbox.project, period)
            .await
            .unwrap()
            .len(),
        0
    );
}

#[testkit::each_engine]
async fn what_other_nodes_report_later_does_not_count(bed: Bed) {
    let node = Uuid::now_v7();
    let this = Uuid::now_v7();
    let report = async |seconds: u32| {
        let last = Some(at(seconds));
        let used = SmtpUse {
            connections_open: 1,
            last_connection_at: last,
            last_message_at: last,
        };
        let total = TotalUse {
            used,
            send_apis: SendApisUse([last; 5]),
            since: START,
        };
        bed.store
            .report_node(node, total, START, at(seconds))
            .await
            .unwrap();
    };
    let used = async |until: u32| {
        let total = bed.store.use_of_other_nodes(this, START, at(until)).await;
        let TotalUse {
            used, send_apis, ..
        } = total.unwrap();
        (
            used.connections_open,
            used.last_connection_at,
            used.last_message_at,
            send_apis.0[0],
        )
    };
    report(10).await;
    assert_eq!(
        used(10).await,
        (1, Some(at(10)), Some(at(10)), Some(at(10)))
    );
    report(20).await;
    report(20).await;
    assert_eq!(
        used(20).await,
        (1, Some(at(20)), Some(at(20)), Some(at(20)))
    );
    // After the end of a wait, another client has connected.
    assert_eq!(
        used(15).await,
        (0, Some(at(10)), Some(at(10)), Some(at(10)))
    );
    assert_eq!(used(9).await, (0, None, None, None));
}
