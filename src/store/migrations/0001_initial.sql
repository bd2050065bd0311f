CREATE TABLE projects (
    id {bytes} NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    is_default BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    -- A deleted project stays as long as one of its addresses is reserved.
    deleted_at BIGINT
);
CREATE UNIQUE INDEX projects_by_name ON projects (name) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX projects_default ON projects (is_default) WHERE is_default = 1;

CREATE TABLE api_keys (
    hash {bytes} NOT NULL PRIMARY KEY,
    project_id {bytes} NOT NULL REFERENCES projects (id),
    last_four TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT
);
CREATE INDEX api_keys_by_project ON api_keys (project_id);

-- An inbox is live until expires_at; from then on the row reserves its address for its project.
-- Messages up to emptied_sequence belong to a former life of the address and are gone for every reader;
-- those up to swept_sequence have been removed.
CREATE TABLE inboxes (
    id TEXT NOT NULL PRIMARY KEY,
    project_id {bytes} NOT NULL REFERENCES projects (id),
    kind TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_sequence BIGINT NOT NULL,
    emptied_sequence BIGINT NOT NULL,
    swept_sequence BIGINT NOT NULL
) {clustered};
CREATE INDEX inboxes_by_expiry ON inboxes (expires_at);
CREATE INDEX inboxes_to_empty ON inboxes (expires_at) WHERE emptied_sequence < last_sequence;
CREATE INDEX inboxes_to_sweep ON inboxes (id) WHERE swept_sequence < emptied_sequence;

-- What all recipients of one message share. Its id is the id of the first recipient's message.
CREATE TABLE contents (
    id {bytes} NOT NULL PRIMARY KEY,
    trace TEXT NOT NULL,
    parsed {bytes} NOT NULL,
    raw {bytes} NOT NULL
);

CREATE TABLE messages (
    id {bytes} NOT NULL PRIMARY KEY,
    inbox_id TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    content_id {bytes} NOT NULL,
    sender TEXT NOT NULL,
    subject TEXT NOT NULL,
    subject_folded TEXT NOT NULL,
    -- Octets of the parsed parts, so that a list can be read in pages of bounded size.
    parsed_size BIGINT NOT NULL,
    received_at BIGINT NOT NULL
) {clustered};
CREATE UNIQUE INDEX messages_by_sequence ON messages (inbox_id, sequence);
-- Only the copies of a message with several recipients are in it.
CREATE INDEX messages_sharing_content ON messages (content_id) WHERE content_id <> id;

CREATE TABLE outgoing (
    id {bytes} NOT NULL PRIMARY KEY,
    project_id {bytes} NOT NULL REFERENCES projects (id),
    inbox_id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    subject TEXT NOT NULL,
    message_id TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    -- The composed message, compressed; null where it was delivered into a local inbox.
    raw {bytes}
);
CREATE INDEX outgoing_by_age ON outgoing (created_at);

CREATE TABLE settings (
    name TEXT NOT NULL PRIMARY KEY,
    value {bytes} NOT NULL
);
