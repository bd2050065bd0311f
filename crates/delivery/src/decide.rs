//! The rules: who gets a message, who owns the inboxes that it opens, which faults it uses, and
//! when it is refused.

use std::collections::BTreeSet;

use uuid::Uuid;

use crate::notification::destination;
use crate::shared::Destination;
use crate::{
    Address, Change, Copies, Decision, Facts, Fate, FaultAction, FaultUse, Inbox, InboxId,
    NewMessage, Notification, Opening, PendingFault, Place, ProjectId, Recipient, Refusal, Request,
    Reservation, Source, UsedFault, Verdict, Writes,
};

/// How new ids are made. Each is unique.
pub struct NewIds<'a> {
    /// For each message and notification.
    pub uuid: &'a mut dyn FnMut() -> Uuid,
    /// For each inbox with a shared address.
    pub inbox: &'a mut dyn FnMut() -> InboxId,
}

/// Decides a batch.
pub fn decide<'a>(
    facts: &Facts,
    requests: impl IntoIterator<Item = &'a Request>,
    new_ids: NewIds<'_>,
) -> Decision {
    let mut batch = Batch {
        state: State(facts.clone()),
        writes: Writes::default(),
        touched: BTreeSet::new(),
        new_ids,
    };
    let verdicts = requests
        .into_iter()
        .enumerate()
        .map(|(index, request)| batch.decide(index, request))
        .collect();
    Decision {
        verdicts,
        changes: batch.changes(),
        writes: batch.writes,
    }
}

/// Whether mail to `recipient` would be accepted, from a client that authenticated with a key of
/// `sender`. Returns the inbox that would get it; `None` if the mail would open one with a shared
/// address, or if nothing is known because the inbox is locked.
///
/// # Errors
/// [`Refusal`]; the same one that [`decide`] would give.
pub fn check(
    facts: &Facts,
    recipient: &Recipient,
    sender: Option<ProjectId>,
) -> Result<Option<InboxId>, Refusal> {
    let state = State(facts.clone());
    let source = Source::Client {
        project: sender,
        reverse_path: String::new(),
    };
    match state.inbox_of(recipient, &source) {
        Ok(Destination::Inbox(inbox)) => state.admit(&inbox, 1, &source).map(|_| Some(inbox)),
        Err(Verdict::Refused(refusal)) => Err(refusal),
        Ok(Destination::New(_)) | Err(_) => Ok(None),
    }
}

/// The addresses as they are after the requests that have been decided.
struct State(Facts);

/// A batch that is being decided.
struct Batch<'a> {
    state: State,
    writes: Writes,
    /// The inboxes that have changed.
    touched: BTreeSet<InboxId>,
    new_ids: NewIds<'a>,
}

/// An inbox of a request.
struct Target {
    inbox: InboxId,
    recipients: Vec<Recipient>,
    /// The fault that the request uses there.
    fault: Option<PendingFault>,
}

/// An inbox that takes a message, and the project that owns it then.
struct Admitted {
    target: Target,
    owner: ProjectId,
}

impl State {
    /// The inboxes of a request, with the faults that it uses; or why it is not accepted.
    fn judge(&self, request: &Request) -> Result<Vec<Admitted>, Verdict> {
        if let Source::Service {
            lease: Some(lease), ..
        } = &request.source
            && !self.0.held_leases.contains(lease)
        {
            return Err(Verdict::LeaseLost);
        }
        let mut targets = self.targets(request)?;
        if matches!(request.source, Source::Client { .. }) {
            self.choose_faults(&mut targets);
        }
        let admitted = targets.into_iter().map(|target| {
            // A fault is used only by a message that would be stored without it.
            let copies = target.action().map_or(1, FaultAction::copies).max(1);
            let owner = self
                .admit(&target.inbox, copies, &request.source)
                .map_err(Verdict::Refused)?;
            if !self.may_notify(&target, &request.source) {
                return Err(Verdict::Refused(Refusal::TooManyBounces(target.inbox)));
            }
            Ok(Admitted { target, owner })
        });
        admitted.collect()
    }

