//! Refusals over SMTP. Only the latest of each project are kept, so that a flood of refusals needs
//! little space.

use std::collections::HashSet;

use uuid::Uuid;

use super::{Change, Store, StoreError, live};
use crate::db::{DatabaseError, Row, Transaction, Value, values};
use crate::model::{
    InboxId, Period, ProjectId, RefusalFilter, RefusalReason, RefusedMail, SharedAddress,
    Timestamp, fold_case,
};

/// Maximum number of refusals that are kept for each project.
const MAX_REFUSALS_KEPT: i64 = 1_000;

/// Maximum number of refusals that one search reads.
const SEARCHED: usize = 5_000;

/// How many names one query looks up.
const NAMES_A_QUERY: usize = 8;

/// How many of the newest messages of a project show which clients it has.
const RECENT_MESSAGES: i64 = 200;

/// A SELECT of the columns of a [`RefusedMail`], and after them its project.
macro_rules! refusals {
    ($conditions:literal) => {
        concat!(
            "SELECT peer, sender, recipient, inbox_id, authenticated, reason, reply, refused_at, project_id
             FROM refusals WHERE ",
            $conditions
        )
    };
}

impl Store {
    /// The latest refusals that match `filter`, newest first, each with its project: at most
    /// `limit`.
    pub async fn find_refusals(
        &self,
        filter: &RefusalFilter,
        limit: usize,
    ) -> Result<Vec<(ProjectId, RefusedMail)>, StoreError> {
        const FIND: &str = refusals!(
            "($1 = 0 OR project_id = $2) AND ($3 = '' OR reason = $3) AND refused_at >= $4
             ORDER BY id DESC LIMIT $5"
        );
        let id = filter.project.map_or(Uuid::nil(), |project| project.0);
        let since = filter.since.map_or(0, Timestamp::as_millis);
        let reason = filter.reason.as_ref().map_or("", RefusalReason::label);
        let wanted = fold_case(&filter.text);
        let most = if wanted.is_empty() { limit } else { SEARCHED };
        let parameters = values![filter.project.is_some(), id, reason, since, most];
        let rows = self.database.query(FIND, parameters).await?;
        let mut found = Vec::new();
        for mut row in rows {
            let refused = read_refusal(&mut row)?;
            let project = ProjectId(row.uuid()?);
            if wanted.is_empty() || contains(&refused, &wanted) {
                found.push((project, refused));
            }
            if found.len() >= limit {
                break;
            }
        }
        Ok(found)
    }

