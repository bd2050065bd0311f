//! The location of the data, which is given by flags of every command that works on it.

use std::path::PathBuf;

use clap::Args;

use super::values::{database_url, secret};
use super::{DatabaseUrl, defaults};

/// Where the data is.
#[derive(Args, Clone, Debug)]
pub struct Data {
    /// The data directory of the server: its database, TLS certificate and lock file
    #[arg(
        long,
        env = "RESTANTE_DATA_DIR",
        value_name = "DIR",
        default_value = "./restante-data",
        global = true
    )]
    pub data_dir: PathBuf,
    /// The database, `sqlite:PATH` or `postgres://USER@HOST/DATABASE` [default: `restante.db` in
    /// the data directory]
    #[arg(
        long, env = "RESTANTE_DATABASE", value_name = "URL", hide_env_values = true, global = true,
        value_parser = secret(database_url)
    )]
    pub database: Option<DatabaseUrl>,
}

impl Data {
    /// The database.
    #[must_use]
    pub fn url(&self) -> DatabaseUrl {
        self.database
            .clone()
            .unwrap_or_else(|| DatabaseUrl::Sqlite(self.data_dir.join("restante.db")))
    }
}

impl Default for Data {
    fn default() -> Self {
        defaults()
    }
}