    /// The inboxes of the recipients, each once.
    fn targets(&self, request: &Request) -> Result<Vec<Target>, Verdict> {
        let mut targets: Vec<Target> = Vec::with_capacity(request.recipients.len());
        for recipient in &request.recipients {
            let Destination::Inbox(inbox) = self.inbox_of(recipient, &request.source)? else {
                // Every new inbox has an id before.
                return Err(Verdict::Refused(Refusal::NoInbox(recipient.clone())));
            };
            match targets.iter_mut().find(|target| target.inbox == inbox) {
                Some(target) if target.recipients.contains(recipient) => {}
                Some(target) => target.recipients.push(recipient.clone()),
                None => targets.push(Target {
                    inbox,
                    recipients: vec![recipient.clone()],
                    fault: None,
                }),
            }
        }
        Ok(targets)
    }

    /// The inbox of a recipient: that of the exact address, or, for an address with a tag, that of
    /// the address without it if only that inbox is live.
    fn inbox_of(&self, recipient: &Recipient, source: &Source) -> Result<Destination, Verdict> {
        let id = match recipient {
            Recipient::Inbox(id) => id,
            Recipient::Shared(address) => return self.0.destination(address, source),
        };
        if self.0.shared.holder(id).is_some() {
            // The id of an inbox with another address, which is no address on the mail domain.
            return Err(Verdict::Refused(Refusal::Disabled(id.clone())));
        }
        for id in id.meant().filter(|id| self.0.shared.holder(id).is_none()) {
            match self.0.addresses.get(&id) {
                Some(Address::Live(_)) => return Ok(Destination::Inbox(id)),
                Some(Address::Locked) => return Err(Verdict::Conflict(id.into())),
                Some(Address::Reserved(_)) | None => {}
            }
        }
        Ok(Destination::Inbox(id.clone()))
    }

    /// Chooses the faults that a message uses. SMTP has one reply for all recipients, so of the
    /// faults that change the reply, the first applies; and if it keeps the message from every
    /// inbox, no other fault does.
    fn choose_faults(&self, targets: &mut [Target]) {
        let mut is_reply_changed = false;
        for index in 0..targets.len() {
            let Some(Address::Live(inbox)) = self.0.addresses.get(&targets[index].inbox) else {
                continue;
            };
            let Some(pending) = inbox.message_fault() else {
                continue;
            };
            let changes_reply = pending.fault.action.changes_reply();
            if changes_reply && pending.fault.action.copies() == 0 && !is_reply_changed {
                targets.iter_mut().for_each(|target| target.fault = None);
                targets[index].fault = Some(pending.clone());
                return;
            }
            if !changes_reply || !is_reply_changed {
                targets[index].fault = Some(pending.clone());
            }
            is_reply_changed |= changes_reply;
        }
    }

    /// The project that owns an inbox once it has taken `copies` more messages from `source`.
    fn admit(&self, inbox: &InboxId, copies: u64, source: &Source) -> Result<ProjectId, Refusal> {
        let (owner, messages) = match (self.0.addresses.get(inbox), source) {
            (Some(Address::Live(live)), _) => (live.owner, live.messages),
            (_, Source::Service { .. }) => return Err(Refusal::NoInbox(inbox.clone().into())),
            (_, Source::Client { project, .. }) => (self.next_owner(inbox, *project)?, 0),
        };
        if messages + copies > self.0.policy.capacity {
            Err(Refusal::Full(inbox.clone()))
        } else {
            Ok(owner)
        }
    }

    /// The project that owns an inbox if mail opens it now, from a client with a key of `sender`.
    fn next_owner(&self, inbox: &InboxId, sender: Option<ProjectId>) -> Result<ProjectId, Refusal> {
        if let Some((_, owner)) = self.0.shared.holder(inbox) {
            return Ok(*owner);
        }
        // An address with a tag belongs to the owner of the address without it.
        if let Some(base) = inbox.without_tag().and_then(|base| self.reservation(&base)) {
            return match sender {
                _ if base.owner_is_deleted => Err(Refusal::Disabled(inbox.clone())),
                Some(sender) if sender != base.owner => Err(Refusal::Foreign(inbox.clone())),
                _ => Ok(base.owner),
            };
        }
        match (sender, self.reservation(inbox)) {
            (Some(sender), Some(reserved))
                if reserved.has_live_tags && sender != reserved.owner =>
            {
                Err(Refusal::Foreign(inbox.clone()))
            }
            // A project takes over a reserved address only by sending mail to it with its own key.
            (Some(sender), _) => Ok(sender),
            (None, Some(reserved)) if reserved.owner_is_deleted => {
                Err(Refusal::Disabled(inbox.clone()))
            }
            (None, Some(reserved)) => Ok(reserved.owner),
            (None, None) => Ok(self.0.policy.default_project),
        }
    }

