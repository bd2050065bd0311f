//! Whether the sender of a message was allowed to send it: SPF, DKIM and DMARC, with mail-auth and
//! the DNS.
//!
//! This is done on request only, and nothing else than the DNS is contacted. Each request has a
//! resolver of its own, so that no cache shows one project what another has looked up. A failure of
//! the DNS is a result (`temperror`), not an error. What mail-auth does not limit is limited here:
//! the header, the number of signatures, and the time.

mod wording;

use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::proto::rr::{Name, RData};
use mail_auth::common::crypto::{Algorithm, HashAlgorithm};
use mail_auth::dkim::{Canonicalization, DkimError, Signature};
use mail_auth::dmarc::verify::DmarcParameters;
use mail_auth::spf::verify::SpfParameters;
use mail_auth::{
    AuthenticatedMessage, DkimOutput, DmarcOutput, DmarcResult, DnsError, Error,
    MessageAuthenticator, SpfOutput, SpfResult,
};
use memchr::memmem;
use restante_api::{Authentication, DkimCheck};
use tokio::time::{Instant, timeout_at};

use crate::dns;
use crate::model::{Domain, Envelope, Via};

/// How long all queries of a message may take, those for SPF and DKIM, and one query: a name server
/// that does not answer must not use the time of the others.
const MAX_TIME: Duration = Duration::from_secs(5);
const MAX_TIME_OF_SENDER: Duration = Duration::from_millis(3_500);
const MAX_TIME_OF_QUERY: Duration = Duration::from_secs(1);
/// A larger header is not verified.
const MAX_HEADER_BYTES: usize = 64 * 1024;
/// Maximum number of signatures that are verified.
const MAX_SIGNATURES: usize = 10;
/// Maximum number of comparisons for a signature: each field that it names is compared with those
/// of the header, and with the other names. RFC 6376 has no limit; a header of 100 fields and a
/// signature of 900 are within this one.
const MAX_COMPARISONS: usize = 1_000_000;

/// A hash of the body: its canonical form, the algorithm, the length that is signed, and the hash.
type BodyHash = (Canonicalization, HashAlgorithm, u64, Vec<u8>);

/// What is verified of a message: its header and the hashes of its body.
#[derive(Debug, Default)]
pub(crate) struct Signed {
    header: Vec<u8>,
    hashes: Vec<BodyHash>,
}

impl Signed {
    /// Hashes the body as its signatures require; takes a while for a large message.
    pub(crate) fn read(raw: &[u8]) -> Self {
        let is_bounded = memmem::find(raw, b"\r\n\r\n").unwrap_or(raw.len()) <= MAX_HEADER_BYTES;
        let Some(message) = is_bounded
            .then(|| AuthenticatedMessage::parse(raw))
            .flatten()
        else {
            return Self::default();
        };
        Self {
            header: message.raw_headers().to_vec(),
            hashes: message.body_hashes,
        }
    }

    /// The header with the hashes of the body and the signatures within the limits, and the results
    /// of the others.
    fn message(&self, received_at: u64) -> Option<(AuthenticatedMessage<'_>, Vec<DkimCheck>)> {
        let mut message = AuthenticatedMessage::parse(&self.header)?;
        message.body_hashes.clone_from(&self.hashes);
        let fields = message.headers.len();
        let is_short = |names: usize| names.saturating_mul(names + fields) <= MAX_COMPARISONS;
        let (short, long): (Vec<_>, Vec<_>) = mem::take(&mut message.dkim_headers)
            .into_iter()
            .partition(|field| is_short(field.header.h.len()));
        message.dkim_headers = short;
        message.dkim_headers.truncate(MAX_SIGNATURES);
        // Those of ARC and of other versions of DKIM are not shown.
        message.errors.retain(|error| {
            error
                .name
                .trim_ascii()
                .eq_ignore_ascii_case(b"dkim-signature")
        });
        let malformed = message.errors.iter().map(wording::malformed);
        let unverified = malformed.chain(long.iter().map(|field| wording::long(&field.header)));
        let unverified = unverified
            .take(MAX_SIGNATURES - message.dkim_headers.len())
            .collect();
        for signature in message
            .dkim_headers
            .iter_mut()
            .map(|header| &mut header.header)
        {
            // A signature that was valid when the message arrived is still valid for the reader of
            // an old message.
            if signature.x > received_at {
                signature.x = 0;
            }
            // Requests for reports, and another domain's word for the signer, cause queries and
            // change no result.
            (signature.r, signature.atps) = (false, None);
        }
        Some((message, unverified))
    }
}

