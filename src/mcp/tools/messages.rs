//! Reads messages and attachments.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use restante_mail::details::{self, Attachment};

use super::{Answer, CallersTools};
use crate::mcp::error::ToolError;
use crate::mcp::input::{self, GetMessage, given};
use crate::mcp::output::{self, Foreign};
use crate::mcp::text;
use crate::model::{Features, MailQuery, Scope};
use crate::service::{Everything, Head, ListFilter};

/// The largest attachment that is returned.
const MAX_ATTACHMENT_BYTES: usize = 1024 * 1024;
/// Maximum number of links that are returned, and their bytes together.
const MAX_LINKS: usize = 100;
const MAX_LINK_BYTES: usize = 20_000;
/// Maximum number of attachments that are listed.
const MAX_ATTACHMENTS: usize = 100;
/// Characters of an attachment's name and of its type.
const NAME_CHARACTERS: usize = 200;

impl CallersTools {
    pub(super) async fn list_messages(&self, input: input::List) -> Result<Answer, ToolError> {
        let inbox = self.inbox(&input.inbox).await?;
        let matching = input.filter.resolve()?;
        let filter = ListFilter {
            matching,
            before: given(input.before),
            limit: Some(input.limit),
        };
        let mut pages = self.service.list(&inbox, &filter).await?;
        let mut messages = Vec::new();
        while let Some(page) = pages.next_page().await? {
            messages.extend(page.into_iter().map(|message| summary(message.head)));
        }
        let is_full = messages.len() as u64 == input.limit;
        let next_before = messages
            .last()
            .filter(|_| is_full)
            .map(|last| last.id.clone());
        listed("list_messages", messages, next_before)
    }

    pub(super) async fn search_messages(&self, input: input::Search) -> Result<Answer, ToolError> {
        let before = given(input.before).map(|before| {
            before
                .parse()
                .map_err(|_| ToolError::InvalidField("before"))
        });
        let scope = Scope::Project(self.caller.project);
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
        let messages = found.into_iter().map(|message| summary(message.head));
        let next_before = search.position().map(|before| before.to_string());
        listed("search_messages", messages.collect(), next_before)
    }

    pub(super) async fn get_message(&self, input: GetMessage) -> Result<Answer, ToolError> {
        let start = input.start;
        let view = self.message_view(input).await?;
        Answer::new(text::message(&view.content, start), &view)
    }

    pub(super) async fn message_view(
        &self,
        input: GetMessage,
    ) -> Result<Foreign<output::Message>, ToolError> {
        let id = input.message.clone();
        self.read(&id, move |message| view(message, &input).into())
            .await
    }

    /// Reads a message, and runs `work` on it.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        id: &str,
        work: impl FnOnce(Everything) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let (message, job) = self.service.whole_message(&self.caller, id).await?;
        let done = job.run(move || work(message)).await;
        Ok(done.map_err(ToolError::internal)?.0)
    }

    pub(super) async fn get_attachment(
        &self,
        input: input::GetAttachment,
    ) -> Result<Answer, ToolError> {
        let index = input.index;
        let decode = move |message: Everything| {
            (
                message.head.id,
                details::attachment_content(&message.raw, index),
            )
        };
        let (id, found) = self.read(&input.message, decode).await?;
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
        let encoding = encoding.to_owned();
        let attachment = output::Attachment {
            head: head(index, &found),
            encoding,
            content,
        };
        let about = format!("Attachment {index}, as {}.", attachment.encoding);
        Answer::of_fields(&about, &Foreign::from(attachment))
    }
}

/// The answer of `tool`, which lists messages.
fn listed(
    tool: &str,
    messages: Vec<output::Summary>,
    next_before: Option<String>,
) -> Result<Answer, ToolError> {
    let messages = output::Messages {
        messages,
        next_before,
    };
    Answer::new(text::messages(&messages, tool), &Foreign::from(messages))
}

fn summary(head: Head) -> output::Summary {
    output::Summary {
        id: head.id.to_string(),
        inbox_id: head.inbox_id.to_string(),
        from: head.from,
        subject: head.subject,
        received_at: head.received_at.to_string(),
    }
}

fn view(message: Everything, shown: &GetMessage) -> output::Message {
    let parts = restante_mail::parse(&message.raw);
    let attachments = details::attachments(&message.raw);
    let attachments = attachments
        .iter()
        .take(MAX_ATTACHMENTS)
        .enumerate()
        .map(|(index, found)| head(index, found));
    let (text, text_left) = text::part(&parts.text, shown.start, shown.max_characters);
    let html = shown
        .html
        .then(|| text::part(&parts.html, shown.start, shown.max_characters));
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
