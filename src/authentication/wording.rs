//! The results of mail-auth as the API shows them, each with its reason as a sentence.

use mail_auth::common::headers::Header;
use mail_auth::dkim::{DkimError, Signature};
use mail_auth::dmarc::Policy;
use mail_auth::{
    DkimOutput, DkimResult, DmarcOutput, DmarcResult, DnsError, Error, SpfOutput, SpfResult,
};
use restante_api::{
    Authentication, AuthenticationResult, DkimCheck, DmarcCheck, DmarcPolicy, SpfCheck,
};

use super::{Connection, MAX_HEADER_BYTES};

const NO_ANSWER: &str = "The DNS did not answer.";
/// The tags that every signature needs, with `v` and `a` (RFC 6376, section 3.5).
const TAGS: [&str; 5] = ["d", "s", "h", "bh", "b"];

/// The results without a resolver.
pub(super) fn without_dns(connection: Option<&Connection<'_>>) -> Authentication {
    all(
        AuthenticationResult::TempError,
        "The DNS servers of this system are not known.",
        connection,
    )
}

/// The results for a message without a header, or with a very large one.
pub(super) fn unreadable(connection: Option<&Connection<'_>>) -> Authentication {
    let detail = format!(
        "The message has no header, or one of more than {} KiB.",
        MAX_HEADER_BYTES / 1024
    );
    all(AuthenticationResult::PermError, &detail, connection)
}

fn all(
    result: AuthenticationResult,
    detail: &str,
    connection: Option<&Connection<'_>>,
) -> Authentication {
    let detail = detail.to_owned();
    let spf = SpfCheck {
        result,
        domain: connection.map(|connection| connection.domain.clone()),
        client: connection.map(|connection| connection.client.to_string()),
        detail: detail.clone(),
    };
    let dmarc = DmarcCheck {
        result,
        domain: None,
        policy: None,
        spf_aligned: false,
        dkim_aligned: false,
        detail,
    };
    Authentication {
        spf,
        dkim: Vec::new(),
        dmarc,
    }
}

pub(super) fn not_over_smtp() -> SpfCheck {
    let detail = "The message did not arrive over SMTP.".to_owned();
    SpfCheck {
        result: AuthenticationResult::None,
        domain: None,
        client: None,
        detail,
    }
}

pub(super) fn spf(output: &SpfOutput, records: &[String], connection: &Connection<'_>) -> SpfCheck {
    let Connection { client, domain, .. } = connection;
    let record = records
        .first()
        .map(|record| format!(" (`{record}`)"))
        .unwrap_or_default();
    let (result, detail) = match output.result() {
        SpfResult::Pass => (
            AuthenticationResult::Pass,
            format!("{client} may send for {domain}{record}."),
        ),
        SpfResult::Fail => (
            AuthenticationResult::Fail,
            format!("{client} must not send for {domain}{record}."),
        ),
        SpfResult::SoftFail => (
            AuthenticationResult::SoftFail,
            format!("{client} should not send for {domain}{record}."),
        ),
        SpfResult::Neutral => (
            AuthenticationResult::Neutral,
            format!("{domain} says nothing about {client}{record}."),
        ),
        SpfResult::None => (
            AuthenticationResult::None,
            format!("{domain} has no SPF record."),
        ),
        SpfResult::TempError => (AuthenticationResult::TempError, NO_ANSWER.to_owned()),
        SpfResult::PermError if records.len() > 1 => (
            AuthenticationResult::PermError,
            format!("{domain} has {} SPF records.", records.len()),
        ),
        SpfResult::PermError => {
            let detail = format!(
                "The SPF record of {domain} or one that it includes is not valid, or needs too many queries{record}."
            );
            (AuthenticationResult::PermError, detail)
        }
    };
    SpfCheck {
        result,
        domain: Some(domain.clone()),
        client: Some(client.to_string()),
        detail,
    }
}

