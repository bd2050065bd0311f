//! Plays the cases of `tools/deliveries` through the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use restante::db::{Row, Value};
use restante::model::{
    EmailAddress, Inbox, InboxId, OutgoingId, OutgoingStatus, ProjectId, WorkerId,
};
use restante::service::write;
use restante::store::{Delivery, NewOutgoing, OutgoingChange, Policy};
use restante_deliveries::{
    Case, DEFAULT, GivenInbox, GivenState, Mail, MailFrom, Ownership, World, shared_name, shown,
};
use restante_delivery::Source;

use super::bed::{Bed, START, delivery, id, own};
use super::outgoing::{claim, queue, settlement};

#[testkit::each_engine]
async fn every_case_holds(bed: Bed) {
    let mut problems = Vec::new();
    for case in Case::all().iter().filter(|case| case.is_for_databases()) {
        let mut world = Database::of(&bed, case).await;
        problems.extend(case.play(&mut world).await.err());
        world.clear().await;
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// A store in which one case at a time is played.
struct Database<'a> {
    bed: &'a Bed,
    policy: Policy,
    projects: BTreeMap<String, ProjectId>,
    lease_lost: bool,
}

impl<'a> Database<'a> {
    async fn of(bed: &'a Bed, case: &Case) -> Self {
        let policy = Policy {
            inbox_messages: case.givens.capacity,
            ..bed.policy(START)
        };
        let projects = BTreeMap::from([(DEFAULT.to_owned(), bed.default_project)]);
        let mut database = Self {
            bed,
            policy,
            projects,
            lease_lost: case.givens.lease_lost,
        };
        for given in &case.givens.inboxes {
            database.create(given).await;
        }
        for project in &case.givens.deleted_projects {
            database.project(project).await;
            assert!(bed.store.delete_project(project, START).await.unwrap());
        }
        database
    }

    async fn create(&mut self, given: &GivenInbox) {
        let project = self.project(&given.project).await;
        let (inbox, address) = match shared_name(&given.name) {
            Some((address, _)) => (self.bed.shared(project, address).await, address),
            None => (
                self.bed.inbox(project, &given.name).await,
                given.name.as_str(),
            ),
        };
        let message = own(project, None, delivery(&[address], "given"));
        let messages = vec![message; usize::try_from(given.messages).unwrap()];
        if !messages.is_empty() {
            write(&self.bed.store, &Arc::new(messages), || self.policy.clone())
                .await
                .unwrap();
        }
        assert!(
            given.faults.is_empty()
                || self
                    .bed
                    .store
                    .set_faults(&inbox, &given.faults, START)
                    .await
                    .unwrap()
                    .is_some()
        );
        if given.state == GivenState::Ended {
            self.end_inbox(&inbox).await;
        }
    }

    async fn end_inbox(&self, inbox: &Inbox) {
        assert!(self.bed.store.end_inbox(inbox, START).await.unwrap());
    }

    /// The project with this name, which is created if it does not exist.
    async fn project(&mut self, name: &str) -> ProjectId {
        if let Some(project) = self.projects.get(name) {
            return *project;
        }
        let project = self.bed.project(name).await;
        self.projects.insert(name.to_owned(), project);
        project
    }

    async fn delivery(&mut self, mail: &Mail) -> Delivery {
        let recipients: Vec<&str> = mail.recipients.iter().map(String::as_str).collect();
        let plain = delivery(&recipients, "mail");
        match &mail.from {
            MailFrom::Client {
                project,
                reverse_path,
            } => {
                let mut delivery = plain;
                let project = match project {
                    Some(name) => Some(self.project(name).await),
                    None => None,
                };
                delivery.request.source = Source::Client {
                    project,
                    reverse_path: reverse_path.clone(),
                };
                delivery
            }
            MailFrom::Service {
                report: false,
                project,
            } => {
                let to = EmailAddress::parse("a@restante.example.com").unwrap();
                let item = OutgoingId::generate();
                let project = self.project(project).await;
                let sent = NewOutgoing::new(
                    item,
                    project,
                    id("sender"),
                    to.to_string(),
                    String::new(),
                    String::new(),
                );
                Delivery {
                    outgoing: Some(OutgoingChange::Add(sent)),
                    ..own(project, None, plain)
                }
            }
            MailFrom::Service {
                report: true,
                project,
            } => {
                let project = self.project(project).await;
                let worker = WorkerId::generate();
                let item = queue(self.bed, "a@b.example").await;
                claim(&self.bed.store, worker, item, START).await;
                let attempt = if self.lease_lost { 2 } else { 1 };
                let settled = settlement(item, worker, attempt, OutgoingStatus::Failed);
                Delivery {
                    outgoing: Some(OutgoingChange::Settle(settled)),
                    ..own(project, Some(item), plain)
                }
            }
        }
    }

    /// The names of the inboxes with shared addresses, by id.
    async fn names(&self) -> BTreeMap<String, String> {
        const SHARED: &str = "SELECT id, address, project_id FROM inboxes WHERE address <> $1";
        let rows = self.query(SHARED, "").await.into_iter().map(|mut row| {
            let id: String = row.get().unwrap();
            let address: String = row.get().unwrap();
            (
                id,
                format!("{address}/{}", self.name_of(row.get().unwrap())),
            )
        });
        rows.collect()
    }

    /// The id of the inbox with this name; the name itself if there is none.
    async fn id(&self, name: &str) -> String {
        let names = self.names().await;
        names
            .into_iter()
            .find(|(_, known)| known == name)
            .map_or_else(|| name.to_owned(), |(id, _)| id)
    }

    fn name_of(&self, owner: ProjectId) -> String {
        self.projects
            .iter()
            .find(|(_, project)| **project == owner)
            .unwrap()
            .0
            .clone()
    }

    async fn query(&self, sql: &'static str, parameter: &str) -> Vec<Row> {
        let parameters = vec![Value::from(parameter)];
        self.bed
            .store
            .transact(async move |mut open| Ok(open.query(sql, parameters).await?))
            .await
            .unwrap()
    }

    /// Removes everything but the default project.
    async fn clear(self) {
        const ALL: &str = "
            DELETE FROM messages; DELETE FROM contents; DELETE FROM chunks; DELETE FROM fault_uses; DELETE FROM faults;
            DELETE FROM attempts; DELETE FROM outgoing; DELETE FROM inboxes; DELETE FROM api_keys;
            DELETE FROM projects WHERE is_default = 0;";
        let clear = async |mut open: restante::db::Transaction| {
            open.execute_script(ALL).await?;
            Ok(open.commit().await?)
        };
        self.bed.store.transact(clear).await.unwrap();
    }
}

impl World for Database<'_> {
    async fn deliver(&mut self, batch: &[Mail]) -> Vec<String> {
        let mut deliveries = Vec::new();
        for mail in batch {
            deliveries.push(self.delivery(mail).await);
        }
        let verdicts = write(&self.bed.store, &Arc::new(deliveries), || {
            self.policy.clone()
        })
        .await
        .unwrap();
        let names = self.names().await;
        let name = |inbox: &InboxId| {
            names
                .get(inbox.as_str())
                .cloned()
                .unwrap_or_else(|| inbox.to_string())
        };
        verdicts
            .iter()
            .map(|verdict| shown(verdict, &name))
            .collect()
    }

    async fn end(&mut self, inbox: &str) {
        let id = self.id(inbox).await;
        self.end_inbox(&self.bed.live(&id, START).await.unwrap())
            .await;
    }

    async fn messages(&mut self, inbox: &str) -> u64 {
        let subjects = self.bed.subjects(&self.id(inbox).await, START).await;
        subjects.len().try_into().unwrap()
    }

    async fn ownership(&mut self, address: &str) -> Ownership {
        let address = &self.id(address).await;
        let owner = self
            .query("SELECT project_id FROM inboxes WHERE id = $1", address)
            .await;
        let Some(mut row) = owner.into_iter().next() else {
            return Ownership::Free;
        };
        let owner = row.get().unwrap();
        let name = self.name_of(owner);
        if self.bed.live(address, START).await.is_some() {
            Ownership::Live(name)
        } else {
            Ownership::Reserved(name)
        }
    }

    async fn used(&mut self, inbox: &str) -> Vec<u32> {
        const USED: &str = "
            SELECT (SELECT COUNT(*) FROM fault_uses WHERE fault_number = faults.number) FROM faults
            WHERE inbox_number = (SELECT number FROM inboxes WHERE id = $1) ORDER BY position";
        let rows = self.query(USED, &self.id(inbox).await).await;
        rows.into_iter()
            .map(|mut row| row.get::<i64>().unwrap().try_into().unwrap())
            .collect()
    }

    async fn notifications(&mut self) -> usize {
        const QUEUED: &str = "SELECT 1 FROM outgoing WHERE is_report = 1 AND status = $1";
        self.query(QUEUED, "queued").await.len()
    }

    fn announced(&self) -> Option<Vec<String>> {
        None
    }
}
