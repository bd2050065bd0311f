//! Errors as Mailpit answers them: one line of text.

use axum::http::HeaderValue;
use axum::http::header::WWW_AUTHENTICATE;
use axum::response::{IntoResponse, Response};

use crate::http::error::Error;

/// Why a request fails.
#[derive(Debug)]
pub(in crate::http) enum Refused {
    /// As in the API of this service.
    Error(Error),
    /// The request is not valid, for this reason.
    Invalid(String),
    /// A search did not end in time.
    TooSlow,
}

impl<E: Into<Error>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (error, text) = match self {
            Self::Error(Error::Unauthorized) => {
                let text = "unauthorized: send an API key as the password of HTTP Basic";
                let mut response = (Error::Unauthorized.status(), text).into_response();
                response.headers_mut().insert(
                    WWW_AUTHENTICATE,
                    HeaderValue::from_static("Basic realm=\"Restante\""),
                );
                return response;
            }
            Self::Error(error) => {
                let text = error.to_string();
                (error, text)
            }
            Self::Invalid(text) => (Error::InvalidParameter("request"), text),
            Self::TooSlow => (
                Error::Busy,
                "the search takes too long: add a recipient, for example to:ada@example.com"
                    .to_owned(),
            ),
        };
        let mut response = (error.status(), text).into_response();
        response
            .headers_mut()
            .extend(error.header().map(|(name, value)| (Some(name), value)));
        if let Some(cause) = error.cause() {
            response.extensions_mut().insert(cause);
        }
        response
    }
}
