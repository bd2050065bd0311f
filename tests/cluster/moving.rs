//! `restante copy` and `restante migrate`: an installation is copied from SQLite to PostgreSQL and
//! back without loss.

use std::path::Path;

use rusqlite::Row;
use rusqlite::types::Value;

use super::node::{KEY, Node, Sender, eventually};
use testkit::http;
use testkit::postgres::TestDatabase;
use testkit::server::{Server, command, failed};
use testkit::smtp::Smtp;

/// What exists only while a server runs, or for some seconds.
const NOT_COPIED: [&str; 2] = ["node_uses", "nodes"];
/// Values for the columns that a client cannot set, or only with other servers or in a long time.
const VALUES: &str = "
    UPDATE api_keys SET expires_at = created_at;
    UPDATE projects SET deleted_at = created_at WHERE name = 'shop';
    UPDATE contents SET tls = 'TLSv1.3', via = 'resend';
    UPDATE inboxes SET label = 'Ada signs up', base = 'box', deleted_at = created_at,
        retention_days = 30 WHERE address IS NOT NULL;
    UPDATE outgoing SET worker = id, leased_until = created_at;
    UPDATE messages SET recipients = 'box+1';
    INSERT INTO repeatable_requests VALUES (x'01', x'02', 1, '{}')";

