//! The command grammar: no line makes it panic. Accepted commands have no control characters, and
//! end with a valid address.
#![no_main]

use libfuzzer_sys::fuzz_target;
use restante_mail::{Domain, EmailAddress};
use restante_smtp::command::{Command, CommandLine};

fuzz_target!(|line: &[u8]| {
    let Ok(Ok(command)) = CommandLine::parse(line).map(|line| line.command()) else {
        return;
    };
    match command {
        Command::Ehlo(name) | Command::Helo(name) => {
            assert!(
                !name.is_empty()
                    && !name.contains(|character: char| character.is_control() || character == ' ')
            );
        }
        Command::Mail(mail) => {
            assert!(mail.reverse_path.is_null() || mail.reverse_path.as_str().contains('@'))
        }
        Command::Rcpt(path, _) => {
            let mail_domain = Domain::parse("restante.example.com").expect("a domain");
            if let Ok(address) = path.into_address(&mail_domain, &Default::default()) {
                assert_eq!(EmailAddress::parse(&address.to_string()), Ok(address));
            }
        }
        _ => {}
    }
});
