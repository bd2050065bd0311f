//! Checks the workflows: an artifact that a job downloads by its name is one that a job uploads.

use std::fs;

use regex_lite::{Captures, Regex};

use super::root;

#[test]
fn every_artifact_that_is_downloaded_by_name_is_uploaded() {
    let workflows: Vec<String> = fs::read_dir(root().join(".github/workflows"))
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    let uploaded: Vec<String> = workflows
        .iter()
        .flat_map(|text| names(text, "upload").flat_map(|name| expanded(&name, text)))
        .collect();
    let downloaded: Vec<String> = workflows
        .iter()
        .flat_map(|text| names(text, "download"))
        .collect();
    assert!(!downloaded.is_empty());
    let missing: Vec<_> = downloaded
        .iter()
        .filter(|name| !uploaded.contains(name))
        .collect();
    assert!(
        missing.is_empty(),
        "no job uploads {missing:?}, but {uploaded:?}"
    );
}

/// The names of the artifacts in the steps with one action, which may contain `${{ matrix.… }}`.
fn names(workflow: &str, action: &str) -> impl Iterator<Item = String> {
    let step = Regex::new(&format!(
        r"actions/{action}-artifact@[^\n]*\n(?:\s+(?:if|with|id):[^\n]*\n)*\s+name: (.+)"
    ));
    let found: Vec<_> = step
        .unwrap()
        .captures_iter(workflow)
        .map(|found| found[1].to_owned())
        .collect();
    found.into_iter()
}

/// A name for each value of the matrix.
fn expanded(name: &str, workflow: &str) -> Vec<String> {
    let Some(found) = Regex::new(r"\$\{\{ matrix\.(\w+) \}\}")
        .unwrap()
        .captures(name)
    else {
        return vec![name.to_owned()];
    };
    let values = Regex::new(&format!(r"\b{}: (?:\[([^\]]+)\]|([\w.-]+))", &found[1])).unwrap();
    let value = |line: Captures| line.get(1).or(line.get(2)).unwrap().as_str().to_owned();
    let lists: Vec<String> = values.captures_iter(workflow).map(value).collect();
    lists
        .iter()
        .flat_map(|list| list.split(", "))
        .map(|value| name.replace(&found[0], value))
        .collect()
}
