//! Messages: reading, finding by cursor and subject, and listing in pages.

use std::sync::Arc;

use restante::model::{Condition, Inbox, MailPart, MailQuery, MessageId, Scope};
use restante::service::write;
use restante::store::{Delivery, PartsReader, Policy, Search};

use super::bed::{Bed, HOUR, START, content, delivery, id};

/// The messages of an inbox after a sequence whose subject contains a text.
fn of_inbox(inbox: &Inbox, after: i64, subject: Option<&str>) -> MailQuery {
    let condition = |text| Condition::new([MailPart::Subject], text);
    MailQuery {
        after,
        conditions: subject.map(condition).into_iter().collect(),
        ..MailQuery::new(Scope::Inbox(inbox.clone()))
    }
}

#[testkit::each_engine]
async fn a_message_is_read_as_it_was_stored(bed: Bed) {
    let raw = b"From: Sender <sender@else.example>\r\nSubject: Whole\r\n\r\nHello\0 \xff https://else.example/a 1\r\n";
    let whole = Delivery {
        content: content(raw),
        ..delivery(&["box"], "")
    };
    let outcome = bed.store(&[whole], START).await[0][0];
    let message = bed
        .message(bed.default_project, outcome, START)
        .await
        .unwrap()
        .unwrap();
    let parsed = restante_mail::parse(raw);
    assert_eq!(
        (
            message.head.id,
            message.head.inbox_id.clone(),
            message.head.sequence
        ),
        (outcome, id("box"), 1)
    );
    assert_eq!(
        (message.head.from.as_str(), message.head.subject.as_str()),
        ("sender@else.example", "Whole")
    );
    let mut parts = PartsReader::open(message.parts).await.unwrap().unwrap();
    assert_eq!(
        (parts.otp(), message.head.received_at),
        (parsed.otp.as_str(), START)
    );
    assert_eq!(
        parts.text(100).await.unwrap().unwrap(),
        parsed.text.as_bytes()
    );
    assert_eq!(
        (
            parts.text(100).await.unwrap(),
            parts.html(100).await.unwrap()
        ),
        (None, None)
    );
    assert_eq!(parts.link().await.unwrap().as_ref(), parsed.links.first());
    assert_eq!(bed.raw(bed.default_project, outcome).await.unwrap(), raw);
    let other = bed.project("other").await;
    assert_eq!(bed.raw(other, outcome).await, None);
    assert!(
        bed.store
            .find_message(other, outcome, START)
            .await
            .unwrap()
            .is_none()
    );
}

#[testkit::each_engine]
async fn a_cursor_belongs_to_its_inbox(bed: Bed) {
    let ids = bed.mail(&["a", "b"], "x", START).await;
    assert_eq!(
        bed.store.cursor(&id("a"), ids[0], START).await.unwrap(),
        Some(1)
    );
    assert_eq!(
        bed.store.cursor(&id("a"), ids[1], START).await.unwrap(),
        None
    );
    assert_eq!(
        bed.store
            .cursor(&id("a"), MessageId::generate(), START)
            .await
            .unwrap(),
        None
    );
}

#[testkit::each_engine]
async fn the_oldest_match_is_after_the_cursor(bed: Bed) {
    for subject in ["Welcome", "Your code", "Your new code"] {
        bed.mail(&["box"], subject, START).await;
    }
    let inbox = bed.live("box", START).await.unwrap();
    for (after, subject, expected) in [
        (0, None, Some("Welcome")),
        (1, None, Some("Your code")),
        (0, Some("CODE"), Some("Your code")),
        (2, Some("code"), Some("Your new code")),
        (3, None, None),
        (0, Some("else"), None),
    ] {
        let mut search = Search::oldest_first(of_inbox(&inbox, after, subject));
        let found = bed.store.oldest_match(&mut search, START).await.unwrap();
        assert_eq!(
            found.map(|message| message.head.subject).as_deref(),
            expected,
            "{after} {subject:?}"
        );
    }
    let other_life = Inbox {
        created_at: START.before(HOUR),
        ..inbox
    };
    let mut search = Search::oldest_first(of_inbox(&other_life, 0, None));
    assert!(
        bed.store
            .oldest_match(&mut search, START)
            .await
            .unwrap()
            .is_none()
    );
}

