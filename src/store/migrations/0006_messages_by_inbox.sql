-- The messages of an inbox lie side by side, in their order: a list or a wait finds them with one search.
CREATE TABLE messages_by_inbox (
    id {bytes} NOT NULL,
    inbox_id TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    content_id {bytes} NOT NULL,
    sender TEXT NOT NULL,
    subject TEXT NOT NULL,
    subject_folded TEXT NOT NULL,
    parsed_size BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    PRIMARY KEY (inbox_id, sequence)
) {clustered};
INSERT INTO messages_by_inbox
    SELECT id, inbox_id, sequence, content_id, sender, subject, subject_folded, parsed_size, received_at
    FROM messages ORDER BY inbox_id, sequence;
DROP TABLE messages;
ALTER TABLE messages_by_inbox RENAME TO messages;
CREATE UNIQUE INDEX messages_by_id ON messages (id);
CREATE INDEX messages_sharing_content ON messages (content_id) WHERE content_id <> id;
