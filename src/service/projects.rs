//! Projects and keys: authentication, and the administrator's use cases.
//!
//! A valid key is cached for two seconds, so that a busy caller does not cost a query per request.
//! A key that was rotated or deleted, even by another process, therefore stops working within that
//! time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::ProjectError;
use super::health::follow_database;
use crate::clock::{Clock, Instant};
use crate::db::Database;
use crate::model::{
    ApiKey, Holdings, InboxFilter, InboxSummary, KeyHash, Project, ProjectId, Timestamp, WorkingKey,
};
use crate::store::{Store, StoreError};

/// The name of the default project.
const DEFAULT_NAME: &str = "default";
/// How long a valid key is cached.
const REMEMBERED: Duration = Duration::from_secs(2);
const NAME_CHARACTERS: usize = 100;

/// The caller of the API, identified by the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The project whose inboxes and messages the caller may use.
    pub project: ProjectId,
    /// The key, because limits are per key.
    pub key: KeyHash,
}

impl Caller {
    /// All clients without a key, which Mailpit's API may admit.
    const ANYONE: KeyHash = KeyHash([0; 32]);

    /// A client without a key.
    pub(super) fn anyone(project: ProjectId) -> Self {
        let key = Self::ANYONE;
        Self { project, key }
    }

    pub(super) fn is_anyone(&self) -> bool {
        self.key == Self::ANYONE
    }
}

/// The projects and their keys. Commands also use them without a server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Projects {
    store: Store,
    pub(super) clock: Clock,
    remembered: Arc<Mutex<HashMap<KeyHash, Remembered>>>,
}

#[derive(Clone, Copy, Debug)]
struct Remembered {
    project: ProjectId,
    /// When the store has to be read again.
    recheck_at: Instant,
    /// When the overlap after a rotation ends, as stored and on the monotonic clock. The latter
    /// prevents a change of the wall clock from lengthening the overlap.
    end: Option<(Timestamp, Instant)>,
}

impl Remembered {
    fn has_ended(&self, now: Instant) -> bool {
        self.end.is_some_and(|(_, end)| end <= now)
    }
}

