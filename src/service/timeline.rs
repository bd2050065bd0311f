//! The timeline of an inbox: what happened to it, in order, from the tables and from the journal.

use restante_api::Event;

use super::event_cursor::EventCursor;
use super::{Caller, EntryFilter, Service, ServiceError, Waits};
use crate::evidence::event;
use crate::model::{Inbox, InboxEnd, InboxId, ProjectId, RefusedMail, Timestamp};
use crate::store::StoreError;

/// Maximum number of events of each kind.
const MAX_OF_KIND: usize = 100;

impl Service {
    /// What happened to an inbox, oldest first, and the cursor for what happens later. An inbox
    /// that has ended in the last 30 days still has a timeline. `after` is the cursor of an earlier
    /// answer.
    ///
    /// # Errors
    /// [`ServiceError::InboxNotFound`] for an inbox that never belonged to the caller, or ended
    /// more than 30 days ago.
    pub async fn timeline(
        &self,
        caller: &Caller,
        id: &str,
        after: Option<&EventCursor>,
    ) -> Result<(Vec<Event>, EventCursor), ServiceError> {
        let id = InboxId::parse(id).map_err(|_| ServiceError::InboxNotFound)?;
        let now = self.now();
        let found = self.store().inbox_or_end(caller.project, &id, now).await?;
        let (inbox, ended) = found.ok_or(ServiceError::InboxNotFound)?;
        let waits = self.waits_of_inbox(&inbox).await?;
        let events = self.events_of((&inbox, ended), &waits, now).await?;
        Ok(EventCursor::advance(after, events, now))
    }

    /// The rejections of mail to an address that is no inbox of the project, oldest first. `name`
    /// is the address, or the id that an inbox with it would have. If its domain is not accepted,
    /// no project can have the address, and the sessions that named it are there too.
    pub async fn rejections_of(
        &self,
        project: ProjectId,
        name: &str,
    ) -> Result<Vec<Event>, StoreError> {
        self.0.journal.written(Some(project)).await;
        let filter = EntryFilter {
            project: Some(project),
            text: name.to_owned(),
            ..EntryFilter::default()
        };
        let found = self.found(&filter, MAX_OF_KIND).await?;
        let is_meant = |refused: &RefusedMail| {
            let is_inbox = |inbox: &InboxId| inbox.as_str() == name;
            refused.recipient_address().eq_ignore_ascii_case(name)
                || refused.inbox.as_ref().is_some_and(is_inbox)
        };
        let mut refused: Vec<RefusedMail> = found.into_iter().map(|(_, refused)| refused).collect();
        refused.retain(is_meant);
        let has_anonymous = refused.iter().any(|refused| !refused.authenticated);
        let mut events: Vec<Event> = refused.iter().map(event::refused).collect();
        if refused
            .iter()
            .any(|refused| refused.foreign_domain().is_some())
        {
            let named = name.to_ascii_lowercase();
            let now = self.now();
            let mut sessions = self.sessions_named(project, &named, now).await?;
            sessions.retain(|session| {
                session
                    .project
                    .map_or(has_anonymous, |other| other == project)
            });
            events.extend(sessions.into_iter().map(event::session));
        }
        event::sort(&mut events);
        Ok(events)
    }

    /// What happened to an inbox until then, oldest first.
    pub(super) async fn events_of(
        &self,
        (inbox, ended): (&Inbox, Option<InboxEnd>),
        waits: &Waits,
        until: Timestamp,
    ) -> Result<Vec<Event>, StoreError> {
        let mut events = self.store().past_of(inbox, until, MAX_OF_KIND).await?;
        events.extend(waits.open.iter().chain(&waits.ended).flat_map(event::wait));
        let sessions = self.sessions_of(inbox, until).await?;
        events.extend(sessions.into_iter().map(event::session));
        events.extend(ended.map(event::ended));
        let last = until.to_string();
        events.retain(|event| event.at <= last);
        event::sort(&mut events);
        Ok(events)
    }
}
