//! What a former version has stored is there after the schema was brought up to date.

use restante::db::{DatabaseError, Row, Transaction, Value};

use super::bed::{Bed, START};

/// The schema before contents had numbers.
const BEFORE_NUMBERS: &[&str] = &[
    include_str!("../../src/store/migrations/0001_initial.sql"),
    include_str!("../../src/store/migrations/0002_sending.sql"),
    include_str!("../../src/store/migrations/0003_dashboard.sql"),
    include_str!("../../src/store/migrations/0004_attempts.sql"),
    include_str!("../../src/store/migrations/0005_emptied.sql"),
    include_str!("../../src/store/migrations/0006_messages_by_inbox.sql"),
];

/// Four inboxes: `alone` has a message of its own, `first` and `second` share one, and `left` has one that it shared with
/// an inbox that is gone.
pub async fn contents_of_before_get_numbers_and_keep_their_messages(bed: Bed) {
    let project = bed.default_project.0.as_bytes().to_vec();
    for inbox in ["alone", "first", "left"] {
        bed.mail(&[inbox], inbox, START).await;
    }
    let contents = stored_contents(&bed).await;
    let old = bed
        .made_by(async |database| {
            database.migrate(BEFORE_NUMBERS).await.unwrap();
            database.transact(async |transaction| fill(transaction, project, contents).await).await.unwrap();
        })
        .await;
    for (inbox, subject) in [("alone", "alone"), ("first", "first"), ("second", "first"), ("left", "left")] {
        assert_eq!(old.subjects(inbox, START).await, [subject]);
    }
    old.mail(&["alone", "new"], "new", START).await;
    assert_eq!(old.subjects("alone", START).await, ["alone", "new"]);
    assert_eq!(old.store.stored().await.unwrap(), (6, 4));

    let left_of = [("first", (5, 4)), ("second", (4, 3)), ("left", (3, 2)), ("new", (2, 2)), ("alone", (0, 0))];
    for (inbox, left) in left_of {
        let inbox = old.live(inbox, START).await.unwrap();
        assert!(old.store.end_inbox(&inbox, START).await.unwrap());
        old.sweep(START).await;
        assert_eq!(old.store.stored().await.unwrap(), left, "after {:?}", inbox.id);
    }
}

/// What the rows of contents hold behind their key, in the order in which they came, and the size of the parsed parts.
async fn stored_contents(bed: &Bed) -> Vec<Vec<Value>> {
    const CONTENTS: &str = "
        SELECT trace, parsed, raw, parsed_size FROM contents JOIN messages ON content_number = number ORDER BY number";
    let rows = bed.database().await.query(CONTENTS, vec![]).await.unwrap();
    rows.into_iter().map(Row::into_values).collect()
}

async fn fill(mut transaction: Transaction, project: Vec<u8>, contents: Vec<Vec<Value>>) -> Result<(), DatabaseError> {
    const PROJECT: &str = "INSERT INTO projects VALUES ($1, 'default', 1, $2, NULL)";
    const INBOX: &str =
        "INSERT INTO inboxes VALUES ($1, $2, 'temporary', $3, CAST($3 AS BIGINT) + 3600000, 1, 0, 0, 0)";
    const CONTENT: &str = "INSERT INTO contents VALUES ($1, $2, $3, $4)";
    const MESSAGE: &str = "INSERT INTO messages VALUES ($1, $2, 1, $3, '', $4, $4, $5, $6)";
    let start = Value::from(START.as_millis());
    let id = |number: u8| Value::from(&[number; 16][..]);
    let project = Value::from(&project[..]);
    transaction.execute(PROJECT, vec![project.clone(), start.clone()]).await?;
    // A content has the id of its first message; that of the last content is gone.
    let former = [
        (1, "alone", vec![("alone", 1)]),
        (2, "first", vec![("first", 2), ("second", 12)]),
        (3, "left", vec![("left", 13)]),
    ];
    for ((number, subject, messages), mut content) in former.into_iter().zip(contents) {
        let size = content.pop().unwrap();
        content.insert(0, id(number));
        transaction.execute(CONTENT, content).await?;
        for (inbox, message) in messages {
            transaction.execute(INBOX, vec![inbox.into(), project.clone(), start.clone()]).await?;
            let message = vec![id(message), inbox.into(), id(number), subject.into(), size.clone(), start.clone()];
            transaction.execute(MESSAGE, message).await?;
        }
    }
    transaction.commit().await
}
