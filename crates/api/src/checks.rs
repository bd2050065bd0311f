//! Whether a message is good: the problems that checks find in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Example;
use crate::authentication::Authentication;
use crate::word::words;

/// The results of the checks of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false, "x-extension" = true))]
pub struct MessageChecks {
    /// The problems, the errors first. At most 20 of each check are listed.
    pub problems: Vec<Problem>,
    /// How many mail clients support the HTML; null without HTML.
    pub html: Option<HtmlSupport>,
    /// SPF, DKIM and DMARC; null unless the request has `dns=true`.
    pub authentication: Option<Authentication>,
}

/// A problem of a message.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Problem {
    /// The check that found it.
    pub check: CheckName,
    /// `error` if no good message has it, `warning` if a good message may have it.
    pub severity: Severity,
    /// What is wrong, as a sentence.
    pub detail: String,
    /// The part of the source in which it is; null if something is missing.
    pub part: Option<SourcePart>,
    /// The number of the line in this part, from 1.
    pub line: Option<usize>,
    /// The start of that line, at most 200 characters.
    pub source: Option<String>,
}

words! {
    /// A check.
    pub enum CheckName {
        /// Something that the template engine should have filled.
        Placeholder = "placeholder",
        /// A link that leads nowhere.
        Link = "link",
        /// No text part, or an empty one.
        TextPart = "text_part",
        /// An image that is not shown or not described.
        Image = "image",
        /// HTML that Gmail clips.
        Size = "size",
        /// Missing or wrong header fields.
        Headers = "headers",
        /// Bulk mail from which nobody can unsubscribe.
        Unsubscribe = "unsubscribe",
        /// HTML and CSS that most mail clients do not show.
        HtmlSupport = "html_support",
        /// What some people cannot read.
        Accessibility = "accessibility",
    }
}

words! {
    /// How bad a problem is.
    pub enum Severity {
        /// No good message has it.
        Error = "error",
        /// A good message may have it.
        Warning = "warning",
    }
}

words! {
    /// A part of the source of a message.
    pub enum SourcePart {
        /// The header, as received.
        Header = "header",
        /// The text, decoded.
        Text = "text",
        /// The HTML, decoded.
        Html = "html",
    }
}

/// How many mail clients support the HTML and CSS of a message.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct HtmlSupport {
    /// The average over the features that the message uses: how many percent of the clients support
    /// one.
    #[schemars(range(min = 0, max = 100))]
    pub support_percent: u8,
    /// The features that some clients do not support, the least supported first.
    pub features: Vec<HtmlFeature>,
}

/// A feature of HTML or CSS. The data is from caniemail.com.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct HtmlFeature {
    /// Its name at `https://www.caniemail.com/features/{slug}/`.
    pub slug: String,
    /// Its title.
    pub title: String,
    /// How many clients support it.
    pub yes: usize,
    /// How many support it partially.
    pub partly: usize,
    /// The clients that do not support it.
    pub no: Vec<String>,
    /// The line of the HTML that uses it first.
    pub line: usize,
}

impl HtmlFeature {
    /// How many clients were tested.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.yes + self.partly + self.no.len()
    }
}

impl Example for MessageChecks {
    fn example() -> Self {
        Self {
            problems: vec![
                Problem {
                    check: CheckName::Placeholder,
                    severity: Severity::Error,
                    detail: "The HTML contains `{{name}}`.".to_owned(),
                    part: Some(SourcePart::Html),
                    line: Some(14),
                    source: Some("<p>Hello {{name}},</p>".to_owned()),
                },
                Problem {
                    check: CheckName::TextPart,
                    severity: Severity::Warning,
                    detail: "There is no text part beside the HTML.".to_owned(),
                    part: None,
                    line: None,
                    source: None,
                },
            ],
            html: Some(HtmlSupport {
                support_percent: 97,
                features: Vec::new(),
            }),
            authentication: None,
        }
    }
}
