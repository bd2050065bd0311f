//! The settings, given as a command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::Resettable;
use clap::{CommandFactory, FromArgMatches, Parser};

use super::*;

/// A program with only these flags.
#[derive(Parser)]
struct Serve {
    #[command(flatten)]
    settings: Settings,
}

fn resolve_line(line: &str) -> Result<Settings, String> {
    // The variables may be set for another server.
    let command = Serve::command().mut_args(|argument| argument.env(Resettable::Reset));
    let matches = command.try_get_matches_from(format!("serve {line}").split_whitespace());
    let matches = matches.map_err(|error| error.to_string())?;
    let settings = Serve::from_arg_matches(&matches).unwrap().settings;
    settings.check().map_err(|error| error.to_string())?;
    Ok(settings)
}

#[test]
fn without_a_flag_everything_has_its_default() {
    let settings = resolve_line("").unwrap();
    assert_eq!(settings.listeners.http_listen.to_string(), "127.0.0.1:8025");
    assert_eq!(settings.listeners.smtp_listen.to_string(), "127.0.0.1:1025");
    assert_eq!(settings.mail_domain.as_str(), "restante.example.com");
    assert_eq!(settings.data.data_dir, PathBuf::from("./restante-data"));
    assert_eq!(
        settings.data.url(),
        DatabaseUrl::Sqlite(PathBuf::from("./restante-data/restante.db"))
    );
    assert_eq!(
        (settings.base_url, settings.api_key, settings.tls.files()),
        (None, None, None)
    );
    assert_eq!(settings.limits.inbox_lifetime, Duration::from_secs(3600));
    assert_eq!(settings.limits, Limits::default());
}

#[test]
fn flags_replace_the_defaults() {
    let settings = resolve_line(
        "--mail-domain Bücher.example --base-url https://mail.example/inboxes/ --data-dir /srv/restante \
         --tls-cert c.pem --tls-key k.pem --inbox-lifetime 90s --max-message-size 1MiB --idle-timeout 1m",
    )
    .unwrap();
    assert_eq!(settings.mail_domain.as_str(), "xn--bcher-kva.example");
    assert_eq!(
        settings.base_url.as_deref(),
        Some("https://mail.example/inboxes")
    );
    assert_eq!(
        settings.data.url(),
        DatabaseUrl::Sqlite(PathBuf::from("/srv/restante/restante.db"))
    );
    assert_eq!(
        settings.tls.files(),
        Some(TlsFiles {
            certificate: "c.pem".into(),
            key: "k.pem".into()
        })
    );
    assert_eq!(settings.limits.inbox_lifetime, Duration::from_secs(90));
    assert_eq!(settings.limits.message_size, 1024 * 1024);
    assert_eq!(settings.limits.idle_timeout, Duration::from_secs(60));
}

#[test]
fn mail_is_sent_directly_unless_there_is_a_relay_or_sending_is_off() {
    let sending = |line: &str| resolve_line(line).unwrap().sending;
    let direct = sending("--dns-server 192.0.2.53 --allow-private-targets");
    assert_eq!((direct.outbound, direct.relay), (None, None));
    assert_eq!(direct.dns_server, Some("192.0.2.53:53".parse().unwrap()));
    assert!(direct.allow_private_targets && !sending("").allow_private_targets);
    let file = tempfile::NamedTempFile::new().unwrap();
    let relayed = sending(&format!(
        "--relay smtp://mail.example --relay-ca {}",
        file.path().display()
    ));
    assert_eq!(
        (relayed.relay.unwrap().port, relayed.relay_ca.as_deref()),
        (587, Some(file.path()))
    );
    assert_eq!(
        sending("--relay smtp://mail.example --outbound off").outbound,
        Some(Outbound::Off)
    );
}

#[test]
fn a_server_that_accepts_every_domain_sends_nothing() {
    let outbound =
        |line: &str| resolve_line(line).map(|settings| settings.sending.mode(&settings.accepted));
    assert_eq!(outbound("--accept-domains *"), Ok(Outbound::Off));
    assert_eq!(
        outbound("--accept-domains a.test,* --outbound off --relay smtp://mail.example"),
        Ok(Outbound::Off)
    );
    assert_eq!(
        outbound("--accept-domains example.com,*.shop.test"),
        Ok(Outbound::Direct)
    );
    assert_eq!(
        outbound("--accept-domains= --outbound direct"),
        Ok(Outbound::Direct)
    );
    for line in [
        "--accept-domains * --outbound direct",
        "--accept-domains * --relay smtp://mail.example",
    ] {
        let problem = outbound(line).unwrap_err();
        assert!(
            problem.starts_with("--accept-domains: every domain is accepted"),
            "{problem}"
        );
    }
}

#[test]
fn accepted_domains_are_a_list() {
    let accepted = |line: &str| resolve_line(line).unwrap().accepted.to_string();
    assert_eq!(accepted(""), "");
    assert_eq!(
        accepted("--accept-domains Example.com,*.shop.test"),
        "example.com, *.shop.test"
    );
    assert_eq!(accepted("--accept-domains *"), "*");
    let problem = resolve_line("--accept-domains user@example.com").unwrap_err();
    assert!(
        problem.contains("--accept-domains") && problem.contains("*.shop.test"),
        "{problem}"
    );
}

