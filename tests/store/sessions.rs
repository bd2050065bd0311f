//! Dashboard sessions, and the settings of an installation.

use bytes::Bytes;
use restante::model::{ApiKey, KeyHash};
use restante::store::Change;

use super::bed::{Bed, HOUR, START};

fn hash() -> KeyHash {
    ApiKey::generate().hash()
}

#[testkit::each_engine]
async fn a_session_lasts_until_its_time_or_until_it_is_closed(bed: Bed) {
    let first = hash();
    let second = hash();
    let credential = hash();
    for cookie in [&first, &second] {
        bed.store
            .open_session(cookie, &credential, START.after(HOUR))
            .await
            .unwrap();
    }
    let opened_with = async |cookie, now| bed.store.session_credential(cookie, now).await.unwrap();
    assert_eq!(opened_with(&first, START).await, Some(credential));
    assert_eq!(opened_with(&first, START.after(HOUR)).await, None);
    let unknown = hash();
    assert_eq!(opened_with(&unknown, START).await, None);
    let mut changes = bed.changes().await;
    bed.store.close_session(&first).await.unwrap();
    assert_eq!(changes.recv().await, Some(Change::Sessions));
    assert_eq!(opened_with(&first, START).await, None);
    assert_eq!(opened_with(&second, START).await, Some(credential));
}

#[testkit::each_engine]
async fn all_sessions_of_a_credential_are_closed_at_once(bed: Bed) {
    let mine = hash();
    let theirs = hash();
    let cookies = [hash(), hash(), hash()];
    for (cookie, credential) in cookies.iter().zip([&mine, &mine, &theirs]) {
        bed.store
            .open_session(cookie, credential, START.after(HOUR))
            .await
            .unwrap();
    }
    bed.store.close_sessions_of(&mine).await.unwrap();
    for (cookie, left) in cookies.iter().zip([None, None, Some(theirs)]) {
        assert_eq!(
            bed.store.session_credential(cookie, START).await.unwrap(),
            left
        );
    }
}

#[testkit::each_engine]
async fn sessions_that_are_over_are_swept(bed: Bed) {
    bed.store
        .open_session(&hash(), &hash(), START.after(HOUR))
        .await
        .unwrap();
    assert_eq!(bed.sweep(START).await, 0);
    assert_eq!(bed.sweep(START.after(HOUR)).await, 1);
    assert_eq!(bed.sweep(START.after(HOUR)).await, 0);
}

#[testkit::each_engine]
async fn a_setting_has_its_last_value(bed: Bed) {
    assert_eq!(bed.store.setting("a name").await.unwrap(), None);
    for value in [&b"one"[..], &b"\0\xff"[..]] {
        bed.store
            .set_setting("a name", Bytes::from_static(value))
            .await
            .unwrap();
        assert_eq!(
            bed.store.setting("a name").await.unwrap().as_deref(),
            Some(value)
        );
    }
    assert_eq!(bed.store.setting("another name").await.unwrap(), None);
}
