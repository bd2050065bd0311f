//! Three sample messages in a new inbox, for readers who look at the dashboard before their
//! application has sent anything.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::failure::PageError;
use super::page::see;
use super::visit::ProjectPage;
use crate::http::App;
use crate::http::error::Error;
use crate::service::Draft;

/// The subjects, the texts, and the HTML around the texts.
const SAMPLES: [(&str, &str, &str); 3] = [
    (
        "Reset your password",
        "Somebody has asked for a new password: https://shop.example/reset?token=c7d1",
        "",
    ),
    (
        "Your receipt",
        "Thank you for your order 1042 of 3 items. We deliver it tomorrow.",
        "<h1>Thank you</h1>",
    ),
    (
        "Confirm your address",
        "Your code is 482913. You can also open https://shop.example/confirm?token=a41f",
        "<h1>Welcome to the shop</h1>",
    ),
];

pub(super) async fn create(
    State(app): State<Arc<App>>,
    page: ProjectPage,
) -> Result<Response, PageError> {
    let caller = page.caller();
    let label = Some("Sample messages");
    let inbox = app.service.create_labelled_inbox(&caller, label).await?;
    let address = inbox.address(app.service.mail_domain());
    for (subject, text, html) in SAMPLES {
        let html = match html {
            "" => String::new(),
            heading => format!("<html lang=\"en\"><body>{heading}<p>{text}</p></body></html>"),
        };
        let text = text.to_owned();
        let draft = Draft::new(&address, subject.to_owned(), text, html, None)?;
        let place = app.service.begin_send(&caller).await?;
        app.service
            .send(place, &caller, &inbox, draft)
            .await
            .map_err(Error::from)?;
    }
    Ok(see(&page.path("/mail")))
}
