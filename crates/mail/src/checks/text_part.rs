//! HTML without a text part: some people and programs read only the text.

use restante_api::{CheckName, Severity};

use super::Mail;
use super::problems::Problems;

pub(super) fn check(mail: &Mail<'_>, problems: &mut Problems<'_>) {
    problems.start(CheckName::TextPart);
    if mail.html.trim().is_empty() || !mail.text.trim().is_empty() {
        return;
    }
    if mail.has_text_part() {
        problems.missing(
            Severity::Error,
            "The text part is empty: a client that shows the text shows nothing.",
        );
    } else {
        problems.missing(Severity::Warning, "There is no text part beside the HTML.");
    }
}
