//! The grammar of commands (RFC 5321, section 4.1.1): parses a line to a verb, and the verb's
//! arguments to a typed [`Command`].

use crate::auth::Mechanism;
use crate::path::{ForwardPath, ReversePath};
use crate::reply::Refusal;

/// Maximum length of a client's name: the longest domain (RFC 5321, section 4.5.3.1.2).
const NAME_BYTES: usize = 255;
/// Maximum number of digits of a SIZE (RFC 1870, section 4).
const SIZE_DIGITS: usize = 20;

/// The supported commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// EHLO
    Ehlo,
    /// HELO
    Helo,
    /// STARTTLS (RFC 3207)
    StartTls,
    /// AUTH (RFC 4954)
    Auth,
    /// MAIL
    Mail,
    /// RCPT
    Rcpt,
    /// DATA
    Data,
    /// RSET
    Rset,
    /// VRFY
    Vrfy,
    /// HELP
    Help,
    /// NOOP
    Noop,
    /// QUIT
    Quit,
}

/// In which states a command is allowed (RFC 5321, section 4.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// At any time.
    Always,
    /// After EHLO or HELO.
    Greeted,
    /// After EHLO or HELO, and not inside a mail transaction.
    BetweenTransactions,
    /// After MAIL.
    InTransaction,
}

/// Every verb and when it is allowed.
const VERBS: [(&str, Verb, Order); 12] = [
    ("EHLO", Verb::Ehlo, Order::Always),
    ("HELO", Verb::Helo, Order::Always),
    ("STARTTLS", Verb::StartTls, Order::Greeted),
    ("AUTH", Verb::Auth, Order::BetweenTransactions),
    ("MAIL", Verb::Mail, Order::BetweenTransactions),
    ("RCPT", Verb::Rcpt, Order::InTransaction),
    ("DATA", Verb::Data, Order::InTransaction),
    ("RSET", Verb::Rset, Order::Always),
    ("VRFY", Verb::Vrfy, Order::Always),
    ("HELP", Verb::Help, Order::Always),
    ("NOOP", Verb::Noop, Order::Always),
    ("QUIT", Verb::Quit, Order::Always),
];

/// Verbs of the standards that this server does not support: 502.
const NOT_IMPLEMENTED: [&str; 9] = [
    "EXPN", "BDAT", "TURN", "ETRN", "ATRN", "SEND", "SOML", "SAML", "BURL",
];

/// The methods of HTTP. An attacker can make a browser send a request to an SMTP server, with a
/// body that looks like mail, so the session is ended.
const HTTP_METHODS: [&str; 9] = [
    "GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE",
];

/// A command line of which only the verb has been parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandLine<'a> {
    verb: Verb,
    order: Order,
    arguments: &'a str,
}

/// A command with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// EHLO with the client's name.
    Ehlo(&'a str),
    /// HELO with the client's name.
    Helo(&'a str),
    /// STARTTLS
    StartTls,
    /// AUTH with the initial response in base64, if the client sent one.
    Auth(Mechanism, Option<&'a str>),
    /// MAIL
    Mail(Mail),
    /// RCPT, with the path as the client wrote it.
    Rcpt(ForwardPath<'a>, &'a str),
    /// DATA
    Data,
    /// RSET
    Rset,
    /// VRFY
    Vrfy,
    /// HELP
    Help,
    /// NOOP
    Noop,
    /// QUIT
    Quit,
}

/// The arguments of a MAIL command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mail {
    /// The sender.
    pub reverse_path: ReversePath,
    /// The size that the client expects the message to have, in bytes (RFC 1870).
    pub size: Option<u64>,
    /// The content type of RFC 6152 that the client announced.
    pub body: Option<BodyType>,
    /// Whether addresses and headers may contain UTF-8 (RFC 6531).
    pub smtputf8: bool,
    /// Whether there was a parameter `AUTH=`. Its value is not trusted (RFC 4954, section 5).
    pub auth: bool,
}

/// The value of the BODY parameter. It has no effect, because messages are stored byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyType {
    /// `BODY=7BIT`
    SevenBit,
    /// `BODY=8BITMIME`
    EightBitMime,
}

