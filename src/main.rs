//! The program `restante`. All work is done by the library's module `cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    restante::cli::run()
}
