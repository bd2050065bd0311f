//! Checks the documents: links inside the repository work, named files exist, and examples are
//! quoted word for word.

use std::fs;
use std::path::{Path, PathBuf};

use regex_lite::Regex;

use super::root;

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let link = Regex::new(r#"\]\(([^)\s]+)\)|<img [^>]*src="([^"]+)""#).unwrap();
    let mut broken = Vec::new();
    for document in documents() {
        for found in link.captures_iter(&prose(&document)) {
            let target = found.get(1).or(found.get(2)).unwrap().as_str();
            if !target.contains("://") && !leads_somewhere(&document, target) {
                broken.push(format!("{}: {target}", document.display()));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "these links lead nowhere:\n{}",
        broken.join("\n")
    );
}

#[test]
fn the_architecture_names_files_that_exist() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let path = Regex::new(r"`([a-z_]+(?:/[a-z_]+)+\.rs)`").unwrap();
    let paths: Vec<&str> = path
        .captures_iter(&text)
        .map(|found| found.get(1).unwrap().as_str())
        .collect();
    assert!(paths.len() > 10, "{paths:?}");
    let roots = ["", "src", "crates/core/src"];
    let exists = |path: &str| {
        let mut places = roots.iter().map(|below| root().join(below).join(path));
        places.any(|place| place.exists())
    };
    let missing: Vec<_> = paths.into_iter().filter(|path| !exists(path)).collect();
    assert!(
        missing.is_empty(),
        "ARCHITECTURE.md names files that do not exist: {missing:?}"
    );
}

#[test]
fn the_readmes_quote_the_examples_as_they_are() {
    let playwright = "clients/typescript/examples/playwright/tests/sign-up.spec.ts";
    let pytest = "clients/python/examples/pytest/test_sign_up.py";
    for (readme, example) in [
        ("README.md", playwright),
        ("clients/typescript/README.md", playwright),
        ("README.md", pytest),
        ("clients/python/README.md", pytest),
        ("docs/playwright.md", playwright),
        ("docs/pytest.md", pytest),
        (
            "docs/tutorial.md",
            "clients/python/examples/tutorial/shop.py",
        ),
        (
            "docs/tutorial.md",
            "clients/python/examples/tutorial/test_shop.py",
        ),
        (
            "clients/java/README.md",
            "clients/java/examples/spring-boot/src/test/java/shop/SignUpTest.java",
        ),
        (
            "clients/go/README.md",
            "clients/go/examples/signup/shop_test.go",
        ),
    ] {
        let [shown, text] =
            [readme, example].map(|path| fs::read_to_string(root().join(path)).unwrap());
        assert!(
            shown.contains(&format!("\n{text}```\n")),
            "{readme} does not have {example} as it is"
        );
    }
}

#[test]
fn the_guide_s_examples_of_codes_are_true() {
    let guide = fs::read_to_string(root().join("docs/guide.md")).unwrap();
    let (_, table) = guide
        .split_once("| text | `otp` | reason |\n|---|---|---|\n")
        .unwrap();
    let rows: Vec<&str> = table
        .lines()
        .take_while(|line| line.starts_with('|'))
        .collect();
    assert!(rows.len() >= 8, "{rows:?}");
    for row in rows {
        let [text, code] =
            [1, 2].map(|cell| row.split('|').nth(cell).unwrap().trim().trim_matches('`'));
        let message = format!("Subject: Hello\r\n\r\n{text}\r\n");
        assert_eq!(restante_mail::parse(message.as_bytes()).otp, code, "{text}");
    }
}

/// Every Markdown file of the repository, with its path relative to the root.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(root().join(&directory))
            .unwrap()
            .map(Result::unwrap)
        {
            let name = entry.file_name().into_string().unwrap();
            let path = directory.join(&name);
            let foreign =
                name.starts_with('.') || matches!(name.as_str(), "target" | "node_modules");
            if entry.file_type().unwrap().is_dir() && !foreign {
                directories.push(path);
            } else if name.ends_with(".md") {
                found.push(path);
            }
        }
    }
    found
}

/// A document without its code blocks.
fn prose(document: &Path) -> String {
    let text = fs::read_to_string(root().join(document)).unwrap();
    let code = Regex::new(r"(?ms)^```.*?^```").unwrap();
    code.replace_all(&text, "").into_owned()
}

fn leads_somewhere(document: &Path, target: &str) -> bool {
    let (path, heading) = target
        .split_once('#')
        .map_or((target, None), |(path, heading)| (path, Some(heading)));
    let file = match path {
        "" => document.to_owned(),
        path => document.parent().unwrap().join(path),
    };
    root().join(&file).exists()
        && heading.is_none_or(|heading| anchors(&file).iter().any(|anchor| anchor == heading))
}

/// The anchor of a heading: lower case, hyphens for spaces, no punctuation.
fn anchors(document: &Path) -> Vec<String> {
    let text = prose(document);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let words = heading
            .trim_start_matches('#')
            .trim()
            .to_lowercase()
            .replace(' ', "-");
        words
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
            .collect()
    };
    headings.map(anchor).collect()
}
