//! The text of an error with its causes.

/// The error and its causes, each once.
pub fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes
        .map(ToString::to_string)
        .fold(error.to_string(), |text, cause| {
            // Some errors already contain their cause.
            if text.contains(&cause) {
                text
            } else {
                format!("{text}: {cause}")
            }
        })
}
