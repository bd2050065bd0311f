//! Projects and keys: for the administrator, and for the question whose key this is.
//!
//! A key that works is remembered for two seconds, so that a busy caller costs no query; a key that was rotated or
//! deleted, even by another process, therefore stops within that time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::ProjectError;
use crate::clock::Clock;
use crate::db::Database;
use crate::model::{ApiKey, KeyHash, Project, ProjectId, Timestamp};
use crate::store::{Store, StoreError};

/// The name of the project that owns what nobody else does.
const DEFAULT_NAME: &str = "default";
/// How long a key is taken to work without asking again.
const REMEMBERED: Duration = Duration::from_secs(2);
const NAME_CHARACTERS: usize = 100;

/// Whoever calls, by their key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Whose inboxes and messages they see.
    pub project: ProjectId,
    /// Which key they hold: limits are per key.
    pub key: KeyHash,
}

/// The projects and their keys; also used by a command while no server runs, or beside one. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Projects {
    store: Store,
    pub(super) clock: Clock,
    remembered: Arc<Mutex<Remembered>>,
}

/// Keys that work, and until when to believe it.
type Remembered = HashMap<KeyHash, (ProjectId, Timestamp)>;

impl Projects {
    /// Brings the database up to date and makes the default project where there is none.
    ///
    /// # Errors
    /// Where the database fails or was made by a newer program.
    pub async fn open(database: Database, clock: Clock) -> Result<Self, StoreError> {
        let store = Store::open(database).await?;
        let projects = Self { store, clock, remembered: Arc::default() };
        projects.default_project().await?;
        Ok(projects)
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(super) async fn default_project(&self) -> Result<ProjectId, StoreError> {
        self.store.default_project(DEFAULT_NAME, self.clock.now()).await
    }

    /// Makes a project and its first key, which nobody can see again.
    ///
    /// # Errors
    /// [`ProjectError::InvalidName`], [`ProjectError::Exists`].
    pub async fn create(&self, name: &str) -> Result<ApiKey, ProjectError> {
        check_name(name)?;
        let key = ApiKey::generate();
        let made = self.store.create_project(name, &key, self.clock.now()).await?;
        made.map(|_| key).ok_or_else(|| ProjectError::Exists(name.to_owned()))
    }

    /// All projects, the oldest first.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn list(&self) -> Result<Vec<Project>, ProjectError> {
        Ok(self.store.projects(self.clock.now()).await?)
    }

    /// Gives a project a new key; its others end after `overlap`.
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

    /// Deletes a project with its keys, inboxes and messages. Its addresses stay reserved: late mail for them is refused
    /// and never reaches another project.
    ///
    /// # Errors
    /// [`ProjectError::NotFound`], [`ProjectError::Default`].
    pub async fn delete(&self, name: &str) -> Result<(), ProjectError> {
        let deleted = self.store.delete_project(name, self.clock.now()).await?;
        self.remembered().clear();
        if deleted {
            return Ok(());
        }
        let exists = self.store.project_by_name(name).await?.is_some();
        Err(if exists { ProjectError::Default } else { ProjectError::NotFound(name.to_owned()) })
    }

    /// Makes sure that the default project has a key: `chosen` becomes its only one; without a choice, one is made where
    /// it has none, and returned this once.
    ///
    /// # Errors
    /// [`ProjectError::KeyTaken`].
    pub async fn prepare_default(&self, chosen: Option<&ApiKey>) -> Result<Option<ApiKey>, ProjectError> {
        let project = self.default_project().await?;
        if let Some(key) = chosen {
            self.replace_key(project, key, Duration::ZERO).await?;
            return Ok(None);
        }
        let key = ApiKey::generate();
        let first = self.store.add_first_key(project, &key, self.clock.now()).await?;
        Ok(first.then_some(key))
    }

    pub(super) async fn authenticate(&self, key: &str) -> Result<Option<Caller>, StoreError> {
        let Ok(key) = key.parse::<ApiKey>() else { return Ok(None) };
        let (key, now) = (key.hash(), self.clock.now());
        if let Some((project, until)) = self.remembered().get(&key).copied()
            && now < until
        {
            return Ok(Some(Caller { project, key }));
        }
        let owner = self.store.project_of_key(&key, now).await?;
        let mut remembered = self.remembered();
        match owner {
            Some(project) => drop(remembered.insert(key, (project, now.after(REMEMBERED)))),
            None => drop(remembered.remove(&key)),
        }
        Ok(owner.map(|project| Caller { project, key }))
    }

    async fn replace_key(&self, project: ProjectId, key: &ApiKey, overlap: Duration) -> Result<(), ProjectError> {
        let now = self.clock.now();
        let replaced = self.store.replace_key(project, key, now.after(overlap), now).await?;
        self.remembered().clear();
        if replaced { Ok(()) } else { Err(ProjectError::KeyTaken) }
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        // Nothing panics while the lock is held; were it so, the map is whole all the same.
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn check_name(name: &str) -> Result<(), ProjectError> {
    let length_ok = (1..=NAME_CHARACTERS).contains(&name.chars().count());
    if !length_ok || name.chars().any(char::is_control) || name.trim() != name {
        return Err(ProjectError::InvalidName);
    }
    Ok(())
}
