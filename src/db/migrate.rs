//! Brings the schema up to date, one transaction per step. Returns an error for a schema that a newer program has
//! changed.

use super::{Database, DatabaseError, Transaction, values};

/// The lock for migrations; an arbitrary number that is not used for anything else.
const MIGRATING: i64 = 0x7265_7374_616e_7401;
const VERSION_TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)";
const VERSION: &str = "SELECT version FROM schema_version";

/// Runs those of `migrations` that the database does not have yet. The first one creates version 1.
pub(super) async fn run(database: &Database, migrations: &[&'static str]) -> Result<(), DatabaseError> {
    let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    for (script, version) in migrations.iter().copied().zip(1..) {
        database.transact(move |transaction| step(transaction, script, version, known)).await?;
    }
    Ok(())
}

async fn step(
    mut transaction: Transaction,
    script: &'static str,
    version: i64,
    known: i64,
) -> Result<(), DatabaseError> {
    transaction.wait_as_long_as_it_takes();
    // The version is read while the lock is held, so that two programs that start at once migrate only once.
    transaction.lock(MIGRATING).await?;
    let present = present_version(&mut transaction).await?;
    if present > known {
        return Err(DatabaseError::Newer { found: present, known });
    }
    if present >= version {
        return Ok(());
    }
    transaction.execute_script(script).await?;
    transaction.execute("UPDATE schema_version SET version = $1", values![version]).await?;
    transaction.commit().await
}

async fn present_version(transaction: &mut Transaction) -> Result<i64, DatabaseError> {
    transaction.execute_script(VERSION_TABLE).await?;
    if let Some(row) = transaction.query(VERSION, vec![]).await?.first_mut() {
        return row.integer();
    }
    transaction.execute("INSERT INTO schema_version (version) VALUES (0)", vec![]).await?;
    Ok(0)
}
