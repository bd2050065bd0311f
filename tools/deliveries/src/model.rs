//! A world in memory: what a store has to do with the facts and the writes of a decision, in its simplest form.

use std::collections::{BTreeMap, BTreeSet};

use restante_delivery::{
    Address, Change, Decision, Facts, Inbox, InboxId, PendingFault, Policy, ProjectId, Request, Reservation, Source,
    decide,
};
use uuid::Uuid;

use super::{Case, DEFAULT, GivenState, Mail, MailFrom, Ownership, World, shown};

/// The outgoing item of every report.
const REPORTED: Uuid = Uuid::from_u128(7);

/// Inboxes, messages and faults in memory.
#[derive(Clone, Debug)]
pub struct Model {
    pub policy: Policy,
    pub addresses: BTreeMap<InboxId, Address>,
    pub held_leases: BTreeSet<Uuid>,
    /// Each stored message: its inbox, its sequence and the project that owned the inbox.
    pub messages: Vec<(InboxId, i64, ProjectId)>,
    /// How often each fault was used, by inbox and number.
    pub uses: BTreeMap<(InboxId, i64), u32>,
    pub notifications: usize,
    announced: Vec<Change>,
    ids: u128,
}

/// The project with this name.
pub fn project_named(name: &str) -> ProjectId {
    let number = name.bytes().fold(0, |number: u128, byte| (number << 8) | u128::from(byte));
    ProjectId(Uuid::from_u128(number))
}

fn name_of(project: ProjectId) -> String {
    let bytes = project.0.into_bytes().into_iter().filter(|byte| *byte > 0);
    bytes.map(char::from).collect()
}

impl Model {
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            addresses: BTreeMap::new(),
            held_leases: BTreeSet::from([REPORTED]),
            messages: Vec::new(),
            uses: BTreeMap::new(),
            notifications: 0,
            announced: Vec::new(),
            ids: 0,
        }
    }

    /// The world before the first mail of a case.
    pub fn of(case: &Case) -> Self {
        let givens = &case.givens;
        let mut model = Self::new(Policy { capacity: givens.capacity, default_project: project_named(DEFAULT) });
        if givens.lease_lost {
            model.held_leases.clear();
        }
        for given in &givens.inboxes {
            let (id, owner) = (InboxId::parse(&given.id).unwrap(), project_named(&given.project));
            let owner_is_deleted = givens.deleted_projects.contains(&given.project);
            let last_sequence = i64::try_from(given.messages).unwrap();
            model.uses.extend((0..).zip(&given.faults).map(|(number, _)| ((id.clone(), number), 0)));
            let faults = (0..).zip(given.faults.iter().cloned());
            let faults = faults.map(|(number, fault)| PendingFault { number, left: fault.times, fault }).collect();
            let address = match given.state {
                GivenState::Locked => Address::Locked,
                GivenState::Live if !owner_is_deleted => {
                    let mut inbox = Inbox { faults, ..Inbox::new(owner, given.messages, last_sequence) };
                    if given.is_exhausted {
                        inbox.notifications_left = 0;
                    }
                    Address::Live(inbox)
                }
                _ => Address::Reserved(Reservation { owner, owner_is_deleted, last_sequence }),
            };
            model.addresses.insert(id, address);
        }
        model
    }

    /// The facts for these requests: what a store would read.
    pub fn facts(&self, requests: &[Request]) -> Facts {
        let needed = Request::addresses(requests);
        let known = needed.into_iter().filter_map(|id| Some((id.clone(), self.addresses.get(&id)?.clone())));
        Facts { addresses: known.collect(), held_leases: self.held_leases.clone(), ..Facts::new(self.policy) }
    }

    /// Decides a batch and applies the decision.
    pub fn deliver_requests(&mut self, requests: &[Request]) -> Decision {
        let facts = self.facts(requests);
        let mut new_id = || {
            self.ids += 1;
            Uuid::from_u128(self.ids)
        };
        let decision = decide(&facts, requests, &mut new_id);
        self.apply(&decision);
        decision
    }

    /// Makes the writes of a decision.
    pub fn apply(&mut self, decision: &Decision) {
        for opening in &decision.writes.openings {
            let last_sequence = match self.addresses.get(&opening.inbox) {
                Some(Address::Reserved(reserved)) => reserved.last_sequence,
                _ => 0,
            };
            let inbox = Inbox::new(opening.owner, 0, last_sequence);
            self.addresses.insert(opening.inbox.clone(), Address::Live(inbox));
        }
        for message in &decision.writes.messages {
            self.messages.push((message.inbox.clone(), message.place.sequence, message.project));
            if let Some(Address::Live(inbox)) = self.addresses.get_mut(&message.inbox) {
                inbox.messages += 1;
                inbox.last_sequence += 1;
            }
        }
        for used in &decision.writes.uses {
            *self.uses.entry((used.inbox.clone(), used.fault)).or_default() += 1;
            if let Some(Address::Live(inbox)) = self.addresses.get_mut(&used.inbox) {
                inbox.faults.iter_mut().filter(|fault| fault.number == used.fault).for_each(|fault| fault.left -= 1);
                inbox.faults.retain(|fault| fault.left > 0);
            }
        }
        for (_, notification) in &decision.writes.notifications {
            self.notifications += 1;
            if let Some(Address::Live(inbox)) = self.addresses.get_mut(&notification.inbox) {
                inbox.notifications_left -= 1;
            }
        }
        self.announced.clone_from(&decision.changes);
    }

    /// Ends a live inbox.
    pub fn end_inbox(&mut self, id: &InboxId) {
        if let Some(Address::Live(inbox)) = self.addresses.get(id) {
            let Inbox { owner, last_sequence, .. } = *inbox;
            let reservation = Reservation { owner, owner_is_deleted: false, last_sequence };
            self.addresses.insert(id.clone(), Address::Reserved(reservation));
        }
    }
}

