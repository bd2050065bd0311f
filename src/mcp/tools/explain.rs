//! Explains why a message is missing.

use super::{Answer, Tools};
use crate::mcp::error::ToolError;
use crate::mcp::output::{self, NOTICE};
use crate::mcp::{input, text};
use crate::model::RefusedMail;
use crate::service::{Caller, Explanation, MessageFilter};
use crate::store::{InboxEnd, Latest};

impl Tools {
    pub(super) async fn explain_missing(&self, caller: &Caller, input: input::Explain) -> Result<Answer, ToolError> {
        let id = self.id_of(&input.inbox)?;
        let explanation = self.explanation(caller, id.as_str(), &input.filter.resolve()?).await?;
        Answer::new(text::explanation(&explanation), &explanation)
    }

    pub(super) async fn explanation(
        &self,
        caller: &Caller,
        id: &str,
        filter: &MessageFilter,
    ) -> Result<output::Explanation, ToolError> {
        let smtp_address = format!("{}:{}", self.installation.smtp_host, self.installation.smtp_port);
        Ok(self.explained(self.service.explain(caller, id, filter, &smtp_address).await?))
    }

    fn explained(&self, explanation: Explanation) -> output::Explanation {
        let smtp = explanation.smtp;
        let mail_domain = self.service.mail_domain();
        let similar = explanation.similar.iter().map(|similar| output::Similar {
            address: similar.id.at(mail_domain),
            messages: similar.messages,
            last_received_at: similar.last_received_at.to_string(),
        });
        let ended = explanation.ended.map(InboxEnd::reason_and_time);
        output::Explanation {
            notice: NOTICE.to_owned(),
            inbox: explanation.ended.is_none().then(|| self.view(&explanation.inbox)),
            ended: ended.map(|(reason, at)| output::End { reason: reason.to_owned(), at: at.to_string() }),
            count: explanation.messages,
            latest: explanation.latest.into_iter().map(latest).collect(),
            refused: explanation.refused.into_iter().map(refused).collect(),
            similar: similar.collect(),
            smtp: output::SmtpUse {
                connections_open: smtp.connections_open,
                last_connection_at: smtp.last_connection_at.map(|at| at.to_string()),
                last_message_at: smtp.last_message_at.map(|at| at.to_string()),
            },
            summary: explanation.summary,
        }
    }
}

fn latest(message: Latest) -> output::Latest {
    let missed_by = message.missed_by.iter().map(ToString::to_string).collect();
    let message = output::Summary {
        id: message.id.to_string(),
        from: message.from,
        subject: message.subject,
        received_at: message.received_at.to_string(),
    };
    output::Latest { message, missed_by }
}

fn refused(refused: RefusedMail) -> output::Refused {
    output::Refused {
        at: refused.refused_at.to_string(),
        client: refused.client(),
        sender: refused.sender_address().to_owned(),
        recipient: refused.recipient_address().to_owned(),
        reply: refused.reply,
    }
}
