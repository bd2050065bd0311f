//! The commands: how each one changes the session.

use std::borrow::Cow;

use super::history::Offered;
use super::{Authentication, Client, Event, FAILED_AUTHENTICATIONS, Phase, Question, Session};
use crate::auth::{MECHANISMS, Mechanism, Step};
use crate::command::{Command, CommandLine, Mail, Order, Verb};
use crate::line::Line;
use crate::path::ForwardPath;
use crate::reply::{Refusal, Reply};
use restante_mail::EmailAddress;

impl Session {
    pub(super) fn run_line(&mut self, line: Line) {
        self.history.line();
        match line {
            Line::Whole(line) => {
                self.run_command(&line);
                self.lines.reuse(line);
            }
            Line::TooLong => self.refuse(Reply::refused(Refusal::LineTooLong)),
            Line::BareLineEnd => self.refuse(Reply::refused(Refusal::MalformedLine)),
        }
    }

    /// Runs a command line: checks whether the command is allowed now, reads its arguments,
    /// executes it.
    fn run_command(&mut self, line: &[u8]) {
        let line = match CommandLine::parse(line) {
            Ok(line) => line,
            Err(Refusal::HttpRequest) => return self.close(Refusal::HttpRequest),
            Err(refusal) => return self.refuse(Reply::refused(refusal)),
        };
        self.history.command(line.verb());
        if let Err(refusal) = self.check_order(line.order()) {
            return self.refuse(Reply::refused(refusal));
        }
        match line.command() {
            Ok(command) => self.execute(command),
            Err(refusal) if line.verb() == Verb::Rcpt => {
                self.refuse_recipient(refusal, line.path());
            }
            Err(refusal) => self.refuse(Reply::refused_sender(refusal, line.path())),
        }
    }

    fn check_order(&self, order: Order) -> Result<(), Refusal> {
        let greeted = self.client.is_some();
        let in_transaction = self.transaction.is_some();
        match order {
            Order::Always => Ok(()),
            _ if !greeted => Err(Refusal::NotGreeted),
            Order::BetweenTransactions if in_transaction => Err(Refusal::TransactionOpen),
            Order::InTransaction if !in_transaction => Err(Refusal::NoTransaction),
            _ => Ok(()),
        }
    }

    fn execute(&mut self, command: Command<'_>) {
        match command {
            Command::Ehlo(name) => self.hello(name, true),
            Command::Helo(name) => self.hello(name, false),
            Command::StartTls => self.offer_tls(),
            Command::Auth(mechanism, initial) => self.authenticate(mechanism, initial),
            Command::Mail(mail) => self.mail(mail),
            Command::Rcpt(path, text) => self.rcpt(path, text),
            Command::Data => self.data(),
            Command::Rset => {
                self.transaction = None;
                self.accept(Reply::ok());
            }
            Command::Vrfy => self.accept(Reply::cannot_verify()),
            Command::Help => self.accept(Reply::help()),
            Command::Noop => self.accept(Reply::ok()),
            Command::Quit => {
                self.phase = Phase::Closed;
                self.send(Reply::goodbye());
            }
        }
    }

    /// EHLO and HELO also reset the transaction (RFC 5321, section 4.1.4).
    fn hello(&mut self, name: &str, extended: bool) {
        self.transaction = None;
        self.client = Some(Client {
            name: name.into(),
            extended,
        });
        let offered = Offered {
            start_tls: self.offers_tls(),
            auth: self.allows_auth(),
        };
        self.history.offered = extended.then_some(offered);
        let host_name = &self.config.host_name;
        let reply = if extended {
            Reply::extensions(host_name, self.extensions(offered))
        } else {
            Reply::hello(host_name)
        };
        self.accept(reply);
    }

    fn offers_tls(&self) -> bool {
        self.config.start_tls && !self.transport.encrypted
    }

