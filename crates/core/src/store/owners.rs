//! Whom an address belongs to, and which clients a project has.

use uuid::Uuid;

use super::{Store, StoreError, live};
use crate::db::{Row, Value, values};
use crate::model::{InboxId, ProjectId, SharedAddress, Timestamp};

/// How many names one query looks up.
const NAMES_A_QUERY: usize = 8;

/// How many of the newest messages of a project show which clients it has.
const RECENT_MESSAGES: i64 = 200;

impl Store {
    /// The addresses of the clients that had lately sent mail to inboxes of a project then.
    pub async fn clients_of(
        &self,
        project: ProjectId,
        until: Timestamp,
    ) -> Result<Vec<String>, StoreError> {
        const CLIENTS: &str = "
            SELECT DISTINCT c.client FROM (
                SELECT content_number FROM messages WHERE project_id = $1 AND received_at <= $3
                ORDER BY number DESC LIMIT $2) m
            JOIN contents c ON c.number = m.content_number WHERE c.client IS NOT NULL";
        let parameters = values![project, RECENT_MESSAGES, until];
        self.all(CLIENTS, parameters, Row::get).await
    }

    /// The project that owns an address on the mail domain, whether it is a live inbox or reserved.
    pub async fn owner_of_address(&self, inbox: &InboxId) -> Result<Option<ProjectId>, StoreError> {
        const OWNER: &str = "SELECT project_id FROM inboxes WHERE id = $1 AND address IS NULL";
        self.first(OWNER, values![inbox], Row::get).await
    }

    /// The projects that own these names, each with the name: ids of inboxes on the mail domain,
    /// and shared addresses, which several projects can have.
    pub async fn owners_of(
        &self,
        names: &[String],
    ) -> Result<Vec<(String, ProjectId)>, StoreError> {
        const OWNERS: &str = "
            SELECT id, project_id FROM inboxes WHERE address IS NULL AND id IN ($1, $2, $3, $4, $5, $6, $7, $8)
            UNION ALL SELECT address, project_id FROM inboxes WHERE address IN ($1, $2, $3, $4, $5, $6, $7, $8)";
        let mut owners = Vec::new();
        for names in names.chunks(NAMES_A_QUERY) {
            let names = names
                .iter()
                .map(String::as_str)
                .chain(std::iter::repeat(""))
                .take(NAMES_A_QUERY);
            for mut row in self
                .database
                .look_up(OWNERS, names.map(Value::from).collect())
                .await?
            {
                owners.push((row.get()?, row.get()?));
            }
        }
        Ok(owners)
    }

    /// The inboxes with a shared address that have not ended, and at least two that have: of one
    /// project, or of all.
    pub async fn holders_of_address(
        &self,
        address: &SharedAddress,
        project: Option<ProjectId>,
        now: Timestamp,
    ) -> Result<Vec<Holder>, StoreError> {
        const HOLDERS: &str = concat!(
            "SELECT id, project_id, CASE WHEN ",
            live!("$2"),
            " THEN 1 ELSE 0 END AS is_live FROM inboxes WHERE address = $1 AND ($3 = 0 OR project_id = $4)
             ORDER BY is_live DESC LIMIT 100"
        );
        let one = project.unwrap_or(ProjectId(Uuid::nil()));
        let read = |row: &mut Row| {
            Ok(Holder {
                inbox: row.get()?,
                project: row.get()?,
                is_live: row.get()?,
            })
        };
        let parameters = values![address, now, project.is_some(), one];
        self.all(HOLDERS, parameters, read).await
    }
}

/// An inbox with a shared address.
#[derive(Clone, Debug)]
pub struct Holder {
    pub inbox: InboxId,
    /// The project that has it.
    pub project: ProjectId,
    /// Whether it has not ended.
    pub is_live: bool,
}
