//! Reads the files with the cases.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

/// The files in a directory of the crate, by name.
pub fn files(directory: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let mut files: Vec<_> = directory
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

/// The values in all files of a directory, one per line.
pub fn json_lines<T: DeserializeOwned>(directory: &str) -> Vec<T> {
    let texts = files(directory)
        .into_iter()
        .map(|file| std::fs::read_to_string(file).unwrap());
    let lines: Vec<String> = texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}
