//! A small HTTP client for the commands that shell scripts use.

mod requests;

use std::io::{self, Read};
use std::time::Duration;

use clap::Args;
use restante_api::{ErrorBody, Explanation, FaultList, Inbox, Message, MessageList, SetFaultsBody};
use restante_mail::EmailAddress;
use serde::Deserialize;
use ureq::http::Response;
use ureq::typestate::{WithBody, WithoutBody};
use ureq::{Agent, Body, RequestBuilder};

use super::error::CliError;
use crate::config::{api_key, http_url, secret};
use crate::http::path_segment;
use crate::model::{ApiKey, HeaderFilter, MessageId};

/// How long connecting may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// How long the service may send no data, in addition to the timeout of a wait.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// The largest response in bytes. A message has at most 25 MiB by default; JSON escapes can make it
/// six times as long.
const MAX_RESPONSE_BYTES: u64 = 160 * 1024 * 1024;

/// The address of the server.
#[derive(Args, Debug)]
pub(super) struct ServerFlag {
    /// The address of the server
    #[arg(
        long, env = "RESTANTE_URL", value_name = "URL", default_value = "http://127.0.0.1:8025",
        value_parser = http_url
    )]
    url: String,
}

impl ServerFlag {
    /// The address without a slash at its end.
    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

/// The address of the server, and the project's key.
#[derive(Args, Debug)]
pub(super) struct ClientFlags {
    #[command(flatten)]
    server: ServerFlag,
    /// The API key of the project
    #[arg(long, env = "RESTANTE_API_KEY", value_name = "KEY", hide_env_values = true, value_parser = secret(api_key))]
    api_key: Option<ApiKey>,
}

impl ClientFlags {
    /// The key, if one is given.
    pub(super) fn key(&self) -> Option<&ApiKey> {
        self.api_key.as_ref()
    }

    /// The address without a slash at its end, and the key.
    ///
    /// # Errors
    /// If there is no key.
    pub(super) fn access(&self) -> Result<(String, ApiKey), CliError> {
        Ok((
            self.server.url.clone(),
            self.api_key.clone().ok_or(ClientError::NoKey)?,
        ))
    }
}

/// Which messages to return. Flags that say what one call does have no variable, so that none
/// changes another command.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct FilterFlags {
    /// Only messages whose subject contains this (case-insensitive)
    #[arg(long, value_name = "TEXT")]
    pub(super) subject: Option<String>,
    /// Only messages whose sender's address contains this (case-insensitive)
    #[arg(long, value_name = "TEXT")]
    pub(super) from: Option<String>,
    /// Only messages whose To or Cc field contains this (case-insensitive)
    #[arg(long, value_name = "TEXT")]
    pub(super) to: Option<String>,
    /// Only messages whose text contains this (case-insensitive)
    #[arg(long, value_name = "TEXT")]
    pub(super) text: Option<String>,
    /// Only messages with a header field that contains this, as in X-Campaign:welcome
    /// (case-insensitive)
    #[arg(long, value_name = "NAME:TEXT", value_parser = header_filter)]
    pub(super) header: Option<String>,
    /// Only messages with these parts, separated by commas: code, otp, link
    ///
    /// code is a labelled code of any form; otp is one of 4 to 8 digits, or any number of 6 digits;
    /// link is a link.
    #[arg(long, value_name = "WHAT", value_parser = features)]
    pub(super) has: Option<String>,
    /// Only messages later than the one with this id
    #[arg(long, value_name = "ID", value_parser = message_id)]
    pub(super) after: Option<String>,
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    #[error("no API key: set RESTANTE_API_KEY or --api-key")]
    NoKey,
    #[error("cannot reach {url}: start `restante serve`, or set RESTANTE_URL or --url")]
    Unreachable {
        url: String,
        source: Box<ureq::Error>,
    },
    #[error(
        "{url} does not answer in HTTP: if this is the port for SMTP, set RESTANTE_URL or --url to the address for \
         HTTP, which `restante serve` prints"
    )]
    NotHttp { url: String },
    #[error("{url} does not answer with TLS: write http:// instead of https://")]
    NotTls { url: String },
    #[error(
        "the server accepts no mail for {address}: use an address on a domain that `restante serve` prints, or start \
         it with this domain in --accept-domains"
    )]
    NotAccepted { address: String },
    #[error(
        "{url} rejected the API key: check RESTANTE_API_KEY. An administrator can create a new key with \
         `restante project rotate-key NAME`"
    )]
    Unauthorized { url: String },
    #[error(
        "there is no inbox {name}: it never existed, expired, was deleted, or belongs to another project. Create one \
         with `restante inbox create`"
    )]
    NoInbox { name: String },
    #[error("{report}")]
    Ended { report: String },
    #[error(
        "there is no message {id}: it never existed, was deleted with its inbox, or belongs to another project"
    )]
    NoMessage { id: String },
    #[error("the message has no attachment {index}: `restante message` lists them, from 0")]
    NoAttachment { index: usize },
    #[error(
        "--after: {id} is not the id of a message that is or was in this inbox; `restante messages` lists the ids"
    )]
    UnknownCursor { id: String },
    #[error("{url} does not support this: the server has another version than this program")]
    Unsupported { url: String },
    #[error("{url} answered {status}: {text}")]
    Refused {
        url: String,
        status: u16,
        text: String,
        help: Option<String>,
    },
    #[error("{url} does not look like a Restante server: check the address")]
    Malformed {
        url: String,
        source: serde_json::Error,
    },
}

