//! A world in memory: what a store has to do with the facts and the writes of a decision, in its
//! simplest form.

use std::collections::{BTreeMap, BTreeSet};

use restante_delivery::{
    Address, Change, Decision, Facts, Inbox, InboxId, NewIds, PendingFault, Policy, ProjectId,
    Request, Reservation, SharedAddress, SharedInboxes, Source, decide,
};
use uuid::Uuid;

use super::{
    Case, DEFAULT, GivenState, Mail, MailFrom, Ownership, World, recipient, shared_name, shown,
};

/// The outgoing item of every report.
const REPORTED: Uuid = Uuid::from_u128(7);

/// Inboxes, messages and faults in memory.
#[derive(Clone, Debug)]
pub struct Model {
    pub policy: Policy,
    pub addresses: BTreeMap<InboxId, Address>,
    pub shared: SharedInboxes,
    pub held_leases: BTreeSet<Uuid>,
    /// Each stored message: its inbox, its sequence and the project that owned the inbox.
    pub messages: Vec<(InboxId, i64, ProjectId)>,
    /// How often each fault was used, by inbox and number.
    pub uses: BTreeMap<(InboxId, i64), u32>,
    pub notifications: usize,
    announced: Vec<Change>,
    ids: u128,
    /// How many inboxes with shared addresses there were.
    inboxes: usize,
}

/// The project with this name.
pub fn project_named(name: &str) -> ProjectId {
    let number = name
        .bytes()
        .fold(0, |number: u128, byte| (number << 8) | u128::from(byte));
    ProjectId(Uuid::from_u128(number))
}

fn generated(number: usize) -> InboxId {
    InboxId::parse(&format!("generated-{number}")).unwrap()
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
            shared: SharedInboxes::default(),
            held_leases: BTreeSet::from([REPORTED]),
            messages: Vec::new(),
            uses: BTreeMap::new(),
            notifications: 0,
            announced: Vec::new(),
            ids: 0,
            inboxes: 0,
        }
    }

    /// The world before the first mail of a case.
    pub fn of(case: &Case) -> Self {
        let givens = &case.givens;
        let mut model = Self::new(Policy {
            capacity: givens.capacity,
            default_project: project_named(DEFAULT),
        });
        if givens.lease_lost {
            model.held_leases.clear();
        }
        for given in &givens.inboxes {
            let id = model.name(&given.name);
            let owner = project_named(&given.project);
            let owner_is_deleted = givens.deleted_projects.contains(&given.project);
            let last_sequence = i64::try_from(given.messages).unwrap();
            model.uses.extend(
                (0..)
                    .zip(&given.faults)
                    .map(|(number, _)| ((id.clone(), number), 0)),
            );
            let faults = (0..).zip(given.faults.iter().cloned());
            let faults = faults
                .map(|(number, fault)| PendingFault {
                    number,
                    left: fault.times,
                    fault,
                })
                .collect();
            let address = match given.state {
                GivenState::Locked => Address::Locked,
                GivenState::Live if !owner_is_deleted => {
                    let mut inbox = Inbox {
                        faults,
                        ..Inbox::new(owner, given.messages, last_sequence)
                    };
                    if given.is_exhausted {
                        inbox.notifications_left = 0;
                    }
                    Address::Live(inbox)
                }
                _ => Address::Reserved(Reservation {
                    owner,
                    owner_is_deleted,
                    has_live_tags: false,
                    last_sequence,
                }),
            };
            model.addresses.insert(id, address);
        }
        model
    }

    /// The id of the inbox with this name. An inbox with a shared address gets one if it has none.
    pub fn name(&mut self, name: &str) -> InboxId {
        let Some((address, project)) = shared_name(name) else {
            return InboxId::parse(name).unwrap();
        };
        let address = SharedAddress::from_stored(address.to_owned());
        let project = project_named(project);
        let id = self.shared.inbox(&address, project).cloned();
        id.unwrap_or_else(|| {
            self.inboxes += 1;
            let id = generated(self.inboxes);
            self.shared.insert(address, project, id.clone());
            id
        })
    }

    /// The name of an inbox.
    fn name_of_inbox(&self, id: &InboxId) -> String {
        match self.shared.holder(id) {
            Some((address, project)) => format!("{address}/{}", name_of(*project)),
            None => id.to_string(),
        }
    }

    /// The facts for these requests: what a store would read.
    pub fn facts(&self, requests: &[Request]) -> Facts {
        let mut facts = Facts {
            addresses: self.addresses.clone(),
            ..Facts::new(self.policy)
        };
        for (id, address) in &mut facts.addresses {
            if let Address::Reserved(reservation) = address {
                reservation.has_live_tags = self.has_live_tags(id);
            }
        }
        facts.shared.clone_from(&self.shared);
        facts.held_leases.clone_from(&self.held_leases);
        let needed = facts.inboxes(requests);
        // What is not locked is known if it has a shared address.
        facts
            .addresses
            .retain(|id, _| needed.contains(id) || self.shared.holder(id).is_some());
        facts
    }

    fn has_live_tags(&self, base: &InboxId) -> bool {
        self.addresses.iter().any(|(id, address)| {
            matches!(address, Address::Live(_)) && id.without_tag().as_ref() == Some(base)
        })
    }

    /// Decides a batch and applies the decision.
    pub fn deliver_requests(&mut self, requests: &[Request]) -> Decision {
        let facts = self.facts(requests);
        let ids = &mut self.ids;
        let inboxes = &mut self.inboxes;
        let mut uuid = || {
            *ids += 1;
            Uuid::from_u128(*ids)
        };
        let mut inbox = || {
            *inboxes += 1;
            generated(*inboxes)
        };
        let decision = decide(
            &facts,
            requests,
            NewIds {
                uuid: &mut uuid,
                inbox: &mut inbox,
            },
        );
        self.apply(&decision);
        decision
    }

    /// Makes the writes of a decision.
    pub fn apply(&mut self, decision: &Decision) {
        for opening in &decision.writes.openings {
            if opening.only_reserves {
                let reservation = Reservation {
                    owner: opening.owner,
                    owner_is_deleted: false,
                    has_live_tags: true,
                    last_sequence: 0,
                };
                self.addresses
                    .insert(opening.inbox.clone(), Address::Reserved(reservation));
                continue;
            }
            let last_sequence = match self.addresses.get(&opening.inbox) {
                Some(Address::Reserved(reserved)) => reserved.last_sequence,
                _ => 0,
            };
            let inbox = Inbox::new(opening.owner, 0, last_sequence);
            if let Some(address) = &opening.address {
                self.shared
                    .insert(address.clone(), opening.owner, opening.inbox.clone());
            }
            self.addresses
                .insert(opening.inbox.clone(), Address::Live(inbox));
        }
        for message in &decision.writes.messages {
            self.messages.push((
                message.inbox.clone(),
                message.place.sequence,
                message.project,
            ));
            if let Some(Address::Live(inbox)) = self.addresses.get_mut(&message.inbox) {
                inbox.messages += 1;
                inbox.last_sequence += 1;
            }
        }
        for used in &decision.writes.uses {
            *self
                .uses
                .entry((used.inbox.clone(), used.fault))
                .or_default() += 1;
            if let Some(Address::Live(inbox)) = self.addresses.get_mut(&used.inbox) {
                inbox
                    .faults
                    .iter_mut()
                    .filter(|fault| fault.number == used.fault)
                    .for_each(|fault| fault.left -= 1);
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
            let Inbox {
                owner,
                last_sequence,
                ..
            } = *inbox;
            let reservation = Reservation {
                owner,
                owner_is_deleted: false,
                has_live_tags: false,
                last_sequence,
            };
            self.addresses
                .insert(id.clone(), Address::Reserved(reservation));
        }
    }
}

