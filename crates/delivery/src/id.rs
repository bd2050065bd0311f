//! The ids of projects, and how an id from outside is read.

use std::fmt;

use serde::{Deserialize, Serialize};
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
    id.and_then(|text| Uuid::try_parse(text).ok())
        .ok_or(InvalidId)
}

/// Identifies a project; a UUID of version 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(transparent)]
pub struct ProjectId(pub Uuid);

impl ProjectId {
    /// Parses an id from outside: the hyphenated form, case-insensitively.
    ///
    /// # Errors
    /// [`InvalidId`] for anything else.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        parse_id(text).map(Self)
    }
}

impl fmt::Display for ProjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_spelling() {
        let id = "0190163d-8694-739b-aea5-966c26f8ad91";
        assert_eq!(
            ProjectId::parse(id).map(|id| id.to_string()).as_deref(),
            Ok(id)
        );
        assert_eq!(ProjectId::parse(&id.to_uppercase()), ProjectId::parse(id));
        for text in [
            "",
            "x",
            &id[1..],
            &id.replace('-', ""),
            &format!("{{{id}}}"),
            &format!("urn:uuid:{id}"),
        ] {
            assert_eq!(ProjectId::parse(text), Err(InvalidId), "{text}");
        }
    }
}
