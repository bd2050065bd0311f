//! Migrations: the schema of the first release is frozen, and a second version is rehearsed on a
//! filled database.

use std::fs;
use std::path::PathBuf;

use restante::config::DatabaseUrl;
use restante::db::{Database, DatabaseError};
use restante::store::{Store, StoreError};
use sha2::{Digest, Sha256};
use testkit::{Engine, Start};

use super::bed::{Bed, START, id};

const SCHEMA: &str = include_str!("../../crates/core/src/store/schema.sql");
/// What a release might change: a column with a value computed from the rows, an index on it, and a
/// table that refers to others.
const SECOND: &str = "
    ALTER TABLE messages ADD COLUMN month BIGINT;
    UPDATE messages SET month = received_at / 2592000000;
    CREATE INDEX messages_by_month ON messages (month);
    CREATE TABLE notes (inbox_number BIGINT NOT NULL REFERENCES inboxes (number), note TEXT NOT NULL);
    INSERT INTO notes (inbox_number, note) SELECT number, id FROM inboxes;";
/// It fails after it has changed something.
const BROKEN: &str =
    "ALTER TABLE messages ADD COLUMN month BIGINT; INSERT INTO nowhere VALUES (1);";

#[test]
fn the_released_schema_does_not_change() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/store/schema.sha256");
    // Comments and the width of lines may change.
    let statements: Vec<&str> = SCHEMA
        .lines()
        .map(|line| line.split("--").next().unwrap_or_default())
        .collect();
    let statements = statements
        .join(" ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let hash: String = Sha256::digest(statements)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    if std::env::var_os("RESTANTE_WRITE_EXPECTED").is_some() {
        fs::write(path, format!("{hash}\n")).unwrap();
        return;
    }
    assert!(
        fs::read_to_string(path).unwrap().trim() == hash,
        "crates/core/src/store/schema.sql has changed.\n\
         Until 0.1.0 is released, it may: write the hash of the new schema to tests/store/schema.sha256 with\n\
         \n    RESTANTE_WRITE_EXPECTED=1 cargo test -p restante --test store the_released_schema\n\
         \nAfter the release, databases with the old schema exist: leave schema.sql as it is, and add the change as a \
         second script to MIGRATIONS in crates/core/src/store/mod.rs."
    );
}

#[testkit::each_engine]
async fn a_filled_database_is_migrated_without_loss(bed: Bed) {
    let inboxes = fill(&bed).await;

    open(&bed).await.migrate(&[SCHEMA, SECOND]).await.unwrap();

    assert_eq!(bed.count("SELECT version FROM schema_version").await, 2);
    assert_eq!(
        bed.count("SELECT COUNT(*) FROM messages WHERE month = received_at / 2592000000")
            .await,
        6
    );
    assert_eq!(bed.count("SELECT COUNT(*) FROM notes").await, inboxes);
    // The store works on the tables that the migration has changed.
    assert_eq!(
        bed.subjects("ada", START).await,
        ["first", "second", "third"]
    );
    bed.mail(&["ada"], "fourth", START).await;
    assert_eq!(
        bed.subjects("ada", START).await,
        ["first", "second", "third", "fourth"]
    );
    let result = Store::open(open(&bed).await).await;
    assert!(
        matches!(
            result,
            Err(StoreError::Database(DatabaseError::Newer {
                found: 2,
                known: 1
            }))
        ),
        "{result:?}"
    );
}

#[testkit::each_engine]
async fn a_migration_that_fails_leaves_the_database_as_it_was(bed: Bed) {
    fill(&bed).await;

    open(&bed)
        .await
        .migrate(&[SCHEMA, BROKEN])
        .await
        .unwrap_err();

    assert_eq!(bed.count("SELECT version FROM schema_version").await, 1);
    let bed = bed.restart().await;
    assert_eq!(
        bed.subjects("ada", START).await,
        ["first", "second", "third"]
    );
    // The next attempt succeeds.
    open(&bed).await.migrate(&[SCHEMA, SECOND]).await.unwrap();
    assert_eq!(bed.count("SELECT version FROM schema_version").await, 2);
}

#[tokio::test]
async fn the_file_is_copied_beside_before_a_migration() {
    Bed::test(Engine::Sqlite, the_file_is_copied).await;
}

async fn the_file_is_copied(bed: Bed) {
    fill(&bed).await;
    let copy = PathBuf::from(format!("{}.version-1", bed.file().display()));
    assert!(!copy.exists(), "a new database needs no copy");
    fs::write(&copy, "of an earlier attempt").unwrap();

    open(&bed)
        .await
        .migrate(&[SCHEMA, SECOND, "CREATE TABLE third (number BIGINT)"])
        .await
        .unwrap();

    let old = Store::open(Database::open(&DatabaseUrl::Sqlite(copy)).await.unwrap())
        .await
        .unwrap();
    assert!(old.live_inbox(&id("ada"), START).await.unwrap().is_some());
    let mut names: Vec<String> = fs::read_dir(bed.file().parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm"))
        .collect();
    names.sort();
    assert_eq!(names, ["restante.db", "restante.db.version-1"]);
}

/// Stores some of everything, and returns the number of inboxes.
async fn fill(bed: &Bed) -> i64 {
    bed.inbox(bed.default_project, "bob").await;
    for subject in ["first", "second", "third"] {
        bed.mail(&["ada", "bob"], subject, START).await;
    }
    bed.shared(bed.default_project, "eve@example.com").await;
    bed.count("SELECT COUNT(*) FROM inboxes").await
}

async fn open(bed: &Bed) -> Database {
    Database::open(&bed.url()).await.unwrap()
}