impl ClientError {
    /// Whether a wait should try again: all slots of the key are in use, or the service is busy or
    /// restarts.
    pub(super) fn is_temporary(&self) -> bool {
        match self {
            Self::Unreachable { source, .. } => {
                !matches!(**source, ureq::Error::BodyExceedsLimit(_))
            }
            Self::Refused { status, .. } => matches!(status, 429 | 503),
            _ => false,
        }
    }
}

impl From<ClientError> for CliError {
    fn from(error: ClientError) -> Self {
        Self::refused(error)
    }
}

/// The fields of a message that fit on one line; reading only these keeps a long list small.
#[derive(Debug, Deserialize)]
pub(super) struct Summary {
    pub(super) id: String,
    pub(super) from: String,
    pub(super) subject: String,
    pub(super) received_at: String,
}

/// The result of a wait.
pub(super) enum Waited {
    /// A message arrived.
    Message(Box<Message>),
    /// None arrived. The URL of the page that explains it, if the server has one.
    Timeout(Option<String>),
}

/// What the requests of a wait say about it.
pub(super) struct Wait {
    /// The same in all of them.
    pub(super) name: String,
    /// What only this program compares; empty if nothing.
    pub(super) compared_here: String,
}

impl Wait {
    fn named(&self, request: RequestBuilder<WithoutBody>) -> RequestBuilder<WithoutBody> {
        let request = request.header("X-Restante-Wait", &self.name);
        match &*self.compared_here {
            "" => request,
            text => request.header("X-Restante-Filters", path_segment(text)),
        }
    }
}

/// One project's access to one service.
pub(super) struct ApiClient {
    agent: Agent,
    url: String,
    authorization: String,
}

