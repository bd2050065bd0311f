-- The dashboard's lists go by project.
CREATE INDEX inboxes_by_project ON inboxes (project_id, created_at, id);
CREATE INDEX outgoing_by_project ON outgoing (project_id, id);

-- Who is signed in, by the SHA-256 of their cookie, and with which credential: the hash of an API key or of the
-- administrator's token. The session is worth what the credential is worth.
CREATE TABLE sessions (
    hash {bytes} NOT NULL PRIMARY KEY,
    credential {bytes} NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_by_credential ON sessions (credential);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- The latest replies that refused something over SMTP.
CREATE TABLE refusals (
    id {bytes} NOT NULL PRIMARY KEY,
    project_id {bytes} NOT NULL,
    peer TEXT NOT NULL,
    sender TEXT NOT NULL,
    recipient TEXT NOT NULL,
    reason TEXT NOT NULL,
    reply TEXT NOT NULL,
    refused_at BIGINT NOT NULL
);
CREATE INDEX refusals_by_project ON refusals (project_id, id);
