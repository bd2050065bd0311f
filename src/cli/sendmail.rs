//! `restante sendmail`: sends a message from standard input to the SMTP server, for programs that
//! call sendmail. With `-bs` it connects standard input and output to the server, so that the
//! program speaks SMTP itself.

use std::io::{self, BufRead, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;

use clap::Args;

use super::error::CliError;
use crate::sender;

// The exit codes of sendmail (sysexits.h).
pub(super) const USAGE: u8 = 64;
const UNAVAILABLE: u8 = 69;
const TEMPORARY: u8 = 75;

const USAGE_LINES: &str = "\
restante sendmail [OPTIONS] RECIPIENT...
       restante sendmail -t [OPTIONS] [RECIPIENT...]
       restante sendmail -bs [--smtp HOST:PORT]";

const EXIT_CODES: &str =
    "Exit codes: 0 accepted; 64 wrong usage; 69 rejected; 75 temporary failure, try again later.";

/// The recipients and the server. Options of sendmail that have no meaning here are accepted and
/// ignored.
#[derive(Args, Debug)]
#[command(override_usage = USAGE_LINES, after_help = EXIT_CODES)]
pub(super) struct SendmailFlags {
    /// The recipients
    recipients: Vec<String>,
    /// Also send to the recipients in To, Cc and Bcc, and remove Bcc
    #[arg(short = 't')]
    from_headers: bool,
    /// A line with a single dot does not end the message
    #[arg(short = 'i')]
    keep_dots: bool,
    /// What to do: -bm sends the message (the default), -bs speaks SMTP on standard input and
    /// output
    #[arg(short = 'b', value_name = "MODE", default_value = "m", value_parser = ["m", "s"])]
    mode: String,
    /// The envelope sender [default: the address in From]
    #[arg(short = 'f', short_alias = 'r', value_name = "FROM")]
    from: Option<String>,
    /// The SMTP server
    #[arg(
        long,
        env = "RESTANTE_SMTP",
        value_name = "HOST:PORT",
        default_value = "127.0.0.1:1025"
    )]
    smtp: String,
    /// -oi is -i; every other option is ignored
    #[arg(short = 'o', value_name = "OPTION")]
    options: Vec<String>,
    /// The full name of the sender (ignored)
    #[arg(short = 'F', value_name = "NAME", hide = true)]
    full_name: Option<String>,
    /// The type of the body (ignored)
    #[arg(short = 'B', value_name = "TYPE", hide = true)]
    body_type: Option<String>,
}

/// Why the message was not sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendmailError {
    #[error("no recipient: pass one, or use -t to read To, Cc and Bcc")]
    NoRecipient,
    #[error("invalid address {0:?}")]
    InvalidAddress(String),
    #[error("cannot read the message from standard input")]
    Input(#[source] io::Error),
    #[error(
        "cannot connect to the SMTP server at {server}: start `restante serve`, or set RESTANTE_SMTP or --smtp"
    )]
    Unreachable { server: String, source: io::Error },
    #[error("cannot start the runtime")]
    Runtime(#[source] io::Error),
    #[error("{error}{}", remedy(.error))]
    NotTaken { error: sender::SubmitError },
}

fn remedy(error: &sender::SubmitError) -> &'static str {
    if error.is_permanent {
        ". A server accepts mail for its own domain, which `restante serve` prints, and for those of its \
         --accept-domains"
    } else {
        ""
    }
}

impl SendmailError {
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::NoRecipient | Self::InvalidAddress(_) => USAGE,
            Self::NotTaken { error } if error.is_permanent => UNAVAILABLE,
            _ => TEMPORARY,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// [`CliError`] with sendmail's exit codes.
pub(super) fn run(flags: &SendmailFlags) -> Result<(), CliError> {
    Ok(if flags.mode == "s" {
        relay(&flags.smtp)
    } else {
        submit(flags)
    }?)
}

/// Passes SMTP on between the caller and the server, until the server closes the connection.
fn relay(server: &str) -> Result<(), SendmailError> {
    let unreachable = |source| SendmailError::Unreachable {
        server: server.to_owned(),
        source,
    };
    let mut from_server = TcpStream::connect(server).map_err(unreachable)?;
    let mut to_server = from_server.try_clone().map_err(unreachable)?;
    // It ends with the process: a read of standard input cannot be cancelled.
    thread::spawn(move || {
        let _ = pass_on(&mut io::stdin().lock(), &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    // The caller may have closed its side after QUIT.
    let _ = pass_on(&mut from_server, &mut io::stdout().lock());
    Ok(())
}

/// Copies without keeping anything back, because the other side waits for each line, for which
/// [`io::copy`] may wait.
fn pass_on(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = [0; 8 * 1024];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(&buffer[..read])?;
        to.flush()?;
    }
}

fn submit(flags: &SendmailFlags) -> Result<(), SendmailError> {
    let keep_dots = flags.keep_dots || flags.options.iter().any(|option| option == "i");
    let message = read(io::stdin().lock(), keep_dots).map_err(SendmailError::Input)?;
    let header = restante_mail::submission(&message);
    let mut recipients = flags.recipients.clone();
    if flags.from_headers {
        recipients.extend(header.recipients);
    }
    let from = flags.from.as_deref().filter(|from| !from.is_empty());
    let from = from.map(|from| from.trim_matches(['<', '>']).to_owned());
    let from = from.or(header.from).unwrap_or_default();
    recipients.sort();
    recipients.dedup();
    if recipients.is_empty() {
        return Err(SendmailError::NoRecipient);
    }
    // The address must not contain characters that end the command.
    let invalid = |address: &&String| {
        address.contains(|character: char| character.is_control() || "<>".contains(character))
    };
    if let Some(address) = recipients.iter().chain([&from]).find(invalid) {
        return Err(SendmailError::InvalidAddress(address.clone()));
    }
    let message = if flags.from_headers {
        restante_mail::without_bcc(&message)
    } else {
        message
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(SendmailError::Runtime)?;
    let sent = runtime.block_on(sender::submit(&flags.smtp, from, recipients, message));
    sent.map_err(|error| SendmailError::NotTaken { error })
}

/// Reads the message to its end, or to a line with a single dot. Its lines then end with CR LF.
fn read(mut input: impl BufRead, keep_dots: bool) -> io::Result<Vec<u8>> {
    let mut message = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(message);
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text == b"." && !keep_dots {
            return Ok(message);
        }
        message.extend_from_slice(text);
        message.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_become_cr_lf_and_a_dot_ends_the_message() {
        let input = b"Subject: a\n\nb\r\n..\n.\nc";
        assert_eq!(
            read(&input[..], false).unwrap(),
            b"Subject: a\r\n\r\nb\r\n..\r\n"
        );
        assert_eq!(
            read(&input[..], true).unwrap(),
            b"Subject: a\r\n\r\nb\r\n..\r\n.\r\nc\r\n"
        );
    }
}
