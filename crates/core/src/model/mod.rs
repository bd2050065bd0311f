//! The domain types: projects, keys, inboxes, messages and timestamps.

mod api_key;
mod change;
mod difference;
mod explanation;
mod fault;
mod inbox;
mod list;
mod mail_query;
mod message;
mod message_filter;
mod outgoing;
mod project;
mod reception;
mod refused;
mod search_text;
mod smtp_session;
mod timestamp;
mod wait_record;
mod words;

pub use api_key::{ApiKey, InvalidApiKey, KeyHash};
pub use change::Change;
pub use difference::{Difference, bracketed};
pub use explanation::{InboxEnd, Latest, Part, Period, SendApisUse, Similar, SmtpUse, TotalUse};
pub use fault::FaultState;
pub use inbox::{
    DEFAULT_MAIL_DOMAIN, FoundInbox, Inbox, InboxKind, InboxSummary, address_of, generate_inbox_id,
};
pub use list::{Holdings, InboxFilter, InboxTotals, ListPart, OutgoingFilter, Watched};
pub use mail_query::{Condition, Fit, MailChange, MailQuery, Part as MailPart, Scope};
pub use message::{Features, MessageId, Reached};
pub use message_filter::{HeaderFilter, MessageFilter};
pub use outgoing::{
    Attempt, Outgoing, OutgoingId, OutgoingStatus, SUBJECT_CHARACTERS, WorkerId, domain_of,
};
pub use project::{Project, WorkingKey};
pub use reception::{Envelope, Reception, Via};
pub use refused::{RefusalReason, RefusedMail, closed_on_request, fails_login};
pub use search_text::SearchText;
pub use search_text::fold_case;
pub use smtp_session::{InboxClaim, SmtpSession};
pub use timestamp::Timestamp;
pub use wait_record::{WaitEnd, WaitRecord};
pub use words::{cut, is_bidi_control, spoken};

pub use restante_delivery::{
    Fault, FaultAction, FaultPoint, FieldError, InboxId, InvalidId, InvalidInboxId, ProjectId,
    Recipient, SharedAddress, parse_id,
};
pub use restante_mail::{AcceptedDomains, Domain, EmailAddress, InvalidAddress};
pub use restante_smtp::{Closing, Refusal, RequestedReply, SessionFailure};
