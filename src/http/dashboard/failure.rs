//! A refusal as a page.

use askama::Template;
use axum::response::{IntoResponse, Response};

use super::page::{Shell, html};
use crate::http::error::{Cause, Error};

/// What a handler of the dashboard fails with.
pub(super) struct Failure(Error);

#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage {
    shell: Shell,
    message: String,
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let Self(error) = self;
        let text = match &error {
            Error::NotFound | Error::InboxNotFound | Error::MessageNotFound => {
                "Nothing is here. An inbox that has expired is gone with its messages.".to_owned()
            }
            Error::Internal(_) => "Something went wrong here. The server's log says what.".to_owned(),
            error => sentence(&error.to_string()),
        };
        let page = FailurePage { shell: Shell::bare("Not possible"), message: text };
        let mut response = html(&page).unwrap_or_else(IntoResponse::into_response);
        *response.status_mut() = error.status();
        if let Some((name, value)) = error.header() {
            response.headers_mut().insert(name, value);
        }
        if let Error::Internal(cause) = error {
            response.extensions_mut().insert(Cause(cause));
        }
        response
    }
}

/// The page of a form again, saying why nothing came of it.
///
/// # Errors
/// What was no fault of the form.
pub(super) fn again<T: Template>(error: Error, page: impl FnOnce(String) -> T) -> Result<Response, Error> {
    if matches!(error, Error::Internal(_)) {
        return Err(error);
    }
    let mut response = html(&page(sentence(&error.to_string())))?;
    *response.status_mut() = error.status();
    Ok(response)
}

/// `text` with a capital in front and a full stop behind.
pub(super) fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first: String = characters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", characters.as_str())
}
