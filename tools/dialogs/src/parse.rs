//! Reads dialog files.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use restante_smtp::{Refusal, RequestedReply, SessionFailure};

use super::{
    Action, Conditions, Delivery, Dialog, Fault, FaultAction, Question, Refused, ServerEvent, Step,
};

impl Default for Conditions {
    fn default() -> Self {
        Self {
            encrypted: false,
            loopback: false,
            start_tls: true,
            plaintext_auth: false,
            keys_only: false,
            login_required: false,
            message_size: 10_000,
            recipients: 100,
            command_line: 2_048,
            data_line: 1_000,
            refused: Vec::new(),
            faults: Vec::new(),
        }
    }
}

/// Parses one file; an error starts with the line number.
pub(super) fn dialog(name: &str, text: &str) -> Result<Dialog, String> {
    let mut dialog = Dialog {
        name: name.to_owned(),
        conditions: Conditions::default(),
        steps: Vec::new(),
        deliveries: Vec::new(),
    };
    for (index, text) in text.lines().enumerate() {
        let line = index + 1;
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        read_line(&mut dialog, line, word, rest).map_err(|problem| format!("{line}: {problem}"))?;
    }
    Ok(dialog)
}

fn read_line(dialog: &mut Dialog, line: usize, word: &str, rest: &str) -> Result<(), String> {
    let action = match word {
        "" | "#" => return Ok(()),
        "given" => return condition(&mut dialog.conditions, rest),
        "D:" | "D|" | "D~" => return delivery(&mut dialog.deliveries, word, rest),
        "C:" => Action::Send([bytes(rest)?, b"\r\n".to_vec()].concat()),
        "C~" => Action::Send(bytes(rest)?),
        // A code without text is the last line of a reply.
        "S:" => Action::Expect(if rest.len() == 3 {
            format!("{rest} ")
        } else {
            rest.to_owned()
        }),
        "closed" => Action::ExpectClose,
        "reset" => Action::ExpectReset,
        "waits" => Action::ExpectDelay(number(rest)?),
        "handshake" => Action::Handshake,
        "left" => Action::Leave(failure(rest)?),
        "server" => Action::Server(server_event(rest)?),
        _ => return Err(format!("no such directive: {word}")),
    };
    dialog.steps.push(Step { line, action });
    Ok(())
}

fn condition(conditions: &mut Conditions, rest: &str) -> Result<(), String> {
    match *rest.split(' ').collect::<Vec<_>>() {
        ["encrypted"] => conditions.encrypted = true,
        ["loopback"] => conditions.loopback = true,
        ["plaintext", "auth"] => conditions.plaintext_auth = true,
        ["auth", "keys"] => conditions.keys_only = true,
        ["auth", "required"] => (conditions.keys_only, conditions.login_required) = (true, true),
        ["no", "starttls"] => conditions.start_tls = false,
        ["message_size", bytes] => conditions.message_size = number(bytes)?,
        ["recipients", count] => conditions.recipients = number(count)?,
        ["command_line", bytes] => conditions.command_line = number(bytes)?,
        ["data_line", bytes] => conditions.data_line = number(bytes)?,
        ["fault", point, inbox, ref action @ ..] => {
            conditions.faults.push(fault(point, inbox, action)?);
        }
        [question, about, reason] => conditions.refused.push(Refused {
            question: self::question(question)?,
            about: about.to_owned(),
            refusal: refusal(reason)?,
        }),
        _ => return Err(format!("no such condition: {rest}")),
    }
    Ok(())
}

fn fault(point: &str, inbox: &str, action: &[&str]) -> Result<Fault, String> {
    let reply = |words: &[&str]| match words {
        [] => Ok(None),
        words => RequestedReply::parse(&words.join(" "))
            .map(Some)
            .ok_or(format!("not such a reply: {words:?}")),
    };
    let action = match *action {
        ["defer", ref words @ ..] => FaultAction::Defer(reply(words)?),
        ["reject", ref words @ ..] => FaultAction::Reject(reply(words)?),
        ["disconnect"] => FaultAction::Disconnect { store: false },
        ["store", "and", "disconnect"] => FaultAction::Disconnect { store: true },
        ["reset"] => FaultAction::Reset { store: false },
        ["store", "and", "reset"] => FaultAction::Reset { store: true },
        ["delay", seconds] => FaultAction::Delay(number(seconds)?),
        ["bounce"] => FaultAction::Bounce,
        ["drop"] => FaultAction::Drop,
        ["duplicate"] => FaultAction::Duplicate,
        _ => return Err(format!("no such fault: {action:?}")),
    };
    Ok(Fault {
        inbox: inbox.to_owned(),
        at_data: point == "data",
        action,
    })
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("not a number: {text}"))
}

