//! Header fields that are missing, there twice, or wrong (RFC 5322, section 3.6).

use mail_parser::HeaderValue;
use mail_parser::parsers::MessageStream;
use restante_api::{CheckName, Severity, SourcePart};

use super::Mail;
use super::problems::Problems;
use crate::header::Field;

/// A Date that is further away from the time of arrival is wrong.
const MAX_SKEW_SECONDS: i64 = 24 * 60 * 60;
/// Fields of which there must be at most one.
const SINGLE: [&str; 11] = [
    "Date",
    "From",
    "Subject",
    "Message-ID",
    "To",
    "Cc",
    "Reply-To",
    "Sender",
    "In-Reply-To",
    "References",
    "MIME-Version",
];

pub(super) fn check(mail: &Mail<'_>, problems: &mut Problems<'_>) {
    problems.start(CheckName::Headers);
    missing(mail, problems);
    double(mail, problems);
    let fields = &mail.structure.fields;
    for field in fields.iter().filter(|field| !field.value.is_ascii()) {
        let name = String::from_utf8_lossy(field.name);
        let at = mail.offset(field.name);
        match str::from_utf8(field.value) {
            // With SMTPUTF8, this is allowed (RFC 6532).
            Ok(_) => {
                let detail = format!("{name} has characters that are not encoded (RFC 2047).");
                problems.at(Severity::Warning, SourcePart::Header, at, detail);
            }
            Err(_) => {
                let detail = format!("{name} has bytes that are neither ASCII nor UTF-8.");
                problems.at(Severity::Error, SourcePart::Header, at, detail);
            }
        }
    }
    if let Some(date) = fields.iter().find(|field| field.is("date")) {
        check_date(mail, date, problems);
    }
}

fn missing(mail: &Mail<'_>, problems: &mut Problems<'_>) {
    let has = |name: &str| mail.structure.fields.iter().any(|field| field.is(name));
    for (name, severity) in [
        ("From", Severity::Error),
        ("Date", Severity::Error),
        ("Message-ID", Severity::Warning),
        ("Subject", Severity::Warning),
    ] {
        if !has(name) {
            problems.missing(severity, format!("There is no {name} field."));
        }
    }
    if !has("To") && !has("Cc") && !has("Bcc") {
        problems.missing(Severity::Warning, "There is no To field.");
    }
    let is_mime =
        |field: &&Field<'_>| field.is("content-type") || field.is("content-transfer-encoding");
    if let Some(field) = mail.structure.fields.iter().find(is_mime)
        && !has("MIME-Version")
    {
        let detail =
            "There is no MIME-Version field, so the content type may be ignored (RFC 2045).";
        problems.at(
            Severity::Error,
            SourcePart::Header,
            mail.offset(field.name),
            detail,
        );
    }
    if let Some(subject) = mail
        .structure
        .fields
        .iter()
        .find(|field| field.is("subject"))
        && subject.value.trim_ascii().is_empty()
    {
        problems.at(
            Severity::Warning,
            SourcePart::Header,
            mail.offset(subject.name),
            "The subject is empty.",
        );
    }
}

fn double(mail: &Mail<'_>, problems: &mut Problems<'_>) {
    for name in SINGLE {
        if let Some(second) = mail
            .structure
            .fields
            .iter()
            .filter(|field| field.is(name))
            .nth(1)
        {
            let detail = format!("There is more than one {name} field.");
            problems.at(
                Severity::Error,
                SourcePart::Header,
                mail.offset(second.name),
                detail,
            );
        }
    }
}

fn check_date(mail: &Mail<'_>, date: &Field<'_>, problems: &mut Problems<'_>) {
    let mut line = date.bounded_value().trim_ascii().to_vec();
    line.push(b'\n');
    let at = mail.offset(date.name);
    let parsed = match MessageStream::new(&line).parse_date() {
        HeaderValue::DateTime(date) if date.is_valid() => date.to_timestamp(),
        _ => {
            return problems.at(
                Severity::Error,
                SourcePart::Header,
                at,
                "The Date is not valid.",
            );
        }
    };
    let away = parsed.saturating_sub(mail.received_at);
    if away.unsigned_abs() > MAX_SKEW_SECONDS.unsigned_abs() {
        let days = away.unsigned_abs() / MAX_SKEW_SECONDS.unsigned_abs();
        let way = if away < 0 { "before" } else { "after" };
        let detail = format!("The Date is {days} days {way} the arrival.");
        problems.at(Severity::Warning, SourcePart::Header, at, detail);
    }
}
