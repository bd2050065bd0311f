//! The program `restante`. All it does is in the library's `cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    restante::cli::run()
}
