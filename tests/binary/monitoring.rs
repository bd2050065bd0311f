//! The metrics, the alert rules and their tests, checked by promtool, which `./test` fetches.

use std::io::Write;
use std::process::{Command, Stdio};

use testkit::server::Server;
use testkit::smtp::deliver;

use super::metrics::{get, monitor_of, until_shown, value};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The program of the system, or the one that `./test` has unpacked.
fn promtool(arguments: &[&str]) -> Command {
    let unpacked = std::path::Path::new(ROOT).join("target/promtool/promtool");
    let mut promtool = Command::new(if unpacked.exists() {
        unpacked
    } else {
        "promtool".into()
    });
    promtool
        .args(arguments)
        .current_dir(format!("{ROOT}/deploy/prometheus"));
    promtool
}

fn passes(command: &mut Command) {
    let output = command.output().expect("promtool; ./test fetches it");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn the_alert_rules_are_valid_and_fire_when_they_should() {
    passes(&mut promtool(&["check", "rules", "rules.yaml"]));
    passes(&mut promtool(&["test", "rules", "rules.test.yaml"]));
}

#[test]
fn prometheus_accepts_the_metrics_and_the_process_and_the_disk_are_among_them() {
    let data_dir = tempfile::tempdir().unwrap();
    let server = Server::start(
        data_dir.path(),
        &["--metrics-listen", "127.0.0.1:0", "--min-free-disk", "1MiB"],
    );
    deliver(&server.smtp, "a@restante.example.com", "one", "text");
    until_shown(
        &server,
        "restante_smtp_messages_total{outcome=\"stored\"} 1",
    );
    let (_, metrics) = get(&monitor_of(&server), "/metrics");
    assert!((value(&metrics, "restante_disk_reserved_bytes") - 1_048_576.0).abs() < f64::EPSILON);
    assert!(value(&metrics, "restante_disk_free_bytes") > 1_048_576.0);
    assert!(value(&metrics, "restante_database_bytes") > 4_096.0);
    assert!(value(&metrics, "process_resident_memory_bytes") > 1e6);
    assert!(value(&metrics, "process_open_fds") > 5.0);
    assert!(value(&metrics, "process_max_fds") >= value(&metrics, "process_open_fds"));
    assert!(value(&metrics, "process_cpu_seconds_total") >= 0.0);
    assert!(value(&metrics, "process_start_time_seconds") > 1.6e9);

    let mut check = promtool(&["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    check
        .stdin
        .take()
        .unwrap()
        .write_all(metrics.as_bytes())
        .unwrap();
    let output = check.wait_with_output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
}

#[test]
fn a_failed_handshake_is_counted_once_with_its_kind() {
    let data_dir = tempfile::tempdir().unwrap();
    let server = Server::start(data_dir.path(), &["--metrics-listen", "127.0.0.1:0"]);
    let port = server.smtp.rsplit(':').next().unwrap();
    // Its own trust store does not have the certificate of the first start.
    let script = format!(
        "import smtplib, ssl\nclient = smtplib.SMTP('localhost', {port})\n\
         client.starttls(context=ssl.create_default_context())"
    );
    let python = Command::new("python3")
        .args(["-c", &script])
        .output()
        .unwrap();
    assert!(
        String::from_utf8_lossy(&python.stderr).contains("CERTIFICATE_VERIFY_FAILED"),
        "{python:?}"
    );
    until_shown(
        &server,
        "restante_smtp_failed_sessions_total{kind=\"unknown_authority\"} 1",
    );
    let mut plain = testkit::smtp::Smtp::connect(&server.smtp).unwrap();
    assert!(plain.say("STARTTLS").unwrap().starts_with("220"));
    let _ = plain.say("MAIL FROM:<a@b.example>");
    until_shown(
        &server,
        "restante_smtp_failed_sessions_total{kind=\"handshake_failed\"} 1",
    );
    let (_, metrics) = get(&monitor_of(&server), "/metrics");
    let counted = metrics
        .lines()
        .filter(|line| !line.starts_with('#') && line.ends_with(" 1"));
    let failures: Vec<&str> = counted.filter(|line| line.contains("fail")).collect();
    assert_eq!(failures.len(), 2, "{failures:?}");
}
