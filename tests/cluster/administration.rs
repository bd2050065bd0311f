//! What an administrator does to the database of a running node: a new column, a restored backup,
//! another password.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::node::{Client, Node, Sender, eventually};
use testkit::postgres::{Cluster, TestDatabase};

fn subjects(client: &Client, inbox: &str) -> Option<Vec<String>> {
    let (status, list) = client.get(&format!("/v1/inboxes/{inbox}/messages"));
    let messages = list["messages"].as_array().filter(|_| status == 200)?;
    Some(
        messages
            .iter()
            .map(|message| message["subject"].as_str().unwrap().to_owned())
            .collect(),
    )
}

/// Prepared statements survive both.
#[test]
fn a_running_node_notices_neither_a_new_column_nor_a_restored_backup() {
    let database = TestDatabase::create();
    let node = Node::start(&database.text());
    let client = node.client();
    let mut sender = Sender::new(node.smtp());
    let inbox = client.create_inbox();
    let mut send = |subject: &str| sender.send(&inbox, subject).unwrap();
    assert!(send("first").starts_with("250"));
    for table in ["messages", "contents", "inboxes", "api_keys"] {
        database.run(&format!(
            "ALTER TABLE {table} ADD COLUMN note TEXT NOT NULL DEFAULT 'x'"
        ));
    }
    assert!(send("second").starts_with("250"));
    assert_eq!(subjects(&client, &inbox).unwrap(), ["second", "first"]);

    let mut dump = Command::new("pg_dump");
    dump.args(["--clean", "--if-exists", &database.text()]);
    let backup = dump.output().unwrap();
    assert!(backup.status.success());
    assert!(send("after the backup").starts_with("250"));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), backup.stdout).unwrap();
    let mut restore = Command::new("psql");
    restore
        .args(["--single-transaction", "-v", "ON_ERROR_STOP=1", "--file"])
        .arg(file.path())
        .arg(database.text());
    assert!(restore.stdout(Stdio::null()).status().unwrap().success());
    assert_eq!(subjects(&client, &inbox).unwrap(), ["second", "first"]);
    let reply = send("third");
    assert!(reply.starts_with("250"), "{reply}");
    assert_eq!(
        subjects(&client, &inbox).unwrap(),
        ["third", "second", "first"]
    );
}

#[test]
fn a_password_that_is_changed_in_the_file_is_used_for_the_next_connection() {
    let cluster = Cluster::start(&[]);
    let database = TestDatabase::create_in(cluster.url.clone());
    let set = |password: &str, file: &Path| {
        database.run(&format!("ALTER ROLE app PASSWORD '{password}'"));
        std::fs::write(file, format!("*:*:*:app:{password}\n")).unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    database.run("CREATE ROLE app SUPERUSER LOGIN");
    let access = "local all postgres trust\nlocal all app scram-sha-256\n";
    std::fs::write(cluster.path().join("data/pg_hba.conf"), access).unwrap();
    database.run("SELECT pg_reload_conf()::text");
    let file = tempfile::NamedTempFile::new().unwrap();
    set("first", file.path());
    let url = database.text().replace("user=postgres", "user=app");
    let node = Node::start_in(
        &url,
        &["--api-key", super::node::KEY],
        &[("PGPASSFILE", file.path())],
    );
    let client = node.client();
    let mut sender = Sender::new(node.smtp());
    let inbox = client.create_inbox();

    set("second", file.path());
    let end = "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE usename = 'app'";
    database.run(end);
    eventually("mail is stored", || {
        sender
            .send(&inbox, "after")
            .is_ok_and(|reply| reply.starts_with("250"))
    });
    assert_eq!(subjects(&client, &inbox).unwrap(), ["after"]);
    eventually("the control connection is back", || {
        client.wait(&inbox, None, std::time::Duration::ZERO).is_ok()
    });
    assert_eq!(client.get("/v1/health").0, 200);
}
