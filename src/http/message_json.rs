//! The JSON of a message whose text, HTML and links are written while they are read, so that they
//! are never in memory as a whole.

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde::ser::Error as _;

use super::error::Error;
use super::request_id::RequestId;
use super::response::escape;
use crate::service::PartsReader;

/// A chunk of a response is sent when it has at least this many bytes.
const CHUNK: usize = 64 * 1024;
/// Bytes of a text that are read at once. A byte takes up to six in JSON.
const PORTION: usize = CHUNK / 6;

/// JSON that is written in portions, while it is read.
pub(super) trait Json: Send + Sized + 'static {
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

/// The members that are written while they are read.
pub(super) struct Members {
    /// All of them, empty.
    pub(super) empty: &'static str,
    /// The start of each, after the quotation mark that ends the one before it.
    pub(super) text: &'static str,
    pub(super) html: &'static str,
    pub(super) links: Option<&'static str>,
}

/// A message that is being written.
#[derive(Clone)]
pub(super) struct MessageJson {
    members: &'static Members,
    part: Part,
    parts: PartsReader,
    /// Replaces the stored text.
    own_text: Option<Bytes>,
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
    /// Writes what precedes the parts: `json` is the message with `members` empty.
    pub(super) fn start(
        json: &str,
        members: &'static Members,
        parts: PartsReader,
        own_text: Option<String>,
        chunk: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        // In a string, the quotes would be escaped.
        let (head, tail) = json
            .split_once(members.empty)
            .ok_or_else(|| serde_json::Error::custom("a message has other members"))?;
        chunk.extend_from_slice(head.as_bytes());
        chunk.extend_from_slice(members.text.as_bytes());
        Ok(Self {
            members,
            part: Part::Text,
            parts,
            own_text: own_text.map(Bytes::from),
            tail: tail.to_owned(),
        })
    }

    /// The bytes of the JSON that is not written yet. This reads the rest of the message once more.
    pub(super) async fn remaining(&self) -> Result<usize, Error> {
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

    fn end(&mut self, between: &str, chunk: &mut Vec<u8>) {
        self.enter(Part::End, between, chunk);
        chunk.extend_from_slice(self.tail.as_bytes());
    }

    async fn text(&mut self) -> Result<Option<Bytes>, Error> {
        let stored = self.parts.text(PORTION).await?;
        let Some(own) = &mut self.own_text else {
            return Ok(stored);
        };
        while self.parts.text(PORTION).await?.is_some() {}
        Ok(Some(own.split_to(own.len().min(PORTION))).filter(|text| !text.is_empty()))
    }
}

impl Json for MessageJson {
    async fn write(&mut self, chunk: &mut Vec<u8>) -> Result<bool, Error> {
        match self.part {
            Part::Text => match self.text().await? {
                Some(text) => escape(&text, chunk),
                None => self.enter(Part::Html, self.members.html, chunk),
            },
            Part::Html => match (self.parts.html(PORTION).await?, self.members.links) {
                (Some(html), _) => escape(&html, chunk),
                (None, Some(links)) => self.enter(Part::Link(""), links, chunk),
                (None, None) => self.end("\"", chunk),
            },
            Part::Link(separator) => match self.parts.link().await? {
                Some(link) => {
                    self.enter(Part::Link(","), separator, chunk);
                    serde_json::to_writer(chunk, &link)?;
                }
                None => self.end("]", chunk),
            },
            Part::End => return Ok(false),
        }
        Ok(true)
    }
}
