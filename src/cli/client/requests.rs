//! Requests for single messages, for sending, and for the whole project.

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use restante_api::{
    ForwardBody, Inbox, InboxList, Message, MessageChecks, MessageDetails, ProjectMessages,
    SendAccepted, SendMessageBody,
};
use ureq::typestate::WithBody;
use ureq::{Body, RequestBuilder};

use super::{ApiClient, ClientError};

/// Inboxes and messages of one page.
const INBOXES: &str = "1000";
const MESSAGES: &str = "100";
/// The server sends something every 15 seconds.
const STREAM_SILENCE: Duration = Duration::from_secs(60);

impl ApiClient {
    /// Makes sure that the project has an inbox with this address, and returns it.
    pub(in crate::cli) fn inbox_at(&self, address: &str) -> Result<Inbox, ClientError> {
        let request: RequestBuilder<WithBody> = self.agent.put(self.path(&["inboxes", address]));
        let answer = self.check(
            request
                .header("Authorization", &self.authorization)
                .send_empty(),
        );
        match answer {
            // A server that does not have this endpoint.
            Err(ClientError::Refused {
                status: 404 | 405, ..
            }) => Err(self.unsupported()),
            Err(ClientError::Refused { status: 400, .. }) => Err(ClientError::NotAccepted {
                address: address.to_owned(),
            }),
            answer => self.read(answer?),
        }
    }

    /// All inboxes of the project, those with the latest activity first.
    pub(in crate::cli) fn inboxes(&self) -> Result<InboxList, ClientError> {
        let mut all = InboxList {
            inboxes: Vec::new(),
            next: Some(String::new()),
        };
        while let Some(after) = all.next.take() {
            let request = self
                .agent
                .get(self.path(&["project", "inboxes"]))
                .query("limit", INBOXES);
            let answer = self.call(request.query("after", &after), Duration::ZERO);
            let page: InboxList = self.read(self.project_answer(answer)?)?;
            all.inboxes.extend(page.inboxes);
            all.next = page.next;
        }
        Ok(all)
    }

    /// A page of the messages of the project, newest first; `before` is `next` of the page before.
    pub(in crate::cli) fn project_messages(
        &self,
        before: &str,
    ) -> Result<ProjectMessages, ClientError> {
        let request = self
            .agent
            .get(self.path(&["project", "messages"]))
            .query("limit", MESSAGES);
        let answer = self.call(request.query("before", before), Duration::ZERO);
        self.read(self.project_answer(answer)?)
    }

    /// The lines of the stream of changes.
    pub(in crate::cli) fn changes(&self) -> Result<impl BufRead + use<>, ClientError> {
        let answer = self.call(
            self.agent.get(self.path(&["project", "changes"])),
            STREAM_SILENCE,
        );
        let body = self.project_answer(answer)?.into_body();
        Ok(BufReader::new(
            body.into_with_config().limit(u64::MAX).reader(),
        ))
    }

    /// The problems of a message, with SPF, DKIM and DMARC if `dns` is set.
    pub(in crate::cli) fn checks(&self, id: &str, dns: bool) -> Result<MessageChecks, ClientError> {
        let request = self.agent.get(self.path(&["messages", id, "checks"]));
        let request = if dns {
            request.query("dns", "true")
        } else {
            request
        };
        self.read(no_message(id, self.call(request, Duration::ZERO))?)
    }

    /// One message.
    pub(in crate::cli) fn message(&self, id: &str) -> Result<Message, ClientError> {
        self.read(self.of_message(id, &[])?)
    }

    /// Its headers and attachments.
    pub(in crate::cli) fn details(&self, id: &str) -> Result<MessageDetails, ClientError> {
        self.read(self.of_message(id, &["details"])?)
    }

    /// Its bytes as they were received.
    pub(in crate::cli) fn source(&self, id: &str) -> Result<impl Read + use<>, ClientError> {
        Ok(unlimited(self.of_message(id, &["raw"])?.into_body()))
    }

    /// The content of an attachment.
    pub(in crate::cli) fn attachment(
        &self,
        id: &str,
        index: usize,
    ) -> Result<impl Read + use<>, ClientError> {
        let answer = self.of_message(id, &["attachments", &index.to_string()]);
        answer
            .map(|answer| unlimited(answer.into_body()))
            .map_err(|error| match error {
                ClientError::NoMessage { .. } => ClientError::NoAttachment { index },
                other => other,
            })
    }

    /// Sends a message from an inbox.
    pub(in crate::cli) fn send(
        &self,
        inbox: &str,
        message: &SendMessageBody,
    ) -> Result<SendAccepted, ClientError> {
        let body = serde_json::to_vec(message).map_err(|source| self.malformed(source))?;
        let request = self.agent.post(self.path(&["inboxes", inbox, "messages"]));
        self.read(
            self.check(
                request
                    .header("Authorization", &self.authorization)
                    .send(body),
            )?,
        )
    }

    pub(in crate::cli) fn forward(&self, id: &str, to: &str) -> Result<SendAccepted, ClientError> {
        let body = serde_json::to_vec(&ForwardBody { to: to.to_owned() })
            .map_err(|source| self.malformed(source))?;
        let request = self.agent.post(self.path(&["messages", id, "forward"]));
        self.read(
            self.check(
                request
                    .header("Authorization", &self.authorization)
                    .send(body),
            )?,
        )
    }

    fn of_message(
        &self,
        id: &str,
        rest: &[&str],
    ) -> Result<ureq::http::Response<Body>, ClientError> {
        let segments = [&["messages", id], rest].concat();
        no_message(
            id,
            self.call(self.agent.get(self.path(&segments)), Duration::ZERO),
        )
    }

    /// An older server does not have the paths of the project.
    fn project_answer<T>(&self, answer: Result<T, ClientError>) -> Result<T, ClientError> {
        answer.map_err(|error| match error {
            ClientError::Refused { status: 404, .. } => self.unsupported(),
            other => other,
        })
    }

    fn unsupported(&self) -> ClientError {
        ClientError::Unsupported {
            url: self.url.clone(),
        }
    }
}

/// Read in pieces, so no length limit is needed.
fn unlimited(body: Body) -> impl Read + use<> {
    body.into_with_config().limit(u64::MAX).reader()
}

/// Names the message that was not found.
fn no_message<T>(id: &str, answer: Result<T, ClientError>) -> Result<T, ClientError> {
    answer.map_err(|error| match error {
        ClientError::Refused { status: 404, .. } => ClientError::NoMessage { id: id.to_owned() },
        other => other,
    })
}
