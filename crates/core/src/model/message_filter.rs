//! The filter of a list, a wait or an explanation, as the caller gave it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Condition, Features, FieldError, MailPart};

/// Maximum number of bytes of a text in a filter: a line of a message has no more.
const MAX_FILTER_LENGTH: usize = 998;

/// Which messages match. Every text is a substring, without regard to case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub struct MessageFilter {
    /// A substring of the subject.
    pub subject: Option<String>,
    /// A substring of the sender's address.
    pub from: Option<String>,
    /// A substring of the fields To and Cc of the header.
    pub to: Option<String>,
    /// A substring of the text.
    pub text: Option<String>,
    /// A substring of a field of the header.
    pub header: Option<HeaderFilter>,
    /// What the message must have.
    pub has: Features,
    /// Only messages after this one: a message id as the caller gave it.
    pub after: Option<String>,
    /// What only the client compares, as it describes it: it is shown, and never interpreted.
    pub client: Option<String>,
}

/// A substring of a field of the header. It is written `Name:substring`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub struct HeaderFilter {
    /// The name of the field.
    pub name: String,
    /// The substring of its value; empty if any value matches.
    pub part: String,
}

impl MessageFilter {
    /// The filter, if its texts are short enough.
    ///
    /// # Errors
    /// [`FieldError`] for the first text that is too long.
    pub fn checked(self) -> Result<Self, FieldError> {
        let texts = [
            ("subject", &self.subject),
            ("from", &self.from),
            ("to", &self.to),
            ("text", &self.text),
            ("after", &self.after),
        ];
        for (name, text) in texts {
            if text
                .as_ref()
                .is_some_and(|text| text.len() > MAX_FILTER_LENGTH)
            {
                return Err(FieldError::Invalid(name));
            }
        }
        Ok(self)
    }

    /// The texts as conditions, each with the name of its filter. An empty one is met by every
    /// message, except that a header must have the field.
    #[must_use]
    pub fn conditions(&self) -> Vec<(&'static str, Condition)> {
        let texts = [
            ("subject", &self.subject, vec![MailPart::Subject]),
            ("from", &self.from, vec![MailPart::Sender]),
            ("text", &self.text, vec![MailPart::Text]),
            ("to", &self.to, MailPart::fields(&["to", "cc"])),
        ];
        let texts = texts.into_iter().filter_map(|(name, text, parts)| {
            let text = text.as_deref().filter(|text| !text.is_empty())?;
            Some((name, Condition::new(parts, text)))
        });
        let header = self.header.iter().map(|HeaderFilter { name, part }| {
            let fields = MailPart::fields(&[name]);
            ("header", Condition::new(fields, part))
        });
        texts.chain(header).collect()
    }

    /// The filters that are given, each with its name and its text.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let filters = [
            ("subject", self.subject.clone()),
            ("from", self.from.clone()),
            ("to", self.to.clone()),
            ("text", self.text.clone()),
            ("header", self.header.as_ref().map(HeaderFilter::to_string)),
            (
                "has",
                Some(self.has.words().join(", ")).filter(|has| !has.is_empty()),
            ),
            (
                "after",
                self.after.as_ref().map(|_| "an earlier message".to_owned()),
            ),
            ("client", self.client.clone()),
        ];
        filters
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
    }
}

impl HeaderFilter {
    /// Reads `Name:substring`.
    ///
    /// # Errors
    /// [`FieldError`] if it is too long, has no colon, or if the name cannot be that of a field.
    pub fn parse(text: &str) -> Result<Self, FieldError> {
        let (name, part) = text.split_once(':').ok_or(FieldError::Invalid("header"))?;
        let name = name.trim();
        let part = part.trim();
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_name || text.len() > MAX_FILTER_LENGTH {
            return Err(FieldError::Invalid("header"));
        }
        Ok(Self {
            name: name.to_owned(),
            part: part.to_owned(),
        })
    }
}

impl fmt::Display for HeaderFilter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.name, self.part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_as_long_as_a_line_at_most() {
        let longest = "x".repeat(MAX_FILTER_LENGTH);
        let filter = |text: &str| MessageFilter {
            text: Some(text.to_owned()),
            ..MessageFilter::default()
        };
        assert_eq!(filter(&longest).checked(), Ok(filter(&longest)));
        assert_eq!(
            filter(&format!("{longest}x")).checked(),
            Err(FieldError::Invalid("text"))
        );
        let cursor = MessageFilter {
            after: Some(format!("{longest}x")),
            ..MessageFilter::default()
        };
        assert_eq!(cursor.checked(), Err(FieldError::Invalid("after")));
        let header = format!("a:{}", &longest[2..]);
        assert!(HeaderFilter::parse(&header).is_ok());
        assert_eq!(
            HeaderFilter::parse(&format!("{header}x")),
            Err(FieldError::Invalid("header"))
        );
    }

    #[test]
    fn a_header_filter_has_a_name_and_a_part() {
        for (text, name, part) in [
            ("X-Campaign:welcome", "X-Campaign", "welcome"),
            ("x-id: a:b ", "x-id", "a:b"),
            ("List-Id:", "List-Id", ""),
        ] {
            let expected = HeaderFilter {
                name: name.to_owned(),
                part: part.to_owned(),
            };
            assert_eq!(HeaderFilter::parse(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            ":",
            "X-Campaign",
            "two words:x",
            ":x",
            &format!("a:{}", "x".repeat(1_000)),
        ] {
            assert_eq!(
                HeaderFilter::parse(text),
                Err(FieldError::Invalid("header")),
                "{text}"
            );
        }
    }
}
