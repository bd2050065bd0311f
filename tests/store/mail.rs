//! All mail of a project: the list, and the search in it.

use restante::db::Database;
use restante::model::{Condition, Domain, Features, MailPart, MailQuery, Scope, Timestamp};
use restante::store::{Delivery, Search};

use super::bed::{Bed, HOUR, START, by, content, delivery, id};

/// The subjects of a page, and where the list continues.
async fn page(
    bed: &Bed,
    query: MailQuery,
    limit: usize,
    now: Timestamp,
) -> (Vec<String>, Option<i64>) {
    let mut search = Search::newest_first(query);
    let page = bed
        .store
        .page(&mut search, (limit, usize::MAX), None, now)
        .await
        .unwrap();
    let subjects = page.into_iter().map(|message| message.head.subject);
    (subjects.collect(), search.position())
}

async fn found(bed: &Bed, query: MailQuery) -> Vec<String> {
    page(bed, query, 100, START).await.0
}

fn all(bed: &Bed) -> MailQuery {
    MailQuery::new(Scope::Project(bed.default_project))
}

fn containing(bed: &Bed, text: &str) -> MailQuery {
    MailQuery::containing(Scope::Project(bed.default_project), text, &domain())
}

fn with(bed: &Bed, part: MailPart, text: &str) -> MailQuery {
    MailQuery {
        conditions: vec![Condition::searched([part], text)],
        ..all(bed)
    }
}

fn domain() -> Domain {
    Domain::parse("restante.example.com").unwrap()
}

fn raw(recipient: &str, raw: &str) -> Delivery {
    Delivery {
        content: content(raw.as_bytes()),
        ..delivery(&[recipient], "")
    }
}

#[testkit::each_engine]
async fn all_mail_of_a_project_is_listed_page_by_page(bed: Bed) {
    let other = bed.project("other").await;
    bed.inbox(other, "theirs").await;
    for (recipient, subject) in [
        ("a", "1"),
        ("b", "2"),
        ("theirs", "not mine"),
        ("a", "3"),
        ("c", "4"),
    ] {
        bed.mail(&[recipient], subject, START).await;
    }
    let (first, next) = page(&bed, all(&bed), 3, START).await;
    assert_eq!(first, ["4", "3", "2"]);
    let (second, end) = page(
        &bed,
        MailQuery {
            before: next,
            ..all(&bed)
        },
        3,
        START,
    )
    .await;
    assert_eq!((second, end), (vec!["1".to_owned()], None));
    assert_eq!(
        page(&bed, all(&bed), 4, START).await.1,
        None,
        "exactly one page"
    );
}

#[testkit::each_engine]
async fn mail_is_searched_by_address_sender_subject_and_text(bed: Bed) {
    let attached = "From: Ann <ann@shop.example>\r\nSubject: Order\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\
        --b\r\n\r\nPears and Äpfel\r\n--b\r\nContent-Type: application/pdf\r\n\
        Content-Disposition: attachment\r\n\r\nx\r\n--b--\r\n";
    bed.store(&[raw("one", attached)], START).await;
    bed.store(
        &[raw(
            "two",
            "From: bob@b.example\r\nSubject: Sign in\r\n\r\nYour code is 482913.\r\n",
        )],
        START,
    )
    .await;
    for (wanted, subjects) in [
        ("ELSE.example", &["Sign in", "Order"][..]),
        ("äPFEL", &["Order"]),
        ("sign IN", &["Sign in"]),
        ("two", &["Sign in"]),
        ("482913", &["Sign in"]),
        ("r", &["Sign in", "Order"]),
        ("nothing", &[]),
    ] {
        assert_eq!(
            found(&bed, containing(&bed, wanted)).await,
            subjects,
            "{wanted}"
        );
    }
    let code = Features {
        code: true,
        ..Features::default()
    };
    assert_eq!(
        found(
            &bed,
            MailQuery {
                has: code,
                ..all(&bed)
            }
        )
        .await,
        ["Sign in"]
    );
    assert_eq!(
        found(
            &bed,
            MailQuery {
                has_attachment: Some(true),
                ..all(&bed)
            }
        )
        .await,
        ["Order"]
    );
    let since = MailQuery {
        since: Some(START.after(HOUR / 4)),
        ..all(&bed)
    };
    assert_eq!(found(&bed, since.clone()).await, [""; 0]);
    bed.mail(&["two"], "Late", START.after(HOUR / 4)).await;
    assert_eq!(found(&bed, since).await, ["Late"]);
}

#[testkit::each_engine]
async fn mail_that_has_gone_is_not_listed(bed: Bed) {
    let ids = bed.mail(&["one"], "Deleted", START).await;
    bed.mail(&["two"], "Ended", START).await;
    bed.mail(&["three"], "Kept", START.after(HOUR / 2)).await;
    assert!(
        bed.store
            .delete_message(bed.default_project, ids[0], START)
            .await
            .unwrap()
    );
    let inbox = bed.live("two", START).await.unwrap();
    assert!(bed.store.end_inbox(&inbox, START).await.unwrap());
    assert_eq!(
        page(&bed, all(&bed), 10, START.after(HOUR / 2)).await,
        (vec!["Kept".to_owned()], None)
    );
    assert_eq!(
        page(&bed, all(&bed), 10, START.after(2 * HOUR)).await.0,
        [""; 0]
    );
    // The address belongs to another project now, and its mail with it.
    let other = bed.project("other").await;
    let theirs = by(other, delivery(&["two"], "Theirs"));
    bed.store(&[theirs], START.after(HOUR / 2)).await;
    let listed = page(&bed, all(&bed), 10, START.after(HOUR / 2)).await.0;
    assert_eq!(listed, ["Kept"]);
    assert_eq!(
        bed.live("two", START.after(HOUR / 2)).await.unwrap().id,
        id("two")
    );
}