    /// Whether the sender of a message can be notified if it bounces at an inbox.
    fn may_notify(&self, target: &Target, source: &Source) -> bool {
        let Some(Address::Live(live)) = self.0.addresses.get(&target.inbox) else {
            return true;
        };
        let is_notified =
            matches!(source, Source::Client { reverse_path, .. } if !reverse_path.is_empty());
        !is_notified || target.action() != Some(&FaultAction::Bounce) || live.notifications_left > 0
    }

    /// The reservation of an address on the mail domain.
    fn reservation(&self, id: &InboxId) -> Option<&Reservation> {
        if self.0.shared.holder(id).is_some() {
            return None;
        }
        let Some(Address::Reserved(reservation)) = self.0.addresses.get(id) else {
            return None;
        };
        Some(reservation)
    }
}

impl Target {
    /// The recipients, if one of them has a tag that the address of the inbox may not have.
    fn tagged_recipients(&self) -> Vec<Recipient> {
        let is_inbox =
            |recipient: &Recipient| matches!(recipient, Recipient::Inbox(id) if *id == self.inbox);
        let is_tagged = |recipient: &Recipient| recipient.has_tag() && !is_inbox(recipient);
        if self.recipients.iter().any(is_tagged) {
            self.recipients.clone()
        } else {
            Vec::new()
        }
    }

    fn action(&self) -> Option<&FaultAction> {
        self.fault.as_ref().map(|pending| &pending.fault.action)
    }

    /// The fault that it uses, if it changes the reply.
    fn reply(&self) -> Option<UsedFault> {
        let action = self
            .action()
            .filter(|action| action.changes_reply())?
            .clone();
        Some(UsedFault {
            inbox: self.inbox.clone(),
            action,
        })
    }
}

