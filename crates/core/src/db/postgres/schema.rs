//! The names of what nodes share outside of tables: locks and notifications belong to the whole
//! database. Deployments in several schemas of one database must not share them.

use std::hash::{DefaultHasher, Hasher};

/// PostgreSQL's default schema, in which names are not changed.
const DEFAULT: &str = "public";

/// The schema of a deployment.
#[derive(Debug)]
pub(super) struct Schema {
    /// The channel of the nodes' notifications.
    pub(super) channel: String,
    salt: i64,
}

impl Schema {
    pub(super) fn new(name: &str) -> Self {
        if name == DEFAULT {
            return Self {
                channel: "restante_changes".to_owned(),
                salt: 0,
            };
        }
        // The hasher's keys are fixed, so every node has the same names.
        let mut hasher = DefaultHasher::new();
        hasher.write(name.as_bytes());
        let hash = hasher.finish();
        Self {
            channel: format!("restante_changes_{hash:016x}"),
            salt: hash.cast_signed(),
        }
    }

    /// The name of a lock.
    pub(super) fn lock(&self, name: i64) -> i64 {
        name ^ self.salt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_share_no_names() {
        let [one, other, default] = ["one", "other", "public"].map(Schema::new);
        assert_ne!(one.channel, other.channel);
        assert_ne!(one.lock(7), other.lock(7));
        assert_eq!(
            (default.channel.as_str(), default.lock(7)),
            ("restante_changes", 7)
        );
        assert_eq!(Schema::new("one").lock(7), one.lock(7));
    }
}
