//! Tables of command lines and what they mean.

use super::*;

fn parse(line: &str) -> Result<Command<'_>, Refusal> {
    CommandLine::parse(line.as_bytes())?.command()
}

fn mail(line: &str) -> Result<Mail, Refusal> {
    match parse(line)? {
        Command::Mail(mail) => Ok(mail),
        other => panic!("{other:?}"),
    }
}

#[test]
fn reads_commands() {
    for (line, command) in [
        ("EHLO client.example", Command::Ehlo("client.example")),
        ("ehlo [192.0.2.1]", Command::Ehlo("[192.0.2.1]")),
        ("HeLo my_host  ", Command::Helo("my_host")),
        ("STARTTLS", Command::StartTls),
        ("AUTH plain", Command::Auth(Mechanism::Plain, None)),
        ("AUTH LOGIN =", Command::Auth(Mechanism::Login, Some("="))),
        ("DATA", Command::Data),
        ("RSET ", Command::Rset),
        ("VRFY someone", Command::Vrfy),
        ("HELP", Command::Help),
        ("HELP MAIL", Command::Help),
        ("NOOP", Command::Noop),
        ("noop anything", Command::Noop),
        ("quit", Command::Quit),
    ] {
        assert_eq!(parse(line), Ok(command), "{line}");
    }
}

#[test]
fn a_name_may_be_as_long_as_a_domain() {
    let name = "a".repeat(255);
    assert_eq!(parse(&format!("EHLO {name}")), Ok(Command::Ehlo(&name)));
}

#[test]
fn refuses_what_is_no_command() {
    let long_name = format!("EHLO {}", "a".repeat(256));
    for (line, refusal) in [
        ("", Refusal::UnknownCommand),
        (" NOOP", Refusal::UnknownCommand),
        ("MAILFROM:<a@b>", Refusal::UnknownCommand),
        ("XYZZY", Refusal::UnknownCommand),
        ("NOOP\0", Refusal::MalformedLine),
        ("NOOP\tx", Refusal::MalformedLine),
        ("NOOP \u{9b}", Refusal::MalformedLine),
        ("EXPN list", Refusal::NotImplemented),
        ("BDAT 10 LAST", Refusal::NotImplemented),
        ("TURN", Refusal::NotImplemented),
        ("GET / HTTP/1.1", Refusal::HttpRequest),
        ("post /v1 HTTP/1.1", Refusal::HttpRequest),
        ("EHLO", Refusal::BadArguments),
        ("HELO ", Refusal::BadArguments),
        ("EHLO two words", Refusal::BadArguments),
        (&long_name, Refusal::BadArguments),
        ("STARTTLS now", Refusal::BadArguments),
        ("DATA now", Refusal::BadArguments),
        ("RSET now", Refusal::BadArguments),
        ("QUIT now", Refusal::BadArguments),
        ("VRFY", Refusal::BadArguments),
        ("AUTH", Refusal::BadArguments),
        ("AUTH CRAM-MD5", Refusal::UnknownMechanism),
    ] {
        assert_eq!(parse(line), Err(refusal), "{line:?}");
    }
    assert_eq!(
        CommandLine::parse(b"NOOP \xff"),
        Err(Refusal::MalformedLine)
    );
}

#[test]
fn reads_mail_parameters() {
    let plain = mail("MAIL FROM:<a@b.example>").unwrap();
    assert_eq!(
        (plain.size, plain.body, plain.smtputf8, plain.auth),
        (None, None, false, false)
    );
    let all = mail("mail from: <ä@b.example>  size=00012 body=8bitmime SMTPUTF8 AUTH=<>").unwrap();
    assert_eq!(all.reverse_path.as_str(), "ä@b.example");
    assert_eq!(
        (all.size, all.body, all.smtputf8, all.auth),
        (Some(12), Some(BodyType::EightBitMime), true, true)
    );
    assert_eq!(
        mail("MAIL FROM:<> SIZE=99999999999999999999").unwrap().size,
        Some(u64::MAX)
    );
}

#[test]
fn refuses_bad_mail_commands() {
    for (arguments, refusal) in [
        ("", Refusal::BadArguments),
        ("<a@b>", Refusal::BadArguments),
        ("FROM", Refusal::BadArguments),
        ("FROM <a@b>", Refusal::BadArguments),
        ("TO:<a@b>", Refusal::BadArguments),
        ("FROM:<a@b>SIZE=1", Refusal::BadArguments),
        ("FROM:", Refusal::BadSender),
        ("FROM:a@b", Refusal::BadSender),
        ("FROM:<a@b", Refusal::BadSender),
        ("FROM:<a@b> SIZE", Refusal::BadParameter),
        ("FROM:<a@b> SIZE=", Refusal::BadParameter),
        ("FROM:<a@b> SIZE=-1", Refusal::BadParameter),
        ("FROM:<a@b> SIZE=1k", Refusal::BadParameter),
        (
            "FROM:<a@b> SIZE=000000000000000000001",
            Refusal::BadParameter,
        ),
        ("FROM:<a@b> SIZE=1 SIZE=1", Refusal::BadParameter),
        ("FROM:<a@b> BODY", Refusal::BadParameter),
        ("FROM:<a@b> BODY=BINARYMIME", Refusal::BadParameter),
        ("FROM:<a@b> SMTPUTF8=1", Refusal::BadParameter),
        ("FROM:<a@b> SMTPUTF8 SMTPUTF8", Refusal::BadParameter),
        ("FROM:<a@b> AUTH", Refusal::BadParameter),
        ("FROM:<a@b> -X", Refusal::BadParameter),
        ("FROM:<a@b> X_Y=1", Refusal::BadParameter),
        ("FROM:<a@b> RET=HDRS", Refusal::UnknownParameter),
        ("FROM:<ä@b>", Refusal::NonAsciiAddress),
        ("FROM:<a@ä.example>", Refusal::NonAsciiAddress),
    ] {
        assert_eq!(
            mail(&format!("MAIL {arguments}")),
            Err(refusal),
            "{arguments}"
        );
    }
}

#[test]
fn reads_and_refuses_recipients() {
    let postmaster = Command::Rcpt(ForwardPath::Postmaster("postmaster".into()), "<postmaster>");
    for (arguments, command) in [
        ("TO:<postmaster>", Ok(postmaster.clone())),
        ("to: <postmaster> ", Ok(postmaster)),
        ("TO", Err(Refusal::BadArguments)),
        ("TÖ:<a@b>", Err(Refusal::BadArguments)),
        ("FROM:<a@b>", Err(Refusal::BadArguments)),
        ("TO:<>", Err(Refusal::BadRecipient)),
        ("TO:a@b", Err(Refusal::BadRecipient)),
        ("TO:<a@b>x", Err(Refusal::BadArguments)),
        ("TO:<a@b> NOTIFY=NEVER", Err(Refusal::UnknownParameter)),
        ("TO:<a@b> =", Err(Refusal::BadParameter)),
    ] {
        assert_eq!(parse(&format!("RCPT {arguments}")), command, "{arguments}");
    }
}

#[test]
fn the_log_gets_the_path() {
    for (line, path) in [
        ("MAIL FROM:<a@b> SIZE=1", Some("<a@b> SIZE=1")),
        ("RCPT TO: <a b@c", Some("<a b@c")),
        ("RCPT", None),
        ("VRFY a:b", None),
    ] {
        assert_eq!(
            CommandLine::parse(line.as_bytes()).unwrap().path(),
            path,
            "{line}"
        );
    }
}