/// Verifies messages with the DNS.
#[derive(Clone, Debug)]
pub(crate) struct Verifier {
    /// The DNS server; `None` for those of the system.
    pub(crate) server: Option<SocketAddr>,
    /// The name of this server.
    pub(crate) host: Domain,
}

impl Verifier {
    /// SPF, DKIM and DMARC of a message that was received at `received_at`, in seconds since 1970.
    pub(crate) async fn verify(
        &self,
        signed: &Signed,
        envelope: &Envelope,
        received_at: u64,
    ) -> Authentication {
        let deadline = Instant::now() + MAX_TIME_OF_SENDER;
        let last = Instant::now() + MAX_TIME;
        let connection = Connection::of(envelope);
        let Ok(resolver) = dns::resolver(self.server, Some(MAX_TIME_OF_QUERY)) else {
            return wording::without_dns(connection.as_ref());
        };
        let authenticator = MessageAuthenticator(resolver);
        let Some((message, unverified)) = signed.message(received_at) else {
            return wording::unreadable(connection.as_ref());
        };
        let spf = async {
            let Some(connection) = &connection else {
                return (SpfOutput::default(), wording::not_over_smtp());
            };
            let verified = timeout_at(deadline, self.spf(&authenticator, connection)).await;
            let late = |_| {
                (
                    SpfOutput::default().with_result(SpfResult::TempError),
                    Vec::new(),
                )
            };
            let (output, records) = verified.unwrap_or_else(late);
            let check = wording::spf(&output, &records, connection);
            (output, check)
        };
        let ((spf, spf_check), dkim) =
            tokio::join!(spf, signatures(&authenticator, &message, deadline));
        let domain = connection
            .as_ref()
            .map_or("", |connection| connection.domain.as_str());
        let parameters = DmarcParameters::new(&message, &dkim, domain, &spf);
        let dmarc = timeout_at(last, authenticator.verify_dmarc(parameters)).await;
        let dmarc = dmarc.unwrap_or_else(|_| {
            DmarcOutput::new(author_domain(&message))
                .with_spf_result(DmarcResult::TempError(no_answer()))
        });
        let dkim = unverified
            .into_iter()
            .chain(dkim.iter().map(wording::dkim))
            .collect();
        Authentication {
            spf: spf_check,
            dkim,
            dmarc: wording::dmarc(&dmarc),
        }
    }

    /// The result, and the SPF records of the domain. There must be only one (RFC 7208, section
    /// 4.5); mail-auth uses the first that it can parse.
    async fn spf(
        &self,
        authenticator: &MessageAuthenticator,
        connection: &Connection<'_>,
    ) -> (SpfOutput, Vec<String>) {
        let Connection {
            client,
            helo,
            sender,
            domain,
        } = connection;
        let parameters = SpfParameters::verify_mail_from(*client, helo, self.host.as_str(), sender);
        let output = authenticator.verify_spf(parameters).await;
        let records = spf_records(authenticator.resolver(), domain).await;
        let is_wrong =
            records.len() > 1 || records.len() == 1 && output.result() == SpfResult::None;
        (
            if is_wrong {
                output.with_result(SpfResult::PermError)
            } else {
                output
            },
            records,
        )
    }
}

/// The SMTP connection on which a message arrived.
struct Connection<'a> {
    client: IpAddr,
    helo: &'a str,
    sender: &'a str,
    /// The domain that SPF is about.
    domain: String,
}

impl<'a> Connection<'a> {
    fn of(envelope: &'a Envelope) -> Option<Self> {
        if envelope.via != Some(Via::Smtp) {
            return None;
        }
        let client = envelope.client.as_deref()?.parse().ok()?;
        let sender = envelope.from.as_str();
        let helo = envelope.helo.as_deref().unwrap_or_default();
        let domain = sender
            .rsplit_once('@')
            .map_or(helo, |(_, domain)| domain)
            .to_owned();
        Some(Self {
            client,
            helo,
            sender,
            domain,
        })
    }
}

