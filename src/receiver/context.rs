//! Settings and state that all connections of a receiver share.

use std::sync::Arc;

use restante_smtp::SessionConfig;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::memory::MessageMemory;
use super::refusal_log::RefusalLog;
use super::tls::Certificate;
use crate::clock::Clock;
use crate::config::{Limits, Settings, SmtpAuth};
use crate::disk::Disk;
use crate::service::Service;

pub(super) struct Context {
    pub(super) service: Service,
    pub(super) limits: Limits,
    pub(super) auth: SmtpAuth,
    pub(super) session: Arc<SessionConfig>,
    pub(super) memory: Arc<MessageMemory>,
    pub(super) disk: Arc<Disk>,
    pub(super) certificate: Certificate,
    /// Cancelled to end each session after its current message.
    pub(super) stop: CancellationToken,
    /// Cancelled to end all sessions immediately.
    pub(super) end: CancellationToken,
    pub(super) tasks: TaskTracker,
    pub(super) refusal_log: RefusalLog,
}

impl Context {
    pub(super) fn new(settings: &Settings, service: Service, certificate: Certificate) -> Self {
        let limits = settings.limits.clone();
        Self {
            memory: MessageMemory::new(&limits),
            disk: Arc::new(Disk::new(
                settings.data.data_dir.clone(),
                limits.free_disk,
                service.clock().clone(),
            )),
            session: Arc::new(SessionConfig {
                mail_domain: settings.mail_domain.clone(),
                accepted: settings.accepted.clone(),
                host_name: settings.mail_domain.as_str().to_owned(),
                message_size: limits.message_size,
                recipients: limits.recipients,
                command_line: limits.command_line,
                data_line: limits.data_line,
                start_tls: settings.listeners.smtp_starttls,
                plaintext_auth: settings.listeners.smtp_plaintext_auth,
                login_required: settings.listeners.smtp_auth == SmtpAuth::Required,
            }),
            refusal_log: RefusalLog::new(service.clock().clone()),
            certificate,
            service,
            limits,
            auth: settings.listeners.smtp_auth,
            stop: CancellationToken::new(),
            end: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }
    }

    pub(super) fn clock(&self) -> &Clock {
        self.service.clock()
    }
}