    /// The newest refusals of `project` in a period, of mail to `inbox` and of mail without a known
    /// recipient. Those of `default_project` without a key and a known recipient may concern any
    /// project. They are returned without addresses, because the sender may be a client of another
    /// project.
    pub async fn refusals_of(
        &self,
        project: ProjectId,
        inbox: &InboxId,
        default_project: ProjectId,
        period: Period,
        most: usize,
    ) -> Result<Vec<RefusedMail>, StoreError> {
        const NAMED: &str = refusals!(
            "inbox_id = $1 AND project_id = $2 AND refused_at >= $3 AND refused_at <= $4 ORDER BY id DESC LIMIT $5"
        );
        const UNNAMED: &str = refusals!(
            "inbox_id = '' AND (project_id = $1 OR (project_id = $2 AND authenticated = 0))
             AND refused_at >= $3 AND refused_at <= $4 ORDER BY id DESC LIMIT $5"
        );
        let Period { since, until, .. } = period;
        let mut all = Vec::new();
        for mut row in self
            .database
            .query(NAMED, values![inbox, project, since, until, most])
            .await?
        {
            all.push(read_refusal(&mut row)?);
        }
        for mut row in self
            .database
            .query(
                UNNAMED,
                values![project, default_project, since, until, most],
            )
            .await?
        {
            let mut refused = read_refusal(&mut row)?;
            refused.sender.clear();
            if row.uuid()? != project.0 {
                refused.recipient.clear();
            }
            all.push(refused);
        }
        // Refusals of mail to the inbox first, so that other clients displace none of them.
        all.sort_by_key(|refused| {
            (
                refused.inbox.is_none(),
                std::cmp::Reverse(refused.refused_at),
            )
        });
        all.truncate(most);
        Ok(all)
    }

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
        let rows = self
            .database
            .query(CLIENTS, values![project, RECENT_MESSAGES, until])
            .await?;
        Ok(rows
            .into_iter()
            .map(|mut row| row.text())
            .collect::<Result<_, _>>()?)
    }

    /// The newest refusals of a project in a period, newest first.
    pub async fn last_refusals(
        &self,
        project: ProjectId,
        period: Period,
        most: usize,
    ) -> Result<Vec<RefusedMail>, StoreError> {
        const LAST: &str = refusals!(
            "project_id = $1 AND refused_at >= $2 AND refused_at <= $3 ORDER BY id DESC LIMIT $4"
        );
        let rows = self
            .database
            .query(LAST, values![project, period.since, period.until, most])
            .await?;
        Ok(rows
            .into_iter()
            .map(|mut row| read_refusal(&mut row))
            .collect::<Result<_, _>>()?)
    }

    /// Stores refusals, each with its project, in the order in which they happened, and deletes the
    /// oldest.
    pub async fn add_refusals(
        &self,
        refusals: &[(ProjectId, RefusedMail)],
    ) -> Result<(), StoreError> {
        const INSERT: &str = "
            INSERT INTO refusals (id, project_id, peer, sender, recipient, inbox_id, authenticated, reason,
                reply, refused_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        const FORGET: &str = "
            DELETE FROM refusals WHERE project_id = $1 AND id <= (
                SELECT id FROM refusals WHERE project_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)";
        const REPLACE: &str =
            "DELETE FROM refusals WHERE project_id = $1 AND reason = $2 AND peer = $3";
        // Of those that replace each other, only the last is stored.
        let mut replaced = HashSet::new();
        let mut kept: Vec<&(ProjectId, RefusedMail)> = refusals
            .iter()
            .rev()
            .filter(|(project, refused)| {
                !refused.is_of_client()
                    || replaced.insert((project.0, refused.reason.label(), refused.peer.as_str()))
            })
            .collect();
        kept.reverse();
        let replace = replaced
            .iter()
            .map(|(project, reason, peer)| values![ProjectId(*project), *reason, *peer]);
        let replace: Vec<_> = replace.collect();
        let rows = kept.into_iter().map(|(project, refused)| {
            values![
                Uuid::now_v7(),
                *project,
                refused.peer.as_str(),
                refused.sender.as_str(),
                refused.recipient.as_str(),
                refused.inbox.as_ref().map_or("", InboxId::as_str),
                refused.authenticated,
                refused.reason.label(),
                refused.reply.as_str(),
                refused.refused_at,
            ]
        });
        let mut projects: Vec<ProjectId> = refusals.iter().map(|(project, _)| *project).collect();
        projects.sort_unstable_by_key(|project| project.0);
        projects.dedup();
        let rows = rows.collect();
        let forget = projects
            .iter()
            .map(|project| values![*project, MAX_REFUSALS_KEPT])
            .collect();
        let add = async move |mut transaction: Transaction| {
            if !replace.is_empty() {
                transaction.execute_many(REPLACE, replace).await?;
            }
            transaction.execute_many(INSERT, rows).await?;
            transaction.execute_many(FORGET, forget).await?;
            transaction.notify(Change::Refusals);
            Ok(transaction.commit().await?)
        };
        self.database.transact(add).await
    }

    /// The project that owns an address on the mail domain, whether it is a live inbox or reserved.
    pub async fn owner_of_address(&self, inbox: &InboxId) -> Result<Option<ProjectId>, StoreError> {
        const OWNER: &str = "SELECT project_id FROM inboxes WHERE id = $1 AND address IS NULL";
        let rows = self.database.look_up(OWNER, values![inbox]).await?;
        Ok(rows
            .into_iter()
            .next()
            .map(|mut row| row.uuid().map(ProjectId))
            .transpose()?)
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
                owners.push((row.text()?, ProjectId(row.uuid()?)));
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
        let rows = self
            .database
            .query(HOLDERS, values![address, now, project.is_some(), one])
            .await?;
        let holders = rows.into_iter().map(|mut row| {
            let inbox = InboxId::from_stored(row.text()?);
            let project = ProjectId(row.uuid()?);
            Ok(Holder {
                inbox,
                project,
                is_live: row.integer()? == 1,
            })
        });
        Ok(holders.collect::<Result<_, DatabaseError>>()?)
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

/// Whether one of its fields contains `wanted`, which is folded.
fn contains(refused: &RefusedMail, wanted: &str) -> bool {
    let RefusedMail {
        peer,
        sender,
        recipient,
        reply,
        ..
    } = refused;
    let fields = [peer, sender, recipient, refused.reason.label(), reply];
    fields
        .into_iter()
        .any(|field| fold_case(field).contains(wanted))
}

fn read_refusal(row: &mut Row) -> Result<RefusedMail, DatabaseError> {
    Ok(RefusedMail {
        peer: row.text()?,
        sender: row.text()?,
        recipient: row.text()?,
        inbox: Some(row.text()?)
            .filter(|id| !id.is_empty())
            .map(InboxId::from_stored),
        authenticated: row.integer()? == 1,
        reason: RefusalReason::from_label(row.text()?),
        reply: row.text()?,
        refused_at: Timestamp::from_millis(row.integer()?),
    })
}
