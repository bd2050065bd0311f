//! Resolves recipients to inboxes, with the rules for addresses with a tag.

use std::collections::BTreeMap;

use super::deliveries::Delivery;
use super::plan::{Base, Target};
use crate::db::{DatabaseError, Row, Transaction, values};
use crate::model::{InboxId, ProjectId, Timestamp};

/// The inboxes of each delivery: that of the exact local part, or, for an address with a tag, that of the part before
/// it if only that inbox is live. Also the owners of addresses with a tag whose inboxes are not live.
pub(super) async fn resolve_recipients(
    transaction: &mut Transaction,
    deliveries: &[Delivery],
    now: Timestamp,
) -> Result<(Vec<Vec<Target>>, BTreeMap<InboxId, Base>), DatabaseError> {
    let (untagged, bases) = resolve_tags(transaction, deliveries, now).await?;
    let targets = deliveries.iter().map(|delivery| {
        let mut targets: Vec<Target> = Vec::with_capacity(delivery.recipients.len());
        for recipient in &delivery.recipients {
            let inbox = untagged.get(recipient).unwrap_or(recipient);
            match targets.iter_mut().find(|target| target.inbox == *inbox) {
                Some(target) => target.recipients.push(recipient.clone()),
                None => targets.push(Target { inbox: inbox.clone(), recipients: vec![recipient.clone()] }),
            }
        }
        targets
    });
    Ok((targets.collect(), bases))
}

/// For each recipient whose mail goes to the inbox without the tag: that inbox. For each whose mail does not, although
/// the address without the tag has an owner: that owner.
async fn resolve_tags(
    transaction: &mut Transaction,
    deliveries: &[Delivery],
    now: Timestamp,
) -> Result<(BTreeMap<InboxId, InboxId>, BTreeMap<InboxId, Base>), DatabaseError> {
    const OWNER: &str = "
        SELECT CASE WHEN closed = 0 AND (expires_at IS NULL OR expires_at > $2) THEN 1 ELSE 0 END, project_id,
            (SELECT COUNT(*) FROM projects WHERE id = project_id AND deleted_at IS NOT NULL)
        FROM inboxes WHERE id = $1";
    let recipients = deliveries.iter().flat_map(|delivery| &delivery.recipients);
    let tagged: BTreeMap<InboxId, InboxId> =
        recipients.filter_map(|whole| Some((whole.clone(), whole.without_tag()?))).collect();
    let (mut untagged, mut bases) = (BTreeMap::new(), BTreeMap::new());
    if tagged.is_empty() {
        return Ok((untagged, bases));
    }
    let ids = tagged.iter().flat_map(|(whole, base)| [whole, base]);
    let found = transaction.query_many(OWNER, ids.map(|id| values![id, now]).collect()).await?;
    let mut found = found.into_iter().map(|rows| rows.into_iter().next().map(read_owner).transpose());
    for (whole, base) in tagged {
        let (exact, of_base) = (found.next().transpose()?.flatten(), found.next().transpose()?.flatten());
        match (exact, of_base) {
            (Some((true, _)), _) | (_, None) => {}
            (_, Some((true, _))) => drop(untagged.insert(whole, base)),
            (_, Some((false, owner))) => drop(bases.insert(whole, owner)),
        }
    }
    Ok((untagged, bases))
}

/// Whether the inbox is live, and its owner.
fn read_owner(mut row: Row) -> Result<(bool, Base), DatabaseError> {
    let is_live = row.integer()? == 1;
    Ok((is_live, Base { owner: ProjectId(row.uuid()?), is_disabled: row.integer()? == 1 }))
}
