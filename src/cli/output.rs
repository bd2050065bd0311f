//! The output of commands. Text from messages is printed without characters that would control the
//! terminal.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::client::Answer;
use super::error::CliError;
use crate::model::is_bidi_control;

/// How often a progress line is redrawn.
const REDRAWN_EVERY: Duration = Duration::from_millis(100);

/// Prints one line.
pub(super) fn line(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{text}")?;
    output.flush()
}

/// Prints the result of a command: as JSON, or as text for people.
pub(super) fn print<T: Serialize>(
    value: &T,
    as_json: bool,
    text: impl FnOnce(&T) -> String,
) -> Result<(), CliError> {
    Ok(if as_json {
        json(value)
    } else {
        line(&text(value))
    }?)
}

/// Prints `value` as one line of JSON.
pub(super) fn json(value: &impl Serialize) -> io::Result<()> {
    line(&serde_json::to_string(value)?)
}

/// Copies an answer to standard output as it arrives.
pub(super) fn copy(answer: Answer<'_>) -> Result<(), CliError> {
    let client = answer.client();
    let mut answer = BufReader::new(answer);
    let mut output = io::stdout().lock();
    loop {
        let piece = match answer.fill_buf() {
            Ok([]) => return Ok(output.flush()?),
            Ok(piece) => piece,
            Err(error) => return Err(client.unreachable(error).into()),
        };
        output.write_all(piece)?;
        let written = piece.len();
        answer.consume(written);
    }
}

/// Prints a line on standard error.
pub(super) fn note(text: &str) {
    // If standard error is closed, there is no reader.
    let _ = writeln!(io::stderr(), "{text}");
}

/// A progress line on standard error, redrawn in place; it is shown only on a terminal.
pub(super) struct ProgressLine {
    on_terminal: bool,
    drawn: Option<Instant>,
}

impl ProgressLine {
    pub(super) fn new() -> Self {
        Self {
            on_terminal: io::stderr().is_terminal(),
            drawn: None,
        }
    }

    /// Draws `text` if the last one is old enough, or if this one is `important`.
    pub(super) fn show(&mut self, text: &str, important: bool) {
        let due = important
            || self
                .drawn
                .is_none_or(|drawn| drawn.elapsed() >= REDRAWN_EVERY);
        if self.on_terminal && due {
            self.drawn = Some(Instant::now());
            // A closed terminal needs no progress line.
            let _ = write!(io::stderr(), "\r\x1b[K{text}");
        }
    }

    /// Clears the line.
    pub(super) fn clear(&self) {
        if self.drawn.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// Replaces every control character except line feed and tab, and what changes the direction of
/// text.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    replace_controls(text, |character| matches!(character, '\n' | '\t'))
}

/// The text on one line: every control character is replaced.
pub(super) fn printable_line(text: &str) -> Cow<'_, str> {
    replace_controls(text, |_| false)
}

fn replace_controls(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    let hostile = |character: char| {
        (character.is_control() || is_bidi_control(character)) && !keep(character)
    };
    if text.contains(hostile) {
        Cow::Owned(text.replace(hostile, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_do_not_reach_a_terminal() {
        assert_eq!(
            printable("a\x1b[2Jb\n\tc\u{9b}d"),
            "a\u{fffd}[2Jb\n\tc\u{fffd}d"
        );
        assert_eq!(printable_line("a\nb\rc"), "a\u{fffd}b\u{fffd}c");
        assert_eq!(printable_line("grüße"), "grüße");
        assert_eq!(printable("photo_\u{202e}gnp.exe"), "photo_\u{fffd}gnp.exe");
    }
}
