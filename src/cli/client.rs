//! The client of the HTTP API that the commands share: what a request says, and what its status
//! means for the person who runs the command.

use std::io::{self, BufReader, Read};
use std::pin::Pin;
use std::time::Duration;

use axum::http::header::LINK;
use axum::http::response::Parts;
use axum::http::{HeaderMap, Method};
use clap::Args;
use http_body_util::{BodyDataStream, BodyExt};
use restante_api::{ErrorBody, Explanation, Inbox, MessageList};
use restante_mail::EmailAddress;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_util::io::StreamReader;

use super::error::CliError;
use super::transport::{NoAnswer, Transport};
use crate::config::{api_key, http_url, secret};
use crate::http::path_segment;
use crate::model::{ApiKey, HeaderFilter, MessageId};

/// How long the server may send nothing, in addition to the timeout of a wait.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// How long a server lets the body of a request arrive.
const BODY_WITHIN: Duration = Duration::from_secs(60);
/// Bytes of an answer that is read as a whole, and of one that says what is wrong.
const MAX_ANSWER: u64 = 160 * 1024 * 1024;
const MAX_ERROR: u64 = 64 * 1024;

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
    Unreachable { url: String, source: io::Error },
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
    NoAttachment { index: String },
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
            Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => matches!(status, 429 | 503),
            _ => false,
        }
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

/// One project's access to one service.
pub(super) struct ApiClient {
    runtime: Runtime,
    server: Transport,
}

/// A request for a path below `/v1`.
pub(super) struct Call<'a> {
    client: &'a ApiClient,
    method: Method,
    path: &'a [&'a str],
    query: form_urlencoded::Serializer<'static, String>,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// The cursor of `--after`, for the error.
    after: Option<String>,
    silence: Duration,
}

/// The body of an answer, as it arrives.
pub(super) struct Answer<'a> {
    client: &'a ApiClient,
    body: Pin<Box<dyn AsyncRead>>,
    silence: Duration,
}

impl ApiClient {
    /// # Errors
    /// If there is no key.
    pub(super) fn new(flags: &ClientFlags) -> Result<Self, CliError> {
        let (url, key) = flags.access()?;
        let runtime = Builder::new_current_thread().enable_all().build();
        Ok(Self {
            runtime: runtime.map_err(CliError::Runtime)?,
            server: Transport::new(&url, Some(&key)),
        })
    }

    pub(super) fn call<'a>(&'a self, method: Method, path: &'a [&'a str]) -> Call<'a> {
        Call {
            client: self,
            method,
            path,
            query: form_urlencoded::Serializer::new(String::new()),
            headers: Vec::new(),
            body: Vec::new(),
            after: None,
            silence: ANSWER_WITHIN,
        }
    }

    pub(super) fn get<'a>(&'a self, path: &'a [&'a str]) -> Call<'a> {
        self.call(Method::GET, path)
    }

    /// The inbox with this id or address.
    pub(super) fn inbox(&self, name: &str) -> Result<Inbox, ClientError> {
        if !name.contains('@') {
            return self.get(&["inboxes", name]).read();
        }
        let found = self.get(&["inboxes"]).query("address", name).read();
        found.map_err(|error| match error {
            ClientError::Unsupported { .. } => ClientError::NoInbox {
                name: name.to_owned(),
            },
            other => other,
        })
    }

    /// Makes sure that the project has an inbox with this address, and returns it.
    pub(super) fn inbox_at(&self, address: &str) -> Result<Inbox, ClientError> {
        let path = ["inboxes", address];
        let made = self.call(Method::PUT, &path).read();
        made.map_err(|error| match error {
            ClientError::Refused { status: 400, .. } => ClientError::NotAccepted {
                address: address.to_owned(),
            },
            // A server that does not have this endpoint.
            ClientError::NoInbox { .. } | ClientError::Refused { status: 405, .. } => {
                ClientError::Unsupported {
                    url: self.server.url().to_owned(),
                }
            }
            other => other,
        })
    }

    /// The messages of an inbox, newest first, with the fields of one line each.
    pub(super) fn summaries(
        &self,
        id: &str,
        filter: &FilterFlags,
    ) -> Result<Vec<Summary>, ClientError> {
        let path = ["inboxes", id, "messages"];
        let list: MessageList<Summary> = self.get(&path).filtered(filter).read()?;
        Ok(list.messages)
    }

    /// Why no matching message arrived.
    pub(super) fn explain(
        &self,
        id: &str,
        filter: &FilterFlags,
    ) -> Result<Explanation, ClientError> {
        let path = ["inboxes", id, "explain"];
        self.get(&path).filtered(filter).read()
    }

    /// The connection failed, also in the middle of an answer.
    pub(super) fn unreachable(&self, source: io::Error) -> ClientError {
        ClientError::Unreachable {
            url: self.server.url().to_owned(),
            source,
        }
    }
}

