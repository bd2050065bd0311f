//! The program `restante`; the library's `cli` does the work.

use std::process::ExitCode;

fn main() -> ExitCode {
    restante::cli::run()
}