#[testkit::each_engine]
async fn a_whole_address_finds_its_own_mail_only(bed: Bed) {
    for (recipient, subject) in [("u5", "Own"), ("u59", "Longer"), ("xu5", "Shorter")] {
        bed.mail(&[recipient], subject, START).await;
    }
    bed.store(
        &[raw(
            "else",
            "Subject: Mentions\r\n\r\nWrite to u5@restante.example.com\r\n",
        )],
        START,
    )
    .await;
    for (wanted, subjects) in [
        ("U5@restante.example.com", &["Mentions", "Own"][..]),
        ("u5@", &["Mentions", "Own"]),
        ("u5", &["Mentions", "Shorter", "Longer", "Own"]),
        ("u5@other.example", &[]),
    ] {
        assert_eq!(
            found(&bed, containing(&bed, wanted)).await,
            subjects,
            "{wanted}"
        );
    }
    assert_eq!(
        found(
            &bed,
            with(&bed, MailPart::Inbox(domain()), "u5@restante.example.com")
        )
        .await,
        ["Own"]
    );
    assert_eq!(
        found(&bed, with(&bed, MailPart::Text, "u5@")).await,
        ["Mentions"]
    );
    assert_eq!(
        found(&bed, with(&bed, MailPart::Subject, "own")).await,
        ["Own"]
    );
    assert_eq!(
        found(&bed, with(&bed, MailPart::Sender, "own")).await,
        [""; 0]
    );
    assert_eq!(
        found(&bed, with(&bed, MailPart::Sender, "sender@")).await,
        ["Mentions", "Shorter", "Longer", "Own"]
    );
}

#[testkit::each_engine]
async fn the_start_of_a_large_text_is_searched_and_the_rest_is_counted(bed: Bed) {
    let long = |words: usize| {
        format!(
            "Subject: Long\r\n\r\nfirst {} last\r\n",
            "word ".repeat(words)
        )
    };
    bed.store(&[raw("one", &long(30_000))], START).await;
    bed.store(&[raw("two", &long(60_000))], START).await;
    for (wanted, count, partly) in [
        ("first", 2, 1),
        ("last", 1, 1),
        ("Long", 2, 0),
        ("missing", 0, 1),
    ] {
        let filter = containing(&bed, wanted);
        assert_eq!(
            whole_search(&bed, filter).await,
            (count, 2, partly),
            "{wanted}"
        );
    }
}

/// All steps of a search, of which each has a time limit: the messages found, compared, and
/// compared only in part.
async fn whole_search(bed: &Bed, query: MailQuery) -> (usize, usize, usize) {
    let mut search = Search::newest_first(query);
    let mut found = 0;
    while !search.is_over() {
        let now = Some(std::time::Instant::now());
        let page = bed
            .store
            .page(&mut search, (10, usize::MAX), now, START)
            .await;
        found += page.unwrap().len();
    }
    (found, search.compared, search.partly)
}

#[testkit::each_engine]
async fn mail_of_another_project_is_not_found(bed: Bed) {
    let other = bed.project("other").await;
    bed.inbox(other, "theirs").await;
    bed.mail(&["mine"], "Hello", START).await;
    bed.mail(&["theirs"], "Hello too", START).await;
    let theirs = MailQuery::containing(Scope::Project(other), "hello", &domain());
    assert_eq!(found(&bed, theirs).await, ["Hello too"]);
    assert_eq!(found(&bed, containing(&bed, "hello")).await, ["Hello"]);
    assert_eq!(bed.store.count_messages(other, START).await.unwrap(), 1);
    let until = MailQuery {
        until: Some(START),
        ..all(&bed)
    };
    assert_eq!(found(&bed, until).await, [""; 0]);
}

#[testkit::each_engine]
async fn large_subjects_are_read_a_few_at_a_time(bed: Bed) {
    const SUBJECT: usize = 75_000;
    let names = (0..20)
        .map(|number| format!("box{number}"))
        .collect::<Vec<_>>();
    let subject = "words".repeat(15_000);
    assert_eq!(
        bed.mail(
            &names.iter().map(String::as_str).collect::<Vec<_>>(),
            &subject,
            START
        )
        .await
        .len(),
        20
    );
    assert_eq!(
        whole_search(&bed, with(&bed, MailPart::Subject, "dswo"))
            .await
            .0,
        20
    );
    assert_eq!(
        whole_search(&bed, with(&bed, MailPart::Subject, "missing")).await,
        (0, 20, 0)
    );
    assert_eq!(whole_search(&bed, all(&bed)).await.0, 20);

    let database = Database::open(&bed.url()).await.unwrap();
    for (max_bytes, read, more) in [
        (1, 1, true),
        (2 * SUBJECT, 2, true),
        (2 * SUBJECT + 1, 3, true),
        (usize::MAX, 20, false),
    ] {
        let (rows, has_more) = database
            .first_rows("SELECT subject FROM messages", Vec::new(), max_bytes)
            .await
            .unwrap();
        assert_eq!((rows.len(), has_more), (read, more), "{max_bytes}");
    }
}
