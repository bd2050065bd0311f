//! Finds orphaned rows: no other row refers to them, so they would never be removed.

use restante::db::Database;

const STRANDED: &str = "
    SELECT (SELECT COUNT(*) FROM messages WHERE NOT EXISTS
            (SELECT 1 FROM inboxes WHERE number = inbox_number AND sequence > swept_sequence))
        + (SELECT COUNT(*) FROM contents c WHERE NOT EXISTS
            (SELECT 1 FROM messages WHERE content_number = c.number))
        + (SELECT COUNT(*) FROM chunks WHERE NOT EXISTS
            (SELECT 1 FROM contents WHERE number = content_number))
        + (SELECT COUNT(*) FROM attempts WHERE NOT EXISTS
            (SELECT 1 FROM outgoing WHERE id = outgoing_id))
        + (SELECT COUNT(*) FROM faults WHERE NOT EXISTS
            (SELECT 1 FROM inboxes WHERE number = inbox_number AND faults_left IS NOT NULL))
        + (SELECT COUNT(*) FROM fault_uses WHERE NOT EXISTS
            (SELECT 1 FROM faults WHERE number = fault_number))
        + (SELECT COUNT(*) FROM inboxes WHERE faults_left >= 0 AND faults_left <>
            (SELECT COALESCE(SUM(times - used), 0) FROM faults WHERE inbox_number = inboxes.number))
        + (SELECT COUNT(*) FROM faults WHERE used <>
            (SELECT COUNT(*) FROM fault_uses WHERE fault_number = faults.number))
        + (SELECT COUNT(*) FROM inboxes WHERE emptied_sequence > last_sequence
            OR swept_sequence > emptied_sequence OR (closed = 1 AND emptied_sequence < last_sequence))";

/// Their number.
pub async fn stranded(database: &Database) -> i64 {
    database.query(STRANDED, vec![]).await.unwrap()[0]
        .get::<i64>()
        .unwrap()
}