/// A mail as a request.
fn request(mail: &Mail) -> Request {
    let source = match &mail.from {
        MailFrom::Client {
            project,
            reverse_path,
        } => Source::Client {
            project: project.as_deref().map(project_named),
            reverse_path: reverse_path.clone(),
        },
        MailFrom::Service { report, project } => Source::Service {
            project: project_named(project),
            lease: report.then_some(REPORTED),
        },
    };
    Request {
        recipients: mail.recipients.iter().map(|text| recipient(text)).collect(),
        source,
    }
}

impl World for Model {
    async fn deliver(&mut self, batch: &[Mail]) -> Vec<String> {
        let requests: Vec<Request> = batch.iter().map(request).collect();
        let verdicts = self.deliver_requests(&requests).verdicts;
        verdicts
            .iter()
            .map(|verdict| shown(verdict, &|id| self.name_of_inbox(id)))
            .collect()
    }

    async fn end(&mut self, inbox: &str) {
        let id = self.name(inbox);
        self.end_inbox(&id);
    }

    async fn messages(&mut self, inbox: &str) -> u64 {
        let id = self.name(inbox);
        match self.addresses.get(&id) {
            Some(Address::Live(inbox)) => inbox.messages,
            _ => 0,
        }
    }

    async fn ownership(&mut self, address: &str) -> Ownership {
        let id = self.name(address);
        match self.addresses.get(&id) {
            Some(Address::Live(inbox)) => Ownership::Live(name_of(inbox.owner)),
            Some(Address::Reserved(reserved)) => Ownership::Reserved(name_of(reserved.owner)),
            Some(Address::Locked) | None => Ownership::Free,
        }
    }

    async fn used(&mut self, inbox: &str) -> Vec<u32> {
        let id = self.name(inbox);
        self.uses
            .iter()
            .filter(|((inbox, _), _)| *inbox == id)
            .map(|(_, used)| *used)
            .collect()
    }

    async fn notifications(&mut self) -> usize {
        self.notifications
    }

    fn announced(&self) -> Option<Vec<String>> {
        let shown = |change: &Change| match change {
            Change::Inbox(id) => self.name_of_inbox(id),
            Change::Full(id) => format!("full {}", self.name_of_inbox(id)),
        };
        Some(self.announced.iter().map(shown).collect())
    }
}
