//! The connection to PostgreSQL, encrypted as `sslmode` requires.

use std::path::Path;

use restante::config::DatabaseUrl;
use restante::db::{Database, DatabaseError};

use testkit::port::ReservedPort;
use testkit::postgres::Cluster;

#[tokio::test]
async fn the_certificate_is_checked_as_far_as_sslmode_says() {
    let files = tempfile::tempdir().unwrap();
    let root = files.path().join("server.crt");
    let other = files.path().join("other.crt");
    write_certificate(files.path(), "server");
    write_certificate(files.path(), "other");
    let reserved = ReservedPort::new();
    let port = reserved.number();
    let settings = [
        format!("port = {port}"),
        "listen_addresses = '127.0.0.1'".to_owned(),
        "ssl = on".to_owned(),
        format!("ssl_cert_file = '{}'", root.display()),
        format!(
            "ssl_key_file = '{}'",
            files.path().join("server.key").display()
        ),
    ];
    let _cluster = Cluster::start_in(files, &settings.each_ref().map(String::as_str));

    for (host, mode, root, opens) in [
        ("localhost", "disable", &root, true),
        // Named authorities are checked, as libpq does.
        ("localhost", "require", &root, true),
        ("localhost", "require", &other, false),
        ("localhost", "verify-ca", &root, true),
        ("localhost", "verify-ca", &other, false),
        ("localhost", "verify-full", &root, true),
        ("127.0.0.1", "verify-ca", &root, true),
        ("127.0.0.1", "verify-full", &root, false),
    ] {
        let url = format!(
            "postgres://postgres@{host}:{port}/postgres?sslmode={mode}&sslrootcert={}",
            root.display()
        );
        let opened = open(&url).await;
        assert_eq!(opened.is_ok(), opens, "{url}: {opened:?}");
        let Ok(database) = opened else { continue };
        let encrypted = "SELECT CAST(ssl AS INTEGER) FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        let mut rows = database.query(encrypted, vec![]).await.unwrap();
        assert_eq!(
            rows[0].get::<i64>().unwrap(),
            i64::from(mode != "disable"),
            "{url}"
        );
    }
}

async fn open(url: &str) -> Result<Database, DatabaseError> {
    let url: DatabaseUrl = url.parse().unwrap();
    Database::open(&url).await
}

/// A self-signed certificate for localhost, and its key.
fn write_certificate(directory: &Path, name: &str) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(directory.join(format!("{name}.crt")), made.cert.pem()).unwrap();
    let key = directory.join(format!("{name}.key"));
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    // PostgreSQL refuses a key that others may read.
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}
