//! Rules of this code base that the compiler does not check. A failure lists each violation with
//! its file and line.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod documents;
mod language;
mod workflows;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex_lite::Regex;

/// The server, and the crate of its lower layers.
const ROOTS: [&str; 2] = ["src", "crates/core/src"];

#[test]
fn modules_import_only_those_below_them() {
    let import = Regex::new(r"\bcrate::(\w+)").unwrap();
    for root in ROOTS {
        let order = module_order(root);
        // What another crate has is not in the order: it is below all.
        let level = |module: &str| {
            let place = order.iter().position(|name| name == module);
            place.unwrap_or(order.len())
        };
        assert_none(
            "imports upwards; lib.rs has the order",
            &sources(&[root]),
            |source, line| {
                let own = source.module()?;
                import
                    .captures_iter(line)
                    .any(|found| level(&found[1]) < level(own))
                    .then_some(())
            },
        );
    }
}

#[test]
fn the_outer_layers_do_not_use_the_store() {
    let store = Regex::new(r"\bcrate::(store|db)\b").unwrap();
    assert_none(
        "use the service, and the types of the model",
        &sources(&["src/http", "src/mcp"]),
        |_, line| store.find(line).map(drop),
    );
    let store = Regex::new(r"\bcrate::store\b").unwrap();
    assert_none(
        "use the service, and the types of the model",
        &sources(&["src/cli"]),
        |_, line| store.find(line).map(drop),
    );
}

#[test]
fn every_import_names_one_module() {
    // The rule above looks for `crate::module`.
    let group = Regex::new(r"\bcrate::[{*]").unwrap();
    assert_none(
        "write one `use crate::module` each",
        &sources(&ROOTS),
        |_, line| group.find(line).map(drop),
    );
}

#[test]
fn the_protocol_the_parser_and_the_delivery_are_pure() {
    let impure = Regex::new(
        r"\b(tokio\w*|std::net|std::fs|std::env|std::thread|SystemTime|Instant|crate::clock)\b",
    )
    .unwrap();
    let pure = sources(&[
        "crates/smtp/src",
        "crates/mail/src",
        "crates/delivery/src",
        "crates/core/src/evidence",
    ]);
    assert_none(
        "the pure crates know no socket, file, thread or clock",
        &pure,
        |source, line| (source.is_code(line) && impure.is_match(line)).then_some(()),
    );
}

