//! The settings of a server for tests, as other defaults of the same flags.

use clap::builder::{ArgPredicate, Resettable};
use clap::{Arg, Command};

/// Flags with another default. Mailers that use STARTTLS whenever it is offered would reject the
/// self-signed certificate. A test must not send mail to the internet by mistake: where every
/// domain is accepted, nothing is sent.
const DEFAULTS: [(&str, &str); 8] = [
    ("http-listen", ANY_PORT),
    ("smtp-listen", ANY_PORT),
    ("mailpit-listen", ANY_PORT),
    ("mailpit-api", "open"),
    ("smtp-starttls", "off"),
    ("smtp-plaintext-auth", "true"),
    ("waits-per-key", "128"),
    ("data-dir", TEMPORARY),
];
/// Stands for the directory of the run.
pub(super) const TEMPORARY: &str = "(temporary)";
const ANY_PORT: &str = "127.0.0.1:0";

/// Flags whose variables count: those that a run may set for its own server. The others may be set
/// for another server, whose data or URL this one would take.
const WITH_VARIABLE: [&str; 20] = [
    "accept-domains",
    "api-key",
    "http-listen",
    "log-format",
    "mail-domain",
    "mailpit-api",
    "mailpit-listen",
    "max-message-size",
    "mcp",
    "outbound",
    "relay",
    "relay-ca",
    "send-apis",
    "smtp-auth",
    "smtp-listen",
    "smtp-starttls",
    "smtps-listen",
    "tls-cert",
    "tls-key",
    "waits-per-key",
];

/// `restante serve` with the defaults of a server for tests.
pub(in crate::cli) fn preset(serve: Command) -> Command {
    serve.mut_args(|flag| {
        let Some(long) = flag.get_long().map(str::to_owned) else {
            return flag;
        };
        let flag = if WITH_VARIABLE.contains(&long.as_str()) {
            flag
        } else {
            flag.env(Resettable::Reset)
        };
        let default = DEFAULTS.iter().find(|(name, _)| *name == long);
        match default {
            Some((_, value)) => flag.default_value(*value),
            None if long == "accept-domains" => accepting_all(flag),
            None => flag,
        }
    })
}

/// Every domain is accepted, unless mail is to be sent out.
fn accepting_all(flag: Arg) -> Arg {
    flag.default_value("*").default_value_ifs([
        ("relay", ArgPredicate::IsPresent, Some("")),
        ("outbound", ArgPredicate::Equals("direct".into()), Some("")),
    ])
}