impl<'a> CommandLine<'a> {
    /// Parses the verb of a line without its CR LF.
    ///
    /// # Errors
    /// [`Refusal::MalformedLine`] if the line is not UTF-8 or has control characters; otherwise the
    /// error in the verb.
    pub fn parse(line: &'a [u8]) -> Result<Self, Refusal> {
        let line = std::str::from_utf8(line).map_err(|_| Refusal::MalformedLine)?;
        if line.chars().any(char::is_control) {
            return Err(Refusal::MalformedLine);
        }
        // White space at the end should be tolerated (RFC 5321, section 4.1.1).
        let line = line.trim_end_matches(' ');
        let (verb, arguments) = line.split_once(' ').unwrap_or((line, ""));
        let is_verb = |name: &&str| name.eq_ignore_ascii_case(verb);
        if let Some(&(_, verb, order)) = VERBS.iter().find(|(name, ..)| is_verb(name)) {
            return Ok(Self {
                verb,
                order,
                arguments: arguments.trim_start_matches(' '),
            });
        }
        if NOT_IMPLEMENTED.iter().any(is_verb) {
            return Err(Refusal::NotImplemented);
        }
        if HTTP_METHODS.iter().any(is_verb) {
            return Err(Refusal::HttpRequest);
        }
        Err(Refusal::UnknownCommand)
    }

    /// The command's verb.
    #[must_use]
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// In which states the command is allowed.
    #[must_use]
    pub fn order(&self) -> Order {
        self.order
    }

    /// The path of the line if it has one, for the log.
    #[must_use]
    pub fn path(&self) -> Option<&'a str> {
        let (name, path) = self.arguments.split_once(':')?;
        (matches!(self.verb, Verb::Mail | Verb::Rcpt) && !name.is_empty())
            .then(|| path.trim_start_matches(' '))
    }

    /// Parses the arguments.
    ///
    /// # Errors
    /// The error in the arguments.
    pub fn command(&self) -> Result<Command<'a>, Refusal> {
        match self.verb {
            Verb::Ehlo => self.client_name().map(Command::Ehlo),
            Verb::Helo => self.client_name().map(Command::Helo),
            Verb::Auth => self.auth(),
            Verb::Mail => self.mail().map(Command::Mail),
            Verb::Rcpt => self.rcpt(),
            Verb::Vrfy if self.arguments.is_empty() => Err(Refusal::BadArguments),
            Verb::Vrfy => Ok(Command::Vrfy),
            Verb::Help => Ok(Command::Help),
            Verb::Noop => Ok(Command::Noop),
            Verb::StartTls => self.alone(Command::StartTls),
            Verb::Data => self.alone(Command::Data),
            Verb::Rset => self.alone(Command::Rset),
            Verb::Quit => self.alone(Command::Quit),
        }
    }

    fn alone(&self, command: Command<'a>) -> Result<Command<'a>, Refusal> {
        if self.arguments.is_empty() {
            Ok(command)
        } else {
            Err(Refusal::BadArguments)
        }
    }

    /// A wrong name is no reason to reject mail (RFC 5321, section 4.1.4). It only has to be one
    /// word of printable characters.
    fn client_name(&self) -> Result<&'a str, Refusal> {
        let name = self.arguments;
        if name.is_empty() || name.len() > NAME_BYTES || name.contains(char::is_whitespace) {
            return Err(Refusal::BadArguments);
        }
        Ok(name)
    }

    fn auth(&self) -> Result<Command<'a>, Refusal> {
        let (mechanism, initial) = match self.arguments.split_once(' ') {
            Some((mechanism, initial)) => (mechanism, Some(initial)),
            None => (self.arguments, None),
        };
        if mechanism.is_empty() {
            return Err(Refusal::BadArguments);
        }
        let mechanism = Mechanism::parse(mechanism).ok_or(Refusal::UnknownMechanism)?;
        Ok(Command::Auth(mechanism, initial))
    }

    fn mail(&self) -> Result<Mail, Refusal> {
        let text = after_prefix(self.arguments, "FROM:")?;
        let (reverse_path, rest) = ReversePath::parse(text).map_err(|_| Refusal::BadSender)?;
        let mut mail = Mail {
            reverse_path,
            ..Mail::default()
        };
        for parameter in parameters(rest)? {
            mail.set(parameter)?;
        }
        if mail.reverse_path.as_str().is_ascii() || mail.smtputf8 {
            Ok(mail)
        } else {
            Err(Refusal::NonAsciiAddress)
        }
    }

    fn rcpt(&self) -> Result<Command<'a>, Refusal> {
        let text = after_prefix(self.arguments, "TO:")?;
        let (path, rest) = ForwardPath::parse(text).map_err(|_| Refusal::BadRecipient)?;
        // White space at the end was removed before, so that the text is the path.
        if parameters(rest)?.is_empty() {
            Ok(Command::Rcpt(path, text))
        } else {
            Err(Refusal::UnknownParameter)
        }
    }
}