impl<'a> Call<'a> {
    pub(super) fn query(mut self, name: &str, value: &str) -> Self {
        self.query.append_pair(name, value);
        self
    }

    pub(super) fn header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(super) fn json(mut self, body: &impl Serialize) -> Self {
        self.body = serde_json::to_vec(body).expect("the types of the API are JSON");
        self.silence += BODY_WITHIN;
        self
    }

    /// The server may send nothing for this long in addition.
    pub(super) fn longer(mut self, silence: Duration) -> Self {
        self.silence += silence;
        self
    }

    pub(super) fn filtered(mut self, filter: &FilterFlags) -> Self {
        let FilterFlags {
            subject,
            from,
            to,
            text,
            header,
            has,
            after,
        } = filter;
        let filters = [
            ("subject", subject),
            ("from", from),
            ("to", to),
            ("text", text),
            ("header", header),
            ("has", has),
            ("after", after),
        ];
        let given = filters
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_ref()?)));
        self.query.extend_pairs(given);
        self.after.clone_from(after);
        self
    }

    /// Sends the request, and reads the answer.
    pub(super) fn read<T: DeserializeOwned>(self) -> Result<T, ClientError> {
        let client = self.client;
        let answer = BufReader::new(self.send()?.take(MAX_ANSWER));
        serde_json::from_reader(answer).map_err(|source| match source.is_io() {
            true => client.unreachable(source.into()),
            false => ClientError::Malformed {
                url: client.server.url().to_owned(),
                source,
            },
        })
    }

    /// Sends the request.
    pub(super) fn send(mut self) -> Result<Answer<'a>, ClientError> {
        let client = self.client;
        let segments = self.path.iter().map(|segment| path_segment(segment));
        let segments: Vec<_> = segments.collect();
        let query = self.query.finish();
        let path = format!("/v1/{}?{query}", segments.join("/"));
        let mut request = client.server.request(self.method.clone(), &path);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let body = std::mem::take(&mut self.body);
        let sending = async { timeout(self.silence, client.server.send(request, body)).await };
        let url = client.server.url().to_owned();
        let answer = match client.runtime.block_on(sending) {
            Ok(Ok(answer)) => answer,
            Ok(Err(NoAnswer::NotHttp)) => return Err(ClientError::NotHttp { url }),
            Ok(Err(NoAnswer::NotTls)) => return Err(ClientError::NotTls { url }),
            Ok(Err(NoAnswer::Lost(source))) => return Err(client.unreachable(source)),
            Err(silent) => return Err(client.unreachable(silent.into())),
        };
        let (head, body) = answer.into_parts();
        let pieces = BodyDataStream::new(body.map_err(io::Error::other));
        let answer = Answer {
            client,
            body: Box::pin(StreamReader::new(pieces)),
            silence: self.silence,
        };
        match head.status.is_success() {
            true => Ok(answer),
            false => Err(self.refused(&head, answer)),
        }
    }

    /// What the status means for this path.
    fn refused(self, head: &Parts, answer: Answer<'_>) -> ClientError {
        let url = self.client.server.url().to_owned();
        let status = head.status.as_u16();
        match (status, self.path, self.after) {
            (401, ..) => ClientError::Unauthorized { url },
            (400, _, Some(id)) => ClientError::UnknownCursor { id },
            // For a message that is sent, 404 also means that it has no recipient.
            _ if status != 404 || self.method == Method::POST => {
                let error = serde_json::from_reader(answer.take(MAX_ERROR))
                    .map(|ErrorBody { error }| error);
                ClientError::Refused {
                    url,
                    status,
                    text: error.unwrap_or_else(|_| "not a response of Restante".to_owned()),
                    help: help(&head.headers),
                }
            }
            (_, ["inboxes", name, ..], _) => ClientError::NoInbox {
                name: (*name).to_owned(),
            },
            (_, ["messages", _, "attachments", index], _) => ClientError::NoAttachment {
                index: (*index).to_owned(),
            },
            (_, ["messages", id, ..], _) => ClientError::NoMessage {
                id: (*id).to_owned(),
            },
            // An older server does not have the paths of the project.
            _ => ClientError::Unsupported { url },
        }
    }
}

impl<'a> Answer<'a> {
    pub(super) fn client(&self) -> &'a ApiClient {
        self.client
    }
}

impl Read for Answer<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let reading = async { timeout(self.silence, self.body.read(buffer)).await };
        self.client.runtime.block_on(reading)?
    }
}

/// The URL in a `Link` header with the relation `help`.
fn help(headers: &HeaderMap) -> Option<String> {
    let link = headers.get(LINK)?.to_str().ok()?;
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
