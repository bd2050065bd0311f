-- Contents have numbers in the order in which they come: a message finds its own with one search, and no index is written
-- beside them. Those that are there already get numbers below zero, so that the engine can count from one.
CREATE TABLE content_numbers (
    number {numbered},
    id {bytes} NOT NULL
);
INSERT INTO content_numbers (number, id) SELECT -ROW_NUMBER() OVER (ORDER BY id DESC), id FROM contents;
CREATE UNIQUE INDEX content_numbers_by_id ON content_numbers (id);

CREATE TABLE numbered_contents (
    number {numbered},
    trace TEXT NOT NULL,
    parsed {bytes} NOT NULL,
    raw {bytes} NOT NULL
);
INSERT INTO numbered_contents (number, trace, parsed, raw)
    SELECT number, trace, parsed, raw
    FROM content_numbers JOIN contents ON contents.id = content_numbers.id ORDER BY number;

CREATE TABLE numbered_messages (
    id {bytes} NOT NULL,
    inbox_id TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    content_number BIGINT NOT NULL,
    -- Whether the message had several recipients, so that others may have the same content.
    is_shared BIGINT NOT NULL,
    sender TEXT NOT NULL,
    subject TEXT NOT NULL,
    subject_folded TEXT NOT NULL,
    parsed_size BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    PRIMARY KEY (inbox_id, sequence)
) {clustered};
INSERT INTO numbered_messages
    SELECT messages.id, inbox_id, sequence, number,
        CASE WHEN content_id IN (SELECT content_id FROM messages WHERE content_id <> id) THEN 1 ELSE 0 END,
        sender, subject, subject_folded, parsed_size, received_at
    FROM messages JOIN content_numbers ON content_numbers.id = content_id ORDER BY inbox_id, sequence;

DROP TABLE messages;
ALTER TABLE numbered_messages RENAME TO messages;
CREATE UNIQUE INDEX messages_by_id ON messages (id);
CREATE INDEX messages_sharing_content ON messages (content_number) WHERE is_shared = 1;
DROP TABLE contents;
ALTER TABLE numbered_contents RENAME TO contents;
DROP TABLE content_numbers;
