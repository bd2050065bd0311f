//! Messages as JSON, single or in a list, written while they are read. Only one page of small
//! messages, or one piece of a large one, is in memory.

use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use restante_api::Message;
use serde::ser::Error as _;

use crate::http::error::Error;
use crate::http::request_id::RequestId;
use crate::http::response::{JSON, escape, keeping};
use crate::model::{Domain, address_of};
use crate::service::{Caller, MessagePages, PartsReader, Service, ServiceError, StoredMessage};

/// A chunk of a response is sent when it has at least this many bytes.
const CHUNK: usize = 64 * 1024;
/// Bytes of a text that are read at once. A byte takes up to six in JSON.
const PORTION: usize = CHUNK / 6;
/// The members of a message that are written while they are read, if they are empty.
const PARTS: &str = r#""text":"","html":"","links":[]"#;

/// JSON that is written in portions, while it is read.
trait Json: Send + Sized + 'static {
    /// Writes the next portion; `false` after the last.
    fn write(&mut self, chunk: &mut Vec<u8>) -> impl Future<Output = Result<bool, Error>> + Send;

    /// Fills a chunk; `false` if the JSON ends in it.
    fn fill(&mut self, chunk: &mut Vec<u8>) -> impl Future<Output = Result<bool, Error>> + Send {
        async {
            while chunk.len() < CHUNK {
                if !self.write(chunk).await? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }

    /// The first chunk and the rest, which is read when it is sent.
    fn body(self, first: Vec<u8>, request_id: RequestId) -> Body {
        let rest = stream::try_unfold(self, async |mut json| {
            let mut chunk = Vec::new();
            // A client that reads fast must not keep the thread from other requests.
            tokio::task::yield_now().await;
            json.fill(&mut chunk).await?;
            Ok::<_, Error>(
                Some(chunk)
                    .filter(|chunk| !chunk.is_empty())
                    .map(|chunk| (chunk, json)),
            )
        });
        let chunks = stream::iter([Ok(first)]).chain(rest);
        Body::from_stream(chunks.inspect_err(move |error| request_id.log_failure(error)))
    }
}

/// A message that is being written.
#[derive(Clone)]
struct MessageJson {
    part: Part,
    parts: PartsReader,
    /// What follows the parts.
    tail: String,
}

/// What is written next.
#[derive(Clone, Copy)]
enum Part {
    Text,
    Html,
    /// A link after this separator.
    Link(&'static str),
    End,
}

impl MessageJson {
    /// Writes what precedes the parts; `None` if the message was removed in the meantime.
    async fn start(
        message: StoredMessage,
        domain: &Domain,
        chunk: &mut Vec<u8>,
    ) -> Result<Option<Self>, Error> {
        let Some(parts) = PartsReader::open(message.parts).await? else {
            return Ok(None);
        };
        let without_parts = Message {
            id: message.id.to_string(),
            to: address_of(&message.inbox_id, message.shared.as_ref(), domain),
            inbox_id: message.inbox_id.to_string(),
            from: message.from,
            subject: message.subject,
            text: String::new(),
            html: String::new(),
            links: Vec::new(),
            otp: parts.otp().to_owned(),
            received_at: message.received_at.to_string(),
        };
        let json = serde_json::to_string(&without_parts)?;
        // In a string, the quotes would be escaped.
        let (head, tail) = json
            .split_once(PARTS)
            .ok_or_else(|| serde_json::Error::custom("a message has other members"))?;
        chunk.extend_from_slice(head.as_bytes());
        chunk.extend_from_slice(br#""text":""#);
        Ok(Some(Self {
            part: Part::Text,
            parts,
            tail: tail.to_owned(),
        }))
    }

    /// The bytes of the JSON that is not written yet. This reads the rest of the message once more.
    async fn remaining(&self) -> Result<usize, Error> {
        let mut copy = self.clone();
        let mut chunk = Vec::new();
        let mut bytes = 0;
        while copy.write(&mut chunk).await? {
            bytes += chunk.len();
            chunk.clear();
        }
        Ok(bytes)
    }

    fn enter(&mut self, part: Part, between: &str, chunk: &mut Vec<u8>) {
        self.part = part;
        chunk.extend_from_slice(between.as_bytes());
    }
}

impl Json for MessageJson {
    async fn write(&mut self, chunk: &mut Vec<u8>) -> Result<bool, Error> {
        match self.part {
            Part::Text => match self.parts.text(PORTION).await? {
                Some(text) => escape(&text, chunk),
                None => self.enter(Part::Html, r#"","html":""#, chunk),
            },
            Part::Html => match self.parts.html(PORTION).await? {
                Some(html) => escape(&html, chunk),
                None => self.enter(Part::Link(""), r#"","links":["#, chunk),
            },
            Part::Link(separator) => match self.parts.link().await? {
                Some(link) => {
                    self.enter(Part::Link(","), separator, chunk);
                    serde_json::to_writer(chunk, &link)?;
                }
                None => {
                    self.enter(Part::End, "]", chunk);
                    chunk.extend_from_slice(self.tail.as_bytes());
                }
            },
            Part::End => return Ok(false),
        }
        Ok(true)
    }
}

/// A message as a response.
pub(super) async fn message(
    service: &Service,
    caller: &Caller,
    message: StoredMessage,
    request_id: RequestId,
) -> Result<Response, Error> {
    let job = service.sending(caller, message.parts.is_large()).await?;
    let mut chunk = Vec::new();
    let json = MessageJson::start(message, service.mail_domain(), &mut chunk).await?;
    let mut json = json.ok_or(ServiceError::MessageNotFound)?;
    if !json.fill(&mut chunk).await? {
        return Ok(([(CONTENT_TYPE, JSON)], chunk).into_response());
    }
    let size = chunk.len() + json.remaining().await?;
    let headers = [
        (CONTENT_TYPE, JSON.to_owned()),
        (CONTENT_LENGTH, size.to_string()),
    ];
    Ok((headers, keeping(job, json.body(chunk, request_id))).into_response())
}

/// A list that is being written.
struct ListJson {
    pages: MessagePages,
    mail_domain: Domain,
    page: std::vec::IntoIter<StoredMessage>,
    /// The message that is being written.
    message: Option<MessageJson>,
    /// What precedes the next message.
    separator: &'static str,
    is_over: bool,
}

/// A MessageList as a response. Its first chunk decides the status: a later failure can only cut
/// off the response.
pub(super) async fn list(
    service: &Service,
    caller: &Caller,
    mut pages: MessagePages,
    request_id: RequestId,
) -> Result<Response, Error> {
    let page = pages.next_page().await?.unwrap_or_default().into_iter();
    let mail_domain = service.mail_domain().clone();
    let is_one_page = pages.are_over();
    let job = service.sending(caller, !is_one_page).await?;
    let mut list = ListJson {
        pages,
        mail_domain,
        page,
        message: None,
        separator: "",
        is_over: false,
    };
    let mut chunk = br#"{"messages":["#.to_vec();
    if !list.fill(&mut chunk).await? && is_one_page {
        return Ok(([(CONTENT_TYPE, JSON)], chunk).into_response());
    }
    let body = keeping(job, list.body(chunk, request_id));
    Ok(([(CONTENT_TYPE, JSON)], body).into_response())
}

impl Json for ListJson {
    async fn write(&mut self, chunk: &mut Vec<u8>) -> Result<bool, Error> {
        if self.is_over {
            return Ok(false);
        }
        if let Some(message) = &mut self.message {
            if !message.write(chunk).await? {
                self.message = None;
            }
            return Ok(true);
        }
        if let Some(message) = self.page.next() {
            let mut start = self.separator.into();
            self.message = MessageJson::start(message, &self.mail_domain, &mut start).await?;
            if self.message.is_some() {
                chunk.append(&mut start);
                self.separator = ",";
            }
        } else if self.pages.are_over() {
            chunk.extend_from_slice(b"]}");
            self.is_over = true;
        } else {
            self.page = self
                .pages
                .next_page()
                .await?
                .unwrap_or_default()
                .into_iter();
        }
        Ok(true)
    }
}
