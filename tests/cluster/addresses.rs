//! Seeded users that two projects share, on two nodes.

use futures_util::future::join_all;
use restante::clock::Clock;
use restante::db::Database;
use restante::model::{ApiKey, EmailAddress};
use restante::service::{Caller, Incoming, ListFilter, Options, Service};

use testkit::postgres::TestDatabase;

const USERS: usize = 20;

async fn node(url: &str) -> Service {
    let database = Database::open(&url.parse().unwrap()).await.unwrap();
    let options = Options {
        accepted: "example.com".parse().unwrap(),
        ..testkit::options(1_000)
    };
    Service::start(database, Clock::system(), options)
        .await
        .unwrap()
}

/// Makes sure that there is an inbox, and sends a message to it with a login, both at the same
/// time.
async fn seed_and_send(node: &Service, caller: &Caller, address: &str, subject: String) {
    let incoming = Incoming {
        reverse_path: String::new(),
        recipients: vec![EmailAddress::parse(address).unwrap()],
        project: Some(caller.project),
        trace: String::new(),
        reception: None,
        raw: format!("Subject: {subject}\r\n\r\nHello\r\n").into_bytes(),
    };
    let (ensured, delivered) = tokio::join!(
        node.ensure_inbox(caller, address, None),
        node.deliver(incoming)
    );
    ensured.unwrap();
    assert_eq!(delivered.unwrap().len(), 1);
}

async fn subjects(node: &Service, caller: &Caller, address: &str) -> Vec<String> {
    let inbox = node.inbox_by_address(caller, address).await.unwrap();
    let mut pages = node.list(&inbox, &ListFilter::default()).await.unwrap();
    let mut subjects = Vec::new();
    while let Some(page) = pages.next_page().await.unwrap() {
        subjects.extend(page.into_iter().map(|message| message.head.subject));
    }
    subjects.sort();
    subjects
}

#[tokio::test(flavor = "multi_thread")]
async fn no_mail_of_seeded_users_crosses_projects() {
    let database = TestDatabase::create();
    let nodes = [node(&database.text()).await, node(&database.text()).await];
    let key = ApiKey::generate();
    nodes[0]
        .projects()
        .prepare_default(Some(&key))
        .await
        .unwrap();
    let other_key = nodes[0].projects().create("other").await.unwrap();
    let mut callers = Vec::new();
    for key in [&key, &other_key] {
        callers.push(nodes[1].authenticate(key.as_str()).await.unwrap().unwrap());
    }
    let address = |user: usize| format!("user{user}@example.com");
    let work = (0..USERS).flat_map(|user| {
        let nodes = &nodes;
        let callers = &callers;
        (0..nodes.len()).flat_map(move |node| {
            callers
                .iter()
                .enumerate()
                .map(move |(project, caller)| async move {
                    seed_and_send(
                        &nodes[node],
                        caller,
                        &address(user),
                        format!("{project} {user} {node}"),
                    )
                    .await;
                })
        })
    });
    join_all(work).await;
    for (project, caller) in callers.iter().enumerate() {
        for user in 0..USERS {
            let expected = [0, 1].map(|node| format!("{project} {user} {node}"));
            assert_eq!(
                subjects(&nodes[user % 2], caller, &address(user)).await,
                expected
            );
        }
    }
}
