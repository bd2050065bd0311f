//! The error of a dashboard handler. The guard renders it as a page with the viewer's navigation.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};

use crate::http::error::Error;

/// Why a handler failed; the guard reads it from the extensions of the response.
#[derive(Clone, Debug)]
pub(super) struct PageError(pub(super) Arc<Error>);

impl<E: Into<Error>> From<E> for PageError {
    fn from(error: E) -> Self {
        Self(Arc::new(error.into()))
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let mut response = self.0.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// The text of an error as a sentence.
pub(super) fn sentence(error: &Error) -> String {
    let text = error.to_string();
    let mut characters = text.chars();
    let first: String = characters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    format!("{first}{}.", characters.as_str())
}
