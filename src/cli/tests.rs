//! What holds for the flags of all commands; and the tables of settings and metrics in the
//! documents, which are written from their definitions.

use std::fs;

use clap::{Arg, CommandFactory};

use super::{Cli, GROUPS};
use crate::metrics;

const END: &str = "\n<!-- end of the generated table -->";

#[test]
fn the_documents_show_the_settings_and_metrics_as_they_are_defined() {
    for (document, name, table) in [
        ("reference.md", "settings", settings()),
        ("monitoring.md", "metrics", metrics::table()),
    ] {
        let path = format!("{}/docs/{document}", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(&path).unwrap();
        let begin = format!("<!-- the table of {name} is generated: see CONTRIBUTING.md -->\n\n");
        let (before, rest) = text.split_once(&begin).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let current = format!("{before}{begin}{table}{END}{after}");
        if std::env::var_os("RESTANTE_WRITE_EXPECTED").is_some() {
            fs::write(&path, &current).unwrap();
        } else {
            assert!(
                text == current,
                "docs/{document} is out of date: RESTANTE_WRITE_EXPECTED=1 cargo test --lib the_documents_show"
            );
        }
    }
}

fn settings() -> String {
    let command = Cli::command();
    let serve = command.find_subcommand("serve").unwrap();
    // A flag without a variable is no setting; its section describes it.
    let settings = serve
        .get_arguments()
        .filter(|flag| flag.get_env().is_some());
    let rows = settings.map(row);
    format!(
        "| flag | variable | default | meaning |\n|---|---|---|---|\n{}",
        rows.collect::<String>()
    )
}

fn row(flag: &Arg) -> String {
    let long = flag.get_long().unwrap();
    let has_value = flag.get_action().takes_values();
    let value = match flag.get_value_names() {
        Some([name]) if has_value => format!(" {name}"),
        _ => String::new(),
    };
    let variable = flag.get_env().unwrap().to_str().unwrap();
    let help = flag
        .get_long_help()
        .or(flag.get_help())
        .unwrap()
        .to_string();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    // What has a default that is not a value states it at the end of its help, where clap shows the
    // others.
    let (meaning, stated) = match help.split_once(" [default: ") {
        Some((meaning, default)) => (meaning, default.strip_suffix(']').unwrap().to_owned()),
        None => (help.as_str(), String::new()),
    };
    let default = match flag.get_default_values() {
        [] if !has_value => "`false`".to_owned(),
        values if values.iter().all(|value| value.is_empty()) => stated,
        values => format!("`{}`", values[0].to_str().unwrap()),
    };
    let choices = if has_value {
        choices(flag)
    } else {
        String::new()
    };
    format!("| `--{long}{value}` | `{variable}` | {default} | {meaning}{choices} |\n")
}

/// The values of a setting that has only a few, if they have descriptions.
fn choices(flag: &Arg) -> String {
    let choices = flag.get_possible_values().into_iter();
    let described = choices
        .filter_map(|choice| Some(format!("`{}`: {}", choice.get_name(), choice.get_help()?)));
    let list = described.collect::<Vec<_>>().join("; ");
    if list.is_empty() {
        list
    } else {
        format!(". {list}")
    }
}

#[test]
fn the_parser_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_is_in_a_group_and_has_an_example_that_it_takes() {
    let command = Cli::command();
    let mut names = Vec::new();
    for subcommand in command.get_subcommands() {
        let name = subcommand.get_name();
        names.push(name);
        assert!(subcommand.get_about().is_some(), "{name}");
        let help = subcommand.get_after_help().expect(name).to_string();
        let Some(example) = help.strip_prefix("Example: ") else {
            continue;
        };
        let words = example.split(" <").next().unwrap().split(' ');
        let matches = Cli::command().try_get_matches_from(words);
        let matches = matches.unwrap_or_else(|error| panic!("{example}: {error}"));
        assert_eq!(matches.subcommand_name(), Some(name));
    }
    let mut listed: Vec<_> = GROUPS.iter().flat_map(|(_, group)| *group).collect();
    listed.sort();
    names.sort_unstable();
    assert!(listed.into_iter().eq(&names));
}

/// Flags of other commands that are settings: where the server is, the key, the data, how long
/// to wait.
const SETTINGS: [&str; 9] = [
    "api-key",
    "data-dir",
    "database",
    "http-listen",
    "project",
    "serve",
    "smtp",
    "timeout",
    "url",
];

/// Flags of `serve` that are no settings, because each call gives its own.
const FOR_ONE_RUN: [&str; 5] = ["background", "directory", "for-tests", "owner", "shared"];

#[test]
fn every_setting_has_its_variable_and_nothing_else_has_one() {
    let command = Cli::command();
    for subcommand in command.get_subcommands() {
        for flag in all_flags(subcommand) {
            let Some(long) = flag.get_long() else {
                continue;
            };
            let variable = format!("RESTANTE_{}", long.replace('-', "_").to_uppercase());
            let is_setting = (subcommand.get_name() == "serve" && !FOR_ONE_RUN.contains(&long))
                || SETTINGS.contains(&long);
            let expected = is_setting.then_some(variable.as_str());
            let found = flag.get_env().and_then(|name| name.to_str());
            assert_eq!(found, expected, "{} --{long}", subcommand.get_name());
        }
    }
}

#[test]
fn secrets_are_not_shown_in_the_help() {
    for flag in Cli::command().get_subcommands().flat_map(all_flags) {
        if matches!(
            flag.get_long(),
            Some("api-key" | "admin-token" | "database" | "relay")
        ) {
            assert!(flag.is_hide_env_values_set(), "{flag}");
        }
    }
}

fn all_flags(command: &clap::Command) -> Vec<Arg> {
    let below = command.get_subcommands().flat_map(all_flags);
    command.get_arguments().cloned().chain(below).collect()
}
