//! Decides which deliveries of a batch are stored, and where. Pure: it uses only data that the transaction has read.

use std::collections::{BTreeMap, VecDeque};

use super::Change;
use super::deliveries::{Delivered, Delivery, Outcome, Outcomes, Policy, RefusedDelivery, UsedFault};
use super::faults::{Pending, Use};
use crate::model::{EmailAddress, FaultAction, FaultPoint, InboxId, MessageId, ProjectId};

/// The state of an inbox within the transaction.
#[derive(Debug, Default)]
pub(super) struct InboxState {
    /// `None` until the inbox exists.
    pub(super) number: Option<i64>,
    /// The project that owns the inbox, or for which its address is reserved.
    owner: Option<ProjectId>,
    /// The owner of the address without its tag.
    base: Option<Base>,
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

/// The owner of an address without a tag. The addresses with a tag that are not live inboxes belong to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base {
    pub(super) owner: ProjectId,
    /// The owner was deleted.
    pub(super) is_disabled: bool,
}

/// An inbox of a delivery.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) inbox: InboxId,
    /// The recipients whose mail goes there, as addressed.
    pub(super) recipients: Vec<InboxId>,
}

/// The plan of a batch.
pub(super) struct Plan<'a> {
    pub(super) deliveries: &'a [Delivery],
    pub(super) policy: &'a Policy,
    /// The inboxes of each delivery.
    targets: Vec<Vec<Target>>,
    states: BTreeMap<InboxId, InboxState>,
    outcomes: Outcomes,
    /// Whether an inbox of the batch has faults.
    has_faults: bool,
    /// The faults that the deliveries use, by index.
    faulty: BTreeMap<usize, Vec<Faulty>>,
}

/// A fault that a delivery uses.
#[derive(Clone, Debug)]
struct Faulty {
    used: Use,
    fault: UsedFault,
}

