//! Reads messages and attachments.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use restante_mail::details::{self, Attachment};

use super::{Answer, Tools};
use crate::mcp::error::ToolError;
use crate::mcp::input::{self, given};
use crate::mcp::output::{self, NOTICE};
use crate::mcp::text;
use crate::model::{Features, MailQuery, Scope};
use crate::service::{Caller, Everything, ListFilter, MessageStart};

/// The largest attachment that is returned.
const MAX_ATTACHMENT_BYTES: usize = 1024 * 1024;
/// Maximum number of links that are returned, and their bytes together.
const MAX_LINKS: usize = 100;
const MAX_LINK_BYTES: usize = 20_000;
/// Maximum number of attachments that are listed.
const MAX_ATTACHMENTS: usize = 100;
/// Characters of an attachment's name and of its type.
const NAME_CHARACTERS: usize = 200;

/// Which part of a message is shown.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    pub(super) html: bool,
    pub(super) start: usize,
    pub(super) characters: usize,
}

impl Default for Shown {
    fn default() -> Self {
        Self {
            html: false,
            start: 0,
            characters: input::default_characters(),
        }
    }
}

impl Tools {
    pub(super) async fn list_messages(
        &self,
        caller: &Caller,
        input: input::List,
    ) -> Result<Answer, ToolError> {
        let inbox = self.inbox(caller, &input.inbox).await?;
        let matching = input.filter.resolve()?;
        let filter = ListFilter {
            matching,
            before: given(input.before),
            limit: Some(input.limit),
        };
        let mut pages = self.service.list(&inbox, &filter).await?;
        let mut messages = Vec::new();
        while let Some(page) = pages.next_page().await? {
            messages.extend(page.into_iter().map(|message| output::Summary {
                id: message.head.id.to_string(),
                inbox_id: message.head.inbox_id.to_string(),
                from: message.head.from,
                subject: message.head.subject,
                received_at: message.head.received_at.to_string(),
            }));
        }
        let is_full = messages.len() as u64 == input.limit;
        let next_before = messages
            .last()
            .filter(|_| is_full)
            .map(|last| last.id.clone());
        let messages = output::Messages {
            notice: NOTICE.to_owned(),
            messages,
            next_before,
        };
        Answer::new(text::messages(&messages, "list_messages"), &messages)
    }

    pub(super) async fn search_messages(
        &self,
        caller: &Caller,
        input: input::Search,
    ) -> Result<Answer, ToolError> {
        let before = given(input.before).map(|before| {
            before
                .parse()
                .map_err(|_| ToolError::InvalidField("before"))
        });
        let scope = Scope::Project(caller.project);
        let query = MailQuery {
            has: Features {
                code: input.has_code,
                ..Features::default()
            },
            has_attachment: input.has_attachment.then_some(true),
            before: before.transpose()?,
            ..MailQuery::containing(scope, &input.text, self.service.mail_domain())
        };
        let (found, search) = self.service.mail(query, input.limit).await?;
        let summary = |message: MessageStart| output::Summary {
            id: message.head.id.to_string(),
            inbox_id: message.head.inbox_id.to_string(),
            from: message.head.from,
            subject: message.head.subject,
            received_at: message.head.received_at.to_string(),
        };
        let messages = found.into_iter().map(summary).collect();
        let next_before = search.position().map(|before| before.to_string());
        let messages = output::Messages {
            notice: NOTICE.to_owned(),
            messages,
            next_before,
        };
        Answer::new(text::messages(&messages, "search_messages"), &messages)
    }

    pub(super) async fn get_message(
        &self,
        caller: &Caller,
        input: input::GetMessage,
    ) -> Result<Answer, ToolError> {
        let shown = Shown {
            html: input.html,
            start: input.start,
            characters: input.max_characters,
        };
        let view = self.message_view(caller, &input.message, shown).await?;
        Answer::new(text::message(&view, shown.start), &view)
    }

    pub(super) async fn message_view(
        &self,
        caller: &Caller,
        id: &str,
        shown: Shown,
    ) -> Result<output::Message, ToolError> {
        self.read(caller, id, move |message| view(message, shown))
            .await
    }

    /// Reads a message, and runs `work` on it.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        caller: &Caller,
        id: &str,
        work: impl FnOnce(Everything) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let (message, job) = self.service.whole_message(caller, id).await?;
        let done = job.run(move || work(message)).await;
        Ok(done.map_err(ToolError::internal)?.0)
    }

    pub(super) async fn get_attachment(
        &self,
        caller: &Caller,
        input: input::GetAttachment,
    ) -> Result<Answer, ToolError> {
        let index = input.index;
        let decode = move |message: Everything| {
            (
                message.head.id,
                details::attachment_content(&message.raw, index),
            )
        };
        let (id, found) = self.read(caller, &input.message, decode).await?;
        let (found, content) = found.ok_or(ToolError::AttachmentNotFound)?;
        if content.len() > MAX_ATTACHMENT_BYTES {
            let url = format!(
                "{}/v1/messages/{id}/attachments/{index}",
                self.addresses.base_url
            );
            return Err(ToolError::AttachmentTooLarge {
                size: content.len(),
                url,
            });
        }
        let (encoding, content) = match String::from_utf8(content) {
            Ok(text) if !text.contains('\0') => ("text", text),
            Ok(text) => ("base64", STANDARD.encode(text)),
            Err(error) => ("base64", STANDARD.encode(error.as_bytes())),
        };
        let notice = NOTICE.to_owned();
        let encoding = encoding.to_owned();
        let attachment = output::Attachment {
            notice,
            head: head(index, &found),
            encoding,
            content,
        };
        let about = format!("Attachment {index}, as {}.", attachment.encoding);
        Answer::of_fields(&about, &attachment)
    }
}

fn view(message: Everything, shown: Shown) -> output::Message {
    let parts = restante_mail::parse(&message.raw);
    let attachments = details::attachments(&message.raw);
    let attachments = attachments
        .iter()
        .take(MAX_ATTACHMENTS)
        .enumerate()
        .map(|(index, found)| head(index, found));
    let (text, text_left) = text::part(&parts.text, shown.start, shown.characters);
    let html = shown
        .html
        .then(|| text::part(&parts.html, shown.start, shown.characters));
    let html_left = html.as_ref().map_or(0, |(_, left)| *left);
    let all_links = parts.links.len();
    let mut bytes = 0;
    let fits = |link: &String| {
        bytes += link.len();
        bytes <= MAX_LINK_BYTES
    };
    let links: Vec<_> = parts
        .links
        .into_iter()
        .take(MAX_LINKS)
        .take_while(fits)
        .collect();
    output::Message {
        notice: NOTICE.to_owned(),
        id: message.head.id.to_string(),
        inbox_id: message.head.inbox_id.to_string(),
        received_at: message.head.received_at.to_string(),
        from: message.head.from,
        subject: message.head.subject,
        code: parts.code,
        otp: parts.otp,
        links_left: all_links - links.len(),
        links,
        text,
        text_left,
        html: html.map(|(html, _)| html),
        html_left,
        attachments: attachments.collect(),
    }
}

fn head(index: usize, found: &Attachment) -> output::AttachmentHead {
    let short = |text: &str| text.chars().take(NAME_CHARACTERS).collect::<String>();
    output::AttachmentHead {
        index,
        filename: found.file_name.as_deref().map(short),
        content_type: short(&found.content_type),
        size: found.size,
    }
}
