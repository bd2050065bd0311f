//! The notices above the messages of an inbox: rejected mail, and the state of the waits on it.

use uuid::Uuid;

use super::explained::Refusal;
use super::waits::WaitsView;
use crate::http::App;
use crate::http::error::Error;
use crate::model::Inbox;
use crate::service::REFUSALS_OF_INBOX;

/// Maximum number of refusals that are shown in full.
const MAX_REJECTIONS_SHOWN: usize = 3;

/// The notices of an inbox.
#[derive(Default)]
pub(super) struct Notices {
    /// How many messages were rejected, as text.
    pub(super) refused: Option<String>,
    /// The latest of them, one for each reply.
    pub(super) refusals: Vec<Refusal>,
    pub(super) waits: Option<WaitsNotice>,
}

/// One line about the waits.
pub(super) struct WaitsNotice {
    /// Whether a wait is open.
    pub(super) is_open: bool,
    /// The story of the last one, if it timed out.
    pub(super) story: Option<Uuid>,
    pub(super) text: String,
}

impl Notices {
    pub(super) async fn read(app: &App, inbox: &Inbox, waits: &WaitsView) -> Result<Self, Error> {
        let found = app.service.refusals_of_inbox(inbox).await?;
        let refused = match found.len() {
            0 => None,
            1 => Some("1 message to this address was rejected".to_owned()),
            count @ REFUSALS_OF_INBOX.. => Some(format!(
                "{count} or more messages to this address were rejected"
            )),
            count => Some(format!("{count} messages to this address were rejected")),
        };
        let mut refusals = Refusal::distinct(app, &found);
        refusals.truncate(MAX_REJECTIONS_SHOWN);
        Ok(Self {
            refused,
            refusals,
            waits: waits_notice(waits),
        })
    }
}

fn waits_notice(waits: &WaitsView) -> Option<WaitsNotice> {
    let (is_open, text) = match waits.open.len() {
        0 => (
            false,
            format!(
                "Last wait: {}",
                waits.ended.first()?.outcome.as_ref()?.label
            ),
        ),
        1 => (true, "1 open wait".to_owned()),
        count => (true, format!("{count} open waits")),
    };
    Some(WaitsNotice {
        is_open,
        story: waits.failed(),
        text,
    })
}
