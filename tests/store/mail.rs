//! All mail of a project: the list, and the search in it.

use restante::model::{MailFilter, Timestamp};
use restante::store::Delivery;

use super::bed::{Bed, HOUR, START, by, content, delivery, id};

/// The subjects of a page, and where the list continues.
async fn page(bed: &Bed, filter: MailFilter, limit: usize, now: Timestamp) -> (Vec<String>, Option<i64>) {
    let page = bed.store.mail(bed.default_project, &filter, limit, now).await.unwrap();
    (page.messages.into_iter().map(|message| message.subject).collect(), page.next)
}

async fn found(bed: &Bed, filter: MailFilter) -> Vec<String> {
    page(bed, filter, 100, START).await.0
}

fn raw(recipient: &str, raw: &str) -> Delivery {
    Delivery { content: content(raw.as_bytes()), ..delivery(&[recipient], "") }
}

#[testkit::each_engine]
async fn all_mail_of_a_project_is_listed_page_by_page(bed: Bed) {
    let other = bed.project("other").await;
    bed.inbox(other, "theirs").await;
    for (recipient, subject) in [("a", "1"), ("b", "2"), ("theirs", "not mine"), ("a", "3"), ("c", "4")] {
        bed.mail(&[recipient], subject, START).await;
    }
    let (first, next) = page(&bed, MailFilter::default(), 3, START).await;
    assert_eq!(first, ["4", "3", "2"]);
    let (second, end) = page(&bed, MailFilter { before: next, ..MailFilter::default() }, 3, START).await;
    assert_eq!((second, end), (vec!["1".to_owned()], None));
    assert_eq!(page(&bed, MailFilter::default(), 4, START).await.1, None, "exactly one page");
}

#[testkit::each_engine]
async fn mail_is_searched_by_address_sender_subject_and_text(bed: Bed) {
    let attached = "From: Ann <ann@shop.example>\r\nSubject: Order\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\
        --b\r\n\r\nPears and Äpfel\r\n--b\r\nContent-Type: application/pdf\r\n\
        Content-Disposition: attachment\r\n\r\nx\r\n--b--\r\n";
    bed.store(&[raw("one", attached)], START).await;
    bed.store(&[raw("two", "From: bob@b.example\r\nSubject: Sign in\r\n\r\nYour code is 482913.\r\n")], START).await;
    let text = |text: &str| MailFilter { text: text.to_owned(), ..MailFilter::default() };
    for (wanted, subjects) in [
        ("ELSE.example", &["Sign in", "Order"][..]),
        ("äPFEL", &["Order"]),
        ("sign IN", &["Sign in"]),
        ("two", &["Sign in"]),
        ("482913", &["Sign in"]),
        ("r", &["Sign in", "Order"]),
        ("nothing", &[]),
    ] {
        assert_eq!(found(&bed, text(wanted)).await, subjects, "{wanted}");
    }
    assert_eq!(found(&bed, MailFilter { has_code: true, ..MailFilter::default() }).await, ["Sign in"]);
    assert_eq!(found(&bed, MailFilter { has_attachment: true, ..MailFilter::default() }).await, ["Order"]);
    let since = MailFilter { since: Some(START.after(HOUR / 4)), ..MailFilter::default() };
    assert_eq!(found(&bed, since.clone()).await, [""; 0]);
    bed.mail(&["two"], "Late", START.after(HOUR / 4)).await;
    assert_eq!(found(&bed, since).await, ["Late"]);
}

#[testkit::each_engine]
async fn mail_that_has_gone_is_not_listed(bed: Bed) {
    let ids = bed.mail(&["one"], "Deleted", START).await;
    bed.mail(&["two"], "Ended", START).await;
    bed.mail(&["three"], "Kept", START.after(HOUR / 2)).await;
    assert!(bed.store.delete_message(bed.default_project, ids[0], START).await.unwrap());
    let inbox = bed.live("two", START).await.unwrap();
    assert!(bed.store.end_inbox(&inbox, START).await.unwrap());
    assert_eq!(page(&bed, MailFilter::default(), 10, START.after(HOUR / 2)).await, (vec!["Kept".to_owned()], None));
    assert_eq!(page(&bed, MailFilter::default(), 10, START.after(2 * HOUR)).await.0, [""; 0]);
    // The address belongs to another project now, and its mail with it.
    let other = bed.project("other").await;
    let theirs = by(other, delivery(&["two"], "Theirs"));
    bed.store(&[theirs], START.after(HOUR / 2)).await;
    let listed = page(&bed, MailFilter::default(), 10, START.after(HOUR / 2)).await.0;
    assert_eq!(listed, ["Kept"]);
    assert_eq!(bed.live("two", START.after(HOUR / 2)).await.unwrap().id, id("two"));
}