impl ApiClient {
    /// # Errors
    /// If there is no key.
    pub(super) fn new(flags: &ClientFlags) -> Result<Self, CliError> {
        let (url, key) = flags.access()?;
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT_WITHIN))
            .timeout_per_read(Some(ANSWER_WITHIN))
            .build()
            .new_agent();
        Ok(Self {
            agent,
            url,
            authorization: format!("Bearer {}", key.as_str()),
        })
    }

    pub(super) fn create_inbox(&self) -> Result<Inbox, ClientError> {
        let request = self
            .agent
            .post(self.path(&["inboxes"]))
            .header("Authorization", &self.authorization);
        self.read(self.check(request.send_empty())?)
    }

    /// The inbox with this id or address.
    pub(super) fn inbox(&self, name: &str) -> Result<Inbox, ClientError> {
        let request = if name.contains('@') {
            self.agent
                .get(self.path(&["inboxes"]))
                .query("address", name)
        } else {
            self.agent.get(self.path(&["inboxes", name]))
        };
        self.read(inbox_answer(self.call(request, Duration::ZERO), name)?)
    }

    pub(super) fn delete_inbox(&self, id: &str) -> Result<(), ClientError> {
        let request = self.agent.delete(self.path(&["inboxes", id]));
        inbox_answer(self.call(request, Duration::ZERO), id).map(drop)
    }

    /// The messages of an inbox, newest first, as the JSON that the service sends.
    pub(super) fn messages(
        &self,
        id: &str,
        filter: &FilterFlags,
    ) -> Result<impl Read + use<>, ClientError> {
        let request = filtered(
            self.agent.get(self.path(&["inboxes", id, "messages"])),
            filter,
        );
        let answer = filtered_answer(self.call(request, Duration::ZERO), id, filter)?;
        // Read in pieces, so no length limit is needed.
        Ok(answer
            .into_body()
            .into_with_config()
            .limit(u64::MAX)
            .reader())
    }

    /// The messages of an inbox, newest first, with the fields of one line each.
    pub(super) fn summaries(
        &self,
        id: &str,
        filter: &FilterFlags,
    ) -> Result<Vec<Summary>, ClientError> {
        let list: Result<MessageList<Summary>, _> =
            serde_json::from_reader(self.messages(id, filter)?);
        let list = list.map_err(|error| match error.is_io() {
            true => self.unreachable(io::Error::from(error).into()),
            false => self.malformed(error),
        });
        Ok(list?.messages)
    }

    /// The oldest message that matches, or if none arrived within `timeout`, which is at most 120
    /// seconds, the page that explains why.
    pub(super) fn wait(
        &self,
        id: &str,
        filter: &FilterFlags,
        timeout: Duration,
        wait: &Wait,
    ) -> Result<Waited, ClientError> {
        let milliseconds = timeout.as_millis().to_string();
        let request = self
            .agent
            .get(self.path(&["inboxes", id, "messages", "wait"]))
            .query("timeout", &milliseconds);
        match self.call(wait.named(filtered(request, filter)), timeout) {
            Ok(answer) => self
                .read(answer)
                .map(|message| Waited::Message(Box::new(message))),
            Err(ClientError::Refused {
                status: 408, help, ..
            }) => Ok(Waited::Timeout(help)),
            // With a timeout of 0, the service returns 404 both for "no match" and for "no such
            // inbox".
            Err(ClientError::Refused { status: 404, .. }) if milliseconds == "0" => {
                self.inbox(id).map(|_| Waited::Timeout(None))
            }
            refused => filtered_answer(refused, id, filter).map(|_| Waited::Timeout(None)),
        }
    }

    /// Why no matching message arrived.
    pub(super) fn explain(
        &self,
        id: &str,
        filter: &FilterFlags,
    ) -> Result<Explanation, ClientError> {
        self.explain_wait(id, filter, None)
    }

    /// Why no matching message arrived in a wait, if it is one.
    pub(super) fn explain_wait(
        &self,
        id: &str,
        filter: &FilterFlags,
        wait: Option<&Wait>,
    ) -> Result<Explanation, ClientError> {
        let request = self.agent.get(self.path(&["inboxes", id, "explain"]));
        let request = match wait {
            Some(wait) => wait.named(request),
            None => request,
        };
        let request = filtered(request, filter);
        self.read(filtered_answer(
            self.call(request, Duration::ZERO),
            id,
            filter,
        )?)
    }

    /// The faults of an inbox.
    pub(super) fn faults(&self, id: &str) -> Result<FaultList, ClientError> {
        let request = self.agent.get(self.path(&["inboxes", id, "faults"]));
        self.read(inbox_answer(self.call(request, Duration::ZERO), id)?)
    }

    /// Replaces the faults of an inbox.
    pub(super) fn set_faults(
        &self,
        id: &str,
        faults: &SetFaultsBody,
    ) -> Result<FaultList, ClientError> {
        let body = serde_json::to_vec(faults).map_err(|source| self.malformed(source))?;
        let request: RequestBuilder<WithBody> =
            self.agent.put(self.path(&["inboxes", id, "faults"]));
        let answer = self.check(
            request
                .header("Authorization", &self.authorization)
                .send(body),
        );
        self.read(inbox_answer(answer, id)?)
    }

    fn path(&self, segments: &[&str]) -> String {
        segments
            .iter()
            .fold(format!("{}/v1", self.url), |path, segment| {
                format!("{path}/{}", path_segment(segment))
            })
    }

    fn call(
        &self,
        request: RequestBuilder<WithoutBody>,
        longer: Duration,
    ) -> Result<Response<Body>, ClientError> {
        let request = request.header("Authorization", &self.authorization);
        self.check(
            request
                .config()
                .timeout_per_read(Some(ANSWER_WITHIN + longer))
                .build()
                .call(),
        )
    }

    fn check(
        &self,
        result: Result<Response<Body>, ureq::Error>,
    ) -> Result<Response<Body>, ClientError> {
        let mut answer = result.map_err(|source| self.not_answered(source))?;
        match answer.status().as_u16() {
            200..300 => Ok(answer),
            401 => Err(ClientError::Unauthorized {
                url: self.url.clone(),
            }),
            status => {
                let help = answer
                    .headers()
                    .get("link")
                    .and_then(|link| help_of(link.to_str().ok()?));
                let body = answer.body_mut().read_to_vec().unwrap_or_default();
                let error = serde_json::from_slice(&body).map(|ErrorBody { error }| error);
                let text = error.unwrap_or_else(|_| "not a response of Restante".to_owned());
                Err(ClientError::Refused {
                    url: self.url.clone(),
                    status,
                    text,
                    help,
                })
            }
        }
    }

    fn read<T: for<'json> Deserialize<'json>>(
        &self,
        mut answer: Response<Body>,
    ) -> Result<T, ClientError> {
        let body = answer
            .body_mut()
            .with_config()
            .limit(MAX_RESPONSE_BYTES)
            .read_to_vec();
        let body = body.map_err(|source| self.unreachable(source))?;
        serde_json::from_slice(&body).map_err(|source| self.malformed(source))
    }

    /// No answer came, or something else than an answer.
    fn not_answered(&self, source: ureq::Error) -> ClientError {
        let url = self.url.clone();
        match source {
            ureq::Error::Protocol(_) => ClientError::NotHttp { url },
            // What comes in place of the server's part of the handshake.
            ureq::Error::Io(error)
                if error.kind() == io::ErrorKind::InvalidData && url.starts_with("https:") =>
            {
                ClientError::NotTls { url }
            }
            source => self.unreachable(source),
        }
    }

    /// The connection failed, also in the middle of an answer.
    pub(super) fn unreachable(&self, source: ureq::Error) -> ClientError {
        ClientError::Unreachable {
            url: self.url.clone(),
            source: Box::new(source),
        }
    }

    fn malformed(&self, source: serde_json::Error) -> ClientError {
        ClientError::Malformed {
            url: self.url.clone(),
            source,
        }
    }
}

