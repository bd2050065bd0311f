-- The part of the address behind the @: no domain gets more than a few connections at once.
ALTER TABLE outgoing ADD COLUMN domain TEXT NOT NULL DEFAULT '';
ALTER TABLE outgoing ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE outgoing ADD COLUMN attempted_at BIGINT;
-- When the next attempt is due, and from when on there is none; null for what never was in the queue.
ALTER TABLE outgoing ADD COLUMN due_at BIGINT;
ALTER TABLE outgoing ADD COLUMN expires_at BIGINT;
-- Which mail worker is sending the item, and how long nobody else may take it.
ALTER TABLE outgoing ADD COLUMN worker {bytes};
ALTER TABLE outgoing ADD COLUMN leased_until BIGINT;
ALTER TABLE outgoing ADD COLUMN last_reply TEXT NOT NULL DEFAULT '';

-- What already waits shares the empty domain.
UPDATE outgoing SET due_at = created_at, expires_at = created_at + 86400000 WHERE status = 'queued';

-- One index for all that waits.
DROP INDEX IF EXISTS outgoing_waiting;
CREATE INDEX outgoing_queue ON outgoing (due_at) WHERE status = 'queued';
CREATE INDEX outgoing_leased ON outgoing (worker) WHERE worker IS NOT NULL;