/// The rows of a table.
#[derive(Debug, PartialEq)]
struct Table {
    name: String,
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

impl Table {
    /// The columns in which no row has a value.
    fn empty_columns(&self) -> Vec<&str> {
        let is_empty = |index: &usize| self.rows.iter().all(|row| row[*index] == Value::Null);
        (0..self.columns.len())
            .filter(is_empty)
            .map(|index| self.columns[index].as_str())
            .collect()
    }
}

#[test]
fn an_installation_moves_there_and_back_whole() {
    let first = tempfile::tempdir().unwrap();
    let last = tempfile::tempdir().unwrap();
    let first_url = sqlite(first.path());
    let last_url = sqlite(last.path());
    fill(first.path());
    let database = TestDatabase::create();
    let summary = copy(&first_url, &database.text());
    assert!(
        summary.contains("2 projects") && summary.contains("121 messages"),
        "{summary}"
    );
    assert!(
        !summary.contains('\r'),
        "no progress without a terminal: {summary:?}"
    );
    copy(&database.text(), &last_url);
    let before = dump(first.path());
    let after = dump(last.path());
    assert_eq!(
        before.len(),
        17,
        "all tables: {:?}",
        before.iter().map(|table| &table.name).collect::<Vec<_>>()
    );
    let moved = before
        .iter()
        .zip(&after)
        .filter(|(table, _)| !NOT_COPIED.contains(&table.name.as_str()));
    for (table, copied) in moved {
        assert_eq!(
            table.empty_columns(),
            [""; 0],
            "columns of {} without a value",
            table.name
        );
        assert_eq!(table, copied);
    }

    let (code, said) =
        failed(command(["copy"]).args(["--from", &first_url, "--to", &database.text()]));
    assert!(
        code == 1 && said.contains("the target already has projects"),
        "{code} {said}"
    );
    let node = Node::start(&database.text());
    // The fault had two uses, and one was left.
    assert!(Sender::new(node.smtp()).send("box", "lost").is_err());
    assert!(
        Sender::new(node.smtp())
            .send("box", "before")
            .unwrap()
            .starts_with("250")
    );
    let (status, list) = node.client().get("/v1/inboxes/box/messages");
    assert_eq!(
        (status, list["messages"].as_array().unwrap().len()),
        (200, 121)
    );
}

#[test]
fn a_source_that_is_served_or_missing_is_refused() {
    let data_dir = tempfile::tempdir().unwrap();
    let target = tempfile::tempdir().unwrap();
    let copy = || {
        failed(command(["copy"]).args([
            "--from",
            &sqlite(data_dir.path()),
            "--to",
            &sqlite(target.path()),
        ]))
    };
    let (code, said) = copy();
    assert!(
        code == 1 && said.contains("no database at"),
        "{code} {said}"
    );
    // The server's own data directory is elsewhere.
    let server_s = tempfile::tempdir().unwrap();
    let _server = Server::start(server_s.path(), &["--database", &sqlite(data_dir.path())]);
    let (code, said) = copy();
    assert!(code == 1 && said.contains("already uses"), "{code} {said}");
}

#[test]
fn a_database_of_a_newer_version_is_refused_by_name() {
    let database = TestDatabase::create();
    let url = format!("{}&password=secret", database.text());
    let migrate = || {
        let output = command(["migrate", "--database", &url]).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, said) = migrate();
    assert!(
        code == Some(0) && said.contains("has schema version"),
        "{said}"
    );
    database.run("UPDATE schema_version SET version = 1000");
    let (code, said) = migrate();
    assert!(
        code == Some(1) && said.contains("version 1000") && said.contains("use a newer version"),
        "{said}"
    );
    assert!(!said.contains("secret"), "{said}");
}

fn sqlite(directory: &Path) -> String {
    format!("sqlite:{}", directory.join("restante.db").display())
}

/// The output of the command, which must succeed.
fn copy(from: &str, to: &str) -> String {
    let output = command(["copy", "--from", from, "--to", to])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Creates an installation with rows in every table, and a value in every column.
fn fill(data_dir: &Path) {
    // Nothing listens at the relay's address, so the first attempt fails, and its result is stored.
    let relay = [
        "--relay",
        "smtp://127.0.0.1:1",
        "--accept-domains",
        "example.com",
    ];
    let flags = [
        &[
            "--api-key",
            KEY,
            "--admin-token",
            "token-of-the-administrator",
        ][..],
        &relay,
    ]
    .concat();
    let server = Server::start(data_dir, &flags);
    let data_dir = data_dir.to_str().unwrap();
    assert!(
        command(["project", "create", "shop", "--data-dir", data_dir])
            .status()
            .unwrap()
            .success()
    );
    let mut sender = Sender::new(server.smtp.clone());
    for number in 1..120 {
        assert!(
            sender
                .send("box", &number.to_string())
                .unwrap()
                .starts_with("250")
        );
    }
    // A large message is stored in pieces.
    assert!(
        sender
            .send(
                "box",
                &format!("large\r\n\r\n{}", "some text\r\n".repeat(20_000))
            )
            .unwrap()
            .starts_with("250")
    );
    let ada = format!("{}/v1/inboxes/ada@example.com", server.url);
    let ada = json(&http::put(ada).header("x-api-key", KEY).call().unwrap());
    let ada = format!("{}/v1/inboxes/{}", server.url, ada["id"].as_str().unwrap());
    refuse_one(&server, Path::new(data_dir));
    use_a_fault(&server);
    let mail =
        serde_json::json!({"to": "someone@elsewhere.example", "subject": "queued"}).to_string();
    let url = format!("{}/v1/inboxes/box/messages", server.url);
    assert_eq!(
        http::post(url)
            .header("x-api-key", KEY)
            .send(mail)
            .unwrap()
            .status(),
        202
    );
    wait_for_one_row(Path::new(data_dir), "attempts");
    set_other_faults(&ada);
    time_out_a_wait(&ada);
    wait_for_one_row(Path::new(data_dir), "journal WHERE kind = 'failed'");
    drop(server);
    rusqlite::Connection::open(Path::new(data_dir).join("restante.db"))
        .unwrap()
        .execute_batch(VALUES)
        .unwrap();
}

/// Faults with a reply, with seconds, and with a message that is stored.
fn set_other_faults(inbox: &str) {
    let faults = r#"{"faults": [
        {"at": "data", "do": "defer", "reply": "451 4.3.0 Later"},
        {"at": "data", "do": "delay", "seconds": 2},
        {"at": "data", "do": "disconnect", "store": true}
    ]}"#;
    let answer = http::put(format!("{inbox}/faults"))
        .header("x-api-key", KEY)
        .send(faults)
        .unwrap();
    assert_eq!(answer.status(), 200);
}

fn json(answer: &http::Answer) -> serde_json::Value {
    serde_json::from_str(answer.body()).unwrap()
}