impl Mail {
    fn set(&mut self, (keyword, value): Parameter<'_>) -> Result<(), Refusal> {
        let given_before = match keyword.to_ascii_uppercase().as_str() {
            "SIZE" => self.size.replace(size(value)?).is_some(),
            "BODY" => self.body.replace(body_type(value)?).is_some(),
            "SMTPUTF8" if value.is_none() => std::mem::replace(&mut self.smtputf8, true),
            "AUTH" if value.is_some() => std::mem::replace(&mut self.auth, true),
            "SMTPUTF8" | "AUTH" => return Err(Refusal::BadParameter),
            _ => return Err(Refusal::UnknownParameter),
        };
        if given_before {
            Err(Refusal::BadParameter)
        } else {
            Ok(())
        }
    }
}

/// `keyword` or `keyword=value`.
type Parameter<'a> = (&'a str, Option<&'a str>);

/// Skips `FROM:` or `TO:`. A space after the colon is wrong, but common, so it is allowed.
fn after_prefix<'a>(arguments: &'a str, prefix: &str) -> Result<&'a str, Refusal> {
    match arguments.split_at_checked(prefix.len()) {
        Some((name, path)) if name.eq_ignore_ascii_case(prefix) => Ok(path.trim_start_matches(' ')),
        _ => Err(Refusal::BadArguments),
    }
}

/// Parses the parameters after a path; each has a space before it.
fn parameters(text: &str) -> Result<Vec<Parameter<'_>>, Refusal> {
    if !text.is_empty() && !text.starts_with(' ') {
        return Err(Refusal::BadArguments);
    }
    text.split(' ')
        .filter(|word| !word.is_empty())
        .map(parameter)
        .collect()
}

fn parameter(word: &str) -> Result<Parameter<'_>, Refusal> {
    let (keyword, value) = match word.split_once('=') {
        Some((keyword, value)) => (keyword, Some(value)),
        None => (word, None),
    };
    let keyword_ok = keyword.starts_with(|first: char| first.is_ascii_alphanumeric())
        && keyword
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !keyword_ok || value == Some("") {
        return Err(Refusal::BadParameter);
    }
    Ok((keyword, value))
}

/// Twenty digits may not fit into a u64; then the size is too large anyway.
fn size(value: Option<&str>) -> Result<u64, Refusal> {
    let digits = value.filter(|value| {
        value.len() <= SIZE_DIGITS && value.bytes().all(|byte| byte.is_ascii_digit())
    });
    Ok(digits
        .ok_or(Refusal::BadParameter)?
        .parse()
        .unwrap_or(u64::MAX))
}

fn body_type(value: Option<&str>) -> Result<BodyType, Refusal> {
    match value.unwrap_or_default().to_ascii_uppercase().as_str() {
        "7BIT" => Ok(BodyType::SevenBit),
        "8BITMIME" => Ok(BodyType::EightBitMime),
        _ => Err(Refusal::BadParameter),
    }
}

#[cfg(test)]
mod tests;
