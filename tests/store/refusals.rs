//! Refusals over SMTP.

use restante::model::{ProjectId, Refusal, RefusalFilter, RefusalReason, RefusedMail};
use restante::store::Change;

use super::bed::{Bed, HOUR, START, id};
use super::overview::refusal;

fn of(project: Option<ProjectId>) -> RefusalFilter {
    RefusalFilter {
        project,
        ..RefusalFilter::default()
    }
}

#[testkit::each_engine]
async fn refusals_are_found_by_text_reason_and_time(bed: Bed) {
    let project = bed.default_project;
    let late = START.after(HOUR);
    let mut full = refusal("<Full@b>");
    (full.reason, full.refused_at) = (RefusalReason::Smtp(Refusal::InboxFull), late);
    let mut relay = refusal("<away@c>");
    relay.reason = RefusalReason::Smtp(Refusal::RelayNotPermitted);
    bed.store
        .add_refusals(&[(project, relay), (project, full)])
        .await
        .unwrap();
    let found = async |filter: RefusalFilter| {
        let found = bed.store.find_refusals(&filter, 10).await.unwrap();
        found
            .into_iter()
            .map(|(_, refused)| refused.recipient)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        found(RefusalFilter {
            text: "FULL@".to_owned(),
            ..of(None)
        })
        .await,
        ["<Full@b>"]
    );
    let reason = Some(RefusalReason::Smtp(Refusal::RelayNotPermitted));
    assert_eq!(
        found(RefusalFilter {
            reason,
            ..of(Some(project))
        })
        .await,
        ["<away@c>"]
    );
    assert_eq!(
        found(RefusalFilter {
            since: Some(late),
            ..of(None)
        })
        .await,
        ["<Full@b>"]
    );
    assert_eq!(
        found(RefusalFilter {
            text: "nothing".to_owned(),
            ..of(None)
        })
        .await,
        [""; 0]
    );
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
    bed.store
        .add_refusals(&[
            (project, refusal("<a@b>")),
            (other, of_client("192.0.2.1", 0)),
        ])
        .await
        .unwrap();
    for number in 0..30 {
        let batch = (0..50).map(|guess| (project, of_client("192.0.2.1", 50 * number + guess)));
        let batch: Vec<_> = batch
            .chain([(project, of_client("2001:db8::1", number))])
            .collect();
        bed.store.add_refusals(&batch).await.unwrap();
    }
    let found = bed
        .store
        .find_refusals(&of(Some(project)), 100)
        .await
        .unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|(_, refused)| (refused.peer.as_str(), refused.reply.as_str()))
        .collect();
    let first = ("192.0.2.1:4000", "550 5.7.1 relay not permitted");
    assert_eq!(found, [("2001:db8::1", "29"), ("192.0.2.1", "1499"), first]);
    assert_eq!(
        bed.store
            .find_refusals(&of(Some(other)), 100)
            .await
            .unwrap()
            .len(),
        1
    );
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
    bed.store
        .add_refusals(&refused.collect::<Vec<_>>())
        .await
        .unwrap();
    let found = bed.store.find_refusals(&of(None), 100).await.unwrap();
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
    bed.store.add_refusals(&refused).await.unwrap();
    assert_eq!(changes.recv().await, Some(Change::Refusals));
    let recipients = async |project, limit| {
        let refusals = bed.store.find_refusals(&of(project), limit).await.unwrap();
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
        bed.store.find_refusals(&of(Some(other)), 1).await.unwrap(),
        [(other, refusal("<theirs@b>"))]
    );
}

#[testkit::each_engine]
async fn of_a_flood_of_refusals_the_latest_thousand_are_kept(bed: Bed) {
    let other = bed.project("other").await;
    bed.store
        .add_refusals(&[(other, refusal("<quiet@b>"))])
        .await
        .unwrap();
    let flood: Vec<_> = (0..1_100)
        .map(|number| (bed.default_project, refusal(&number.to_string())))
        .collect();
    for batch in flood.chunks(300) {
        bed.store.add_refusals(batch).await.unwrap();
    }
    let kept = bed
        .store
        .find_refusals(&of(Some(bed.default_project)), usize::MAX)
        .await
        .unwrap();
    assert_eq!(
        (
            kept.len(),
            kept[0].1.recipient.as_str(),
            kept[999].1.recipient.as_str()
        ),
        (1_000, "1099", "100")
    );
    assert_eq!(
        bed.store
            .find_refusals(&of(Some(other)), 10)
            .await
            .unwrap()
            .len(),
        1
    );
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
    bed.store
        .add_refusals(&[
            (project, refusal("<a@b>")),
            (bed.default_project, refusal("<c@d>")),
        ])
        .await
        .unwrap();
    assert!(bed.store.delete_project("shop", START).await.unwrap());
    let all = bed
        .store
        .find_refusals(&RefusalFilter::default(), 10)
        .await
        .unwrap();
    assert!(
        all.iter()
            .map(|(_, refused)| refused)
            .eq([&refusal("<c@d>")])
    );
}