#[test]
fn trusted_proxies_are_networks_or_addresses() {
    let settings =
        resolve_line("--trusted-proxy 10.0.0.0/8,192.0.2.7 --trusted-proxy 2001:db8::/32").unwrap();
    let networks: Vec<_> = settings
        .trusted_proxies
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(networks, ["10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32"]);
}

#[test]
fn an_error_names_its_flag() {
    for (line, flag) in [
        ("--mail-domain user@restante.example.com", "--mail-domain"),
        ("--mail-domain a..b", "--mail-domain"),
        ("--base-url restante.example.com", "--base-url"),
        ("--base-url ftp://restante.example.com", "--base-url"),
        ("--base-url http://restante.example.com/?a=b", "--base-url"),
        (
            "--base-url http://user:password@restante.example.com",
            "--base-url",
        ),
        ("--trusted-proxy 10.0.0.0/33", "--trusted-proxy"),
        ("--trusted-proxy proxy.example", "--trusted-proxy"),
        ("--database mysql://localhost/restante", "--database"),
        ("--api-key secret", "--api-key"),
        ("--admin-token=", "--admin-token"),
        ("--admin-token 0123456789012345678", "--admin-token"),
        ("--tls-cert c.pem", "--tls-cert"),
        ("--tls-key k.pem", "--tls-key"),
        ("--inbox-lifetime 0s", "--inbox-lifetime"),
        ("--max-recipients 0", "--max-recipients"),
        ("--waits-per-key 0", "--waits-per-key"),
        ("--sends-per-key 129", "--sends-per-key"),
        ("--max-command-line 511", "--max-command-line"),
        ("--max-data-line 999", "--max-data-line"),
        ("--max-message-memory 1MiB", "--max-message-memory"),
        ("--message-timeout 0s", "--message-timeout"),
        ("--relay mail.example", "--relay"),
        ("--relay smtp://user:%zz@mail.example", "--relay"),
        (
            "--relay smtp://mail.example --relay-ca missing.pem",
            "--relay-ca",
        ),
        ("--relay-ca missing.pem", "--relay-ca"),
        ("--dns-server dns.example", "--dns-server"),
        ("--dns-server 127.0.0.1:0", "--dns-server"),
        ("--smtp-hello a..b", "--smtp-hello"),
        ("--dkim-key k.pem", "--dkim-key"),
        ("--dkim-selector s", "--dkim-selector"),
        ("--tls-names restante,", "--tls-names"),
        ("--tls-names a/b", "--tls-names"),
        ("--smtp-starttls maybe", "--smtp-starttls"),
        (
            "--smtp-public-address mail.example",
            "--smtp-public-address",
        ),
        (
            "--smtp-public-address mail.example:0",
            "--smtp-public-address",
        ),
        (
            "--smtp-public-address a@mail.example:25",
            "--smtp-public-address",
        ),
    ] {
        let error = resolve_line(line).unwrap_err();
        let named =
            error.starts_with(&format!("{flag}:")) || error.contains(&format!("for '{flag} "));
        assert!(named, "{line}: {error}");
    }
}

#[test]
fn an_error_shows_how_to_write_a_duration() {
    for line in ["--inbox-lifetime soon", "--inbox-lifetime 90"] {
        let error = resolve_line(line).unwrap_err();
        assert!(
            error.contains("write a number with a unit, like 30s, 15m or 1h30m"),
            "{line}: {error}"
        );
    }
}

#[test]
fn a_listener_is_an_address_with_a_port() {
    for (written, address) in [
        ("localhost:8025", "127.0.0.1:8025"),
        (":8025", "0.0.0.0:8025"),
        ("[::1]:0", "[::1]:0"),
    ] {
        let settings = resolve_line(&format!("--http-listen {written}")).unwrap();
        assert_eq!(settings.listeners.http_listen, address.parse().unwrap());
    }
    for line in ["--http-listen 8025", "--smtps-listen mail.example:465"] {
        let error = resolve_line(line).unwrap_err();
        assert!(error.contains("for example 127.0.0.1:8025"), "{error}");
    }
}

#[test]
fn mailpits_api_is_open_only_on_loopback() {
    assert!(
        resolve_line("--mailpit-api open").is_ok()
            && resolve_line("--mailpit-api open --http-listen [::1]:1").is_ok()
    );
    for listener in [
        "--http-listen 0.0.0.0:8025",
        "--mailpit-listen 0.0.0.0:8026",
    ] {
        let refused = resolve_line(&format!("--mailpit-api open {listener}")).unwrap_err();
        assert!(
            refused.starts_with("--mailpit-api: `open` needs no key"),
            "{refused}"
        );
    }
    assert!(resolve_line("--mailpit-api key --http-listen 0.0.0.0:8025").is_ok());
}

#[test]
fn a_refused_secret_is_not_repeated() {
    for line in [
        "--api-key rst_live_tooshort",
        "--admin-token tooshort",
        "--relay smtp://user:tooshort@",
    ] {
        let error = resolve_line(line).unwrap_err();
        assert!(!error.contains("tooshort"), "{error}");
    }
}