/// The URL in a `Link` header with the relation `help`.
fn help_of(link: &str) -> Option<String> {
    let (url, rest) = link.strip_prefix('<')?.split_once('>')?;
    rest.contains("rel=\"help\"").then(|| url.to_owned())
}

/// The words that the server knows, with commas between them.
fn features(text: &str) -> Result<String, &'static str> {
    let is_known = |word: &str| matches!(word, "otp" | "link" | "code");
    if text.split(',').all(is_known) {
        Ok(text.to_owned())
    } else {
        Err("write otp, link, code, or several: code,link")
    }
}

/// A field of the header and a part of its value.
fn header_filter(text: &str) -> Result<String, &'static str> {
    HeaderFilter::parse(text)
        .map(|_| text.to_owned())
        .map_err(|_| "write Name:text, for example X-Campaign:welcome")
}

/// The address of a recipient.
pub(super) fn address(text: &str) -> Result<String, &'static str> {
    EmailAddress::parse(text)
        .map(|_| text.to_owned())
        .map_err(|_| "write a whole address, for example ada@example.com")
}

/// The id of a message.
fn message_id(text: &str) -> Result<String, &'static str> {
    MessageId::parse(text)
        .map(|id| id.to_string())
        .map_err(|_| "write the id of a message, as `restante messages` lists")
}

/// Converts the service's 404 to an error that contains the name of the inbox.
fn inbox_answer<T>(answer: Result<T, ClientError>, name: &str) -> Result<T, ClientError> {
    answer.map_err(|error| match error {
        ClientError::Refused { status: 404, .. } => ClientError::NoInbox {
            name: name.to_owned(),
        },
        other => other,
    })
}

/// The same for a request with filters. The other filters are checked before the request.
fn filtered_answer<T>(
    answer: Result<T, ClientError>,
    name: &str,
    filter: &FilterFlags,
) -> Result<T, ClientError> {
    match (answer, &filter.after) {
        (Err(ClientError::Refused { status: 400, .. }), Some(id)) => {
            Err(ClientError::UnknownCursor { id: id.clone() })
        }
        (answer, _) => inbox_answer(answer, name),
    }
}

fn filtered(
    request: RequestBuilder<WithoutBody>,
    filter: &FilterFlags,
) -> RequestBuilder<WithoutBody> {
    let FilterFlags {
        subject,
        from,
        to,
        text,
        header,
        has,
        after,
    } = filter;
    let texts = [
        ("subject", subject),
        ("from", from),
        ("to", to),
        ("text", text),
        ("header", header),
    ];
    let pairs = texts.into_iter().chain([("has", has), ("after", after)]);
    request.query_pairs(pairs.filter_map(|(name, value)| Some((name, value.as_deref()?))))
}
