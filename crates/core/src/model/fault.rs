//! The faults of an inbox as they are shown.

use super::{Fault, Timestamp};

/// A fault of an inbox, with its uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultState {
    pub fault: Fault,
    /// The times at which it was used, in order.
    pub uses: Vec<Timestamp>,
}

impl FaultState {
    /// How often the fault has been used.
    #[must_use]
    pub fn used(&self) -> u32 {
        u32::try_from(self.uses.len()).unwrap_or(u32::MAX)
    }

    /// How many uses are left.
    #[must_use]
    pub fn left(&self) -> u32 {
        self.fault.times.saturating_sub(self.used())
    }
}
