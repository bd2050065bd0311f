//! Decides which deliveries of a batch are stored, and where. Pure: it uses only data that the transaction has read.

use std::collections::{BTreeMap, VecDeque};

use super::Change;
use super::deliveries::{Delivered, Delivery, Outcome, Outcomes, Policy, RefusedDelivery};
use super::faults::{Pending, Use};
use crate::model::{FaultAction, FaultPoint, InboxId, MessageId, ProjectId};

/// The state of an inbox within the transaction.
#[derive(Debug, Default)]
pub(super) struct InboxState {
    /// `None` until the inbox exists.
    pub(super) number: Option<i64>,
    /// The number of messages that were in it before the batch.
    messages: u64,
    last_sequence: i64,
    is_live: bool,
    /// Its project was deleted.
    is_disabled: bool,
    /// Another transaction has locked it.
    is_busy: bool,
    faults_left: i64,
    /// Its faults that have uses left.
    faults: VecDeque<Pending>,
    /// The number of messages of the batch for this inbox.
    wanted: u64,
    /// The project of the first of these messages whose sender authenticated.
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
    /// Whether an inbox of the batch has faults.
    has_faults: bool,
    /// The deliveries that use a fault, by index.
    faulty: BTreeMap<usize, Faulty>,
}

/// The fault that a delivery uses.
#[derive(Debug)]
struct Faulty {
    inbox: InboxId,
    used: Use,
    /// How often the message is stored in that inbox. If 0, it is not stored in any inbox.
    copies: u64,
}

/// An inbox that has to be created or reopened.
pub(super) struct Opening<'a> {
    pub(super) id: &'a InboxId,
    /// The project whose key the sender authenticated with.
    pub(super) opener: Option<ProjectId>,
    pub(super) state: &'a mut InboxState,
}

/// The position of a message in an inbox.
pub(super) struct Place {
    pub(super) message: MessageId,
    pub(super) inbox_number: i64,
    pub(super) sequence: i64,
}

impl InboxState {
    /// Creates the state of an inbox that was read.
    pub(super) fn read(number: i64, messages: u64, last_sequence: i64, is_live: bool, is_disabled: bool) -> Self {
        Self { number: Some(number), messages, last_sequence, is_live, is_disabled, ..Self::default() }
    }

    /// Sets the number of uses that its faults have left.
    pub(super) fn with_faults_left(self, faults_left: i64) -> Self {
        Self { faults_left, ..self }
    }

    /// Creates the state of an inbox that another transaction has locked.
    pub(super) fn busy() -> Self {
        Self { is_busy: true, ..Self::default() }
    }

    /// The number of an inbox whose faults have to be read.
    pub(super) fn faulty_number(&self) -> Option<i64> {
        self.number.filter(|_| self.is_live && self.faults_left > 0)
    }

    /// Sets its faults that have uses left.
    pub(super) fn set_faults(&mut self, faults: Vec<Pending>) {
        self.faults = faults.into();
    }

    /// The fault that applies to the next message.
    fn message_fault(&self) -> Option<&Pending> {
        self.faults.front().filter(|pending| pending.fault.at == FaultPoint::Data)
    }

    /// Counts a use of the first fault.
    fn use_fault(&mut self) {
        if let Some(first) = self.faults.front_mut() {
            first.left -= 1;
            if first.left == 0 {
                self.faults.pop_front();
            }
        }
    }

    /// Whether the inbox has space for `copies` more messages.
    pub(super) fn check(
        &self,
        id: &InboxId,
        opens: bool,
        sender: Option<ProjectId>,
        copies: u64,
        policy: &Policy,
    ) -> Result<(), RefusedDelivery> {
        if self.is_busy {
            return Err(RefusedDelivery::InboxBusy(id.clone()));
        }
        // A project that authenticates with its own key takes over the address.
        if self.is_disabled && sender.is_none() {
            return Err(RefusedDelivery::ProjectDeleted(id.clone()));
        }
        if !self.is_live && !opens {
            return Err(RefusedDelivery::NoInbox(id.clone()));
        }
        if self.total() + copies > policy.inbox_messages {
            return Err(RefusedDelivery::InboxFull(id.clone()));
        }
        Ok(())
    }

