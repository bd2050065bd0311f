-- What every attempt to send an outgoing item has come to.
CREATE TABLE attempts (
    id {bytes} NOT NULL PRIMARY KEY,
    outgoing_id {bytes} NOT NULL,
    -- Counted from 1; an attempt whose worker ended before it could say anything is missing.
    attempt BIGINT NOT NULL,
    attempted_at BIGINT,
    reply TEXT NOT NULL
);
CREATE INDEX attempts_by_item ON attempts (outgoing_id, attempt);
