//! What holds for every decision, for any facts: the invariants 1, 3, 4 and 5 of ARCHITECTURE.md.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use restante_deliveries::{Model, project_named, recipient};
use restante_delivery::{
    Address, Decision, Fault, FaultAction, FaultPoint, Inbox, InboxId, NewIds, Opening,
    PendingFault, Policy, ProjectId, Recipient, Request, Reservation, SharedAddress, SharedInboxes,
    Source, Verdict, check, decide,
};
use uuid::Uuid;

const ADDRESSES: [&str; 6] = ["a", "b", "c", "a+x", "b+x", "b+y"];
const SHARED: [&str; 4] = [
    "a@example.com",
    "a+x@example.com",
    "a@shop.test",
    "b@shop.test",
];
const PROJECTS: [&str; 4] = ["default", "one", "two", "three"];
const CAPACITY: u64 = 4;
/// The ids of inboxes with shared addresses that mail opens begin with it.
const NEW: &str = "new-";
const HELD: Uuid = Uuid::from_u128(1);
const LOST: Uuid = Uuid::from_u128(2);

fn id(name: &str) -> InboxId {
    InboxId::parse(name).unwrap()
}

fn addresses() -> impl Strategy<Value = InboxId> {
    select(&ADDRESSES[..]).prop_map(id)
}

fn recipients() -> impl Strategy<Value = Recipient> {
    let shared = select(&SHARED[..]).prop_map(recipient);
    prop_oneof![3 => addresses().prop_map(Recipient::Inbox), 2 => shared]
}

fn projects() -> impl Strategy<Value = ProjectId> {
    select(&["one", "two", "three"][..]).prop_map(project_named)
}

fn actions() -> impl Strategy<Value = FaultAction> {
    select(vec![
        FaultAction::Defer { reply: None },
        FaultAction::Reject { reply: None },
        FaultAction::Disconnect { store: None },
        FaultAction::Disconnect { store: Some(true) },
        FaultAction::Delay { seconds: 1 },
        FaultAction::Reset { store: None },
        FaultAction::Reset { store: Some(true) },
        FaultAction::Bounce,
        FaultAction::Drop,
        FaultAction::Duplicate,
    ])
}

fn faults() -> impl Strategy<Value = Vec<PendingFault>> {
    let points = prop_oneof![4 => Just(FaultPoint::Data), 1 => Just(FaultPoint::Rcpt)];
    vec((points, actions(), 1..3_u32), 0..3).prop_map(|faults| {
        let numbered = (0..).zip(faults);
        let pending = numbered.map(|(number, (at, action, times))| {
            let fault = Fault { at, action, times };
            PendingFault {
                number,
                fault,
                left: times,
            }
        });
        pending.collect()
    })
}

fn known() -> impl Strategy<Value = Address> {
    let live = (projects(), 0..=CAPACITY, 0..5_i64, faults(), 0..3_u32);
    let live = live.prop_map(|(owner, messages, earlier, faults, notifications_left)| {
        let last_sequence = earlier + i64::try_from(messages).unwrap();
        Address::Live(Inbox {
            owner,
            messages,
            last_sequence,
            faults: faults.into(),
            notifications_left,
        })
    });
    let reserved = (projects(), any::<bool>(), 0..5_i64).prop_map(
        |(owner, owner_is_deleted, last_sequence)| {
            Address::Reserved(Reservation {
                owner,
                owner_is_deleted,
                has_live_tags: false,
                last_sequence,
            })
        },
    );
    prop_oneof![4 => live, 4 => reserved, 1 => Just(Address::Locked)]
}

fn worlds() -> impl Strategy<Value = Model> {
    let shared = btree_map((select(&SHARED[..]), select(&PROJECTS[..])), known(), 0..8);
    (btree_map(addresses(), known(), 0..6), shared).prop_map(|(addresses, shared)| {
        let mut model = Model::new(Policy {
            capacity: CAPACITY,
            default_project: project_named("default"),
        });
        model.held_leases = [HELD].into();
        model.addresses = addresses;
        reserve_bases(&mut model.addresses);
        for ((address, project), state) in shared {
            let id = model.name(&format!("{address}/{project}"));
            model
                .addresses
                .insert(id, owned_by(state, project_named(project)));
        }
        model
    })
}