#[test]
fn the_pure_crates_depend_on_no_runtime() {
    for package in ["restante-smtp", "restante-mail", "restante-delivery"] {
        let mut tree = Command::new(env!("CARGO"));
        tree.args([
            "tree",
            "--offline",
            "--locked",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "-p",
            package,
        ]);
        let tree = tree.current_dir(root()).output().unwrap();
        assert!(
            tree.status.success(),
            "{}",
            String::from_utf8_lossy(&tree.stderr)
        );
        let impure = [
            "tokio",
            "mio",
            "socket2",
            "async-std",
            "smol",
            "time",
            "chrono",
            "jiff",
        ];
        let tree = String::from_utf8(tree.stdout).unwrap();
        let names: Vec<_> = tree
            .lines()
            .filter_map(|line| line.split(' ').next())
            .collect();
        assert!(
            names.contains(&package) && !impure.iter().any(|name| names.contains(name)),
            "{package}: {names:?}"
        );
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    for source in sources(&["src", "crates", "tools", "tests", "benches"]) {
        assert!(
            source.text.starts_with("//! "),
            "{} does not begin with //!",
            source.path.display()
        );
    }
}

#[test]
fn no_todo_is_left_in_the_code() {
    // Joined here, so that this file does not contain the words.
    let later = Regex::new(
        &[
            "\\bTO",
            "DO\\b|\\bFIX",
            "ME\\b|\\bXX",
            "X\\b|to",
            "do!|unimpl",
            "emented!",
        ]
        .concat(),
    )
    .unwrap();
    assert_none(
        "finish it, or leave it out",
        &sources(&["src", "crates", "tools", "tests", "benches"]),
        |_, line| later.find(line).map(drop),
    );
}

#[test]
fn only_one_file_turns_errors_into_http_statuses() {
    let status = Regex::new(r"\bStatusCode::(\w+)").unwrap();
    let success = [
        "SWITCHING_PROTOCOLS",
        "OK",
        "CREATED",
        "ACCEPTED",
        "NO_CONTENT",
        "SEE_OTHER",
        "NOT_MODIFIED",
    ];
    assert_none(
        "statuses of errors belong into src/http/error.rs",
        &sources(&ROOTS),
        |source, line| {
            // MCP has its own form of errors, with its own statuses.
            let here = ["src/http/error.rs", "src/mcp/endpoint.rs"];
            let elsewhere =
                source.is_code(line) && !here.iter().any(|path| source.path == Path::new(path));
            let error = status
                .captures_iter(line)
                .any(|found| !success.contains(&&found[1]));
            (elsewhere && error).then_some(())
        },
    );
}

#[test]
fn only_one_file_knows_smtp_reply_codes() {
    let reply = Regex::new(r#""([245]\d\d[ -]|[245]\.\d{1,3}\.\d{1,3}\b)"#).unwrap();
    assert_none(
        "replies belong into crates/smtp/src/reply.rs",
        &sources(&["src", "crates/core/src", "crates/smtp/src"]),
        |source, line| {
            let elsewhere =
                source.is_code(line) && source.path != Path::new("crates/smtp/src/reply.rs");
            (elsewhere && reply.is_match(line)).then_some(())
        },
    );
}

#[test]
fn the_tools_do_not_implement_http() {
    let http = Regex::new(r"\b(axum|hyper\w*|http_body_util)::").unwrap();
    assert_none(
        "the endpoint carries the tools",
        &sources(&["src/mcp"]),
        |source, line| {
            // The caller comes with the head of the request.
            let carries = ["src/mcp/endpoint.rs", "src/mcp/tools/mod.rs"];
            let elsewhere = !carries.iter().any(|path| source.path == Path::new(path));
            (elsewhere && http.is_match(line)).then_some(())
        },
    );
}

#[test]
fn sql_is_only_in_the_store_and_the_database_layer() {
    let sql = Regex::new(
        r"\b(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE (TABLE|INDEX)|PRAGMA)\b",
    )
    .unwrap();
    assert_none(
        "statements belong into store or db, in crates/core/src",
        &sources(&ROOTS),
        |source, line| {
            let elsewhere =
                source.is_code(line) && !matches!(source.module(), Some("store" | "db"));
            (elsewhere && sql.is_match(line)).then_some(())
        },
    );
}

/// One Rust file, with its path relative to the root.
#[derive(Clone)]
struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    /// The top-level module of the file.
    fn module(&self) -> Option<&str> {
        let below = ROOTS
            .iter()
            .find_map(|root| self.path.strip_prefix(root).ok())?
            .components()
            .next()?
            .as_os_str()
            .to_str()?;
        Some(below.trim_end_matches(".rs")).filter(|name| !matches!(*name, "lib" | "main"))
    }

    /// Whether the line is neither a comment nor in the tests at the end of the file.
    fn is_code(&self, line: &str) -> bool {
        let tests = self
            .text
            .find("#[cfg(test)]\nmod tests")
            .unwrap_or(self.text.len());
        // `line` is a slice of `text`, so the distance between their addresses is its offset.
        let position = line.as_ptr().addr() - self.text.as_ptr().addr();
        position < tests && !line.trim_start().starts_with("//")
    }
}

/// Fails with every line for which `breaks` is true.
fn assert_none(rule: &str, sources: &[Source], breaks: impl Fn(&Source, &str) -> Option<()>) {
    assert!(!sources.is_empty(), "no file to check");
    let mut broken = Vec::new();
    for source in sources {
        for (index, line) in source.text.lines().enumerate() {
            if breaks(source, line).is_some() {
                broken.push(format!(
                    "{}:{}: {}",
                    source.path.display(),
                    index + 1,
                    line.trim()
                ));
            }
        }
    }
    assert!(broken.is_empty(), "{rule}:\n{}", broken.join("\n"));
}

/// The top-level modules in the order of lib.rs: each may import only those after it.
fn module_order(source: &str) -> Vec<String> {
    let declaration = Regex::new(r"(?m)^(?:pub )?mod (\w+);").unwrap();
    let text = fs::read_to_string(root().join(source).join("lib.rs")).unwrap();
    declaration
        .captures_iter(&text)
        .map(|found| found[1].to_owned())
        .collect()
}

/// Every Rust file below the directories that exist.
fn sources(directories: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    for directory in directories {
        collect(&root().join(directory), &mut found);
    }
    found
}

fn collect(directory: &Path, found: &mut Vec<Source>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push(Source {
                path: path.strip_prefix(root()).unwrap().to_owned(),
                text,
            });
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
