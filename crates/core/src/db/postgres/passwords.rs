//! psql's password file (PGPASSFILE, `~/.pgpass`).

use std::path::{Path, PathBuf};

use crate::os;

/// The place of the file.
#[derive(Clone, Debug)]
pub(super) struct PasswordFile(PathBuf);

impl PasswordFile {
    pub(super) fn find(environment: &impl Fn(&'static str) -> Option<String>) -> Option<Self> {
        let named = environment("PGPASSFILE").map(PathBuf::from);
        named
            .or_else(|| environment("HOME").map(|home| Path::new(&home).join(".pgpass")))
            .map(Self)
    }

    /// The password for this place: host, port, database and user. Like psql, this ignores the file
    /// if other users have access to it.
    pub(super) fn password(&self, server: [&str; 4]) -> Option<String> {
        if os::others_may_access(&self.0.metadata().ok()?) {
            let file = self.0.display();
            tracing::warn!(%file, "ignored the password file: others may read it (chmod 600)");
            return None;
        }
        let text = std::fs::read_to_string(&self.0).ok()?;
        text.lines().find_map(|line| password_in_line(line, server))
    }
}

/// `HOST:PORT:DATABASE:USER:PASSWORD`. A field `*` matches anything; a backslash escapes the next
/// character.
fn password_in_line(line: &str, server: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ':' if fields.len() < 5 => fields.push(String::new()),
            character => {
                let literal = if character == '\\' {
                    characters.next()?
                } else {
                    character
                };
                fields.last_mut()?.push(literal);
            }
        }
    }
    let password = fields.pop().filter(|_| fields.len() == 4)?;
    let matches = fields
        .iter()
        .zip(server)
        .all(|(field, wanted)| field == "*" || field == wanted);
    matches.then_some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_password_file_matches_by_field() {
        let server = ["db.example", "5432", "mail", "restante"];
        assert_eq!(
            password_in_line("*:*:*:restante:a:b\\\\c", server).as_deref(),
            Some("a:b\\c")
        );
        assert_eq!(
            password_in_line("db.example:5432:mail:restante:x", server).as_deref(),
            Some("x")
        );
        for other in [
            "other:*:*:*:x",
            "*:5433:*:*:x",
            "# *:*:*:*:x",
            "*:*:*:x",
            "",
        ] {
            assert_eq!(password_in_line(other, server), None, "{other}");
        }
    }
}