impl Projects {
    /// Migrates the database and creates the default project if there is none.
    ///
    /// # Errors
    /// If the database fails or its schema is newer than this program.
    pub async fn open(database: Database, clock: Clock) -> Result<Self, StoreError> {
        let store = Store::open(database).await?;
        follow_database(&store, &clock).await?;
        let projects = Self {
            store,
            clock,
            remembered: Arc::default(),
        };
        projects.default_project().await?;
        Ok(projects)
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(super) async fn default_project(&self) -> Result<ProjectId, StoreError> {
        self.store
            .default_project(DEFAULT_NAME, self.clock.now())
            .await
    }

    /// Creates a project and its first key. The key is not stored, so it cannot be read again.
    ///
    /// # Errors
    /// [`ProjectError::InvalidName`], [`ProjectError::Exists`].
    pub async fn create(&self, name: &str) -> Result<ApiKey, ProjectError> {
        check_name(name)?;
        let key = ApiKey::generate();
        let made = self
            .store
            .create_project(name, &key, self.clock.now())
            .await?;
        made.map(|_| key)
            .ok_or_else(|| ProjectError::Exists(name.to_owned()))
    }

    /// All projects, oldest first.
    pub async fn list(&self) -> Result<Vec<Project>, ProjectError> {
        Ok(self.store.projects(self.clock.now()).await?)
    }

    /// The live inboxes of a project, or of the default project, newest first.
    ///
    /// # Errors
    /// [`ProjectError::NotFound`].
    pub async fn inboxes(&self, name: Option<&str>) -> Result<Vec<InboxSummary>, ProjectError> {
        let project = match name {
            None => self.default_project().await?,
            Some(name) => {
                let found = self.store.project_by_name(name).await?;
                found.ok_or_else(|| ProjectError::NotFound(name.to_owned()))?
            }
        };
        Ok(self
            .store
            .list_inboxes(project, &InboxFilter::default(), i64::MAX, self.clock.now())
            .await?)
    }

    /// Creates a new key for a project. Its other keys end after `overlap`.
    ///
    /// # Errors
    /// [`ProjectError::NotFound`].
    pub async fn rotate_key(&self, name: &str, overlap: Duration) -> Result<ApiKey, ProjectError> {
        let project = self.store.project_by_name(name).await?;
        let project = project.ok_or_else(|| ProjectError::NotFound(name.to_owned()))?;
        let key = ApiKey::generate();
        self.replace_key(project, &key, overlap).await?;
        Ok(key)
    }

    /// Deletes a project with its keys, inboxes and messages. Its addresses remain reserved: late
    /// mail for them is rejected.
    ///
    /// # Errors
    /// [`ProjectError::NotFound`], [`ProjectError::Default`].
    pub async fn delete(&self, name: &str) -> Result<(), ProjectError> {
        let deleted = self.store.delete_project(name, self.clock.now()).await?;
        self.recheck_all();
        if deleted {
            return Ok(());
        }
        let exists = self.store.project_by_name(name).await?.is_some();
        Err(if exists {
            ProjectError::Default
        } else {
            ProjectError::NotFound(name.to_owned())
        })
    }

    /// Ensures that the default project has a key. If `chosen` is given, it becomes the only key.
    /// Otherwise, if there is no key, one is generated and returned; it cannot be read again.
    ///
    /// # Errors
    /// [`ProjectError::KeyTaken`].
    pub async fn prepare_default(
        &self,
        chosen: Option<&ApiKey>,
    ) -> Result<Option<ApiKey>, ProjectError> {
        let project = self.default_project().await?;
        if let Some(key) = chosen {
            self.replace_key(project, key, Duration::ZERO).await?;
            return Ok(None);
        }
        let key = ApiKey::generate();
        let first = self
            .store
            .add_first_key(project, &key, self.clock.now())
            .await?;
        Ok(first.then_some(key))
    }

    pub(super) async fn authenticate(&self, key: &str) -> Result<Option<Caller>, StoreError> {
        let Ok(key) = key.parse::<ApiKey>() else {
            return Ok(None);
        };
        let key = key.hash();
        Ok(self.working_key(&key).await?.map(|found| Caller {
            project: found.project,
            key,
        }))
    }

    /// Whether the key is still valid.
    pub(super) async fn works(&self, key: &KeyHash) -> Result<bool, StoreError> {
        Ok(self.working_key(key).await?.is_some())
    }

    async fn working_key(&self, key: &KeyHash) -> Result<Option<Remembered>, StoreError> {
        let now = self.clock.instant();
        let known = self.remembered().get(key).copied();
        let found = match known.filter(|known| now < known.recheck_at) {
            Some(known) => Some(known),
            None => self.look_up_key(key, known).await?,
        };
        Ok(found.filter(|found| !found.has_ended(now)))
    }

    async fn look_up_key(
        &self,
        key: &KeyHash,
        known: Option<Remembered>,
    ) -> Result<Option<Remembered>, StoreError> {
        let Some((project, expires_at)) = self.store.working_key(key, self.clock.now()).await?
        else {
            self.remembered().remove(key);
            return Ok(None);
        };
        let known_end = known.and_then(|known| known.end);
        let end = expires_at.map(|expires_at| {
            let end = self.clock.instant_of(expires_at);
            let known = known_end.filter(|(stored, _)| *stored == expires_at);
            (expires_at, known.map_or(end, |(_, known)| known.min(end)))
        });
        let found = Remembered {
            project,
            recheck_at: self.clock.instant().after(REMEMBERED),
            end,
        };
        self.remembered().insert(*key, found);
        Ok(Some(found))
    }

    /// Forces every key to be read from the store at its next use.
    fn recheck_all(&self) {
        self.remembered()
            .values_mut()
            .for_each(|known| known.recheck_at = Instant::default());
    }

    async fn replace_key(
        &self,
        project: ProjectId,
        key: &ApiKey,
        overlap: Duration,
    ) -> Result<(), ProjectError> {
        let now = self.clock.now();
        // With timestamp zero, an expired key remains expired even if the wall clock is set back.
        let others_end = if overlap.is_zero() {
            Timestamp::from_millis(0)
        } else {
            now.after(overlap)
        };
        let replaced = self
            .store
            .replace_key(project, key, others_end, now)
            .await?;
        self.recheck_all();
        if replaced {
            Ok(())
        } else {
            Err(ProjectError::KeyTaken)
        }
    }

    fn remembered(&self) -> MutexGuard<'_, HashMap<KeyHash, Remembered>> {
        // The mutex is not poisoned: no code panics while it is locked, and the map would remain
        // valid.
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The live project `id`.
    pub async fn find(&self, id: ProjectId) -> Result<Option<Project>, ProjectError> {
        Ok(self.store().project(id, self.clock.now()).await?)
    }

    /// The keys of a project that work, newest first.
    pub async fn keys(&self, project: ProjectId) -> Result<Vec<WorkingKey>, ProjectError> {
        Ok(self.store().keys(project, self.clock.now()).await?)
    }

    /// The live messages of a project, or of each that has any.
    pub async fn holdings(
        &self,
        project: Option<ProjectId>,
    ) -> Result<HashMap<ProjectId, Holdings>, ProjectError> {
        Ok(self.store().holdings(project, self.clock.now()).await?)
    }

    /// Renames a project.
    ///
    /// # Errors
    /// [`ProjectError::InvalidName`], [`ProjectError::Exists`].
    pub async fn rename(&self, project: &Project, name: &str) -> Result<(), ProjectError> {
        check_name(name)?;
        if name == project.name || self.store().rename_project(project.id, name).await? {
            return Ok(());
        }
        Err(ProjectError::Exists(name.to_owned()))
    }
}

fn check_name(name: &str) -> Result<(), ProjectError> {
    let length_ok = (1..=NAME_CHARACTERS).contains(&name.chars().count());
    if !length_ok || name.chars().any(char::is_control) || name.trim() != name {
        return Err(ProjectError::InvalidName);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DatabaseUrl;

    #[tokio::test]
    async fn a_key_that_another_process_rotated_stops_when_the_clock_is_set_back() {
        let directory = tempfile::tempdir().unwrap();
        let url = DatabaseUrl::Sqlite(directory.path().join("test.db"));
        let start = Timestamp::from_millis(1_795_167_000_000);
        let clock = Clock::manual(start);
        let open = async || {
            Projects::open(Database::open(&url).await.unwrap(), clock.clone())
                .await
                .unwrap()
        };
        let here = open().await;
        let elsewhere = open().await;
        let key = here.create("shop").await.unwrap();
        let works = async || here.authenticate(key.as_str()).await.unwrap().is_some();
        assert!(works().await);
        elsewhere.rotate_key("shop", Duration::ZERO).await.unwrap();
        clock.set_wall(start.before(Duration::from_secs(3600)));
        clock.advance(REMEMBERED);
        assert!(!works().await);
    }
}
