//! The story of a wait that timed out outlives the server that kept it.

use serde_json::Value;

use testkit::server::{Server, failed, first_start, printed, serve};
use testkit::smtp::deliver;

#[test]
fn a_story_outlives_a_restart() {
    let (data_dir, server, key) = first_start();
    let address = server.run_cli(&key, ["inbox", "create"]).trim().to_owned();
    let wait = ["wait", &address, "--subject", "Code", "--timeout", "1"];
    let (status, error) = failed(&mut server.client(&key, wait));
    assert_eq!(status, 1, "{error}");
    let page = error
        .lines()
        .find_map(|line| line.strip_prefix("Details: "))
        .unwrap();
    assert!(page.contains("/failures/"), "{error}");
    assert!(
        error.contains("Nothing has connected over SMTP since this inbox was created"),
        "{error}"
    );
    server.signal("TERM");
    assert!(server.wait().success());

    let server = Server::spawn(&mut serve(data_dir.path()));
    // Without the story, this message would be the cause.
    deliver(&server.smtp, &address, "Welcome", "Hello");
    let explain = |subject: &str| -> Value {
        let explain = ["explain", &address, "--json", "--subject", subject];
        serde_json::from_str(&printed(&mut server.client(&key, explain))).unwrap()
    };
    assert_eq!(explain("Code")["cause"], "nothing_connected");
    assert_eq!(explain("Other")["cause"], "filter_missed");
}