/// A wait with every filter.
fn time_out_a_wait(inbox: &str) {
    let sent = r#"{"to": "ada@example.com", "subject": "from herself"}"#;
    let answer = http::post(format!("{inbox}/messages"))
        .header("x-api-key", KEY)
        .send(sent)
        .unwrap();
    assert_eq!(answer.status(), 202);
    let list = http::get(format!("{inbox}/messages"))
        .header("x-api-key", KEY)
        .call()
        .unwrap();
    let list = json(&list);
    let after = list["messages"][0]["id"].as_str().unwrap();
    let filters = format!("subject=a&from=b&to=c&text=d&header=X-E:f&has=otp&after={after}");
    let wait =
        http::get(format!("{inbox}/messages/wait?timeout=1&{filters}")).header("x-api-key", KEY);
    assert_eq!(wait.any_status().call().unwrap().status(), 408);
}

/// Sends to a domain without a server, and waits until the failure is stored.
fn refuse_one(server: &Server, data_dir: &Path) {
    let mut connection = Smtp::connect(&server.smtp).unwrap();
    connection.say("MAIL FROM:<app@example.com>").unwrap();
    assert!(
        connection
            .say("RCPT TO:<someone@elsewhere.example>")
            .unwrap()
            .starts_with("550")
    );
    wait_for_one_row(data_dir, "journal WHERE kind = 'refused'");
}

/// Has the connection closed at RCPT, once of two times.
fn use_a_fault(server: &Server) {
    let faults = r#"{"faults": [{"at": "rcpt", "do": "disconnect", "times": 2}]}"#;
    let url = format!("{}/v1/inboxes/box/faults", server.url);
    assert_eq!(
        http::put(url)
            .header("x-api-key", KEY)
            .send(faults)
            .unwrap()
            .status(),
        200
    );
    let mut connection = Smtp::connect(&server.smtp).unwrap();
    connection.say("MAIL FROM:<app@example.com>").unwrap();
    assert!(
        connection
            .say("RCPT TO:<box@restante.example.com>")
            .is_err()
    );
}

fn wait_for_one_row(data_dir: &Path, table: &str) {
    let database = rusqlite::Connection::open(data_dir.join("restante.db")).unwrap();
    let count = format!("SELECT COUNT(*) FROM {table}");
    eventually(table, || {
        database
            .query_row(&count, [], |row| row.get::<_, i64>(0))
            .unwrap()
            == 1
    });
}

/// All rows of every table, except those of the dashboard's sessions, which are not copied, in an
/// order that does not depend on when they were written. Row numbers are counted from the newest,
/// in a transaction that is rolled back, because a copy has other numbers.
fn dump(directory: &Path) -> Vec<Table> {
    const COUNTED: &str = "
        BEGIN;
        UPDATE messages SET number = number - (SELECT MAX(number) + 1 FROM messages),
            content_number = content_number - (SELECT MAX(number) + 1 FROM contents),
            inbox_number = inbox_number - (SELECT MAX(number) + 1 FROM inboxes);
        UPDATE chunks SET number = number - (SELECT MAX(number) + 1 FROM chunks),
            content_number = content_number - (SELECT MAX(number) + 1 FROM contents);
        UPDATE contents SET number = number - (SELECT MAX(number) + 1 FROM contents);
        UPDATE fault_uses SET number = number - (SELECT MAX(number) + 1 FROM fault_uses),
            fault_number = fault_number - (SELECT MAX(number) + 1 FROM faults);
        UPDATE faults SET number = number - (SELECT MAX(number) + 1 FROM faults),
            inbox_number = inbox_number - (SELECT MAX(number) + 1 FROM inboxes);
        UPDATE inboxes SET number = number - (SELECT MAX(number) + 1 FROM inboxes);
        UPDATE journal SET position = position - (SELECT MAX(position) + 1 FROM journal)";
    let database = rusqlite::Connection::open(directory.join("restante.db")).unwrap();
    database.execute_batch(COUNTED).unwrap();
    let table = |name: String| -> Table {
        let mut statement = database
            .prepare(&format!("SELECT * FROM {name} ORDER BY 1"))
            .unwrap();
        let columns: Vec<_> = statement.column_names().map(str::to_owned).collect();
        let row = |row: &Row<'_>| (0..columns.len()).map(|index| row.get(index)).collect();
        let rows = statement
            .query_map([], row)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        Table {
            name,
            columns,
            rows,
        }
    };
    let names =
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'sessions' ORDER BY name";
    let mut names = database.prepare(names).unwrap();
    let names = names.query_map([], |row| row.get(0)).unwrap();
    names.map(|name| table(name.unwrap())).collect()
}
