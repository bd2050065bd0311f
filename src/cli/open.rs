//! `restante open`: opens the dashboard in the browser, or prints its address if there is no
//! browser. Beside the data of the server, the address signs in.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use super::client::ServerFlag;
use super::data_dir::{self, DataDirError};
use super::database;
use super::error::CliError;
use super::output;
use crate::clock::Clock;
use crate::config::{Data, DatabaseUrl};
use crate::http::for_browsers;
use crate::service::Projects;

/// Some openers return only when the browser ends. One that still runs after this time has found a
/// browser.
const START_TIMEOUT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// Which server.
#[derive(Args, Debug)]
pub(super) struct OpenFlags {
    #[command(flatten)]
    server: ServerFlag,
    #[command(flatten)]
    data: Data,
}

/// Runs the command.
///
/// # Errors
/// If standard output or the database of the server cannot be used.
pub(super) fn run(flags: &OpenFlags) -> Result<(), CliError> {
    let server = flags.server.url();
    let dashboard = for_browsers(server);
    // The data of a server elsewhere is not here.
    let link = match dashboard == server {
        true => None,
        false => link(&flags.data),
    };
    let url = format!("{dashboard}{}", link.as_deref().unwrap_or("/"));
    if !opens(&url) {
        output::line(&url)?;
    }
    Ok(())
}

/// The path of a link that signs in; `None` if no server uses the data directory, or its database
/// cannot be used: then the browser asks for the key.
fn link(data: &Data) -> Option<String> {
    let url = data.url();
    let is_here = matches!(url, DatabaseUrl::Sqlite(_))
        && database::refuse_absent(&url).is_ok()
        && matches!(data_dir::lock(&data.data_dir), Err(DataDirError::InUse(_)));
    if !is_here {
        return None;
    }
    let mut link = None;
    let open = |database| Projects::open(database, Clock::system());
    let made = database::with(url, open, async |projects| {
        link = projects.sign_in_link().await.map_err(CliError::other)?;
        Ok(())
    });
    made.ok().and(link)
}

/// Whether a browser takes the address, which begins with http:// or https://.
fn opens(url: &str) -> bool {
    let Some(mut opener) = opener() else {
        return false;
    };
    let quiet = opener
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let Ok(mut child) = quiet.spawn() else {
        return false;
    };
    let started = Instant::now();
    while started.elapsed() < START_TIMEOUT {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => thread::sleep(PAUSE),
            Err(_) => return false,
        }
    }
    true
}

#[cfg(target_os = "macos")]
fn opener() -> Option<Command> {
    Some(Command::new("open"))
}

#[cfg(windows)]
fn opener() -> Option<Command> {
    let mut start = Command::new("cmd");
    // The first argument of `start` in quotes is the title of a window.
    start.args(["/C", "start", ""]);
    Some(start)
}

/// Without a display, xdg-open would start a browser in the terminal.
#[cfg(not(any(target_os = "macos", windows)))]
fn opener() -> Option<Command> {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"]
        .into_iter()
        .any(is_set);
    has_display.then(|| Command::new("xdg-open"))
}