/// An inbox that has to be created or reopened.
pub(super) struct Opening<'a> {
    pub(super) id: &'a InboxId,
    pub(super) owner: ProjectId,
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
    pub(super) fn read(
        number: i64,
        owner: ProjectId,
        messages: u64,
        last_sequence: i64,
        is_live: bool,
        is_disabled: bool,
    ) -> Self {
        let (number, owner) = (Some(number), Some(owner));
        Self { number, owner, messages, last_sequence, is_live, is_disabled, ..Self::default() }
    }

    pub(super) fn is_live(&self) -> bool {
        self.is_live
    }

    /// The owner of this address, to which the addresses with a tag belong.
    pub(super) fn base(&self) -> Option<Base> {
        Some(Base { owner: self.owner?, is_disabled: self.is_disabled })
    }

    /// Sets the owner of the address without its tag. An address with a tag belongs to that owner.
    pub(super) fn set_base(&mut self, base: Option<Base>) {
        self.base = base;
        self.is_disabled = base.map_or(self.is_disabled, |base| base.is_disabled);
    }

    /// The owner of the inbox if a delivery opens it now.
    fn next_owner(&self, default_project: ProjectId) -> ProjectId {
        self.base.map(|base| base.owner).or(self.opener).or(self.owner).unwrap_or(default_project)
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
        // A project that authenticates with its own key takes over the address, except that an address with a tag
        // belongs to the owner of the address without it.
        if self.is_disabled && (sender.is_none() || self.base.is_some()) {
            return Err(RefusedDelivery::ProjectDeleted(id.clone()));
        }
        if let (false, Some(base), Some(sender)) = (self.is_live, self.base, sender)
            && base.owner != sender
        {
            return Err(RefusedDelivery::Foreign(id.clone()));
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
        targets: Vec<Vec<Target>>,
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
        let faults = self.next_faults(index);
        for Target { inbox, .. } in &self.targets[index] {
            let state = self.states.entry(inbox.clone()).or_default();
            let copies = copies_in(inbox, &faults).max(1);
            if let Err(error) = state.check(inbox, opens_inboxes, project, copies, self.policy) {
                self.outcomes[index] = Err(error);
                return;
            }
        }
        if let Err(error) = self.use_faults(index, &faults) {
            self.outcomes[index] = Err(error);
            return;
        }
        for Target { inbox, .. } in &self.targets[index] {
            let copies = copies_in(inbox, &faults);
            let state = self.states.entry(inbox.clone()).or_default();
            if copies > 0 {
                state.wanted += copies;
                state.opener = state.opener.or(project);
            }
        }
        if !faults.is_empty() {
            self.faulty.insert(index, faults);
        }
    }

    /// The faults that apply to a delivery. SMTP has one reply for all recipients, so of the faults that change the
    /// reply, that of the first recipient applies; if it rejects the message, no other fault does. No fault applies to
    /// messages that the service composed.
    fn next_faults(&self, index: usize) -> Vec<Faulty> {
        let mut faults: Vec<Faulty> = Vec::new();
        if !self.has_faults || !self.deliveries[index].opens_inboxes {
            return faults;
        }
        let mut changes_reply = false;
        for Target { inbox, recipients } in &self.targets[index] {
            let Some(state) = self.states.get(inbox) else { continue };
            let (Some(pending), Some(inbox_number)) = (state.message_fault(), state.number) else { continue };
            let action = pending.fault.action.clone();
            if action.changes_reply() && std::mem::replace(&mut changes_reply, true) {
                continue;
            }
            let used = Use { fault_number: pending.number, inbox_number };
            faults.push(Faulty {
                used,
                fault: UsedFault { inbox: inbox.clone(), recipients: recipients.clone(), action },
            });
        }
        if let Some(decides) = faults.iter().position(Faulty::keeps_from_all) {
            faults = vec![faults.swap_remove(decides)];
        }
        faults
    }

    /// Counts the faults as used, unless the delivery lacks a notification that it needs.
    fn use_faults(&mut self, index: usize, faults: &[Faulty]) -> Result<(), RefusedDelivery> {
        let delivery = &self.deliveries[index];
        let missing = faults.iter().filter(|faulty| {
            let inbox = &faulty.fault.inbox;
            faulty.fault.action == FaultAction::Bounce && !delivery.bounces.iter().any(|(of, _)| of == inbox)
        });
        let missing: Vec<UsedFault> = missing.map(|faulty| faulty.fault.clone()).collect();
        // The sending side can send a notification to no other path.
        if !missing.is_empty() && EmailAddress::parse(&delivery.content.origin.reverse_path).is_ok() {
            return Err(RefusedDelivery::BounceWanted { faults: missing, delivery: Box::new(delivery.clone()) });
        }
        for faulty in faults {
            if let Some(state) = self.states.get_mut(&faulty.fault.inbox) {
                state.use_fault();
            }
        }
        let faults = faults.iter().map(|faulty| faulty.fault.clone()).collect();
        self.outcomes[index] = Ok(Delivered { messages: Vec::new(), faults });
        Ok(())
    }

    /// How often a delivery that was not rejected is stored in an inbox.
    fn copies(&self, index: usize, inbox: &InboxId) -> u64 {
        copies_in(inbox, self.faulty.get(&index).map_or(&[], Vec::as_slice))
    }

    /// The inboxes that have to be created or reopened for the deliveries that were not rejected.
    pub(super) fn inboxes_to_open(&mut self) -> Vec<Opening<'_>> {
        let closed = self.states.iter_mut().filter(|(_, state)| !state.is_live && state.wanted > 0);
        let default_project = self.policy.default_project;
        closed.map(|(id, state)| Opening { id, owner: state.next_owner(default_project), state }).collect()
    }

    /// Rejects deliveries that were admitted for an inbox that another transaction has locked.
    pub(super) fn refuse_busy(&mut self) {
        for index in 0..self.deliveries.len() {
            let mut inboxes = self.targets[index].iter().map(|target| &target.inbox);
            let busy = inboxes.find(|id| self.states.get(*id).is_some_and(|state| state.is_busy));
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
        self.outcomes[index].is_ok() && self.targets[index].iter().any(|it| self.copies(index, &it.inbox) > 0)
    }

    /// Whether the delivery uses a fault that makes it bounce at `inbox`, according to the plan so far.
    pub(super) fn is_bounced(&self, index: usize, inbox: &InboxId) -> bool {
        let Ok(delivered) = &self.outcomes[index] else { return false };
        delivered.faults.iter().any(|fault| fault.inbox == *inbox && fault.action == FaultAction::Bounce)
    }

    /// The uses of faults.
    pub(super) fn uses(&self) -> Vec<Use> {
        self.faulty.values().flatten().map(|faulty| faulty.used).collect()
    }

    /// Rejects a delivery that was admitted. It uses no fault.
    pub(super) fn refuse(&mut self, index: usize, error: RefusedDelivery) {
        let faults = self.faulty.remove(&index).unwrap_or_default();
        for Target { inbox, .. } in &self.targets[index] {
            if let Some(state) = self.states.get_mut(inbox) {
                let copies = copies_in(inbox, &faults);
                state.wanted = state.wanted.saturating_sub(copies);
            }
        }
        self.outcomes[index] = Err(error);
    }

    /// Assigns the positions of a delivery: one in each of its inboxes, or two if a fault duplicates the message.
    pub(super) fn place(&mut self, index: usize) -> Vec<Place> {
        let mut places = Vec::with_capacity(self.targets[index].len());
        let mut messages = Vec::with_capacity(places.capacity());
        for Target { inbox: id, .. } in &self.targets[index] {
            let copies = self.copies(index, id);
            let Some(state) = self.states.get_mut(id) else { continue };
            let Some(inbox_number) = state.number else { continue };
            for _ in 0..copies {
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
        filled.chain(self.faulty.values().flatten().map(|faulty| Change::Inbox(faulty.fault.inbox.clone())))
    }

    pub(super) fn outcomes(self) -> Outcomes {
        self.outcomes
    }
}

impl Faulty {
    /// Whether it keeps the message from being stored for any recipient.
    fn keeps_from_all(&self) -> bool {
        self.fault.action.changes_reply() && self.fault.action.copies() == 0
    }
}

/// How often a delivery with these faults is stored in `inbox`.
fn copies_in(inbox: &InboxId, faults: &[Faulty]) -> u64 {
    if faults.iter().any(Faulty::keeps_from_all) {
        return 0;
    }
    let own = faults.iter().find(|faulty| faulty.fault.inbox == *inbox);
    own.map_or(1, |faulty| faulty.fault.action.copies())
}
