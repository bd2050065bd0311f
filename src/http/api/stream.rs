//! Messages as JSON, single or in a list, written while they are read. Only one page of small
//! messages, or one piece of a large one, is in memory.

use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use restante_api::Message;

use crate::http::error::Error;
use crate::http::message_json::{Json, Members, MessageJson};
use crate::http::request_id::RequestId;
use crate::http::response::{JSON, keeping};
use crate::model::{Domain, address_of};
use crate::service::{Caller, MessagePages, PartsReader, Service, ServiceError, StoredMessage};

/// The members of a message that are written while they are read.
const MEMBERS: Members = Members {
    empty: r#""text":"","html":"","links":[]"#,
    text: r#""text":""#,
    html: r#"","html":""#,
    links: Some(r#"","links":["#),
};

/// Writes the start of a message; `None` if the message was removed in the meantime.
async fn start(
    message: StoredMessage,
    domain: &Domain,
    chunk: &mut Vec<u8>,
) -> Result<Option<MessageJson>, Error> {
    let Some(parts) = PartsReader::open(message.parts).await? else {
        return Ok(None);
    };
    let without_parts = Message {
        id: message.head.id.to_string(),
        to: address_of(&message.head.inbox_id, message.head.shared.as_ref(), domain),
        inbox_id: message.head.inbox_id.to_string(),
        from: message.head.from,
        subject: message.head.subject,
        text: String::new(),
        html: String::new(),
        links: Vec::new(),
        otp: parts.otp().to_owned(),
        received_at: message.head.received_at.to_string(),
    };
    let json = serde_json::to_string(&without_parts)?;
    MessageJson::start(&json, &MEMBERS, parts, None, chunk).map(Some)
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
    let json = start(message, service.mail_domain(), &mut chunk).await?;
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
            let mut head = self.separator.into();
            self.message = start(message, &self.mail_domain, &mut head).await?;
            if self.message.is_some() {
                chunk.append(&mut head);
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
