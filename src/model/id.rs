//! Ids from outside.

use uuid::Uuid;

/// The text is no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an id")]
pub struct InvalidId;

/// Parses an id: the hyphenated form, case-insensitively.
///
/// # Errors
/// [`InvalidId`] for anything else.
pub fn parse_id(text: &str) -> Result<Uuid, InvalidId> {
    // Uuid also accepts braces and URNs, but an id has only one spelling.
    let id = Some(text).filter(|text| text.len() == uuid::fmt::Hyphenated::LENGTH);
    id.and_then(|text| Uuid::try_parse(text).ok()).ok_or(InvalidId)
}
