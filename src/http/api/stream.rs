//! Messages as JSON, single or in a list, written while they are read. Only one page of small messages, or one piece of
//! a large one, is in memory.

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::TryStreamExt;
use futures_util::stream;
use serde::Serialize;

use crate::http::error::Error;
use crate::http::request_id::RequestId;
use crate::http::response::JSON;
use crate::model::{Domain, address_of};
use crate::service::{MessagePages, Pieces, StoreError, StoredMessage};

/// Ends a MessageList.
const CLOSING: &[u8] = b"]}";

/// The fields of a message in the API before its parts.
#[derive(Serialize)]
struct MessageFields<'a> {
    id: String,
    inbox_id: &'a str,
    from: &'a str,
    to: String,
    subject: &'a str,
}

/// A message that is being sent: its parts, without their braces, between the other fields.
struct MessageJson {
    head: Vec<u8>,
    parts: Members,
    tail: Vec<u8>,
}

/// The members of a stored JSON object.
struct Members {
    pieces: Pieces,
    size: usize,
    sent: usize,
}

impl MessageJson {
    fn new(message: StoredMessage, mail_domain: &Domain) -> Result<Self, Error> {
        let fields = MessageFields {
            id: message.id.to_string(),
            inbox_id: message.inbox_id.as_str(),
            from: &message.from,
            to: address_of(&message.inbox_id, message.shared.as_ref(), mail_domain),
            subject: &message.subject,
        };
        let mut head = serde_json::to_vec(&fields)?;
        // The members that follow belong to the same object.
        head.pop();
        head.push(b',');
        let mut tail = b",\"received_at\":".to_vec();
        serde_json::to_writer(&mut tail, &message.received_at)?;
        tail.push(b'}');
        let size = message.parts.size();
        Ok(Self { head, parts: Members { pieces: message.parts, size, sent: 0 }, tail })
    }

    fn size(&self) -> usize {
        self.head.len() + self.parts.size.saturating_sub(2) + self.tail.len()
    }
}

impl Members {
    /// The next piece without the braces of the object.
    async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let Some(piece) = self.pieces.next().await? else { return Ok(None) };
        let (starts, ends) = (self.sent == 0, self.sent + piece.len() >= self.size);
        self.sent += piece.len();
        let is_object = (!starts || piece.starts_with(b"{")) && (!ends || piece.ends_with(b"}"));
        if !is_object || self.size <= 2 {
            return Err(Error::from(StoreError::Damaged("its parts are not a JSON object")));
        }
        Ok(Some(piece.slice(usize::from(starts)..piece.len() - usize::from(ends))))
    }
}

/// A message as a response.
pub(super) async fn message(
    message: StoredMessage,
    mail_domain: &Domain,
    request_id: RequestId,
) -> Result<Response, Error> {
    let is_whole = message.parts.is_whole();
    let mut json = MessageJson::new(message, mail_domain)?;
    let size = json.size();
    if is_whole {
        let mut body = json.head;
        while let Some(piece) = json.parts.next().await? {
            body.extend_from_slice(&piece);
        }
        body.extend_from_slice(&json.tail);
        return Ok(([(CONTENT_TYPE, JSON)], body).into_response());
    }
    let steps = stream::try_unfold(Some(json), async |json| {
        let Some(mut json) = json else { return Ok(None) };
        if !json.head.is_empty() {
            let head = Bytes::from(std::mem::take(&mut json.head));
            return Ok(Some((head, Some(json))));
        }
        match json.parts.next().await? {
            Some(piece) => Ok::<_, Error>(Some((piece, Some(json)))),
            None => Ok(Some((Bytes::from(json.tail), None))),
        }
    });
    let body = Body::from_stream(steps.inspect_err(move |error| request_id.log_failure(error)));
    Ok(([(CONTENT_TYPE, JSON.to_owned()), (CONTENT_LENGTH, size.to_string())], body).into_response())
}

/// A list that is being sent.
struct List {
    pages: MessagePages,
    mail_domain: Domain,
    page: std::vec::IntoIter<StoredMessage>,
    /// A large message that is being sent.
    large: Option<(Members, Vec<u8>)>,
    sent_any: bool,
    is_over: bool,
}

/// A MessageList as a response. Its first page decides the status: a later failure can only cut off the response.
pub(super) async fn list(
    mut pages: MessagePages,
    mail_domain: &Domain,
    request_id: RequestId,
) -> Result<Response, Error> {
    let first = pages.next_page().await?.unwrap_or_default();
    let mut list = List {
        pages,
        mail_domain: mail_domain.clone(),
        page: first.into_iter(),
        large: None,
        sent_any: false,
        is_over: false,
    };
    let opening = list.next().await?.unwrap_or_default();
    if list.is_over {
        return Ok(([(CONTENT_TYPE, JSON)], opening).into_response());
    }
    let rest = stream::try_unfold(list, async |mut list| Ok::<_, Error>(list.next().await?.map(|chunk| (chunk, list))));
    let opening = stream::iter([Ok(opening)]);
    let body = futures_util::StreamExt::chain(opening, rest);
    let body = Body::from_stream(body.inspect_err(move |error| request_id.log_failure(error)));
    Ok(([(CONTENT_TYPE, JSON)], body).into_response())
}

impl List {
    /// The next part of the response; `None` after the last.
    async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        if self.is_over {
            return Ok(None);
        }
        let mut chunk = Vec::new();
        if let Some((members, tail)) = &mut self.large {
            if let Some(piece) = members.next().await? {
                return Ok(Some(piece));
            }
            chunk.append(tail);
            self.large = None;
        } else if !self.sent_any {
            chunk.extend_from_slice(b"{\"messages\":[");
        }
        if self.page.as_slice().is_empty()
            && let Some(page) = self.pages.next_page().await?
        {
            self.page = page.into_iter();
        }
        self.write_page(&mut chunk).await?;
        if self.large.is_none() && self.page.as_slice().is_empty() && self.pages.are_over() {
            chunk.extend_from_slice(CLOSING);
            self.is_over = true;
        }
        Ok(Some(self.pages.room().hold(chunk)))
    }

    /// Writes the rest of the page up to the head of its next large message.
    async fn write_page(&mut self, chunk: &mut Vec<u8>) -> Result<(), Error> {
        for message in self.page.by_ref() {
            if std::mem::replace(&mut self.sent_any, true) {
                chunk.push(b',');
            }
            let is_whole = message.parts.is_whole();
            let mut json = MessageJson::new(message, &self.mail_domain)?;
            chunk.append(&mut json.head);
            if !is_whole {
                self.large = Some((json.parts, json.tail));
                break;
            }
            while let Some(piece) = json.parts.next().await? {
                chunk.extend_from_slice(&piece);
            }
            chunk.append(&mut json.tail);
        }
        Ok(())
    }
}
