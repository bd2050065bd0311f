-- The schema. Rows that are written together are stored together: messages, their contents and new inboxes are
-- appended. Other tables refer to an inbox by its number, so that the inboxes in use share pages of the indexes.
-- Times are milliseconds since the Unix epoch. Booleans are 0 or 1.

CREATE TABLE projects (
    id {bytes} NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    is_default BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    -- A deleted project remains while one of its addresses is reserved.
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

-- An inbox is live until expires_at or until it is closed. After that, the row reserves its address for its project, or
-- shows that the project had the address, if that is not on the mail domain.
CREATE TABLE inboxes (
    number {numbered},
    id TEXT NOT NULL,
    project_id {bytes} NOT NULL REFERENCES projects (id),
    kind TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    -- Set by a deletion; null for an inbox that is live or has expired.
    deleted_at BIGINT,
    -- A text for people, for example the title of its test.
    label TEXT,
    -- Whether incoming mail created it, and not a request.
    opened_by_mail BIGINT NOT NULL DEFAULT 0,
    -- 1 after the inbox was deleted, or the sweeper has found that it expired. A delivery that waited for the row
    -- reads it here, even if its clock differs.
    closed BIGINT NOT NULL DEFAULT 0,
    -- The messages in the inbox.
    message_count BIGINT NOT NULL DEFAULT 0,
    -- The sequence of the last message.
    last_sequence BIGINT NOT NULL DEFAULT 0,
    -- When the last message arrived.
    last_received_at BIGINT,
    -- Messages up to this sequence belong to an earlier inbox with the same address; no statement reads them.
    emptied_sequence BIGINT NOT NULL DEFAULT 0,
    -- Messages up to this sequence have been removed.
    swept_sequence BIGINT NOT NULL DEFAULT 0,
    -- Messages of a permanent inbox are removed when they are older than this; null: they are kept.
    retention_days BIGINT,
    -- How many uses its faults have left; null if it has none. Negative if its faults belong to an earlier inbox with
    -- the same address and have to be removed.
    faults_left BIGINT,
    -- How often something other than new mail has changed it: deletions, faults and their uses.
    -- Together with last_sequence it shows whether a page is out of date.
    changes BIGINT NOT NULL DEFAULT 0,
    -- The whole address in lower case, if it is not on the mail domain. Each project can have an inbox with it. Null:
    -- the id is the local part of the address.
    address TEXT,
    -- The id without its tag, if it has one and the address is on the mail domain. While the row is there, that
    -- address has a row too, of the same project; if it never had an inbox, its row is closed without an expires_at.
    base TEXT
);
CREATE INDEX inboxes_by_base ON inboxes (base) WHERE base IS NOT NULL;
CREATE UNIQUE INDEX inboxes_by_id ON inboxes (id);
CREATE UNIQUE INDEX inboxes_by_address ON inboxes (address, project_id) WHERE address IS NOT NULL;
CREATE INDEX inboxes_by_expiry ON inboxes (closed, expires_at);
CREATE INDEX inboxes_to_sweep ON inboxes (number) WHERE swept_sequence < emptied_sequence;
CREATE INDEX inboxes_with_retention ON inboxes (number) WHERE retention_days IS NOT NULL;
CREATE INDEX inboxes_with_faults ON inboxes (number) WHERE faults_left IS NOT NULL;

-- The faults that tests have injected. An inbox uses the first one by position with uses left.
CREATE TABLE faults (
    number {numbered},
    inbox_number BIGINT NOT NULL,
    position BIGINT NOT NULL,
    point TEXT NOT NULL,
    action TEXT NOT NULL,
    -- Of a deferral or a rejection; null for the default.
    reply TEXT,
    -- Of a disconnection: whether the message is stored before.
    stores BIGINT,
    -- Of a delay.
    seconds BIGINT,
    times BIGINT NOT NULL,
    used BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX faults_by_inbox ON faults (inbox_number, position);

CREATE TABLE fault_uses (
    number {numbered},
    fault_number BIGINT NOT NULL,
    used_at BIGINT NOT NULL
);
CREATE INDEX fault_uses_by_fault ON fault_uses (fault_number, number);

-- The content of a message, shared by all its recipients.
CREATE TABLE contents (
    number {numbered},
    -- The fields that this server added: Return-Path, Received, and Message-ID if the message had none.
    trace TEXT NOT NULL,
    -- The envelope and the connection; null if this server composed the message.
    reverse_path TEXT NOT NULL,
    client TEXT,
    helo TEXT,
    tls TEXT,
    authenticated BIGINT,
    -- The provider whose API was used; null for SMTP.
    via TEXT,
    -- The parsed parts followed by the message, compressed. Empty for a large message: its chunks have them.
    data {bytes} NOT NULL
);

-- The parsed parts (form 0, store/parts.rs) and the bytes (form 1) of a large message, compressed in pieces.
CREATE TABLE chunks (
    number {numbered},
    content_number BIGINT NOT NULL,
    form BIGINT NOT NULL,
    position BIGINT NOT NULL,
    data {bytes} NOT NULL
);
CREATE UNIQUE INDEX chunks_by_position ON chunks (content_number, form, position);

CREATE TABLE messages (
    number {numbered},
    id {bytes} NOT NULL,
    inbox_number BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    -- The project of the inbox when the message arrived.
    project_id {bytes} NOT NULL,
    -- Null once the message was deleted: the row is still a cursor.
    content_number BIGINT,
    -- Whether the message had several recipients, so that other messages may have the same content.
    is_shared BIGINT NOT NULL,
    -- The sizes in bytes of the parsed parts, in their stored form, and of the message as received.
    parsed_size BIGINT NOT NULL,
    raw_size BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    -- Whether it has a one-time code as the contract defines it, and a link.
    has_otp BIGINT NOT NULL,
    has_link BIGINT NOT NULL,
    -- The labelled code in any form; empty if there is none.
    code TEXT NOT NULL,
    -- The number of attachments, without images that the HTML shows.
    attachments BIGINT NOT NULL,
    sender TEXT NOT NULL,
    subject TEXT NOT NULL,
    subject_folded TEXT NOT NULL,
    -- The recipients as addressed, one on each line, as an inbox has its id or address; null if all are the inbox's.
    recipients TEXT
);
CREATE UNIQUE INDEX messages_by_id ON messages (id);
CREATE UNIQUE INDEX messages_by_inbox ON messages (inbox_number, sequence);
CREATE INDEX messages_by_project ON messages (project_id, number);
CREATE INDEX messages_sharing_content ON messages (content_number) WHERE is_shared = 1;

-- Requests to an API for sending that their clients may repeat, for a day.
CREATE TABLE repeatable_requests (
    -- Of the project and the key.
    hash {bytes} NOT NULL PRIMARY KEY,
    body_hash {bytes} NOT NULL,
    started_at BIGINT NOT NULL,
    -- Null while the first request is running.
    answer TEXT
);
CREATE INDEX repeatable_requests_by_age ON repeatable_requests (started_at);

CREATE TABLE outgoing (
    id {bytes} NOT NULL PRIMARY KEY,
    project_id {bytes} NOT NULL REFERENCES projects (id),
    inbox_id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    -- The domain of the recipient: the worker limits the connections to each.
    domain TEXT NOT NULL,
    subject TEXT NOT NULL,
    message_id TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    -- The bytes of the composed message; null once it is sent, or if it was delivered to a local inbox.
    raw_size BIGINT,
    attempts BIGINT NOT NULL DEFAULT 0,
    attempted_at BIGINT,
    -- When the next attempt is due, and when the item expires; null if it was never in the queue.
    due_at BIGINT,
    expires_at BIGINT,
    -- The mail worker that is sending the item, and the end of its lease.
    worker {bytes},
    leased_until BIGINT,
    last_reply TEXT NOT NULL DEFAULT '',
    -- 1 for a delivery status notification: it has the null reverse-path, and its failure is not reported.
    is_report BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX outgoing_by_age ON outgoing (created_at);
CREATE INDEX outgoing_by_project ON outgoing (project_id, id);
-- All that a look at the whole queue needs.
CREATE INDEX outgoing_queue ON outgoing (project_id, domain, due_at, id, leased_until) WHERE status = 'queued';
CREATE INDEX outgoing_leased ON outgoing (worker) WHERE worker IS NOT NULL;

-- The composed messages, compressed in pieces, so that the mail worker never has a whole message in memory.
CREATE TABLE outgoing_chunks (
    id {bytes} NOT NULL PRIMARY KEY,
    outgoing_id {bytes} NOT NULL,
    position BIGINT NOT NULL,
    data {bytes} NOT NULL
);
CREATE UNIQUE INDEX outgoing_chunks_by_position ON outgoing_chunks (outgoing_id, position);

-- The result of each attempt to send an outgoing item.
CREATE TABLE attempts (
    id {bytes} NOT NULL PRIMARY KEY,
    outgoing_id {bytes} NOT NULL,
    -- Counted from 1; an attempt is missing if its worker ended before it could report.
    attempt BIGINT NOT NULL,
    attempted_at BIGINT,
    -- The name of the server, if there was a connection.
    server TEXT,
    reply TEXT NOT NULL
);
CREATE INDEX attempts_by_item ON attempts (outgoing_id, attempt);

-- The sessions of the dashboard: the SHA-256 of the cookie, and the credential, which is the hash of an API key or of
-- the administrator's token. A session ends with its credential.
CREATE TABLE sessions (
    hash {bytes} NOT NULL PRIMARY KEY,
    credential {bytes} NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_by_credential ON sessions (credential);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- Each node's last report about its SMTP clients. Only a shared database has rows.
CREATE TABLE nodes (
    id {bytes} NOT NULL PRIMARY KEY,
    started_at BIGINT NOT NULL,
    connections_open BIGINT NOT NULL,
    reported_at BIGINT NOT NULL
);

-- When a node was last used: by a connection, by a stored message, and by each API for sending.
CREATE TABLE node_uses (
    node_id {bytes} NOT NULL REFERENCES nodes (id),
    way TEXT NOT NULL,
    last_at BIGINT NOT NULL,
    -- What that was in an earlier report: the last use may be after the end of a wait that is explained.
    earlier_at BIGINT,
    PRIMARY KEY (node_id, way)
);

-- What happened to addresses and is in no other table: waits, claims, failed SMTP sessions, rejections, and why waits
-- timed out. Written in the background; only the latest entries are kept.
CREATE TABLE journal (
    -- Grows in the order in which entries become visible.
    position {numbered},
    project_id {bytes} NOT NULL,
    -- The id of the inbox, or a whole address that is not on the mail domain; empty if none is known.
    subject TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- What entries of the kind are selected by (model/journal.rs).
    word TEXT NOT NULL,
    -- Of the entries of a project and a kind with the same key, only the latest is kept.
    key TEXT,
    at BIGINT NOT NULL,
    -- The entry as compressed JSON.
    data {bytes} NOT NULL
);
CREATE INDEX journal_by_project ON journal (project_id, kind, at, position);
CREATE INDEX journal_by_subject ON journal (subject, project_id, kind, at);
CREATE INDEX journal_by_kind ON journal (kind, at, position);
CREATE INDEX journal_by_position ON journal (project_id, position);
CREATE INDEX journal_by_key ON journal (key) WHERE key IS NOT NULL;

CREATE TABLE settings (
    name TEXT NOT NULL PRIMARY KEY,
    value {bytes} NOT NULL
);