fn question(word: &str) -> Result<Question, String> {
    match word {
        "sender" => Ok(Question::Sender),
        "recipient" => Ok(Question::Recipient),
        "message" => Ok(Question::Message),
        "password" => Ok(Question::Password),
        _ => Err(format!("no such question: {word}")),
    }
}

fn refusal(label: &str) -> Result<Refusal, String> {
    [
        Refusal::DiskShort,
        Refusal::InboxFull,
        Refusal::MailboxDisabled,
        Refusal::StoreFailure,
        Refusal::AuthenticationRequired,
        Refusal::AuthenticationUnavailable,
    ]
    .into_iter()
    .find(|refusal| refusal.label() == label)
    .ok_or_else(|| format!("the service never says {label}"))
}

fn failure(label: &str) -> Result<Option<SessionFailure>, String> {
    match label {
        "after mail" => Ok(None),
        label => SessionFailure::from_label(label)
            .map(Some)
            .ok_or_else(|| format!("no such failure: {label}")),
    }
}

fn server_event(text: &str) -> Result<ServerEvent, String> {
    match text {
        "shuts down" => Ok(ServerEvent::ShutsDown),
        "times out" => Ok(ServerEvent::TimesOut),
        "refuses the connection" => Ok(ServerEvent::RefusesConnection),
        _ => Err(format!("the server never {text}")),
    }
}

fn delivery(deliveries: &mut Vec<Delivery>, word: &str, rest: &str) -> Result<(), String> {
    if word == "D:" {
        // A local part in quotes may have spaces.
        let paths = rest.split_inclusive('>');
        let envelope = paths.map(|path| path.trim_start().to_owned()).collect();
        deliveries.push(Delivery {
            envelope,
            message: Vec::new(),
        });
        return Ok(());
    }
    let message = &mut deliveries.last_mut().ok_or("no D: before this")?.message;
    message.extend(bytes(rest)?);
    if word == "D|" {
        message.extend(b"\r\n");
    }
    Ok(())
}

/// Reads text with escapes.
fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let (bytes, rest) = escaped(text, false)?;
    if rest.is_empty() {
        Ok(bytes)
    } else {
        Err(format!("a brace too many: {rest}"))
    }
}

/// Reads up to the end, or in braces up to the closing brace. Also returns the rest.
fn escaped(mut text: &str, in_braces: bool) -> Result<(Vec<u8>, &str), String> {
    let mut bytes = Vec::new();
    loop {
        let Some(first) = text.chars().next() else {
            return if in_braces {
                Err("no closing brace".to_owned())
            } else {
                Ok((bytes, text))
            };
        };
        let rest = &text[first.len_utf8()..];
        text = match first {
            '}' if in_braces => return Ok((bytes, rest)),
            '\\' => escape(rest, &mut bytes)?,
            _ => {
                bytes.extend(first.to_string().bytes());
                rest
            }
        };
    }
}

/// Reads one escape after its backslash.
fn escape<'a>(text: &'a str, bytes: &mut Vec<u8>) -> Result<&'a str, String> {
    if let Some(inner) = text.strip_prefix("base64{") {
        let (inner, rest) = escaped(inner, true)?;
        bytes.extend(BASE64_STANDARD.encode(inner).bytes());
        return Ok(rest);
    }
    if let Some((count, inner)) = text.strip_prefix('{').and_then(|text| text.split_once('*')) {
        let (inner, rest) = escaped(inner, true)?;
        bytes.extend(inner.repeat(number(count)?));
        return Ok(rest);
    }
    if let Some(digits) = text.strip_prefix('x').and_then(|text| text.get(..2)) {
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| format!("not a byte: {digits}"))?);
        return Ok(&text[3..]);
    }
    let known = [
        ('r', b'\r'),
        ('n', b'\n'),
        ('t', b'\t'),
        ('0', 0),
        ('\\', b'\\'),
    ];
    let (_, byte) = known
        .into_iter()
        .find(|(letter, _)| text.starts_with(*letter))
        .ok_or(format!("no such escape: \\{text}"))?;
    bytes.push(byte);
    Ok(&text[1..])
}