pub(super) fn dkim(output: &DkimOutput<'_>) -> DkimCheck {
    let signature = output.signature();
    let key = signature
        .map(|signature| format!("{}._domainkey.{}", signature.s, signature.d))
        .unwrap_or_default();
    let (result, error) = match output.result() {
        DkimResult::Pass => (AuthenticationResult::Pass, None),
        // The words of RFC 8601: a signature that was read and does not fit has failed.
        DkimResult::Neutral(
            error @ Error::Dkim(DkimError::FailedBodyHashMatch | DkimError::SignatureExpired),
        )
        | DkimResult::Fail(error) => (AuthenticationResult::Fail, Some(error)),
        DkimResult::Neutral(error) => (AuthenticationResult::Neutral, Some(error)),
        DkimResult::PermError(error) => (AuthenticationResult::PermError, Some(error)),
        DkimResult::TempError(error) => (AuthenticationResult::TempError, Some(error)),
        DkimResult::None => (AuthenticationResult::None, None),
    };
    let detail = match error {
        None => "The signature is valid.".to_owned(),
        Some(Error::Dns(DnsError::Resolver(_))) => NO_ANSWER.to_owned(),
        Some(Error::Dns(DnsError::RecordNotFound(_))) => format!("There is no key at {key}."),
        Some(Error::Dns(DnsError::InvalidRecordType) | Error::ParseError) => {
            format!("The key at {key} is not valid.")
        }
        Some(error) => sentence(error),
    };
    let domain = signature.map(|signature| signature.d.clone());
    DkimCheck {
        result,
        domain,
        selector: signature.map(|signature| signature.s.clone()),
        detail,
    }
}

/// A field that is no signature, with its domain and selector if they can be read.
pub(super) fn malformed(field: &Header<'_, Error>) -> DkimCheck {
    let value = String::from_utf8_lossy(field.value);
    let tag = |name: &str| {
        let mut tags = value.split(';').filter_map(|tag| tag.split_once('='));
        let (_, value) = tags.find(|(given, _)| given.trim() == name)?;
        let value: String = value.split_whitespace().collect();
        value.contains(char::is_alphanumeric).then_some(value)
    };
    let missing: Vec<_> = TAGS
        .into_iter()
        .filter(|name| tag(name).is_none())
        .collect();
    let detail = match &field.header {
        Error::MissingParameters if !missing.is_empty() => {
            format!("The signature has no {}.", missing.join(", "))
        }
        Error::Base64 => "A hash in the signature (`b` or `bh`) is not base64.".to_owned(),
        error => sentence(error),
    };
    DkimCheck {
        result: AuthenticationResult::PermError,
        domain: tag("d"),
        selector: tag("s"),
        detail,
    }
}

/// A signature that names more fields than are compared.
pub(super) fn long(signature: &Signature) -> DkimCheck {
    let detail = format!(
        "The signature names {} header fields, too many to be verified here.",
        signature.h.len()
    );
    let domain = Some(signature.d.clone());
    let selector = Some(signature.s.clone());
    DkimCheck {
        result: AuthenticationResult::PermError,
        domain,
        selector,
        detail,
    }
}

fn sentence(error: &Error) -> String {
    format!("{}.", error.to_string().trim_end_matches('.'))
}

pub(super) fn dmarc(output: &DmarcOutput) -> DmarcCheck {
    let domain = Some(output.domain().to_owned()).filter(|domain| !domain.is_empty());
    let policy = output.dmarc_record().map(|_| match output.policy() {
        Policy::Reject => DmarcPolicy::Reject,
        Policy::Quarantine => DmarcPolicy::Quarantine,
        Policy::None | Policy::Unspecified => DmarcPolicy::None,
    });
    let spf_aligned = *output.spf_result() == DmarcResult::Pass;
    let dkim_aligned = *output.dkim_result() == DmarcResult::Pass;
    let name = output.domain();
    let (result, detail) = match output.result() {
        DmarcResult::Pass => {
            let by = if dkim_aligned {
                "A DKIM signature"
            } else {
                "SPF"
            };
            (
                AuthenticationResult::Pass,
                format!("{by} passes for {name}."),
            )
        }
        DmarcResult::Fail(_) => (
            AuthenticationResult::Fail,
            format!("Neither SPF nor a DKIM signature passes for {name}."),
        ),
        DmarcResult::TempError(_) => (AuthenticationResult::TempError, NO_ANSWER.to_owned()),
        DmarcResult::PermError(_) => (
            AuthenticationResult::PermError,
            format!("The DMARC record of {name} is not valid."),
        ),
        DmarcResult::None if domain.is_none() => (
            AuthenticationResult::None,
            "The From field does not have one domain.".to_owned(),
        ),
        DmarcResult::None => (
            AuthenticationResult::None,
            format!("{name} has no DMARC record."),
        ),
    };
    DmarcCheck {
        result,
        domain,
        policy,
        spf_aligned,
        dkim_aligned,
        detail,
    }
}
