//! `restante totp`: the current code of a second factor (RFC 6238), for a test that signs in.

use std::thread;
use std::time::Duration;

use clap::Args;

use super::error::CliError;
use super::output;
use crate::clock::Clock;
use crate::totp::Totp;

const EXAMPLES: &str = "\
Examples:
  restante totp JBSWY3DPEHPK3PXP
  restante totp 'otpauth://totp/Shop:ada?secret=JBSWY3DPEHPK3PXP&digits=8&algorithm=SHA256'";

/// Whose code.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct TotpFlags {
    /// The secret in base32, as the application shows it, or the otpauth:// URI of its QR code
    #[arg(value_parser = Totp::parse, hide_possible_values = true)]
    secret: Totp,
}

/// Runs the command.
///
/// # Errors
/// If standard output is closed.
pub(super) fn run(flags: &TotpFlags) -> Result<(), CliError> {
    let clock = Clock::system();
    let pause = flags.secret.pause(since_epoch(&clock));
    // The thread has nothing else to do.
    thread::sleep(pause);
    Ok(output::line(&flags.secret.code(since_epoch(&clock)))?)
}

fn since_epoch(clock: &Clock) -> Duration {
    Duration::from_millis(u64::try_from(clock.now().as_millis()).unwrap_or(0))
}
