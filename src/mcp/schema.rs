//! The schemas of the tools, shortened, because a client has all of them in its context all the
//! time. Inputs keep what a caller must know. Outputs keep the names and types of their fields, and
//! of nested objects only the names.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::message::JsonObject;

/// What a caller learns nothing from.
const LEFT_OUT: [&str; 4] = ["$schema", "title", "format", "x-extension"];

/// The schema of a tool's arguments. Every input is a struct, so its schema is that of an object.
pub(super) fn input<I: JsonSchema>() -> JsonObject {
    let mut schema = of::<I>(SchemaSettings::draft2020_12());
    shorten(&mut schema);
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

/// The schema of a tool's structured result.
pub(super) fn output<O: JsonSchema>() -> JsonObject {
    let schema = Value::Object(of::<O>(SchemaSettings::draft2020_12().for_serialize()));
    let mut outline = outline(&schema, &schema, 1);
    // The result is always an object, also where its type flattens another one.
    outline.insert("type".to_owned(), json!("object"));
    outline
}

/// The schema of a type, without what describes the type itself.
fn of<T: JsonSchema>(settings: SchemaSettings) -> JsonObject {
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("description");
    std::mem::take(schema.ensure_object())
}

fn shorten(schema: &mut JsonObject) {
    let is_empty_default = |name: &str, value: &Value| {
        name == "default" && (*value == json!("") || *value == json!(false))
    };
    schema
        .retain(|name, value| !LEFT_OUT.contains(&name.as_str()) && !is_empty_default(name, value));
    for (name, value) in schema.iter_mut() {
        match value {
            // Its keys are names of fields.
            Value::Object(fields) if name == "properties" => {
                fields
                    .values_mut()
                    .filter_map(Value::as_object_mut)
                    .for_each(shorten);
            }
            Value::Object(inner) => shorten(inner),
            Value::Array(items) => items
                .iter_mut()
                .filter_map(Value::as_object_mut)
                .for_each(shorten),
            _ => {}
        }
    }
}

/// The names and types of the fields down to `depth` objects, and the names of the fields below.
fn outline(root: &Value, schema: &Value, depth: u8) -> JsonObject {
    if let Some(definition) = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|path| root.pointer(path.get(1..)?))
    {
        return outline(root, definition, depth);
    }
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
        let choices: Vec<_> = choices
            .iter()
            .map(|choice| outline(root, choice, depth))
            .collect();
        return JsonObject::from_iter([("anyOf".to_owned(), json!(choices))]);
    }
    let mut short = Map::new();
    for name in ["type", "enum"] {
        short.extend(
            schema
                .get(name)
                .map(|value| (name.to_owned(), value.clone())),
        );
    }
    if let Some(items) = schema.get("items") {
        short.insert("items".to_owned(), json!(outline(root, items, depth)));
    }
    if let Some(fields) = schema.get("properties").and_then(Value::as_object) {
        let (name, shown) = match depth.checked_sub(1) {
            Some(rest) => {
                let fields = fields
                    .iter()
                    .map(|(name, field)| (name.clone(), json!(outline(root, field, rest))));
                ("properties", Value::Object(fields.collect()))
            }
            None => (
                "required",
                schema.get("required").cloned().unwrap_or(json!([])),
            ),
        };
        short.insert(name.to_owned(), shown);
    }
    short
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Outer {
        /// A description.
        name: String,
        inner: Option<Inner>,
        all: Vec<Inner>,
    }

    #[derive(Serialize, JsonSchema)]
    struct Inner {
        number: u32,
        optional: Option<String>,
    }

    #[test]
    fn an_output_keeps_the_names_of_its_fields() {
        let inner = json!({"type": "object", "required": ["number", "optional"]});
        let expected = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "inner": {"anyOf": [inner, {"type": "null"}]},
                "all": {"type": "array", "items": inner},
            },
        });
        let schema = Value::Object(output::<Outer>());
        assert_eq!(schema, expected);
    }

    #[test]
    fn an_input_keeps_descriptions_and_its_fields_called_title_or_format() {
        #[derive(JsonSchema, serde::Deserialize)]
        #[allow(dead_code, reason = "only its schema is used")]
        struct Input {
            /// The title.
            title: String,
            #[serde(default)]
            format: String,
        }
        let schema = Value::Object(input::<Input>());
        let properties = json!({
            "title": {"description": "The title.", "type": "string"},
            "format": {"type": "string"},
        });
        let expected = json!({
            "type": "object", "properties": properties, "required": ["title"], "additionalProperties": false,
        });
        assert_eq!(schema, expected);
    }
}
