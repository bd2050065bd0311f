//! Decides which deliveries of a batch are stored, and where. Pure: it uses only what the transaction has read.

use std::collections::BTreeMap;

use super::Change;
use super::deliveries::{Delivery, DeliveryError, Outcome, Outcomes, Policy};
use crate::model::{InboxId, MessageId, ProjectId};

/// The state of an inbox within the transaction.
#[derive(Debug, Default)]
pub(super) struct InboxState {
    /// `None` until the inbox exists.
    pub(super) number: Option<i64>,
    /// The messages that were in it before.
    messages: u64,
    last_sequence: i64,
    is_live: bool,
    /// Its project was deleted.
    is_disabled: bool,
    /// Another transaction holds it.
    is_busy: bool,
    /// The number of deliveries of the batch for this inbox.
    wanted_by: u64,
    /// The project of the first of them whose sender authenticated.
    opener: Option<ProjectId>,
    /// The number of messages of the batch that are placed in it.
    placed: i64,
}

/// The plan of a batch.
pub(super) struct Plan<'a> {
    pub(super) deliveries: &'a [Delivery],
    pub(super) policy: &'a Policy,
    /// The inboxes of each delivery.
    targets: Vec<Vec<InboxId>>,
    states: BTreeMap<InboxId, InboxState>,
    outcomes: Outcomes,
}

/// An inbox that has to be created or reopened.
pub(super) struct Opening<'a> {
    pub(super) id: &'a InboxId,
    /// The project whose key the sender authenticated with.
    pub(super) opener: Option<ProjectId>,
    pub(super) state: &'a mut InboxState,
}

/// The place of a message in an inbox.
pub(super) struct Place {
    pub(super) message: MessageId,
    pub(super) inbox_number: i64,
    pub(super) sequence: i64,
}

impl InboxState {
    /// An inbox as it was read.
    pub(super) fn read(number: i64, messages: u64, last_sequence: i64, is_live: bool, is_disabled: bool) -> Self {
        Self { number: Some(number), messages, last_sequence, is_live, is_disabled, ..Self::default() }
    }

    /// An inbox that another transaction holds.
    pub(super) fn busy() -> Self {
        Self { is_busy: true, ..Self::default() }
    }

    /// Whether the inbox can take one more message.
    pub(super) fn check(
        &self,
        id: &InboxId,
        opens: bool,
        sender: Option<ProjectId>,
        policy: &Policy,
    ) -> Result<(), DeliveryError> {
        if self.is_busy {
            return Err(DeliveryError::InboxBusy(id.clone()));
        }
        // A project that authenticates with its own key takes over the address.
        if self.is_disabled && sender.is_none() {
            return Err(DeliveryError::ProjectDeleted(id.clone()));
        }
        if !self.is_live && !opens {
            return Err(DeliveryError::NoInbox(id.clone()));
        }
        if self.total() >= policy.inbox_messages {
            return Err(DeliveryError::InboxFull(id.clone()));
        }
        Ok(())
    }

    /// The messages in the inbox, including those of the batch. A reopened inbox is empty.
    fn total(&self) -> u64 {
        self.wanted_by + if self.is_live { self.messages } else { 0 }
    }

    /// The inbox is live again, and empty.
    pub(super) fn reopened(&mut self) {
        self.is_live = true;
        self.messages = 0;
    }

    /// The inbox has been created with this number. Without one, it exists and another transaction holds it.
    pub(super) fn created(&mut self, number: Option<i64>) {
        self.number = number;
        self.is_live = number.is_some();
        self.is_busy = number.is_none();
    }
}

impl<'a> Plan<'a> {
    pub(super) fn new(
        deliveries: &'a [Delivery],
        targets: Vec<Vec<InboxId>>,
        states: BTreeMap<InboxId, InboxState>,
        policy: &'a Policy,
    ) -> Self {
        let outcomes = deliveries.iter().map(|_| Ok(Vec::new())).collect();
        let mut plan = Self { deliveries, policy, targets, states, outcomes };
        for index in 0..deliveries.len() {
            plan.admit(index);
        }
        plan
    }

    /// Counts a delivery into its inboxes, or refuses it for all of them.
    fn admit(&mut self, index: usize) {
        let Delivery { opens_inboxes, project, .. } = self.deliveries[index];
        for id in &self.targets[index] {
            let state = self.states.entry(id.clone()).or_default();
            if let Err(error) = state.check(id, opens_inboxes, project, self.policy) {
                self.outcomes[index] = Err(error);
                return;
            }
        }
        for id in &self.targets[index] {
            let state = self.states.entry(id.clone()).or_default();
            state.wanted_by += 1;
            state.opener = state.opener.or(project);
        }
    }

    /// The inboxes that have to be created or reopened for the deliveries that were not refused.
    pub(super) fn inboxes_to_open(&mut self) -> Vec<Opening<'_>> {
        let closed = self.states.iter_mut().filter(|(_, state)| !state.is_live && state.wanted_by > 0);
        closed.map(|(id, state)| Opening { id, opener: state.opener, state }).collect()
    }

    /// Refuses deliveries that were admitted for an inbox that another transaction holds.
    pub(super) fn refuse_busy(&mut self) {
        for index in 0..self.deliveries.len() {
            let busy = self.targets[index].iter().find(|id| self.states.get(*id).is_some_and(|state| state.is_busy));
            if let Some(id) = busy.cloned()
                && self.is_stored(index)
            {
                self.refuse(index, DeliveryError::InboxBusy(id));
            }
        }
    }

    pub(super) fn has_busy_inbox(&self) -> bool {
        self.states.values().any(|state| state.is_busy)
    }

    /// Whether the delivery is stored, as far as is known now.
    pub(super) fn is_stored(&self, index: usize) -> bool {
        self.outcomes[index].is_ok()
    }

    /// Refuses a delivery that was admitted.
    pub(super) fn refuse(&mut self, index: usize, error: DeliveryError) {
        for id in &self.targets[index] {
            if let Some(state) = self.states.get_mut(id) {
                state.wanted_by = state.wanted_by.saturating_sub(1);
            }
        }
        self.outcomes[index] = Err(error);
    }

    /// Gives a delivery its places, one in each of its inboxes.
    pub(super) fn place(&mut self, index: usize) -> Vec<Place> {
        let mut places = Vec::with_capacity(self.targets[index].len());
        let mut messages = Vec::with_capacity(places.capacity());
        for id in &self.targets[index] {
            let Some(state) = self.states.get_mut(id) else { continue };
            let Some(inbox_number) = state.number else { continue };
            state.placed += 1;
            let message = MessageId::generate();
            messages.push(Outcome { inbox: id.clone(), message });
            places.push(Place { message, inbox_number, sequence: state.last_sequence + state.placed });
        }
        self.outcomes[index] = Ok(messages);
        places
    }

    /// The numbers of the inboxes that got messages, with how many.
    pub(super) fn raised(&self) -> impl Iterator<Item = (i64, i64)> {
        self.states.values().filter(|state| state.placed > 0).filter_map(|state| Some((state.number?, state.placed)))
    }

    /// The changes of the batch.
    pub(super) fn changes(&self) -> impl Iterator<Item = Change> {
        let filled = self.states.iter().filter(|(_, state)| state.placed > 0);
        filled.flat_map(|(id, state)| {
            let full = (state.total() >= self.policy.inbox_messages).then(|| Change::InboxFull(id.clone()));
            std::iter::once(Change::Inbox(id.clone())).chain(full)
        })
    }

    pub(super) fn outcomes(self) -> Outcomes {
        self.outcomes
    }
}
