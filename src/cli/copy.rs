//! `restante copy`: copies a whole database to another one, for example from SQLite to PostgreSQL.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;

use super::database::DatabaseCommandError;
use super::error::CliError;
use super::output::ProgressLine;
use super::{data_dir, database, output};
use crate::config::{DatabaseUrl, database_url, secret};
use crate::service::{DatabaseContents, Progress};

/// The source and the target.
#[derive(Args, Debug)]
pub(super) struct CopyCommand {
    /// The database to copy, sqlite:PATH or postgres://…; no server may be running on it
    #[arg(long, value_name = "URL", value_parser = secret(database_url))]
    from: DatabaseUrl,
    /// The target database, which must be empty; no server may be running on it
    #[arg(long, value_name = "URL", value_parser = secret(database_url))]
    to: DatabaseUrl,
}

/// Runs the command.
///
/// # Errors
/// [`CliError`]; then the target remains empty.
pub(super) fn run(command: &CopyCommand) -> Result<(), CliError> {
    let from = &command.from;
    let to = &command.to;
    database::refuse_absent(from)?;
    // A server on the source would change rows that have already been copied.
    for url in [from, to] {
        data_dir::lock_database(url)?;
    }
    let shown = Arc::new(Mutex::new(Shown::new()));
    database::with(from.clone(), DatabaseContents::migrate, async |source| {
        let target = database::open(to.clone(), DatabaseContents::migrate).await?;
        let updated = Arc::clone(&shown);
        let copied = source
            .copy_to(&target, move |progress| locked(&updated).update(progress))
            .await;
        Ok(copied.map_err(|error| DatabaseCommandError::Copy(error.into()))?)
    })?;
    locked(&shown).line.clear();
    output::note(&format!(
        "Copied {from} to {to}: {}.",
        locked(&shown).summary()
    ));
    Ok(())
}

fn locked(shown: &Mutex<Shown>) -> MutexGuard<'_, Shown> {
    // A panic while printing leaves the value intact.
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The progress of each table: a line on a terminal, and a summary at the end.
struct Shown {
    tables: Vec<Progress>,
    line: ProgressLine,
}

impl Shown {
    fn new() -> Self {
        Self {
            tables: Vec::new(),
            line: ProgressLine::new(),
        }
    }

    fn update(&mut self, progress: Progress) {
        match self
            .tables
            .last_mut()
            .filter(|last| last.table == progress.table)
        {
            Some(last) => *last = progress,
            None => self.tables.push(progress),
        }
        let Progress {
            table,
            copied,
            rows,
        } = progress;
        self.line
            .show(&format!("{table}: {copied} of {rows}"), copied == rows);
    }

    fn summary(&self) -> String {
        let counted = self
            .tables
            .iter()
            .map(|progress| format!("{} {}", progress.copied, progress.table));
        let counted: Vec<String> = counted.map(|text| text.replace('_', " ")).collect();
        if counted.is_empty() {
            "it was empty".to_owned()
        } else {
            counted.join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_counts_each_table_once() {
        let mut shown = Shown::new();
        assert_eq!(shown.summary(), "it was empty");
        for (table, copied) in [("projects", 1), ("api_keys", 500), ("api_keys", 750)] {
            shown.update(Progress {
                table,
                copied,
                rows: 750,
            });
        }
        assert_eq!(shown.summary(), "1 projects, 750 api keys");
    }
}
