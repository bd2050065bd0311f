//! The JSON of a message whose text and HTML are written while they are read, so that they are
//! never in memory as a whole.

use axum::body::Body;
use futures_util::{TryStreamExt, stream};
use serde::ser::Error as _;

use super::json::Message;
use crate::http::error::Error;
use crate::http::request_id::RequestId;
use crate::http::response::escape;
use crate::service::{PartsReader, StoredMessage};

/// The members that are written while they are read, if they are empty.
const PARTS: &str = r#""Text":"","HTML":"""#;
/// Bytes of a text that are read at once. A byte takes up to six in JSON.
const PORTION: usize = 10 * 1024;

/// What is written next.
enum Step {
    Head(Vec<u8>),
    Text,
    Html,
    End,
}

/// A message that is being written.
struct Writer {
    step: Step,
    parts: PartsReader,
    tail: Vec<u8>,
}

/// The JSON of a message: `message` has everything but the text and the HTML, which are in `parts`.
pub(super) async fn body(
    message: &Message,
    parts: StoredMessage,
    request_id: RequestId,
) -> Result<Body, Error> {
    let json = serde_json::to_string(message)?;
    // In a string, the quotes would be escaped.
    let (head, tail) = json
        .split_once(PARTS)
        .ok_or_else(|| serde_json::Error::custom("a message has other members"))?;
    let parts = PartsReader::open(parts.parts)
        .await?
        .ok_or(Error::MessageNotFound)?;
    let head = [head, r#""Text":""#].concat();
    let writer = Writer {
        step: Step::Head(head.into()),
        parts,
        tail: tail.into(),
    };
    let chunks = stream::try_unfold(writer, async |mut writer| {
        Ok::<_, Error>(writer.next().await?.map(|chunk| (chunk, writer)))
    });
    Ok(Body::from_stream(
        chunks.inspect_err(move |error| request_id.log_failure(error)),
    ))
}

impl Writer {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let mut chunk = Vec::new();
        match &mut self.step {
            Step::Head(head) => {
                chunk = std::mem::take(head);
                self.step = Step::Text;
            }
            Step::Text => match self.parts.text(PORTION).await? {
                Some(text) => escape(&text, &mut chunk),
                None => {
                    chunk.extend_from_slice(br#"","HTML":""#);
                    self.step = Step::Html;
                }
            },
            Step::Html => match self.parts.html(PORTION).await? {
                Some(html) => escape(&html, &mut chunk),
                None => {
                    chunk.push(b'"');
                    chunk.append(&mut self.tail);
                    self.step = Step::End;
                }
            },
            Step::End => return Ok(None),
        }
        Ok(Some(chunk))
    }
}
