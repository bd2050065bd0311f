//! Brings the schema up to date, one transaction per step. Returns an error for a schema that a
//! newer program has changed.

use super::{Database, DatabaseError, Transaction, values};

/// The lock for migrations; an arbitrary number that is not used for anything else.
const MIGRATING: i64 = 0x7265_7374_616e_7401;
const VERSION_TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)";
const VERSION: &str = "SELECT version FROM schema_version";

/// One migration of the schema.
#[derive(Clone, Copy)]
struct Step {
    script: &'static str,
    /// The version after it.
    version: i64,
    /// The newest version that this program knows.
    known: i64,
    /// Whether a step of this run has been applied already, so that the database was new or has
    /// been copied.
    is_under_way: bool,
}

/// Runs those of `migrations` that the database does not have yet. The first one creates version 1.
/// A SQLite database that is not new is copied to a file beside it first.
pub(super) async fn run(
    database: &Database,
    migrations: &[&'static str],
) -> Result<(), DatabaseError> {
    let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    let mut is_under_way = false;
    for (script, version) in migrations.iter().copied().zip(1..) {
        let step = Step {
            script,
            version,
            known,
            is_under_way,
        };
        is_under_way |= database
            .transact(move |transaction| apply(transaction, step))
            .await?;
    }
    Ok(())
}

/// Applies one step if the database does not have it yet, and returns whether it was applied.
async fn apply(mut transaction: Transaction, step: Step) -> Result<bool, DatabaseError> {
    transaction.wait_as_long_as_it_takes();
    // The version is read while the lock is held, so that two programs that start at once migrate
    // only once.
    transaction.lock(MIGRATING).await?;
    let present = present_version(&mut transaction).await?;
    if present > step.known {
        return Err(DatabaseError::Newer {
            found: present,
            known: step.known,
        });
    }
    if present >= step.version {
        return Ok(false);
    }
    if present > 0 && !step.is_under_way {
        transaction.copy_before_migration(present).await?;
    }
    transaction.execute_script(step.script).await?;
    transaction
        .execute(
            "UPDATE schema_version SET version = $1",
            values![step.version],
        )
        .await?;
    transaction.commit().await?;
    Ok(true)
}

async fn present_version(transaction: &mut Transaction) -> Result<i64, DatabaseError> {
    transaction.execute_script(VERSION_TABLE).await?;
    if let Some(row) = transaction.query(VERSION, vec![]).await?.first_mut() {
        return row.get();
    }
    transaction
        .execute("INSERT INTO schema_version (version) VALUES (0)", vec![])
        .await?;
    Ok(0)
}
