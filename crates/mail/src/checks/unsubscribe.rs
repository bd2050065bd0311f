//! Bulk mail from which nobody can unsubscribe with one click (RFC 2369, RFC 8058).

use restante_api::{CheckName, Severity, SourcePart};

use super::Mail;
use super::problems::Problems;
use crate::details::{field_mailboxes, list_unsubscribe};
use crate::header::{self, Field};

/// A message to more recipients is bulk mail.
const FEW_RECIPIENTS: usize = 10;

pub(super) fn check(mail: &Mail<'_>, problems: &mut Problems<'_>) {
    problems.start(CheckName::Unsubscribe);
    let field = |name: &str| {
        mail.structure
            .fields
            .iter()
            .find(|field| field.is(name))
            .copied()
    };
    let (unsubscribe, post) = (field("list-unsubscribe"), field("list-unsubscribe-post"));
    let found = list_unsubscribe(unsubscribe, post);
    if let Some(written) = unsubscribe
        && found.is_none()
    {
        let detail = "List-Unsubscribe has no URI in angle brackets.";
        return problems.at(
            Severity::Error,
            SourcePart::Header,
            mail.offset(written.name),
            detail,
        );
    }
    let Some((sign, bulk, severity)) = sign_of_bulk(mail) else {
        return;
    };
    let at = mail.offset(sign.name);
    let Some(found) = found else {
        let detail = format!("{bulk}, but there is no List-Unsubscribe.");
        return problems.at(severity, SourcePart::Header, at, detail);
    };
    let has_https = found
        .urls
        .iter()
        .any(|url| url.to_ascii_lowercase().starts_with("https://"));
    if !has_https {
        let detail = "List-Unsubscribe has no https URI, so one click is not possible (RFC 8058).";
        problems.at(Severity::Warning, SourcePart::Header, at, detail);
    } else if !found.one_click {
        let detail = "`List-Unsubscribe-Post: List-Unsubscribe=One-Click` is missing (RFC 8058).";
        problems.at(Severity::Warning, SourcePart::Header, at, detail);
    }
}

/// The field that shows that this is bulk mail, in words, and how bad it is if nobody can
/// unsubscribe.
fn sign_of_bulk<'a>(mail: &Mail<'a>) -> Option<(Field<'a>, String, Severity)> {
    let fields = || mail.structure.fields.iter().copied();
    if let Some(field) = fields().find(|field| field.is("list-id")) {
        return Some((
            field,
            "The message has a List-Id".to_owned(),
            Severity::Error,
        ));
    }
    let is_bulk = |field: &Field<'_>| {
        let value = header::text(field.bounded_value());
        field.is("precedence")
            && ["bulk", "list"]
                .iter()
                .any(|word| value.eq_ignore_ascii_case(word))
    };
    if let Some(field) = fields().find(is_bulk) {
        return Some((
            field,
            "The message says that it is bulk mail (Precedence)".to_owned(),
            Severity::Error,
        ));
    }
    let recipients = |field: &Field<'_>| field_mailboxes(field.bounded_value()).len();
    let addressed: Vec<Field<'a>> = fields()
        .filter(|field| field.is("to") || field.is("cc"))
        .take(10)
        .collect();
    let count: usize = addressed.iter().map(recipients).sum();
    let first = addressed
        .first()
        .copied()
        .filter(|_| count > FEW_RECIPIENTS)?;
    Some((
        first,
        format!("The message has {count} recipients"),
        Severity::Warning,
    ))
}
