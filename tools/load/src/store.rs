//! Creates many projects in a data directory before the server starts.

use std::path::Path;

use restante::clock::Clock;
use restante::config::DatabaseUrl;
use restante::db::Database;
use restante::service::Projects;

use crate::server::KEY;

/// Creates `count` projects and returns their keys.
pub(crate) async fn create_keys(data_dir: &Path, count: usize) -> Vec<String> {
    let database = Database::open(&DatabaseUrl::Sqlite(data_dir.join("restante.db")))
        .await
        .unwrap();
    let projects = Projects::open(database, Clock::system()).await.unwrap();
    projects
        .prepare_default(Some(&KEY.parse().unwrap()))
        .await
        .unwrap();
    let mut keys = Vec::new();
    for number in 0..count {
        keys.push(
            projects
                .create(&format!("load-{number}"))
                .await
                .unwrap()
                .as_str()
                .to_owned(),
        );
    }
    keys
}