/// A mail as a request.
fn request(mail: &Mail) -> Request {
    let source = match &mail.from {
        MailFrom::Client { project, reverse_path } => {
            Source::Client { project: project.as_deref().map(project_named), reverse_path: reverse_path.clone() }
        }
        MailFrom::Service { report } => Source::Service { lease: report.then_some(REPORTED) },
    };
    Request { recipients: mail.recipients.iter().map(|id| InboxId::parse(id).unwrap()).collect(), source }
}

impl World for Model {
    async fn deliver(&mut self, batch: &[Mail]) -> Vec<String> {
        let requests: Vec<Request> = batch.iter().map(request).collect();
        self.deliver_requests(&requests).verdicts.iter().map(shown).collect()
    }

    async fn end(&mut self, inbox: &str) {
        self.end_inbox(&InboxId::parse(inbox).unwrap());
    }

    async fn messages(&mut self, inbox: &str) -> u64 {
        match self.addresses.get(&InboxId::parse(inbox).unwrap()) {
            Some(Address::Live(inbox)) => inbox.messages,
            _ => 0,
        }
    }

    async fn ownership(&mut self, address: &str) -> Ownership {
        match self.addresses.get(&InboxId::parse(address).unwrap()) {
            Some(Address::Live(inbox)) => Ownership::Live(name_of(inbox.owner)),
            Some(Address::Reserved(reserved)) => Ownership::Reserved(name_of(reserved.owner)),
            Some(Address::Locked) | None => Ownership::Free,
        }
    }

    async fn used(&mut self, inbox: &str) -> Vec<u32> {
        let id = InboxId::parse(inbox).unwrap();
        self.uses.iter().filter(|((inbox, _), _)| *inbox == id).map(|(_, used)| *used).collect()
    }

    async fn notifications(&mut self) -> usize {
        self.notifications
    }

    fn announced(&self) -> Option<Vec<String>> {
        let shown = |change: &Change| match change {
            Change::Inbox(id) => id.to_string(),
            Change::Full(id) => format!("full {id}"),
        };
        Some(self.announced.iter().map(shown).collect())
    }
}
