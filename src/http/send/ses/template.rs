//! Templates of SES, which are not rendered: the name and the variables become the text, as JSON. Of
//! a template within the request, the subject is the name.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::v2::{File, Pair, files, pairs};
use crate::http::send::failure::Failure;
use crate::http::send::json;
use restante_mail::compose::Attachment;

/// Maximum number of bytes of the variables, as SES allows.
const DATA: usize = 256 * 1024;
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Template {
    template_name: Option<String>,
    template_arn: Option<String>,
    template_content: Option<Parts>,
    template_data: Option<String>,
    headers: Option<Vec<Pair>>,
    attachments: Option<Vec<File>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Parts {
    subject: Option<String>,
}

/// The content of a message.
pub(super) struct Rendered {
    pub(super) subject: String,
    pub(super) text: String,
    pub(super) html: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) attachments: Arc<Vec<Attachment>>,
}

impl Template {
    /// The decoded files.
    ///
    /// # Errors
    /// [`Failure`] for what is not base64.
    pub(super) fn files(&self) -> Result<Arc<Vec<Attachment>>, Failure> {
        files(self.attachments.as_deref()).map(Arc::new)
    }

    /// The content with these files and the variables; those in `replacement` replace those of the
    /// template.
    ///
    /// # Errors
    /// [`Failure`] for variables that are not a JSON object.
    pub(super) fn render(
        &self,
        files: &Arc<Vec<Attachment>>,
        replacement: Option<&str>,
    ) -> Result<Rendered, Failure> {
        let mut variables = object(self.template_data.as_deref())?;
        variables.extend(object(replacement)?);
        let subject = self
            .template_content
            .as_ref()
            .and_then(|parts| parts.subject.as_deref());
        let name = self
            .template_name
            .as_deref()
            .or(self.template_arn.as_deref())
            .or(subject)
            .unwrap_or_default();
        let variables = serde_json::value::to_raw_value(&variables).expect("it was JSON");
        let text = json::Template {
            template: name,
            variables: &variables,
        }
        .text();
        Ok(Rendered {
            subject: name.to_owned(),
            text,
            html: String::new(),
            headers: pairs(self.headers.clone()),
            attachments: Arc::clone(files),
        })
    }
}

fn object(json: Option<&str>) -> Result<Map<String, Value>, Failure> {
    let json = json.unwrap_or("{}");
    if json.len() > DATA {
        return Err(Failure::invalid("the template data is larger than 256 KiB"));
    }
    json::parse(json.as_bytes())
        .map_err(|failure| Failure::invalid(format!("template data: {}", failure.text)))
}
