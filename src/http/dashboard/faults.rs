//! The faults of an inbox with their uses, above its messages. They are set by tests, so the page
//! only shows them.

use super::when::When;
use crate::http::App;
use crate::http::error::Error;
use crate::model::{Fault, FaultState, Inbox, Timestamp};

/// Maximum number of uses of a fault that are shown: the latest.
const MAX_USES_SHOWN: usize = 10;

/// The faults of an inbox.
#[derive(Default)]
pub(super) struct FaultsPanel {
    pub(super) rows: Vec<FaultRow>,
    /// How often they still apply.
    pub(super) left: u32,
}

pub(super) struct FaultRow {
    pub(super) what: String,
    pub(super) count: String,
    /// The latest uses, the newest first.
    pub(super) uses: Vec<When>,
    pub(super) is_used_up: bool,
}

impl FaultsPanel {
    pub(super) async fn read(app: &App, inbox: &Inbox, now: Timestamp) -> Result<Self, Error> {
        let faults = app.service.faults(inbox).await?;
        let left = faults.iter().map(FaultState::left).sum();
        Ok(Self {
            rows: faults.iter().map(|state| row(state, now)).collect(),
            left,
        })
    }
}

fn row(state: &FaultState, now: Timestamp) -> FaultRow {
    let Fault { at, action, times } = &state.fault;
    let mut what = format!("{} at {at}", action.as_str());
    if let Some(delay) = action.delay() {
        what.push_str(&format!(" for {} s", delay.as_secs()));
    }
    if let Some(reply) = action.refusal() {
        what.push_str(&format!(": {reply}"));
    }
    FaultRow {
        what,
        count: format!("{} of {times}", state.used()),
        uses: state
            .uses
            .iter()
            .rev()
            .take(MAX_USES_SHOWN)
            .map(|used_at| When::new(*used_at, now))
            .collect(),
        is_used_up: state.left() == 0,
    }
}
