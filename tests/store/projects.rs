//! Projects and their keys.

use futures_util::future::join_all;
use restante::model::ApiKey;

use super::bed::{Bed, HOUR, START};

#[testkit::each_engine]
async fn names_are_unique_among_live_projects(bed: Bed) {
    let key = ApiKey::generate();
    let first = bed.store.create_project("shop", &key, START).await.unwrap();
    assert!(first.is_some());
    assert_eq!(
        bed.store
            .create_project("shop", &ApiKey::generate(), START)
            .await
            .unwrap(),
        None
    );
    assert!(bed.store.delete_project("shop", START).await.unwrap());
    let second = bed
        .store
        .create_project("shop", &ApiKey::generate(), START)
        .await
        .unwrap();
    assert!(second.is_some());
    assert_ne!(first, second);
    let names: Vec<String> = bed
        .store
        .projects(START)
        .await
        .unwrap()
        .into_iter()
        .map(|project| project.name)
        .collect();
    assert_eq!(names, ["default", "shop"]);
}

#[testkit::each_engine]
async fn a_key_works_until_it_is_replaced(bed: Bed) {
    let old = ApiKey::generate();
    let new = ApiKey::generate();
    let newest = ApiKey::generate();
    let project = bed
        .store
        .create_project("shop", &old, START)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        bed.store.project_of_key(&old.hash(), START).await.unwrap(),
        Some(project)
    );
    let end = START.after(HOUR);
    assert!(
        bed.store
            .replace_key(project, &new, end, START)
            .await
            .unwrap()
    );
    for (key, at, works) in [
        (&old, START, true),
        (&old, end, false),
        (&new, end, true),
        (&newest, end, false),
    ] {
        assert_eq!(
            bed.store
                .project_of_key(&key.hash(), at)
                .await
                .unwrap()
                .is_some(),
            works
        );
    }
    assert!(
        bed.store
            .replace_key(project, &newest, START, START)
            .await
            .unwrap()
    );
    for (key, works) in [(&old, false), (&new, false), (&newest, true)] {
        assert_eq!(
            bed.store
                .project_of_key(&key.hash(), START)
                .await
                .unwrap()
                .is_some(),
            works
        );
    }
    assert!(
        bed.store
            .replace_key(project, &old, START, START)
            .await
            .unwrap(),
        "its own former key may come back"
    );
    assert_eq!(
        bed.store.project_of_key(&old.hash(), end).await.unwrap(),
        Some(project)
    );
    let shown = bed.store.projects(START).await.unwrap().pop().unwrap();
    assert_eq!(shown.name, "shop");
}

#[testkit::each_engine]
async fn a_key_belongs_to_one_project(bed: Bed) {
    let key = ApiKey::generate();
    bed.store
        .create_project("one", &key, START)
        .await
        .unwrap()
        .unwrap();
    let other = bed.project("other").await;
    assert!(
        !bed.store
            .replace_key(other, &key, START, START)
            .await
            .unwrap()
    );
    assert_ne!(
        bed.store.project_of_key(&key.hash(), START).await.unwrap(),
        Some(other)
    );
}

#[testkit::each_engine]
async fn the_default_project_is_made_once(bed: Bed) {
    assert_eq!(
        bed.store.default_project("default", START).await.unwrap(),
        bed.default_project
    );
    let key = ApiKey::generate();
    assert!(
        bed.store
            .replace_key(bed.default_project, &key, START, START)
            .await
            .unwrap()
    );
    assert!(
        !bed.store
            .add_first_key(bed.default_project, &ApiKey::generate(), START)
            .await
            .unwrap()
    );
    let shown = bed.store.projects(START).await.unwrap();
    assert_eq!(
        (
            shown.len(),
            shown[0].is_default,
            shown[0].key_last_four.as_str()
        ),
        (1, true, key.last_four())
    );
}

#[testkit::each_engine]
async fn of_many_first_keys_one_is_taken(bed: Bed) {
    let keys: Vec<ApiKey> = (0..8).map(|_| ApiKey::generate()).collect();
    let added = join_all(
        keys.iter()
            .map(|key| bed.store.add_first_key(bed.default_project, key, START)),
    )
    .await;
    let added: Vec<bool> = added.into_iter().map(Result::unwrap).collect();
    assert_eq!(added.iter().filter(|added| **added).count(), 1);
    for (key, added) in keys.iter().zip(added) {
        let owner = bed.store.project_of_key(&key.hash(), START).await.unwrap();
        assert_eq!(owner, added.then_some(bed.default_project));
    }
}

#[testkit::each_engine]
async fn rotations_at_once_leave_one_key(bed: Bed) {
    let project = bed.project("shop").await;
    let keys: Vec<ApiKey> = (0..8).map(|_| ApiKey::generate()).collect();
    for replaced in join_all(
        keys.iter()
            .map(|key| bed.store.replace_key(project, key, START, START)),
    )
    .await
    {
        assert!(replaced.unwrap());
    }
    let owners = join_all(
        keys.iter()
            .map(|key| async { bed.store.project_of_key(&key.hash(), START).await.unwrap() }),
    );
    assert_eq!(owners.await.into_iter().flatten().count(), 1);
}

#[testkit::each_engine]
async fn a_deleted_project_is_gone_with_its_keys_and_inboxes(bed: Bed) {
    let key = ApiKey::generate();
    let project = bed
        .store
        .create_project("shop", &key, START)
        .await
        .unwrap()
        .unwrap();
    bed.inbox(project, "box").await;
    let mut changes = bed.changes().await;
    assert!(bed.store.delete_project("shop", START).await.unwrap());
    assert_eq!(
        changes.recv().await,
        Some(restante::store::Change::Inbox(super::bed::id("box")))
    );
    assert!(bed.live("box", START).await.is_none());
    assert_eq!(
        bed.store.project_of_key(&key.hash(), START).await.unwrap(),
        None
    );
    assert_eq!(bed.store.project_by_name("shop").await.unwrap(), None);
    assert!(!bed.store.delete_project("shop", START).await.unwrap());
    assert!(!bed.store.delete_project("default", START).await.unwrap());
}

#[testkit::each_engine]
async fn a_project_is_found_by_its_id_and_renamed_to_what_is_free(bed: Bed) {
    let project = bed.project("shop").await;
    assert!(!bed.store.rename_project(project, "default").await.unwrap());
    assert!(bed.store.rename_project(project, "store").await.unwrap());
    let found = bed.store.project(project, START).await.unwrap().unwrap();
    assert_eq!(
        (
            found.id,
            found.name.as_str(),
            found.is_default,
            found.inboxes
        ),
        (project, "store", false, 0)
    );
    bed.inbox(project, "box").await;
    assert_eq!(
        bed.store
            .project(project, START)
            .await
            .unwrap()
            .unwrap()
            .inboxes,
        1
    );
    assert_eq!(
        bed.store
            .project(project, START.after(HOUR))
            .await
            .unwrap()
            .unwrap()
            .inboxes,
        0
    );
    assert!(bed.store.delete_project("store", START).await.unwrap());
    assert_eq!(bed.store.project(project, START).await.unwrap(), None);
    assert!(!bed.store.rename_project(project, "again").await.unwrap());
}