#[testkit::each_engine]
async fn a_search_compares_each_message_once(bed: Bed) {
    const MESSAGES: usize = 300;
    let policy = Policy {
        inbox_messages: 1_000,
        ..bed.policy(START)
    };
    let deliver = async |subjects: &[&str]| {
        let batch = subjects
            .iter()
            .map(|subject| delivery(&["box"], subject))
            .collect();
        write(&bed.store, &Arc::new(batch), || policy.clone())
            .await
            .unwrap();
    };
    deliver(&["other"; MESSAGES]).await;
    let inbox = bed.live("box", START).await.unwrap();
    let mut search = Search::oldest_first(of_inbox(&inbox, 0, Some("code")));
    for more in 0..3 {
        assert!(
            bed.store
                .oldest_match(&mut search, START)
                .await
                .unwrap()
                .is_none()
        );
        assert_eq!(search.compared, MESSAGES + more);
        deliver(&["other"]).await;
    }
    // Deleted messages, also the last one that was compared, change nothing for those that follow.
    bed.store.empty_inbox(&inbox, START).await.unwrap();
    bed.sweep(START.after(HOUR / 2)).await;
    assert!(
        bed.store
            .oldest_match(&mut search, START)
            .await
            .unwrap()
            .is_none()
    );
    deliver(&["other", "Your code", "Another code"]).await;
    let found = bed.store.oldest_match(&mut search, START).await.unwrap();
    assert_eq!(found.unwrap().head.subject, "Your code");
    // From the beginning it compares all again.
    search.restart();
    let again = bed.store.oldest_match(&mut search, START).await.unwrap();
    assert_eq!(again.unwrap().head.subject, "Your code");
}

#[testkit::each_engine]
async fn a_list_is_newest_first_and_read_in_bounded_pages(bed: Bed) {
    let ordinary = format!("Subject: ordinary\r\n\r\n{}\r\n", "word ".repeat(12_000));
    let large = format!("Subject: large\r\n\r\n{}\r\n", "word ".repeat(120_000));
    let delivery = |raw: &str| Delivery {
        content: content(raw.as_bytes()),
        ..delivery(&["box"], "")
    };
    let mut batch = vec![delivery(&ordinary); 20];
    batch.extend(vec![delivery(&large); 4]);
    let policy = Policy {
        inbox_messages: 100,
        ..bed.policy(START)
    };
    let stored = write(&bed.store, &Arc::new(batch), || policy.clone())
        .await
        .unwrap();
    assert!(
        stored.iter().all(|verdict| verdict.messages().count() == 1),
        "{stored:?}"
    );
    let inbox = bed.live("box", START).await.unwrap();
    let all = of_inbox(&inbox, 0, None);
    let mut search = Search::newest_first(all.clone());
    let mut pages = Vec::new();
    while !search.is_over() {
        let page = bed
            .store
            .page(&mut search, (64, 1024 * 1024), None, START)
            .await
            .unwrap();
        let sequences = page.iter().map(|message| message.head.sequence);
        pages.push(sequences.collect::<Vec<_>>());
    }
    let expected = [(4..=24).rev().collect::<Vec<_>>(), (1..=3).rev().collect()];
    assert_eq!(
        pages, expected,
        "60 KB an ordinary message, 1 MiB a page; large ones are read later"
    );
    let mut search = Search::newest_first(MailQuery {
        before: Some(3),
        ..all
    });
    let limited = bed.store.page(&mut search, (1, 0), None, START).await;
    let limited = limited.unwrap();
    assert_eq!(limited.len(), 1);
    assert_eq!(limited[0].head.sequence, 2);
}

#[testkit::each_engine]
async fn the_subject_filter_ignores_case_and_takes_wildcards_for_themselves(bed: Bed) {
    for subject in [
        "Spare 100% jetzt",
        "Spare 100 jetzt",
        "STRASSE_1",
        "back\\slash",
    ] {
        bed.mail(&["box"], subject, START).await;
    }
    let inbox = bed.live("box", START).await.unwrap();
    for (wanted, expected) in [
        ("100%", vec!["Spare 100% jetzt"]),
        ("spare", vec!["Spare 100% jetzt", "Spare 100 jetzt"]),
        ("straße_", vec!["STRASSE_1"]),
        ("K\\S", vec!["back\\slash"]),
        ("_", vec!["STRASSE_1"]),
    ] {
        let mut search = Search::newest_first(of_inbox(&inbox, 0, Some(wanted)));
        let page = bed
            .store
            .page(&mut search, (100, usize::MAX), None, START)
            .await
            .unwrap();
        let found: Vec<_> = page
            .iter()
            .rev()
            .map(|message| message.head.subject.as_str())
            .collect();
        assert_eq!(found, expected, "{wanted}");
    }
}
