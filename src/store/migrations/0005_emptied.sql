-- Whether the sweeper has emptied an inbox whose time is over, so that a delivery changes nothing that an index holds.
DROP INDEX inboxes_to_empty;
ALTER TABLE inboxes ADD COLUMN emptied BIGINT NOT NULL DEFAULT 0;
CREATE INDEX inboxes_to_empty ON inboxes (expires_at) WHERE emptied = 0;