    /// The messages in the inbox, including those of the batch. A reopened inbox is empty.
    fn total(&self) -> u64 {
        self.wanted + if self.is_live { self.messages } else { 0 }
    }

    /// Records that the inbox is live again, and empty.
    pub(super) fn reopened(&mut self) {
        self.is_live = true;
        self.messages = 0;
    }

    /// Records that the inbox was created with this number. `None`: it exists, and another transaction has locked it.
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
        let outcomes = deliveries.iter().map(|_| Ok(Delivered::default())).collect();
        let has_faults = states.values().any(|state| !state.faults.is_empty());
        let faulty = BTreeMap::new();
        let mut plan = Self { deliveries, policy, targets, states, outcomes, has_faults, faulty };
        for index in 0..deliveries.len() {
            plan.admit(index);
        }
        plan
    }

    /// Counts a delivery for its inboxes, or rejects it for all of them.
    fn admit(&mut self, index: usize) {
        let Delivery { opens_inboxes, project, .. } = self.deliveries[index];
        let fault = self.next_fault(index);
        for id in &self.targets[index] {
            let copies = fault.as_ref().map_or(1, |(faulty, _)| faulty.copies_in(id)).max(1);
            let state = self.states.entry(id.clone()).or_default();
            if let Err(error) = state.check(id, opens_inboxes, project, copies, self.policy) {
                self.outcomes[index] = Err(error);
                return;
            }
        }
        if let Some((faulty, action)) = fault
            && let Err(error) = self.use_fault(index, faulty, action)
        {
            self.outcomes[index] = Err(error);
            return;
        }
        for id in &self.targets[index] {
            let copies = self.faulty.get(&index).map_or(1, |faulty| faulty.copies_in(id));
            let state = self.states.entry(id.clone()).or_default();
            if copies > 0 {
                state.wanted += copies;
                state.opener = state.opener.or(project);
            }
        }
    }

    /// The fault that applies to a delivery: that of the first recipient that has one for a message. No fault applies
    /// to messages that the service composed.
    fn next_fault(&self, index: usize) -> Option<(Faulty, FaultAction)> {
        let Delivery { recipients, opens_inboxes: true, .. } = &self.deliveries[index] else { return None };
        if !self.has_faults {
            return None;
        }
        recipients.iter().find_map(|recipient| {
            let is_target = |id: &InboxId| self.targets[index].contains(id);
            let inbox = Some(recipient.clone()).filter(is_target).or_else(|| recipient.without_tag())?;
            let state = self.states.get(&inbox)?;
            let pending = state.message_fault()?;
            let used = Use { fault_number: pending.number, inbox_number: state.number? };
            let action = pending.fault.action.clone();
            Some((Faulty { inbox, used, copies: action.copies() }, action))
        })
    }

    /// Counts a fault as used, unless the delivery lacks the notification that it needs.
    fn use_fault(&mut self, index: usize, faulty: Faulty, action: FaultAction) -> Result<(), RefusedDelivery> {
        let delivery = &self.deliveries[index];
        let bounces = action == FaultAction::Bounce && !delivery.content.origin.reverse_path.is_empty();
        if bounces && delivery.bounce.is_none() {
            return Err(RefusedDelivery::BounceWanted { inbox: faulty.inbox, delivery: Box::new(delivery.clone()) });
        }
        if let Some(state) = self.states.get_mut(&faulty.inbox) {
            state.use_fault();
        }
        self.faulty.insert(index, faulty);
        self.outcomes[index] = Ok(Delivered { messages: Vec::new(), fault: Some(action) });
        Ok(())
    }

    /// The inboxes that have to be created or reopened for the deliveries that were not rejected.
    pub(super) fn inboxes_to_open(&mut self) -> Vec<Opening<'_>> {
        let closed = self.states.iter_mut().filter(|(_, state)| !state.is_live && state.wanted > 0);
        closed.map(|(id, state)| Opening { id, opener: state.opener, state }).collect()
    }

    /// Rejects deliveries that were admitted for an inbox that another transaction has locked.
    pub(super) fn refuse_busy(&mut self) {
        for index in 0..self.deliveries.len() {
            let busy = self.targets[index].iter().find(|id| self.states.get(*id).is_some_and(|state| state.is_busy));
            if let Some(id) = busy.cloned()
                && self.is_stored(index)
            {
                self.refuse(index, RefusedDelivery::InboxBusy(id));
            }
        }
    }

    pub(super) fn has_busy_inbox(&self) -> bool {
        self.states.values().any(|state| state.is_busy)
    }

    /// Whether the delivery is stored, according to the plan so far.
    pub(super) fn is_stored(&self, index: usize) -> bool {
        self.outcomes[index].is_ok() && self.faulty.get(&index).is_none_or(|faulty| faulty.copies > 0)
    }

    /// Whether the delivery uses a fault that makes it bounce, according to the plan so far.
    pub(super) fn is_bounced(&self, index: usize) -> bool {
        matches!(&self.outcomes[index], Ok(Delivered { fault: Some(FaultAction::Bounce), .. }))
    }

    /// The uses of faults.
    pub(super) fn uses(&self) -> Vec<Use> {
        self.faulty.values().map(|faulty| faulty.used).collect()
    }

    /// Rejects a delivery that was admitted. It uses no fault.
    pub(super) fn refuse(&mut self, index: usize, error: RefusedDelivery) {
        let faulty = self.faulty.remove(&index);
        for id in &self.targets[index] {
            if let Some(state) = self.states.get_mut(id) {
                let copies = faulty.as_ref().map_or(1, |faulty| faulty.copies_in(id));
                state.wanted = state.wanted.saturating_sub(copies);
            }
        }
        self.outcomes[index] = Err(error);
    }

    /// Assigns the positions of a delivery: one in each of its inboxes, or two if a fault duplicates the message.
    pub(super) fn place(&mut self, index: usize) -> Vec<Place> {
        let mut places = Vec::with_capacity(self.targets[index].len());
        let mut messages = Vec::with_capacity(places.capacity());
        for id in &self.targets[index] {
            let Some(state) = self.states.get_mut(id) else { continue };
            let Some(inbox_number) = state.number else { continue };
            for _ in 0..self.faulty.get(&index).map_or(1, |faulty| faulty.copies_in(id)) {
                state.placed += 1;
                let message = MessageId::generate();
                messages.push(Outcome { inbox: id.clone(), message });
                places.push(Place { message, inbox_number, sequence: state.last_sequence + state.placed });
            }
        }
        if let Ok(delivered) = &mut self.outcomes[index] {
            delivered.messages = messages;
        }
        places
    }

    /// The numbers of the inboxes that received messages, with their counts.
    pub(super) fn raised(&self) -> impl Iterator<Item = (i64, i64)> {
        self.states.values().filter(|state| state.placed > 0).filter_map(|state| Some((state.number?, state.placed)))
    }

    /// The changes of the batch.
    pub(super) fn changes(&self) -> impl Iterator<Item = Change> {
        let filled = self.states.iter().filter(|(_, state)| state.placed > 0);
        let filled = filled.flat_map(|(id, state)| {
            let full = (state.total() >= self.policy.inbox_messages).then(|| Change::InboxFull(id.clone()));
            std::iter::once(Change::Inbox(id.clone())).chain(full)
        });
        filled.chain(self.faulty.values().map(|faulty| Change::Inbox(faulty.inbox.clone())))
    }

    pub(super) fn outcomes(self) -> Outcomes {
        self.outcomes
    }
}

impl Faulty {
    /// How often the message is stored in this inbox.
    fn copies_in(&self, inbox: &InboxId) -> u64 {
        if *inbox == self.inbox { self.copies } else { self.copies.min(1) }
    }
}
