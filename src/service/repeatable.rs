//! Requests that a client may repeat with an idempotency key.

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::Service;
use crate::model::ProjectId;
use crate::store::{Repetition, StoreError};

/// The key of a request, and the hash of its body.
#[derive(Clone, Debug)]
pub struct Repeatable {
    key: Vec<u8>,
    body: Bytes,
}

impl Repeatable {
    #[must_use]
    pub fn new(key: Vec<u8>, body: &[u8]) -> Self {
        let body = Bytes::copy_from_slice(&Sha256::digest(body));
        Self { key, body }
    }

    /// Of the key within a project.
    fn hash(&self, project: ProjectId) -> Bytes {
        let hash = Sha256::new()
            .chain_update(project.0)
            .chain_update(&self.key);
        Bytes::copy_from_slice(&hash.finalize())
    }
}

impl Service {
    /// Begins a request of a project, by default of the default project, unless it was started
    /// before.
    pub async fn begin_request(
        &self,
        project: Option<ProjectId>,
        request: &Repeatable,
    ) -> Result<Repetition, StoreError> {
        let project = project.unwrap_or(self.0.default_project);
        let now = self.now();
        let body = request.body.clone();
        let hash = request.hash(project);
        self.store().begin_request(hash, body, now).await
    }

    /// Keeps the answer of a request, or forgets the request, so that it can be sent again.
    pub async fn end_request(
        &self,
        project: Option<ProjectId>,
        request: &Repeatable,
        answer: Option<String>,
    ) -> Result<(), StoreError> {
        let project = project.unwrap_or(self.0.default_project);
        self.store()
            .end_request(request.hash(project), answer)
            .await
    }
}
