//! Mail that arrives while its inbox is deleted, on two nodes whose clocks differ.

use std::sync::Arc;
use std::time::Duration;

use restante::db::Database;
use restante::model::{Domain, InboxId, MailQuery, ProjectId, Scope, Timestamp};
use restante::service::write;
use restante::store::{Content, Delivery, Origin, Policy, Search, Store, Swept};
use restante_delivery::{Request, Source};

use super::bed::{START, scale};
use testkit::postgres::TestDatabase;
use testkit::stranded::stranded;

/// How far the clock of the deleting node is ahead, in milliseconds.
const SKEWS: [i64; 3] = [-5_000, 0, 5_000];

#[tokio::test(flavor = "multi_thread")]
async fn mail_that_races_with_a_deletion_is_kept_or_deleted_with_any_clocks() {
    let database = TestDatabase::create();
    let open = async || {
        Store::open(Database::open(&database.url()).await.unwrap())
            .await
            .unwrap()
    };
    let delivering = open().await;
    let deleting = open().await;
    let project = delivering.default_project("default", START).await.unwrap();
    let inbox = InboxId::parse("box").unwrap();
    for (round, skew) in (0..scale("RESTANTE_TEST_RACES", 60)).zip(SKEWS.into_iter().cycle()) {
        let now = START.after(Duration::from_secs(round));
        let skewed = Timestamp::from_millis(now.as_millis() + skew);
        deliver(&delivering, project, &inbox, "before", now).await;
        let live = deleting.live_inbox(&inbox, now).await.unwrap().unwrap();
        let ((), deleted) = tokio::join!(
            deliver(&delivering, project, &inbox, "racing", now),
            deleting.end_inbox(&live, skewed)
        );
        deleted.unwrap();
        // Mail that arrives after the deletion is always kept.
        deliver(&delivering, project, &inbox, "after", now).await;
        let live = delivering.live_inbox(&inbox, now).await.unwrap().unwrap();
        let mut search = Search::newest_first(MailQuery::new(Scope::Inbox(live)));
        let page = delivering
            .page(&mut search, (64, usize::MAX), None, now)
            .await
            .unwrap();
        assert_eq!(page[0].head.subject, "after", "round {round}");
        sweep(&deleting, skewed).await;
    }
    let engine = Database::open(&database.url()).await.unwrap();
    assert_eq!(stranded(&engine).await, 0);
    sweep(&deleting, START.after(Duration::from_secs(1 << 30))).await;
    assert_eq!(
        deleting.stored().await.unwrap(),
        (0, 0),
        "nothing is left that no sweeper removes"
    );
}

async fn deliver(
    store: &Store,
    project: ProjectId,
    inbox: &InboxId,
    subject: &str,
    now: Timestamp,
) {
    let raw = format!("Subject: {subject}\r\n\r\ntext\r\n").into_bytes();
    let content = Content::encode(
        restante_mail::parse(&raw),
        String::new(),
        Origin::default(),
        &raw,
    );
    let source = Source::Client {
        project: None,
        reverse_path: String::new(),
    };
    let request = Request {
        recipients: vec![inbox.clone().into()],
        source,
    };
    let delivery = Delivery {
        request,
        content,
        outgoing: None,
    };
    let lifetime = Duration::from_secs(3_600);
    let mail_domain = Domain::parse("restante.example.com").unwrap();
    let policy = Policy {
        now,
        lifetime,
        inbox_messages: 1_000,
        default_project: project,
        mail_domain,
    };
    let verdicts = write(store, &Arc::new(vec![delivery]), || policy.clone())
        .await
        .unwrap();
    assert_eq!(verdicts[0].messages().count(), 1);
}

async fn sweep(store: &Store, now: Timestamp) {
    while store.sweep(now, Duration::from_secs(60)).await.unwrap() == Swept::More {}
}
