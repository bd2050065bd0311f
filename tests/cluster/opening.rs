//! Two nodes open the same inboxes at once: each inbox exists once, and has each message once and
//! in order.

use futures_util::future::join_all;
use restante::clock::Clock;

use super::bed::{mail, scale, service};
use testkit::postgres::TestDatabase;

/// The inboxes of a round. Each node puts its mail for them into one batch.
const INBOXES: u64 = 25;

#[tokio::test(flavor = "multi_thread")]
async fn inboxes_that_two_nodes_open_at_once_have_the_mail_of_both() {
    let database = TestDatabase::create();
    let nodes = [
        service(&database.text(), Clock::system()).await,
        service(&database.text(), Clock::system()).await,
    ];
    let rounds = scale("RESTANTE_TEST_OPENINGS", 20);
    for round in 0..rounds {
        let each = (0..INBOXES).flat_map(|inbox| {
            nodes
                .iter()
                .map(move |node| (format!("{round}-{inbox}"), node))
        });
        let delivered = join_all(
            each.map(|(inbox, node)| async move { node.deliver(mail(&inbox, "text")).await }),
        )
        .await;
        assert!(delivered.iter().all(Result::is_ok), "{delivered:?}");
    }
    let sequences =
        "SELECT string_agg(sequence::text, ' ' ORDER BY sequence) || ' of ' || last_sequence
        FROM inboxes JOIN messages ON inbox_number = inboxes.number GROUP BY inboxes.number";
    let inboxes = database.run(sequences);
    assert_eq!(inboxes.len() as u64, rounds * INBOXES);
    assert!(
        inboxes.iter().all(|inbox| inbox == "1 2 of 2"),
        "{inboxes:?}"
    );
}
