//! Texts as searches compare them: case-folded, and with addresses from their start.

use super::Domain;

/// U+0307, which Unicode adds to the folded İ.
const DOT_ABOVE: char = '\u{307}';

/// A text to search for. If it has an `@` after its first character, it is compared with the
/// beginning of an address, so that `u5@example.com` does not find `xu5@example.com`; any other
/// text may be anywhere in an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchText {
    text: String,
    mail_domain: String,
}

/// Folds case for case-insensitive search in every script: `Straße` and `STRASSE` have the same
/// result, as do the two small sigmas, and `İ` and `i`.
pub fn fold_case(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let upper = text.chars().flat_map(char::to_uppercase);
    upper
        .flat_map(char::to_lowercase)
        .filter(|character| *character != DOT_ABOVE)
        .collect()
}

/// Whether a text is the beginning of an address, with the whole local part.
pub(super) fn begins_address(text: &str) -> bool {
    text.find('@').is_some_and(|at| at > 0)
}

impl SearchText {
    /// The text, without the spaces around it.
    #[must_use]
    pub fn new(text: &str, mail_domain: &Domain) -> Self {
        Self {
            text: text.trim().to_owned(),
            mail_domain: mail_domain.to_string(),
        }
    }

    /// The text as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether every address contains it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether it is the beginning of an address, with the whole local part.
    #[must_use]
    pub fn begins_address(&self) -> bool {
        begins_address(&self.text)
    }

    /// What follows the id of an inbox on the mail domain when its address is compared. The domain
    /// is compared only with a text that has an `@`, because otherwise a part of the domain would
    /// find every inbox.
    #[must_use]
    pub fn domain_part(&self) -> String {
        if self.text.contains('@') {
            format!("@{}", self.mail_domain)
        } else {
            String::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_domain_is_compared_only_with_an_address() {
        let mail_domain = Domain::parse("restante.example.com").unwrap();
        for (search, text, begins, domain) in [
            (
                " K3v9@Restante.Example.COM ",
                "K3v9@Restante.Example.COM",
                true,
                true,
            ),
            ("k3v9", "k3v9", false, false),
            ("ada@shop", "ada@shop", true, true),
            ("@shop.test", "@shop.test", false, true),
            ("restante.example.com", "restante.example.com", false, false),
            ("", "", false, false),
        ] {
            let searched = SearchText::new(search, &mail_domain);
            assert_eq!(
                (searched.as_str(), searched.begins_address()),
                (text, begins),
                "{search}"
            );
            assert_eq!(
                searched.domain_part(),
                if domain { "@restante.example.com" } else { "" },
                "{search}"
            );
        }
    }

    #[test]
    fn folding_ignores_the_case_of_every_script() {
        let alike = [
            ("Code", "cODE"),
            ("Straße", "STRASSE"),
            ("ΟΔΟΣ", "οδος"),
            ("Привет", "ПРИВЕТ"),
            ("ǅ", "ǆ"),
            ("İstanbul", "istanbul"),
            ("ISTANBUL", "ıstanbul"),
        ];
        for (one, other) in alike {
            assert_eq!(fold_case(one), fold_case(other));
        }
        assert_ne!(fold_case("a"), fold_case("b"));
    }
}