/// The owner of an address with a tag has the address without it.
fn reserve_bases(addresses: &mut BTreeMap<InboxId, Address>) {
    let tagged: Vec<_> = addresses
        .iter()
        .map(|(id, state)| (id.clone(), state.clone()))
        .collect();
    for (id, state) in tagged {
        let owner = match state {
            Address::Live(inbox) => inbox.owner,
            Address::Reserved(reservation) => reservation.owner,
            Address::Locked => project_named("default"),
        };
        if let Some(base) = id.without_tag() {
            addresses
                .entry(base)
                .or_insert(Address::Reserved(Reservation {
                    owner,
                    owner_is_deleted: false,
                    has_live_tags: true,
                    last_sequence: 0,
                }));
        }
    }
}

/// The row of a shared address belongs to its project.
fn owned_by(state: Address, owner: ProjectId) -> Address {
    match state {
        Address::Live(inbox) => Address::Live(Inbox { owner, ..inbox }),
        Address::Reserved(reservation) => Address::Reserved(Reservation {
            owner,
            ..reservation
        }),
        Address::Locked => Address::Locked,
    }
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let paths =
        select(&["", "app@client.example", "a b@client.example"][..]).prop_map(str::to_owned);
    let client = (option::of(projects()), paths);
    let client = client.prop_map(|(project, reverse_path)| Source::Client {
        project,
        reverse_path,
    });
    let leases = select(&[None, Some(HELD), Some(LOST)][..]);
    let service =
        (projects(), leases).prop_map(|(project, lease)| Source::Service { project, lease });
    let sources = prop_oneof![4 => client, 1 => service];
    vec((vec(recipients(), 1..4), sources), 1..8).prop_map(|mails| {
        mails
            .into_iter()
            .map(|(recipients, source)| Request { recipients, source })
            .collect()
    })
}

fn decided(world: &Model, requests: &[Request]) -> Decision {
    let mut ids = (1..).map(Uuid::from_u128);
    let mut inboxes = (1..).map(|number| id(&format!("{NEW}{number}")));
    let new_ids = NewIds {
        uuid: &mut || ids.next().unwrap(),
        inbox: &mut || inboxes.next().unwrap(),
    };
    decide(&world.facts(requests), requests, new_ids)
}

/// Whether mail has opened this inbox with a shared address.
fn is_new(inbox: &InboxId) -> bool {
    inbox.as_str().starts_with(NEW)
}

fn is_from_a_client(request: &Request) -> bool {
    matches!(request.source, Source::Client { .. })
}

/// Whether no other live inbox has the address.
fn is_only_one(
    world: &Model,
    shared: &SharedInboxes,
    address: &SharedAddress,
    inbox: &InboxId,
) -> bool {
    let others = world.addresses.iter().filter(|(id, _)| *id != inbox);
    let mut live = others.filter(|(_, state)| matches!(state, Address::Live(_)));
    !live.any(|(id, _)| shared.holder(id).is_some_and(|(other, _)| other == address))
}

