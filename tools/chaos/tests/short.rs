//! A few seconds of the program with a fixed seed, judged without regard to how busy the machine
//! is.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

#[test]
fn a_short_run_finds_nothing() {
    let mut chaos = Command::new(env!("CARGO_BIN_EXE_restante-chaos"));
    let output = chaos
        .args([
            "--seed",
            "3",
            "--seconds",
            "6",
            "--clients",
            "4",
            "--untimed",
        ])
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{report}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(report.contains(" 0 findings"), "{report}");
}
