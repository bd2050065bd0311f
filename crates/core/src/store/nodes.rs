//! The reports of all nodes about their clients: over SMTP, and over the APIs for sending.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::{Change, Store, StoreError};
use crate::db::{Row, Transaction, values};
use crate::model::{SendApisUse, SmtpUse, Timestamp, TotalUse, Via};

/// The ways to use a node in addition to [`Via::SEND_APIS`].
const CONNECTION: &str = "connection";
const MESSAGE: &str = "message";

impl Store {
    /// Whether several nodes may use the database.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.database.is_shared()
    }

    /// Stores the report of a node, and deletes nodes that have not reported since `forgotten`.
    pub async fn report_node(
        &self,
        node: Uuid,
        total: TotalUse,
        forgotten: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const REPORT: &str = "
            INSERT INTO nodes (id, started_at, connections_open, reported_at) VALUES ($1, $2, $3, $4)
            ON CONFLICT (id) DO UPDATE SET connections_open = $3, reported_at = $4";
        const USED: &str = "
            INSERT INTO node_uses (node_id, way, last_at) VALUES ($1, $2, $3)
            ON CONFLICT (node_id, way) DO UPDATE SET last_at = $3, earlier_at = node_uses.last_at
            WHERE node_uses.last_at <> $3";
        const FORGET_USES: &str = "
            DELETE FROM node_uses WHERE node_id IN (SELECT id FROM nodes WHERE reported_at <= $1)";
        const FORGET: &str = "DELETE FROM nodes WHERE reported_at <= $1";
        let report = values![node, total.since, total.used.connections_open, now];
        let uses = last_uses(&total)
            .map(|(way, last)| values![node, way, last])
            .collect();
        let run = async move |mut transaction: Transaction| {
            transaction.execute(REPORT, report).await?;
            transaction.execute_many(USED, uses).await?;
            transaction.execute(FORGET_USES, values![forgotten]).await?;
            transaction.execute(FORGET, values![forgotten]).await?;
            Ok(transaction.commit().await?)
        };
        self.database.transact(run).await
    }

    /// The nodes except `node` that have reported after `alive_since`.
    pub async fn other_nodes(
        &self,
        node: Uuid,
        alive_since: Timestamp,
    ) -> Result<HashSet<Uuid>, StoreError> {
        const OTHERS: &str = "SELECT id FROM nodes WHERE id <> $1 AND reported_at > $2";
        let others = self.all(OTHERS, values![node, alive_since], Row::get);
        Ok(others.await?.into_iter().collect())
    }

    /// Announces changes without writing anything.
    pub async fn announce(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        let announce = async move |mut transaction: Transaction| {
            changes
                .into_iter()
                .for_each(|change| transaction.notify(change));
            Ok(transaction.commit().await?)
        };
        self.database.transact(announce).await
    }

    /// The use of SMTP and of the APIs for sending at all nodes except `node` until `until`, and
    /// the earliest time at which one of them started counting, if there are any. Open connections are counted only
    /// at nodes that have reported after `alive_since`, and only if the last one was opened until
    /// then. If the last use was later, the one of an earlier report counts.
    pub async fn use_of_other_nodes(
        &self,
        node: Uuid,
        alive_since: Timestamp,
        until: Timestamp,
    ) -> Result<TotalUse, StoreError> {
        const NODES: &str = "
            SELECT CAST(COALESCE(SUM(CASE WHEN n.reported_at > $2 AND u.last_at <= $3 THEN n.connections_open ELSE 0
                    END), 0) AS BIGINT), MIN(n.started_at)
            FROM nodes n LEFT JOIN node_uses u ON u.node_id = n.id AND u.way = $4 WHERE n.id <> $1";
        const USES: &str = "
            SELECT way, MAX(CASE WHEN last_at <= $2 THEN last_at WHEN earlier_at <= $2 THEN earlier_at END)
            FROM node_uses WHERE node_id <> $1 GROUP BY way";
        let nodes = values![node, alive_since, until, CONNECTION];
        let read = |row: &mut Row| Ok((row.get()?, row.get::<Option<_>>()?));
        let (connections_open, since) = self.only(NODES, nodes, read).await?;
        let read = |row: &mut Row| Ok((row.get()?, row.get()?));
        let uses = self.all(USES, values![node, until], read).await?;
        let uses: HashMap<String, Option<Timestamp>> = uses.into_iter().collect();
        let last = |way: &str| uses.get(way).copied().flatten();
        Ok(TotalUse {
            used: SmtpUse {
                connections_open,
                last_connection_at: last(CONNECTION),
                last_message_at: last(MESSAGE),
            },
            send_apis: SendApisUse(Via::SEND_APIS.map(|via| last(via.as_str()))),
            since: since.unwrap_or(Timestamp::MAX),
        })
    }
}

/// Each way by which a node was used, with the time of the last use.
fn last_uses(total: &TotalUse) -> impl Iterator<Item = (&'static str, Timestamp)> {
    let smtp = [
        (CONNECTION, total.used.last_connection_at),
        (MESSAGE, total.used.last_message_at),
    ];
    let apis = total
        .send_apis
        .each()
        .map(|(via, last)| (via.as_str(), last));
    smtp.into_iter()
        .chain(apis)
        .filter_map(|(way, last)| Some((way, last?)))
}
