//! The script of the GitHub action, in a job of any other kind: `eval "$(packaging/action/start)"`.

use std::net::TcpListener;
use std::process::{Command, Output};

use super::metrics::get;

/// A job that runs `script` in bash, with a directory for the server's files.
fn job(directory: &std::path::Path, script: &str) -> Command {
    let mut bash = Command::new("bash");
    bash.args(["-c", script])
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    bash.env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap());
    bash.env("RUNNER_TEMP", directory)
        .env("INPUT_BINARY", env!("CARGO_BIN_EXE_restante"));
    bash
}

fn texts(output: Output) -> (Option<i32>, String, String) {
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), stdout, stderr)
}

#[test]
fn the_job_gets_the_variables_of_a_server() {
    let directory = tempfile::tempdir().unwrap();
    let script = "set -eu; eval \"$(packaging/action/start)\"
                  curl -fsS -X POST -H \"X-Api-Key: $RESTANTE_API_KEY\" \"$RESTANTE_URL/v1/inboxes\"
                  [ \"$RESTANTE_SMTP\" = \"$SMTP_HOST:$SMTP_PORT\" ]; kill \"$RESTANTE_PID\"";
    let (code, stdout, stderr) = texts(job(directory.path(), script).output().unwrap());
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("@restante.example.com"), "{stdout}");
}

#[test]
fn a_failed_start_ends_the_job_and_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (variable, value, says) in [
        ("INPUT_HTTP_LISTEN", address.as_str(), "cannot listen on"),
        ("INPUT_BINARY", "/nonexistent/restante", "program not found"),
        ("INPUT_FLAGS", "--nonsense", "--nonsense"),
        ("INPUT_FLAGS", "--log-format json\n--nonsense", "--nonsense"),
    ] {
        // Neither shell has `set -e`.
        let mut job = job(
            directory.path(),
            "eval \"$(packaging/action/start)\"; echo the tests run",
        );
        let (code, stdout, stderr) = texts(job.env(variable, value).output().unwrap());
        assert_eq!(
            (code, stdout.as_str()),
            (Some(1), ""),
            "{variable}: {stderr}"
        );
        assert!(stderr.contains(says), "{variable}: {stderr}");
    }
}

#[test]
fn a_failed_installation_ends_the_job_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let mut job = job(
        directory.path(),
        "eval \"$(packaging/action/start)\"; echo the tests run",
    );
    // Nothing listens there.
    job.env("INPUT_BINARY", "")
        .env("RESTANTE_RELEASES", "http://127.0.0.1:1/releases");
    let (code, stdout, stderr) = texts(job.output().unwrap());
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(
        stderr.contains("cannot fetch") && stderr.contains("cannot install Restante"),
        "{stderr}"
    );
}

#[test]
fn a_failed_start_fails_the_step_on_github() {
    let directory = tempfile::tempdir().unwrap();
    let mut step = job(directory.path(), "packaging/action/start");
    step.env("GITHUB_ENV", "/dev/null")
        .env("INPUT_FLAGS", "--nonsense");
    let (code, stdout, _) = texts(step.output().unwrap());
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
}

#[test]
fn the_health_check_asks_the_port_that_the_server_listens_on() {
    let data_dir = tempfile::tempdir().unwrap();
    let server = testkit::server::Server::start(data_dir.path(), &[]);
    let address = server.url.trim_start_matches("http://").to_owned();
    assert_eq!(get(&address, "/health").0, "HTTP/1.1 200 OK");
    let port = address.rsplit(':').next().unwrap();
    for listens in [format!("0.0.0.0:{port}"), address.clone()] {
        let mut health = testkit::server::command(["health"]);
        assert!(
            health
                .env("RESTANTE_HTTP_LISTEN", &listens)
                .status()
                .unwrap()
                .success(),
            "{listens}"
        );
    }
    server.kill();
    let (code, said) = testkit::server::failed(
        testkit::server::command(["health"]).env("RESTANTE_HTTP_LISTEN", format!("[::]:{port}")),
    );
    assert!(
        code == 1 && said.contains(&format!("http://[::1]:{port} is not healthy")),
        "{said}"
    );
}
