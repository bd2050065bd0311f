//! All HTTP errors with their status codes and texts.

use std::sync::Arc;

use axum::http::header::{CONNECTION, LINK, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use restante_api::ErrorBody;
use restante_mail::compose::ComposeError;

use super::response::json;
use crate::jobs::Busy;
use crate::model::FieldError;
use crate::service::{
    AddressError, ClaimError, OutboxError, ProjectError, RetentionError, ServiceError, StoreError,
    Unhealthy,
};

/// An error response; its `Display` is the text of the response.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("invalid JSON")]
    InvalidJson,
    #[error("unknown field: {0}")]
    UnknownField(String),
    #[error("missing field: {0}")]
    MissingField(&'static str),
    #[error("invalid field: {0}")]
    InvalidField(&'static str),
    #[error("address is required")]
    AddressRequired,
    #[error("invalid {0}")]
    InvalidParameter(&'static str),
    #[error("domain not accepted")]
    DomainNotAccepted,
    #[error("address belongs to another project")]
    AddressTaken,
    #[error("a request must have exactly one Host header")]
    HostHeader,
    #[error("every line of a request's head must end with CR LF")]
    LineEnd,
    #[error("the only transfer coding is chunked")]
    TransferEncoding,
    #[error("the only expectation is 100-continue")]
    Expectation,
    #[error("unauthorized")]
    Unauthorized,
    #[error("permanent inboxes are managed in the dashboard")]
    PermanentInbox,
    #[error("not found")]
    NotFound,
    #[error("inbox not found")]
    InboxNotFound,
    #[error("message not found")]
    MessageNotFound,
    #[error("attachment not found")]
    AttachmentNotFound,
    #[error("outgoing message not found")]
    OutgoingNotFound,
    #[error("recipient not found")]
    RecipientNotFound,
    #[error("recipient inbox is full")]
    RecipientFull,
    #[error("no matching message")]
    NoMatchingMessage,
    #[error("method not allowed")]
    MethodNotAllowed,
    /// The URL of the page that explains it.
    #[error("timeout")]
    Timeout(Option<String>),
    #[error("timeout")]
    SlowBody,
    #[error("body too large")]
    BodyTooLarge,
    #[error("too many concurrent waits")]
    TooManyWaits,
    #[error("too many concurrent sends")]
    TooManySends,
    #[error("too many open dashboard pages or streams: close some")]
    TooManyStreams,
    #[error("service is stopping")]
    Stopping,
    #[error("service is busy")]
    Busy,
    #[error("request took too long")]
    Deadline,
    #[error(
        "unknown host {asked:?}: this server is {base_url}; another name for it is set with --base-url"
    )]
    WrongHost { asked: String, base_url: String },
    #[error("this link was used or has expired: `restante open` makes a new one")]
    LinkUsed,
    #[error("this request came from another site")]
    ForeignOrigin,
    #[error("this form is out of date: go back, reload the page and try again")]
    StaleForm,
    #[error("invalid API key or administrator token")]
    SignInFailed,
    #[error("{0}")]
    Refused(String),
    #[error("database unavailable")]
    Unavailable(#[source] Arc<dyn std::error::Error + Send + Sync>),
    #[error("unhealthy: {0}")]
    Unhealthy(String),
    #[error("internal error")]
    Internal(#[source] Arc<dyn std::error::Error + Send + Sync>),
}

/// The cause of a 500, or of a 503 because of the database. It is stored in the response's
/// extensions until it is logged, and is never sent.
#[derive(Clone)]
pub(super) enum Cause {
    Bug(Arc<dyn std::error::Error + Send + Sync>),
    Unavailable(Arc<dyn std::error::Error + Send + Sync>),
}

impl Error {
    pub(super) fn internal(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Internal(Arc::new(cause))
    }

    pub(super) fn unavailable(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Unavailable(Arc::new(cause))
    }

    /// What the log says about it.
    pub(super) fn cause(&self) -> Option<Cause> {
        match self {
            Self::Internal(cause) => Some(Cause::Bug(Arc::clone(cause))),
            Self::Unavailable(cause) => Some(Cause::Unavailable(Arc::clone(cause))),
            _ => None,
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::InvalidJson
            | Self::UnknownField(_)
            | Self::MissingField(_)
            | Self::InvalidField(_)
            | Self::AddressRequired
            | Self::InvalidParameter(_)
            | Self::DomainNotAccepted
            | Self::HostHeader
            | Self::LineEnd => StatusCode::BAD_REQUEST,
            Self::TransferEncoding => StatusCode::NOT_IMPLEMENTED,
            Self::Expectation => StatusCode::EXPECTATION_FAILED,
            Self::Unauthorized | Self::SignInFailed => StatusCode::UNAUTHORIZED,
            Self::PermanentInbox | Self::ForeignOrigin | Self::StaleForm => StatusCode::FORBIDDEN,
            Self::LinkUsed => StatusCode::GONE,
            Self::WrongHost { .. } => StatusCode::MISDIRECTED_REQUEST,
            Self::Refused(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::NotFound
            | Self::InboxNotFound
            | Self::MessageNotFound
            | Self::AttachmentNotFound
            | Self::OutgoingNotFound
            | Self::RecipientNotFound
            | Self::NoMatchingMessage => StatusCode::NOT_FOUND,
            Self::AddressTaken => StatusCode::CONFLICT,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Timeout(_) | Self::SlowBody => StatusCode::REQUEST_TIMEOUT,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooManyWaits
            | Self::TooManySends
            | Self::TooManyStreams
            | Self::RecipientFull => StatusCode::TOO_MANY_REQUESTS,
            Self::Stopping | Self::Busy | Self::Deadline | Self::Unavailable(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Internal(_) | Self::Unhealthy(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The header that RFC 9110 or the contract requires with the status.
    pub(super) fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::Unauthorized => Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            Self::Stopping | Self::Busy | Self::Deadline | Self::Unavailable(_) => {
                Some((RETRY_AFTER, HeaderValue::from_static("1")))
            }
            Self::Timeout(Some(url)) => HeaderValue::try_from(format!("<{url}>; rel=\"help\""))
                .ok()
                .map(|link| (LINK, link)),
            // The rest of the body would be read as the next request.
            Self::SlowBody => Some((CONNECTION, HeaderValue::from_static("close"))),
            _ => None,
        }
    }
}

impl From<ServiceError> for Error {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::InboxNotFound => Self::InboxNotFound,
            ServiceError::MessageNotFound => Self::MessageNotFound,
            ServiceError::RecipientNotFound => Self::RecipientNotFound,
            ServiceError::RecipientFull => Self::RecipientFull,
            ServiceError::NoMatchingMessage => Self::NoMatchingMessage,
            ServiceError::Timeout { .. } => Self::Timeout(None),
            ServiceError::InvalidAfter => Self::InvalidParameter("after"),
            ServiceError::InvalidBefore => Self::InvalidParameter("before"),
            ServiceError::PermanentInbox => Self::PermanentInbox,
            ServiceError::Unauthorized => Self::Unauthorized,
            ServiceError::TooManyWaits => Self::TooManyWaits,
            ServiceError::TooManySends => Self::TooManySends,
            ServiceError::TooManyStreams => Self::TooManyStreams,
            ServiceError::Busy => Self::Busy,
            ServiceError::Stopping => Self::Stopping,
            // If an address cannot be written in a header, it is the recipient's, because the
            // sender's is always plain.
            ServiceError::Compose(ComposeError::Address(_)) => Self::InvalidField("to"),
            ServiceError::Store(error) => error.into(),
            ServiceError::Unavailable => Self::unavailable(error),
            ServiceError::Compose(_) => Self::internal(error),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        if error.is_unavailable() {
            Self::unavailable(error)
        } else {
            Self::internal(error)
        }
    }
}

impl From<Unhealthy> for Error {
    fn from(error: Unhealthy) -> Self {
        Self::Unhealthy(error.to_string())
    }
}

impl From<Busy> for Error {
    fn from(Busy: Busy) -> Self {
        Self::Busy
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::internal(error)
    }
}

impl From<ProjectError> for Error {
    fn from(error: ProjectError) -> Self {
        match error {
            ProjectError::NotFound(_) => Self::NotFound,
            ProjectError::Store(error) => error.into(),
            refused => Self::Refused(refused.to_string()),
        }
    }
}

impl From<FieldError> for Error {
    fn from(error: FieldError) -> Self {
        match error {
            FieldError::Missing(name) => Self::MissingField(name),
            FieldError::Invalid(name) => Self::InvalidField(name),
        }
    }
}

impl From<OutboxError> for Error {
    fn from(error: OutboxError) -> Self {
        match error {
            OutboxError::NotFound(_) => Self::NotFound,
            OutboxError::Store(error) => error.into(),
            refused => Self::Refused(refused.to_string()),
        }
    }
}

impl From<ClaimError> for Error {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::Store(error) => error.into(),
            refused => Self::Refused(refused.to_string()),
        }
    }
}

impl From<AddressError> for Error {
    fn from(error: AddressError) -> Self {
        match error {
            AddressError::Invalid => Self::InvalidParameter("address"),
            AddressError::NotAccepted => Self::DomainNotAccepted,
            AddressError::Taken => Self::AddressTaken,
            AddressError::Store(error) => error.into(),
        }
    }
}

impl From<RetentionError> for Error {
    fn from(error: RetentionError) -> Self {
        match error {
            RetentionError::InboxNotFound => Self::InboxNotFound,
            RetentionError::Store(error) => error.into(),
            refused @ RetentionError::InvalidDays => Self::Refused(refused.to_string()),
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let body = json(
            self.status(),
            &ErrorBody {
                error: self.to_string(),
            },
        );
        let mut response = body.unwrap_or_else(|_| self.status().into_response());
        if let Some((name, value)) = self.header() {
            response.headers_mut().insert(name, value);
        }
        self.cause()
            .into_iter()
            .for_each(|cause| _ = response.extensions_mut().insert(cause));
        response
    }
}
