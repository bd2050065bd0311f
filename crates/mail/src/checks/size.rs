//! HTML that is so large that Gmail cuts it.

use restante_api::{CheckName, Severity};

use super::Mail;
use super::problems::Problems;

/// Gmail shows this many bytes of the HTML; the rest is on a separate page.
const GMAIL_BYTES: usize = 102 * 1024;

pub(super) fn check(mail: &Mail<'_>, problems: &mut Problems<'_>) {
    problems.start(CheckName::Size);
    let bytes = mail.body.html.len();
    if bytes > GMAIL_BYTES {
        let kilobytes = bytes.div_ceil(1024);
        let detail = format!("The HTML has {kilobytes} KiB. Gmail clips it after 102 KiB.");
        problems.missing(Severity::Warning, detail);
    }
}
