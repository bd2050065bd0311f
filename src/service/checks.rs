//! Checks whether a message is good, on a blocking thread and within the memory budget.

use restante_mail::checks::{self, Checks};

use super::{Caller, Service, ServiceError};
use crate::memory::Room;
use crate::model::Everything;
use crate::store::StoreError;

impl Service {
    /// The problems of a message in one of the caller's live inboxes, and the reservation of their memory.
    ///
    /// # Errors
    /// [`ServiceError::MessageNotFound`], or if it cannot be read.
    pub async fn checks(&self, caller: &Caller, id: &str) -> Result<(Checks, Room), ServiceError> {
        let (Everything { raw, received_at, .. }, room) = self.whole_message(caller, id).await?;
        let checking = room.run(move || checks::checks(&raw, received_at.as_millis() / 1_000));
        checking.await.map_err(|error| StoreError::Aborted(error).into())
    }
}
