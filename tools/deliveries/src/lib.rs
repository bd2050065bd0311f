//! The rules of delivery as text files, and the player that compares a world with them.
//!
//! The README describes the format. A [`World`] is what the mail is delivered to: [`Model`] applies
//! the decisions in memory, and the tests of the store use a database.

#![allow(missing_docs, reason = "the README describes the cases")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod model;
mod parse;
mod show;

use restante_delivery::{Fault, InboxId, Recipient, SharedAddress};
use restante_mail::EmailAddress;

pub use model::{Model, project_named};
pub use show::shown;

/// The address and the project of an inbox with a shared address; `None` for another name.
pub fn shared_name(name: &str) -> Option<(&str, &str)> {
    name.split_once('/')
        .filter(|(address, _)| address.contains('@'))
}

/// A recipient as the cases write it: an inbox id, or a whole address.
pub fn recipient(text: &str) -> Recipient {
    match EmailAddress::parse(text) {
        Ok(address) => Recipient::Shared(SharedAddress::of(&address)),
        Err(_) => Recipient::Inbox(InboxId::parse(text).unwrap()),
    }
}

/// The project that owns what no other project owns.
pub const DEFAULT: &str = "default";
/// The sender of mail whose case names none.
pub const SENDER: &str = "app@client.example";

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// The file and the line at which it begins.
    pub place: String,
    pub name: String,
    pub givens: Givens,
    pub steps: Vec<Step>,
}

/// What there is before the first mail.
#[derive(Clone, Debug)]
pub struct Givens {
    pub capacity: u64,
    pub inboxes: Vec<GivenInbox>,
    /// The projects that are deleted after their inboxes were created.
    pub deleted_projects: Vec<String>,
    /// The mail worker has lost the leases of its reports.
    pub lease_lost: bool,
}

#[derive(Clone, Debug)]
pub struct GivenInbox {
    /// As the cases write it: `a`, or `ada@example.com/shop` for a shared address.
    pub name: String,
    pub project: String,
    pub messages: u64,
    pub state: GivenState,
    /// It has caused as many notifications as it may in this minute. Only [`Model`] can have such
    /// inboxes.
    pub is_exhausted: bool,
    pub faults: Vec<Fault>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenState {
    Live,
    Ended,
    /// Another transaction has locked it. Only [`Model`] can have such inboxes.
    Locked,
}

/// A step, with the number of its line.
#[derive(Clone, Debug)]
pub struct Step {
    pub line: usize,
    pub action: Action,
}

#[derive(Clone, Debug)]
pub enum Action {
    /// Mails that are delivered as one batch.
    Deliver(Vec<Mail>),
    /// The inbox is ended by its owner.
    End(String),
    /// The verdict on the next mail of the last batch.
    Expect(String),
    Check(Check),
}

#[derive(Clone, Debug)]
pub struct Mail {
    pub recipients: Vec<String>,
    pub from: MailFrom,
}

#[derive(Clone, Debug)]
pub enum MailFrom {
    Client {
        project: Option<String>,
        reverse_path: String,
    },
    /// Mail of the service, from or to an inbox of a project.
    Service { report: bool, project: String },
}

#[derive(Clone, Debug)]
pub enum Check {
    /// How many messages are in an inbox.
    Has(String, u64),
    /// The project of a live inbox.
    Belongs(String, String),
    /// There is no live inbox, but the address is reserved for a project.
    Reserved(String, String),
    /// There is no inbox, and the address is reserved for no project.
    Free(String),
    /// How often each fault of an inbox was used.
    Used(String, Vec<u32>),
    /// How many notifications are queued.
    Notifications(usize),
    /// The changes that the last batch announced. Only [`Model`] knows them.
    Announced(Vec<String>),
}

/// Who owns an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    Live(String),
    Reserved(String),
    Free,
}

/// What the mail of a case is delivered to.
#[allow(async_fn_in_trait, reason = "only tests implement it")]
pub trait World {
    /// Delivers a batch; returns each verdict as [`shown`].
    async fn deliver(&mut self, batch: &[Mail]) -> Vec<String>;
    async fn end(&mut self, inbox: &str);
    async fn messages(&mut self, inbox: &str) -> u64;
    async fn ownership(&mut self, address: &str) -> Ownership;
    async fn used(&mut self, inbox: &str) -> Vec<u32>;
    async fn notifications(&mut self) -> usize;
    /// The changes that the last batch announced; `None` if the world cannot know them.
    fn announced(&self) -> Option<Vec<String>>;
}

impl Case {
    /// All cases, by file.
    pub fn all() -> Vec<Self> {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        let files = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = files
            .filter(|path| path.extension().is_some_and(|it| it == "cases"))
            .collect();
        files.sort();
        files.iter().flat_map(|path| Self::read(path)).collect()
    }

    fn read(path: &std::path::Path) -> Vec<Self> {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).unwrap();
        parse::cases(&name, &text).unwrap_or_else(|problem| panic!("{name}:{problem}"))
    }

    /// Whether a database can play it: no other transaction has locked anything, and nothing
    /// happened before.
    pub fn is_for_databases(&self) -> bool {
        self.givens
            .inboxes
            .iter()
            .all(|inbox| inbox.state != GivenState::Locked && !inbox.is_exhausted)
    }

    /// Plays the case. The error is the first difference.
    pub async fn play(&self, world: &mut impl World) -> Result<(), String> {
        let mut verdicts = Vec::new().into_iter();
        for step in &self.steps {
            let played = match &step.action {
                Action::Deliver(batch) => {
                    let delivered = world.deliver(batch).await;
                    nothing_left(&mut std::mem::replace(&mut verdicts, delivered.into_iter()))
                }
                Action::End(inbox) => {
                    world.end(inbox).await;
                    Ok(())
                }
                Action::Expect(expected) => equal(&verdicts.next().unwrap_or_default(), expected),
                Action::Check(check) => compare(check, world).await,
            };
            played.map_err(|problem| {
                format!(
                    "{}, line {}: {}: {problem}",
                    self.place, step.line, self.name
                )
            })?;
        }
        nothing_left(&mut verdicts)
            .map_err(|problem| format!("{}: {}: {problem}", self.place, self.name))
    }
}

fn nothing_left(verdicts: &mut impl Iterator<Item = String>) -> Result<(), String> {
    verdicts.next().map_or(Ok(()), |verdict| {
        Err(format!("unexpected verdict: {verdict}"))
    })
}

async fn compare(check: &Check, world: &mut impl World) -> Result<(), String> {
    match check {
        Check::Has(inbox, count) => equal(&world.messages(inbox).await, count),
        Check::Belongs(inbox, project) => equal(
            &world.ownership(inbox).await,
            &Ownership::Live(project.clone()),
        ),
        Check::Reserved(inbox, project) => equal(
            &world.ownership(inbox).await,
            &Ownership::Reserved(project.clone()),
        ),
        Check::Free(address) => equal(&world.ownership(address).await, &Ownership::Free),
        Check::Used(inbox, used) => equal(&world.used(inbox).await, used),
        Check::Notifications(count) => equal(&world.notifications().await, count),
        Check::Announced(expected) => world
            .announced()
            .map_or(Ok(()), |announced| equal(&announced, expected)),
    }
}

fn equal<T: PartialEq + std::fmt::Debug>(found: &T, expected: &T) -> Result<(), String> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("got {found:?}, expected {expected:?}"))
    }
}
