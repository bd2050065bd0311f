//! The first line that a started server prints, which says that it is ready.

use std::io::{self, BufRead, BufReader};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// The first line of the output, from a thread that ends with the process. The sender is dropped
/// when the process has ended.
pub(super) fn first_line(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(output) = child.stdout.take() {
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = String::new();
            if output.read_line(&mut line).is_ok_and(|length| length > 0) {
                let _ = sender.send(line);
            }
            let _ = io::copy(&mut output, &mut io::sink());
        });
    }
    receiver
}