proptest! {
    /// Invariant 1: a reply 250 promises what is written, and nothing else is written.
    #[test]
    fn a_verdict_promises_what_is_written(world in worlds(), requests in requests()) {
        let decision = decided(&world, &requests);
        prop_assert_eq!(decision.verdicts.len(), requests.len());
        let numbered = decision.verdicts.iter().enumerate();
        let promised: Vec<_> = numbered
            .flat_map(|(request, verdict)| verdict.messages().map(move |(id, place)| (request, id.clone(), place)))
            .collect();
        let written: Vec<_> =
            decision.writes.messages.iter().map(|it| (it.request, it.inbox.clone(), it.place)).collect();
        prop_assert_eq!(promised, written);
        for verdict in &decision.verdicts {
            // Each inbox of an accepted message has a fate.
            if let Verdict::Accepted { copies, .. } = verdict {
                prop_assert!(!copies.is_empty());
            }
        }
    }

    /// Invariant 3: the messages of an inbox continue its sequence without a gap, and it is never
    /// overfull.
    #[test]
    fn sequences_continue_without_a_gap(world in worlds(), requests in requests()) {
        let decision = decided(&world, &requests);
        let mut last: BTreeMap<&InboxId, i64> = BTreeMap::new();
        for message in &decision.writes.messages {
            let before = match world.addresses.get(&message.inbox) {
                Some(Address::Live(inbox)) => inbox.last_sequence,
                Some(Address::Reserved(reserved)) => reserved.last_sequence,
                Some(Address::Locked) | None => 0,
            };
            let last = last.entry(&message.inbox).or_insert(before);
            *last += 1;
            prop_assert_eq!(message.place.sequence, *last);
        }
        let mut after = world.clone();
        after.apply(&decision);
        for address in after.addresses.values() {
            prop_assert!(!matches!(address, Address::Live(inbox) if inbox.messages > CAPACITY));
        }
    }

    /// Invariant 4: an address changes its project only by mail with a key of the new one. An
    /// address with a tag belongs to the owner of the address without it. Nothing is opened for a
    /// project that was deleted.
    #[test]
    fn an_address_changes_owner_only_with_its_own_key(world in worlds(), requests in requests()) {
        let decision = decided(&world, &requests);
        let reserved = |id: &InboxId| match world.addresses.get(id) {
            Some(Address::Reserved(reserved)) => Some(*reserved),
            _ => None,
        };
        let is_sent_by = |id: &InboxId, owner: ProjectId| requests.iter().any(|request| {
            let is_own = matches!(request.source, Source::Client { project: Some(project), .. } if project == owner);
            is_own && request.recipients.contains(&Recipient::Inbox(id.clone()))
        });
        // Earlier mail of the batch to a tag reserves the address without it.
        let reserved_for = |id: &InboxId| {
            let mut openings = decision.writes.openings.iter();
            openings.find(|opening| opening.only_reserves && opening.inbox == *id).map(|opening| opening.owner)
        };
        let opened = |opening: &&Opening| opening.address.is_none() && !opening.only_reserves;
        for opening in decision.writes.openings.iter().filter(opened) {
            let id = &opening.inbox;
            let owner = opening.owner;
            prop_assert!(!matches!(world.addresses.get(id), Some(Address::Live(_) | Address::Locked)));
            let is_reserved = reserved(id).is_some() || reserved_for(id).is_some();
            prop_assert_eq!(opening.was_reserved, is_reserved);
            let base = id.without_tag();
            let in_batch = reserved_for(id).or_else(|| reserved_for(base.as_ref()?));
            let base = base.and_then(|base| reserved(&base));
            if let Some(first) = in_batch {
                prop_assert_eq!(first, owner);
            } else if let Some(base) = base {
                prop_assert!(base.owner == owner && !base.owner_is_deleted);
            } else if let Some(former) = reserved(id) {
                let is_kept = former.owner == owner && !former.owner_is_deleted;
                prop_assert!(is_kept || is_sent_by(id, owner));
            } else {
                prop_assert!(owner == world.policy.default_project || is_sent_by(id, owner));
            }
        }
        for message in &decision.writes.messages {
            if let Some(Address::Live(inbox)) = world.addresses.get(&message.inbox) {
                prop_assert_eq!(message.project, inbox.owner);
            }
        }
    }

    /// With a login, mail to a shared address reaches only inboxes of that project. Without one, it
    /// never reaches one of several live inboxes.
    #[test]
    fn no_mail_to_a_shared_address_crosses_projects(world in worlds(), requests in requests()) {
        let decision = decided(&world, &requests);
        let mut shared = world.shared.clone();
        for opening in &decision.writes.openings {
            if let Some(address) = &opening.address {
                shared.insert(address.clone(), opening.owner, opening.inbox.clone());
            }
        }
        for message in &decision.writes.messages {
            let Some((address, owner)) = shared.holder(&message.inbox) else { continue };
            prop_assert_eq!(message.project, *owner);
            let request = &requests[message.request];
            let is_meant = |recipient: &Recipient| {
                recipient.meant().any(|meant| meant.to_string() == address.as_str())
            };
            prop_assert!(request.recipients.iter().any(is_meant));
            match request.source.project() {
                Some(project) => prop_assert_eq!(project, *owner),
                None => prop_assert!(is_only_one(&world, &shared, address, &message.inbox)),
            }
        }
    }

    /// Invariant 5: mail of the service opens no inbox.
    #[test]
    fn only_mail_of_clients_opens_inboxes(world in worlds(), requests in requests()) {
        let decision = decided(&world, &requests);
        for opening in decision.writes.openings.iter().filter(|opening| !opening.only_reserves) {
            let is_wanted = |message: &&restante_delivery::NewMessage| message.inbox == opening.inbox;
            let first = decision.writes.messages.iter().find(is_wanted).unwrap();
            prop_assert!(is_from_a_client(&requests[first.request]));
        }
    }

    #[test]
    fn a_batch_is_decided_like_single_deliveries(world in worlds(), requests in requests()) {
        let mut together = world.clone();
        let mut alone = world;
        let verdicts = together.deliver_requests(&requests).verdicts;
        let one_by_one = requests.iter().flat_map(|request| {
            alone.deliver_requests(std::slice::from_ref(request)).verdicts
        });
        prop_assert_eq!(verdicts, one_by_one.collect::<Vec<_>>());
        prop_assert_eq!(together.addresses, alone.addresses);
        prop_assert_eq!(together.messages, alone.messages);
        prop_assert_eq!(together.uses, alone.uses);
    }

    /// What RCPT TO says holds for the message, unless a fault changes it.
    #[test]
    fn a_recipient_is_checked_as_it_is_decided(
        world in worlds(), recipient in recipients(), project in option::of(projects()),
    ) {
        let mut world = world;
        for address in world.addresses.values_mut() {
            if let Address::Live(inbox) = address {
                inbox.faults.clear();
            }
        }
        let source = Source::Client { project, reverse_path: String::new() };
        let request = [Request { recipients: vec![recipient.clone()], source }];
        let checked = check(&world.facts(&request), &recipient, project);
        let expected = match &decided(&world, &request).verdicts[0] {
            Verdict::Accepted { copies, .. } => Ok(Some(copies[0].inbox.clone()).filter(|inbox| !is_new(inbox))),
            Verdict::Refused(refusal) => Err(refusal.clone()),
            Verdict::Swallowed(_) | Verdict::Conflict(_) | Verdict::LeaseLost => Ok(None),
        };
        prop_assert_eq!(checked, expected);
    }

    #[test]
    fn an_inbox_causes_no_more_notifications_than_the_limit(world in worlds(), requests in requests()) {
        let decision = decided(&world, &requests);
        for (id, address) in &world.addresses {
            let caused = decision.writes.notifications.iter().filter(|(_, it)| it.inbox == *id).count();
            let left = if let Address::Live(inbox) = address { inbox.notifications_left } else { 0 };
            prop_assert!(caused <= left as usize);
        }
    }

    #[test]
    fn only_inboxes_that_the_caller_locks_are_changed(world in worlds(), requests in requests()) {
        let locked = world.facts(&requests).inboxes(&requests);
        let decision = decided(&world, &requests);
        let messages = decision.writes.messages.iter().map(|message| &message.inbox);
        let uses = decision.writes.uses.iter().map(|used| &used.inbox);
        for inbox in messages.chain(uses) {
            prop_assert!(locked.contains(inbox) || is_new(inbox), "{}", inbox);
        }
    }

    #[test]
    fn a_locked_address_is_not_changed(world in worlds(), requests in requests()) {
        let decision = decided(&world, &requests);
        let is_locked = |id: &InboxId| matches!(world.addresses.get(id), Some(Address::Locked));
        prop_assert!(!decision.writes.messages.iter().any(|message| is_locked(&message.inbox)));
        for verdict in &decision.verdicts {
            match verdict {
                Verdict::Conflict(Recipient::Inbox(inbox)) => prop_assert!(is_locked(inbox)),
                Verdict::Conflict(Recipient::Shared(address)) => {
                    let mut locked = world.addresses.keys().filter(|id| is_locked(id));
                    prop_assert!(locked.any(|id| world.shared.holder(id).is_some_and(|(it, _)| it == address)));
                }
                _ => {}
            }
        }
    }

    #[test]
    fn a_fault_is_used_the_configured_number_of_times_and_by_clients_only(world in worlds(), requests in requests()) {
        let decision = decided(&world, &requests);
        let mut after = world.clone();
        after.apply(&decision);
        for ((inbox, number), used) in &after.uses {
            let Some(Address::Live(live)) = world.addresses.get(inbox) else { continue };
            let fault = live.faults.iter().find(|fault| fault.number == *number).unwrap();
            prop_assert!(*used <= fault.left && fault.fault.at == FaultPoint::Data);
        }
        for (verdict, request) in decision.verdicts.iter().zip(&requests) {
            let is_faulty = matches!(verdict, Verdict::Swallowed(_) | Verdict::Accepted { reply: Some(_), .. });
            prop_assert!(!is_faulty || is_from_a_client(request));
        }
    }
}