impl Batch<'_> {
    fn decide(&mut self, index: usize, request: &Request) -> Verdict {
        let named = self.name_new_inboxes(request);
        let verdict = self.decide_named(index, request);
        for inbox in named
            .iter()
            .filter(|inbox| !self.state.0.addresses.contains_key(inbox))
        {
            self.state.0.shared.remove(inbox);
        }
        verdict
    }

    fn decide_named(&mut self, index: usize, request: &Request) -> Verdict {
        let admitted = match self.state.judge(request) {
            Ok(admitted) => admitted,
            Err(verdict) => return verdict,
        };
        let reply = admitted.iter().find_map(|admitted| admitted.target.reply());
        admitted
            .iter()
            .for_each(|admitted| self.use_fault(&admitted.target));
        match reply {
            Some(fault) if fault.action.copies() == 0 => Verdict::Swallowed(fault),
            reply => {
                let copies = admitted
                    .into_iter()
                    .map(|admitted| self.copies(index, &request.source, admitted));
                Verdict::Accepted {
                    copies: copies.collect(),
                    reply,
                }
            }
        }
    }

    /// Gives each inbox with a shared address that the request would create an id; returns these
    /// inboxes.
    fn name_new_inboxes(&mut self, request: &Request) -> Vec<InboxId> {
        let mut named = Vec::new();
        for recipient in &request.recipients {
            if let Recipient::Shared(address) = recipient
                && let Ok(Destination::New(owner)) =
                    self.state.0.destination(address, &request.source)
            {
                let inbox = (self.new_ids.inbox)();
                self.state
                    .0
                    .shared
                    .insert(address.clone(), owner, inbox.clone());
                named.push(inbox);
            }
        }
        named
    }

    fn use_fault(&mut self, target: &Target) {
        let Some(fault) = &target.fault else { return };
        if let Some(Address::Live(inbox)) = self.state.0.addresses.get_mut(&target.inbox) {
            inbox.use_fault();
        }
        self.touched.insert(target.inbox.clone());
        self.writes.uses.push(FaultUse {
            inbox: target.inbox.clone(),
            fault: fault.number,
        });
    }

    /// Gives an inbox its copies of a message, as many as its fault says.
    fn copies(&mut self, request: usize, source: &Source, admitted: Admitted) -> Copies {
        let fate = match admitted.target.action() {
            Some(FaultAction::Bounce) => Fate::Bounced(self.notify(request, source, &admitted)),
            Some(FaultAction::Drop) => Fate::Dropped,
            Some(FaultAction::Duplicate) => {
                Fate::Duplicated([(); 2].map(|()| self.place(request, &admitted)))
            }
            _ => Fate::Stored(self.place(request, &admitted)),
        };
        let Admitted { target, owner } = admitted;
        Copies {
            inbox: target.inbox,
            owner,
            recipients: target.recipients,
            fate,
        }
    }

    /// Queues the notification of a bounce for the sender, if there is one. A bounce never bounces.
    fn notify(
        &mut self,
        request: usize,
        source: &Source,
        Admitted { target, owner }: &Admitted,
    ) -> Option<Notification> {
        let Source::Client { reverse_path, .. } = source else {
            return None;
        };
        let to = destination(reverse_path)?;
        if let Some(Address::Live(live)) = self.state.0.addresses.get_mut(&target.inbox) {
            live.notifications_left = live.notifications_left.saturating_sub(1);
        }
        let inbox = target.inbox.clone();
        let recipients = target.recipients.clone();
        let notification = Notification {
            id: (self.new_ids.uuid)(),
            inbox,
            project: *owner,
            to,
            recipients,
        };
        self.writes
            .notifications
            .push((request, notification.clone()));
        Some(notification)
    }

    /// Gives a message the next place in an inbox, which is opened if it is not live.
    fn place(&mut self, request: usize, Admitted { target, owner }: &Admitted) -> Place {
        let mut live = self.live(&target.inbox, *owner);
        live.messages += 1;
        live.last_sequence += 1;
        let place = Place {
            message: (self.new_ids.uuid)(),
            sequence: live.last_sequence,
        };
        self.state
            .0
            .addresses
            .insert(target.inbox.clone(), Address::Live(live));
        self.touched.insert(target.inbox.clone());
        self.writes.messages.push(NewMessage {
            request,
            inbox: target.inbox.clone(),
            project: *owner,
            place,
            recipients: target.tagged_recipients(),
        });
        place
    }

    fn live(&mut self, id: &InboxId, owner: ProjectId) -> Inbox {
        let reserved = match self.state.0.addresses.get(id) {
            Some(Address::Live(live)) => return live.clone(),
            Some(Address::Reserved(reserved)) => Some(reserved),
            Some(Address::Locked) | None => None,
        };
        let last_sequence = reserved.map_or(0, |reserved| reserved.last_sequence);
        let address = self
            .state
            .0
            .shared
            .holder(id)
            .map(|(address, _)| address.clone());
        self.writes.openings.push(Opening {
            inbox: id.clone(),
            address,
            owner,
            was_reserved: reserved.is_some(),
            only_reserves: false,
        });
        if self.state.0.shared.holder(id).is_none() {
            self.reserve_base(id, owner);
        }
        Inbox::new(owner, 0, last_sequence)
    }

    /// The owner of an address with a tag also owns the address without it, and with it all tags.
    fn reserve_base(&mut self, id: &InboxId, owner: ProjectId) {
        let Some(base) = id.without_tag() else { return };
        match self.state.0.addresses.get_mut(&base) {
            Some(Address::Reserved(reservation)) => reservation.has_live_tags = true,
            Some(Address::Live(_) | Address::Locked) => {}
            None => {
                self.writes.openings.push(Opening {
                    inbox: base.clone(),
                    address: None,
                    owner,
                    was_reserved: false,
                    only_reserves: true,
                });
                let reservation = Reservation {
                    owner,
                    owner_is_deleted: false,
                    has_live_tags: true,
                    last_sequence: 0,
                };
                self.state
                    .0
                    .addresses
                    .insert(base, Address::Reserved(reservation));
            }
        }
    }

    fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::with_capacity(self.touched.len());
        for id in &self.touched {
            changes.push(Change::Inbox(id.clone()));
            let is_full = |inbox: &Inbox| inbox.messages >= self.state.0.policy.capacity;
            if matches!(self.state.0.addresses.get(id), Some(Address::Live(inbox)) if is_full(inbox))
            {
                changes.push(Change::Full(id.clone()));
            }
        }
        changes
    }
}