    fn extensions(&self, offered: Offered) -> Vec<Cow<'static, str>> {
        let mut extensions: Vec<Cow<'static, str>> = vec![
            "PIPELINING".into(),
            format!("SIZE {}", self.config.message_size).into(),
            "8BITMIME".into(),
            "SMTPUTF8".into(),
            "ENHANCEDSTATUSCODES".into(),
            format!("LIMITS RCPTMAX={}", self.config.recipients).into(),
        ];
        if offered.start_tls {
            extensions.push("STARTTLS".into());
        }
        if offered.auth {
            extensions.push(format!("AUTH {MECHANISMS}").into());
        }
        extensions
    }

    fn offer_tls(&mut self) {
        if self.transport.encrypted {
            return self.refuse(Reply::refused(Refusal::AlreadyEncrypted));
        }
        if !self.config.start_tls {
            return self.refuse(Reply::refused(Refusal::StartTlsOff));
        }
        self.phase = Phase::StartTls;
        self.accept(Reply::start_tls());
    }

    fn authenticate(&mut self, mechanism: Mechanism, initial: Option<&str>) {
        if self.authentication == Authentication::Valid {
            return self.refuse(Reply::refused(Refusal::AlreadyAuthenticated));
        }
        if !self.allows_auth() {
            return self.refuse(Reply::refused(Refusal::EncryptionRequired));
        }
        self.continue_exchange(mechanism.start(initial));
    }

    pub(super) fn continue_exchange(&mut self, step: Result<Step, Refusal>) {
        match step {
            Ok(Step::Challenge(challenge, exchange)) => {
                self.phase = Phase::Exchange(exchange);
                self.send(Reply::challenge(challenge));
            }
            Ok(Step::Credentials(credentials)) => {
                self.phase = Phase::Waiting(Question::Credentials(credentials.is_token));
                self.events.push_back(Event::Authenticate(credentials));
            }
            Err(refusal) => self.refuse(Reply::refused(refusal)),
        }
    }

    pub(super) fn refuse_credentials(&mut self, refusal: Refusal) {
        if refusal == Refusal::AuthenticationFailed {
            self.failed_authentications += 1;
        }
        if self.failed_authentications >= FAILED_AUTHENTICATIONS {
            self.close(Refusal::TooManyFailedAuthentications);
        } else {
            self.refuse(Reply::refused(refusal));
        }
    }

    fn mail(&mut self, mail: Mail) {
        // The parameter AUTH= belongs to the AUTH extension (RFC 4954, section 5).
        let refusal = if mail.auth && !self.allows_auth() {
            Some(Refusal::UnknownParameter)
        } else if self.authentication == Authentication::Expired {
            Some(Refusal::AuthenticationRequired)
        } else if self.config.login_required && self.authentication == Authentication::None {
            Some(Refusal::LoginRequired)
        } else {
            mail.size
                .filter(|&size| size > self.config.message_size)
                .map(|_| Refusal::MessageTooLarge)
        };
        if let Some(refusal) = refusal {
            return self.refuse(Reply::refused_sender(
                refusal,
                Some(&mail.reverse_path.to_string()),
            ));
        }
        self.events
            .push_back(Event::Sender(mail.reverse_path.clone()));
        self.phase = Phase::Waiting(Question::Sender(mail));
    }

    fn rcpt(&mut self, path: ForwardPath<'_>, text: &str) {
        match self.add_recipient(path, text) {
            Ok(address) => {
                self.events.push_back(Event::Recipient(address));
                self.phase = Phase::Waiting(Question::Recipient(text.to_owned()));
            }
            Err(refusal) => self.refuse_recipient(refusal, Some(text)),
        }
    }

    fn add_recipient(
        &mut self,
        path: ForwardPath<'_>,
        text: &str,
    ) -> Result<EmailAddress, Refusal> {
        let transaction = self.transaction.as_mut().ok_or(Refusal::NoTransaction)?;
        if !text.is_ascii() && !transaction.mail.smtputf8 {
            return Err(Refusal::NonAsciiAddress);
        }
        let address = path.into_address(&self.config.mail_domain, &self.config.accepted)?;
        if transaction.recipients.len() >= self.config.recipients {
            return Err(Refusal::TooManyRecipients);
        }
        transaction.recipients.push(address.clone());
        Ok(address)
    }

    pub(super) fn refuse_recipient(&mut self, refusal: Refusal, path: Option<&str>) {
        if let Some(transaction) = &mut self.transaction {
            transaction.refused = true;
        }
        self.refuse(Reply::refused_recipient(refusal, path));
    }

    /// If all recipients were rejected, DATA ends the transaction. DATA before RCPT has no effect.
    fn data(&mut self) {
        let Some(transaction) = &self.transaction else {
            return;
        };
        if !transaction.recipients.is_empty() {
            self.phase = Phase::Data(self.new_body());
            self.accept(Reply::start_data());
        } else if transaction.refused {
            self.transaction = None;
            self.refuse(Reply::refused(Refusal::NoValidRecipients));
        } else {
            self.refuse(Reply::refused(Refusal::NoRecipients));
        }
    }
}