/// The results of the signatures that can be verified.
async fn signatures<'a>(
    authenticator: &MessageAuthenticator,
    message: &'a AuthenticatedMessage<'a>,
    deadline: Instant,
) -> Vec<DkimOutput<'a>> {
    let results = timeout_at(deadline, authenticator.verify_dkim(message)).await;
    let results = results.unwrap_or_else(|_| {
        let signatures = message.dkim_headers.iter().map(|header| &header.header);
        signatures
            .map(|signature| DkimOutput::temp_err(no_answer()).with_signature(signature))
            .collect()
    });
    let results = results
        .into_iter()
        .filter(|output| output.signature().is_some());
    results
        .map(|output| without_sha1(message, output))
        .collect()
}

/// A signature with SHA-1 is not valid (RFC 8301).
fn without_sha1<'a>(
    message: &'a AuthenticatedMessage<'a>,
    output: DkimOutput<'a>,
) -> DkimOutput<'a> {
    let mut signatures = message.dkim_headers.iter().map(|header| &header.header);
    let is_weak = |signature: &&Signature| {
        signature.a == Algorithm::RsaSha1 && output.signature() == Some(*signature)
    };
    match signatures.find(is_weak) {
        Some(weak) => {
            DkimOutput::perm_err(Error::Dkim(DkimError::UnsupportedAlgorithm)).with_signature(weak)
        }
        None => output,
    }
}

async fn spf_records(resolver: &TokioResolver, domain: &str) -> Vec<String> {
    let Ok(mut name) = Name::from_str_relaxed(domain) else {
        return Vec::new();
    };
    name.set_fqdn(true);
    let Ok(found) = resolver.txt_lookup(name).await else {
        return Vec::new();
    };
    let texts = found
        .answers()
        .iter()
        .filter_map(|record| match &record.data {
            RData::TXT(text) => Some(String::from_utf8_lossy(&text.txt_data.concat()).into_owned()),
            _ => None,
        });
    texts.filter(|text| is_spf(text)).collect()
}

/// Whether a TXT record is an SPF record (RFC 7208, section 4.5).
fn is_spf(record: &str) -> bool {
    record
        .split(' ')
        .next()
        .is_some_and(|version| version.eq_ignore_ascii_case("v=spf1"))
}

fn author_domain(message: &AuthenticatedMessage<'_>) -> String {
    message
        .from()
        .rsplit_once('@')
        .map(|(_, domain)| domain.to_owned())
        .unwrap_or_default()
}

fn no_answer() -> Error {
    Error::Dns(DnsError::Resolver(String::new()))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, UdpSocket};

    use restante_api::AuthenticationResult::TempError;

    use super::*;

    const RFC_8463: &str = include_str!("../tests/dkim/rfc8463.eml");

    /// The clock is paused: it advances to the next timer while the name server is silent.
    #[tokio::test(start_paused = true)]
    async fn a_silent_name_server_takes_no_more_than_the_time_for_all_queries() {
        let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let verifier = Verifier {
            server: silent.local_addr().ok(),
            host: Domain::parse("restante.example").unwrap(),
        };
        let envelope = Envelope {
            from: "joe@football.example.com".to_owned(),
            client: Some("192.0.2.1".to_owned()),
            helo: Some("mail.example.com".to_owned()),
            tls: None,
            authenticated: Some(false),
            via: Some(Via::Smtp),
        };
        let start = RFC_8463[1..].find("DKIM-Signature").unwrap() + 1;
        let many = format!(
            "{}{}",
            RFC_8463[..start].repeat(MAX_SIGNATURES),
            &RFC_8463[start..]
        );
        let began = Instant::now();
        let found = verifier
            .verify(&Signed::read(many.as_bytes()), &envelope, 0)
            .await;
        // A timer fires up to a millisecond late.
        assert!(
            began.elapsed() <= MAX_TIME + Duration::from_millis(2),
            "{:?}",
            began.elapsed()
        );
        assert!(
            began.elapsed() >= MAX_TIME_OF_SENDER,
            "{:?}",
            began.elapsed()
        );
        let dkim: Vec<_> = found.dkim.iter().map(|check| check.result).collect();
        assert_eq!(
            (found.spf.result, dkim),
            (TempError, vec![TempError; MAX_SIGNATURES])
        );
        assert_eq!(
            (found.dmarc.result, found.dmarc.detail.as_str()),
            (TempError, "The DNS did not answer.")
        );
    }
}
