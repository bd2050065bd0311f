//! Templates of SES: those in a request are rendered; of a stored one, the name and the variables
//! become the text.
//!
//! SES uses Handlebars. The template comes from a client, so the work must be bounded, which no
//! library for Handlebars offers: this file has its variables, `if`, `unless` and `each`, with
//! limits on depth, and on what is read and written.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::v2::{File, Pair, files, pairs};
use crate::http::send::batch::Batch;
use crate::http::send::failure::Failure;
use crate::http::send::json::{self, empty_object};
use restante_mail::compose::letter::Attachment;

/// Maximum number of bytes of the variables, as SES allows.
const DATA: usize = 256 * 1024;
/// What even an empty text or tag takes.
const STEP: usize = 64;
/// Maximum number of blocks within each other.
const DEPTH: usize = 20;

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
    text: Option<String>,
    html: Option<String>,
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
    /// [`Failure`] for variables that are not a JSON object, or a template that is not valid or too
    /// large.
    pub(super) fn render(
        &self,
        files: &Arc<Vec<Attachment>>,
        replacement: Option<&str>,
        batch: &mut Batch,
    ) -> Result<Rendered, Failure> {
        let mut variables = object(self.template_data.as_deref())?;
        variables.extend(object(replacement)?);
        let variables = Value::Object(variables);
        let headers = pairs(self.headers.clone());
        let attachments = Arc::clone(files);
        let Some(parts) = &self.template_content else {
            let name = self
                .template_name
                .as_deref()
                .or(self.template_arn.as_deref())
                .unwrap_or_default();
            let raw =
                serde_json::value::to_raw_value(&variables).unwrap_or_else(|_| empty_object());
            let text = json::Template {
                template: name,
                variables: &raw,
            }
            .text();
            return Ok(Rendered {
                subject: name.to_owned(),
                text,
                html: String::new(),
                headers,
                attachments,
            });
        };
        let mut text = |template: &Option<String>, is_html| {
            render(
                template.as_deref().unwrap_or_default(),
                &variables,
                is_html,
                batch,
            )
        };
        Ok(Rendered {
            subject: text(&parts.subject, false)?,
            text: text(&parts.text, false)?,
            html: text(&parts.html, true)?,
            headers,
            attachments,
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

fn render(
    template: &str,
    variables: &Value,
    is_html: bool,
    batch: &mut Batch,
) -> Result<String, Failure> {
    let mut rendering = Rendering {
        output: String::new(),
        batch,
        is_html,
    };
    let mut rest = template;
    let end = rendering.run(
        &mut rest,
        &[Scope {
            value: variables,
            index: 0,
        }],
        true,
    )?;
    if let Some(end) = end {
        Err(Failure::invalid(format!(
            "the template has an unexpected {{{{{end}}}}}"
        )))
    } else {
        Ok(rendering.output)
    }
}

/// A value whose fields are the variables, and its place in the list of `each`.
#[derive(Clone, Copy)]
struct Scope<'a> {
    value: &'a Value,
    index: usize,
}

struct Rendering<'s> {
    output: String,
    batch: &'s mut Batch,
    /// Whether values are escaped.
    is_html: bool,
}

impl Rendering<'_> {
    /// Renders up to the end of the template or of the block; returns the tag that ends it. Reads
    /// without writing if the block is not shown.
    fn run<'t>(
        &mut self,
        rest: &mut &'t str,
        scopes: &[Scope<'_>],
        is_shown: bool,
    ) -> Result<Option<&'t str>, Failure> {
        loop {
            let Some((text, after)) = rest.split_once("{{") else {
                self.write(rest, is_shown)?;
                *rest = "";
                return Ok(None);
            };
            self.write(text, is_shown)?;
            self.step(text, scopes)?;
            let (is_raw, close, after) = match after.strip_prefix('{') {
                Some(after) => (true, "}}}", after),
                None => (false, "}}", after),
            };
            let unclosed = || Failure::invalid("the template has a {{ without }}");
            let (tag, after) = after.split_once(close).ok_or_else(unclosed)?;
            self.step(tag, scopes)?;
            *rest = after;
            let tag = tag.trim();
            if let Some(block) = tag.strip_prefix('#') {
                self.block(block, rest, scopes, is_shown)?;
            } else if tag.starts_with('/') || tag == "else" {
                return Ok(Some(tag));
            } else if is_shown && !tag.starts_with('!') {
                self.variable(tag, scopes, is_raw)?;
            }
        }
    }

    /// Counts what was read, because a block is read for each entry of its list, shown or not.
    fn step(&mut self, read: &str, scopes: &[Scope<'_>]) -> Result<(), Failure> {
        if scopes.len() > DEPTH {
            return Err(Failure::invalid(format!(
                "the template has more than {DEPTH} blocks within each other"
            )));
        }
        self.batch.take(STEP + read.len())
    }

    fn block<'t>(
        &mut self,
        block: &str,
        rest: &mut &'t str,
        scopes: &[Scope<'_>],
        is_shown: bool,
    ) -> Result<(), Failure> {
        let (helper, path) = block.split_once(' ').unwrap_or((block, ""));
        let value = find(path.trim(), scopes).unwrap_or(&Value::Null);
        let is_true = is_truthy(value);
        // The block is read as often as it is shown, and once if it is not.
        let inner = |value, index| [scopes, &[Scope { value, index }]].concat();
        let start: &'t str = rest;
        let same = scopes.last().map_or(&Value::Null, |scope| scope.value);
        let mut end = match (helper, value) {
            ("if", _) => self.run(rest, &inner(same, 0), is_shown && is_true)?,
            ("unless", _) => self.run(rest, &inner(same, 0), is_shown && !is_true)?,
            ("each", Value::Array(values)) if is_shown && !values.is_empty() => {
                let mut end = None;
                for (index, value) in values.iter().enumerate() {
                    *rest = start;
                    end = self.run(rest, &inner(value, index), true)?;
                }
                end
            }
            ("each", _) => self.run(rest, &inner(same, 0), false)?,
            _ => {
                return Err(Failure::invalid(format!(
                    "the template uses {{{{#{helper}}}}}, which is not supported"
                )));
            }
        };
        if end == Some("else") {
            let is_shown = is_shown
                && if helper == "unless" {
                    is_true
                } else {
                    !is_true
                };
            end = self.run(rest, &inner(same, 0), is_shown)?;
        }
        match end.and_then(|end| end.strip_prefix('/')) {
            Some(end) if end.trim() == helper => Ok(()),
            _ => Err(Failure::invalid(format!(
                "the template has a {{{{#{helper}}}}} without its end"
            ))),
        }
    }

    fn variable(&mut self, path: &str, scopes: &[Scope<'_>], is_raw: bool) -> Result<(), Failure> {
        if path == "@index" {
            let index = scopes.last().map_or(0, |scope| scope.index);
            return self.write(&index.to_string(), true);
        }
        let absent = || {
            Failure::invalid(format!(
                "Attribute '{path}' is not present in the rendering data."
            ))
        };
        let text = match find(path, scopes).ok_or_else(absent)? {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let is_escaped = self.is_html && !is_raw;
        self.write(&if is_escaped { escaped(&text) } else { text }, true)
    }

    fn write(&mut self, text: &str, is_shown: bool) -> Result<(), Failure> {
        if !is_shown {
            return Ok(());
        }
        self.batch.take(text.len())?;
        self.output.push_str(text);
        Ok(())
    }
}

/// The value at `a.b`, `this`, `this.a` or `../a`.
fn find<'a>(path: &str, scopes: &[Scope<'a>]) -> Option<&'a Value> {
    let mut path = path;
    let mut scopes = scopes;
    while let Some(outer) = path.strip_prefix("../") {
        path = outer;
        scopes = scopes.split_last().map_or(scopes, |(_, outer)| outer);
    }
    let mut value = scopes.last()?.value;
    for name in path.split('.').filter(|name| !matches!(*name, "this" | "")) {
        value = match value {
            Value::Array(values) => values.get(name.parse::<usize>().ok()?)?,
            other => other.get(name)?,
        };
    }
    Some(value)
}

fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::Array(values) => !values.is_empty(),
        Value::Bool(true) | Value::Object(_) => true,
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#x27;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn render(template: &str, variables: &Value, is_html: bool) -> Result<String, Failure> {
        super::render(template, variables, is_html, &mut Batch::of(4_000_000))
    }

    #[test]
    fn a_template_is_rendered_as_handlebars_does() {
        let data = json!({"name": "A<b>", "user": {"mail": "a@b"}, "items": [{"n": 1}, {"n": 2}], "no": [], "zero": 0});
        for (template, rendered) in [
            (
                "Hi {{name}}, {{{name}}} {{ user.mail }}",
                "Hi A&lt;b&gt;, A<b> a@b",
            ),
            (
                "{{#each items}}{{@index}}:{{n}}{{this.n}} {{../name}};{{/each}}",
                "0:11 A&lt;b&gt;;1:22 A&lt;b&gt;;",
            ),
            (
                "{{#if name}}yes{{else}}no{{/if}}{{#if zero}}yes{{else}}no{{/if}}",
                "yesno",
            ),
            (
                "{{#unless no}}none{{/unless}}{{#each no}}{{x}}{{else}}empty{{/each}}",
                "noneempty",
            ),
            (
                "{{#if missing}}{{#each items}}{{n}}{{/each}}{{/if}}{{! a comment }}|",
                "|",
            ),
            ("{{items.1.n}} }} {", "2 }} {"),
        ] {
            assert_eq!(
                render(template, &data, true).unwrap(),
                rendered,
                "{template}"
            );
        }
        for template in [
            "{{",
            "{{a}}",
            "{{#if a}}",
            "{{/if}}",
            "{{else}}",
            "{{#with a}}{{/with}}",
            "{{#if a}}{{/each}}",
        ] {
            assert!(render(template, &data, true).is_err(), "{template}");
        }
    }

    #[test]
    fn the_work_is_bounded() {
        let data = json!({"a": vec![0; 1_000], "long": "x".repeat(200_000)});
        let nested = format!(
            "{}{}",
            "{{#each ../a}}".repeat(6).replacen("../", "", 1),
            "{{/each}}".repeat(6)
        );
        assert!(
            render(&nested, &data, true)
                .unwrap_err()
                .text
                .contains("four times")
        );
        assert!(
            render(&"{{long}}".repeat(100), &data, true)
                .unwrap_err()
                .text
                .contains("four times")
        );
        for silent in [
            "x".repeat(100_000),
            format!("{{{{! {} }}}}", "x".repeat(100_000)),
        ] {
            let silent = format!("{{{{#each a}}}}{{{{#if no}}}}{silent}{{{{/if}}}}{{{{/each}}}}");
            assert!(
                render(&silent, &data, true)
                    .unwrap_err()
                    .text
                    .contains("four times")
            );
        }
        let deep = format!("{}{}", "{{#if a}}".repeat(10_000), "{{/if}}".repeat(10_000));
        assert!(
            render(&deep, &data, true)
                .unwrap_err()
                .text
                .contains("more than 20 blocks")
        );
    }
    #[test]
    fn all_texts_of_a_request_are_limited_together() {
        let data = json!({"a": vec![0; 1_000]});
        let mut batch = Batch::of(25_000_000);
        let mut render = || {
            super::render(
                "{{#each a}}{{@index}}{{@index}}{{/each}}",
                &data,
                true,
                &mut batch,
            )
        };
        let rendered = (0..200).take_while(|_| render().is_ok()).count();
        assert!((50..100).contains(&rendered), "{rendered}");
    }
}
