//! Describes an operation for the document of the API, next to its handler.
//!
//! A handler's extractors describe the parameters that they read and the errors with which they
//! refuse ([`Inputs`]); the rest is written at the handler. Statuses, texts and headers of errors
//! come from [`Error`].

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::handler::Handler;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::routing;
use restante_api::{ErrorBody, Example};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::app::App;
use super::error::Error;
use super::label::WAIT;
use super::response::JSON;

/// Marks what is not part of the contract.
const EXTENSION: &str = "x-extension";

/// A header of a response: its name, its description, and a pattern for its value.
type TextHeader = (&'static str, &'static str, Option<&'static str>);

pub(super) const ATTACHED: TextHeader = (
    "Content-Disposition",
    "Always an attachment.",
    Some("^attachment; filename="),
);
pub(super) const NOSNIFF: TextHeader = (
    "X-Content-Type-Options",
    "Always nosniff.",
    Some("^nosniff$"),
);

/// A refusal that several operations share: a component of the document.
pub(super) struct Shared {
    name: &'static str,
    description: &'static str,
    errors: fn() -> Vec<Error>,
}

pub(super) const UNAUTHORIZED: Shared = Shared {
    name: "Unauthorized",
    description: "The key is missing or wrong.",
    errors: || vec![Error::Unauthorized],
};
pub(super) const INBOX_NOT_FOUND: Shared = Shared {
    name: "InboxNotFound",
    description: "The inbox is unknown, has expired, or belongs to another project.",
    errors: || vec![Error::InboxNotFound],
};
pub(super) const MESSAGE_NOT_FOUND: Shared = Shared {
    name: "MessageNotFound",
    description: "The message is unknown, has expired with its inbox, or belongs to another project.",
    errors: || vec![Error::MessageNotFound],
};
const BODY_TOO_LARGE: Shared = Shared {
    name: "BodyTooLarge",
    description: "The body is larger than the limit: by default 10 MiB for a send, 64 KiB elsewhere.",
    errors: || vec![Error::BodyTooLarge],
};
const SLOW_BODY: Shared = Shared {
    name: "SlowBody",
    description: "The body did not arrive within a minute.",
    errors: || vec![Error::SlowBody],
};
const INTERNAL_ERROR: Shared = Shared {
    name: "InternalError",
    description: "The service failed. The cause is in its log, under the X-Request-Id of the response.",
    errors: || vec![Error::internal(std::fmt::Error)],
};
/// Of the operations that read messages.
pub(super) const BUSY: Shared = Shared {
    name: "Busy",
    description: "Too many requests of the key run, or the database is unavailable; retry.",
    errors: || vec![Error::Busy, Error::unavailable(std::fmt::Error)],
};
/// Of waits and sends.
pub(super) const STOPPING: Shared = Shared {
    name: "Stopping",
    description: "The service is stopping, too many requests of the key run, or the database is unavailable; retry.",
    errors: || {
        vec![
            Error::Stopping,
            Error::Busy,
            Error::unavailable(std::fmt::Error),
        ]
    },
};
const UNAVAILABLE: Shared = Shared {
    name: "Unavailable",
    description: "The database is unavailable, or too slow; retry.",
    errors: || vec![Error::unavailable(std::fmt::Error)],
};

const SHARED: [Shared; 9] = [
    UNAUTHORIZED,
    INBOX_NOT_FOUND,
    MESSAGE_NOT_FOUND,
    BODY_TOO_LARGE,
    SLOW_BODY,
    INTERNAL_ERROR,
    BUSY,
    STOPPING,
    UNAVAILABLE,
];

/// How a handler describes its operation.
type Description = fn(Operation<'_>) -> Operation<'_>;

/// Routes with their descriptions.
#[derive(Default)]
pub(super) struct ApiRouter {
    pub(super) router: Router<Arc<App>>,
    operations: Vec<Described>,
}

struct Described {
    path: &'static str,
    method: &'static str,
    inputs: fn(&mut Operation<'_>),
    description: Description,
}

/// What an extractor adds to the description of an operation.
pub(super) trait Input {
    fn describe(_operation: &mut Operation<'_>) {}
}

impl Input for State<Arc<App>> {}
impl Input for HeaderMap {}
impl Input for Body {}

/// The extractors of a handler, as axum's [`Handler`] lists them after a marker.
pub(super) trait Inputs {
    fn describe(operation: &mut Operation<'_>);
}

macro_rules! inputs {
    ($($input:ident)*) => {
        impl<M, $($input: Input),*> Inputs for (M, $($input,)*) {
            fn describe(_operation: &mut Operation<'_>) {
                $($input::describe(_operation);)*
            }
        }
    };
}

inputs!();
inputs!(A);
inputs!(A B);
inputs!(A B C);
inputs!(A B C D);
inputs!(A B C D E);
inputs!(A B C D E F);

macro_rules! methods {
    ($($method:ident)*) => {$(
        /// Adds the handler of this method of a path.
        pub(super) fn $method<H, T>(
            mut self,
            path: &'static str,
            handler: H,
            description: Description,
        ) -> Self
        where
            H: Handler<T, Arc<App>>,
            T: Inputs + 'static,
        {
            self.router = self.router.route(path, routing::$method(handler));
            self.operations.push(Described {
                path,
                method: stringify!($method),
                inputs: T::describe,
                description,
            });
            self
        }
    )*};
}

impl ApiRouter {
    methods!(get put post delete);

    /// The paths below `prefix` with their operations, for the document.
    pub(super) fn paths(&self, prefix: &str, schemas: &mut SchemaGenerator) -> Map<String, Value> {
        let mut paths = Map::new();
        for described in &self.operations {
            let mut operation = Operation::new(schemas);
            (described.inputs)(&mut operation);
            let operation = (described.description)(operation).finish();
            let path = format!("{prefix}{}", described.path);
            paths.entry(path).or_insert_with(|| json!({}))[described.method] = operation;
        }
        paths
    }
}

/// The description of an operation, while it is made.
pub(super) struct Operation<'schemas> {
    /// Name, tag and texts.
    about: Map<String, Value>,
    parameters: Vec<Value>,
    /// The body, whether it needs a key, and whether it is an extension.
    others: Map<String, Value>,
    responses: BTreeMap<u16, Value>,
    schemas: &'schemas mut SchemaGenerator,
}

impl<'schemas> Operation<'schemas> {
    fn new(schemas: &'schemas mut SchemaGenerator) -> Self {
        Self {
            about: Map::new(),
            parameters: Vec::new(),
            others: Map::new(),
            responses: BTreeMap::new(),
            schemas,
        }
    }

    fn with(mut self, name: &str, value: Value) -> Self {
        self.others.insert(name.to_owned(), value);
        self
    }

    fn answers(mut self, status: StatusCode, response: Value) -> Self {
        self.responses.insert(status.as_u16(), response);
        self
    }

    /// The name, the tag and the texts of the operation.
    pub(super) fn named(mut self, id: &str, tag: &str, summary: &str, description: &str) -> Self {
        let about = [
            ("tags", json!([tag])),
            ("summary", json!(summary)),
            ("description", json!(description)),
            ("operationId", json!(id)),
        ];
        self.about = about
            .map(|(name, text)| (name.to_owned(), text))
            .into_iter()
            .collect();
        self
    }

    /// It is not part of the contract.
    pub(super) fn extension(self) -> Self {
        self.with(EXTENSION, json!(true))
    }

    /// It needs no key.
    pub(super) fn public(self) -> Self {
        self.with("security", json!([]))
    }

    /// It takes a JSON body, and rejects one that is too large, too slow, or not of this type.
    pub(super) fn body<T: JsonSchema + Example + Serialize>(
        self,
        required: bool,
        refused: &str,
    ) -> Self {
        let mut body = json!({"content": json_content::<T>(self.schemas)});
        if required {
            body["required"] = json!(true);
        }
        // Only a type with fields can miss one.
        let has_fields = T::json_schema(self.schemas).get("properties").is_some();
        let mut errors = vec![Error::InvalidJson, Error::UnknownField(String::new())];
        if has_fields {
            errors.extend([Error::MissingField(""), Error::InvalidField("")]);
        }
        self.with("requestBody", body)
            .refuses(refused, &errors)
            .refuses_as(&BODY_TOO_LARGE)
            .refuses_as(&SLOW_BODY)
    }

    /// It returns JSON.
    pub(super) fn returns<T: JsonSchema + Example + Serialize>(
        self,
        status: StatusCode,
        description: &str,
    ) -> Self {
        let mut response = response(description);
        response["content"] = json_content::<T>(self.schemas);
        self.answers(status, response)
    }

    /// It returns this type of content, with these headers.
    pub(super) fn returns_content(
        self,
        media_type: &str,
        description: &str,
        headers: &[TextHeader],
    ) -> Self {
        let mut response = response(description);
        response["content"] = json!({media_type: {"schema": {"type": "string"}}});
        for (name, description, pattern) in headers {
            let mut schema = json!({"type": "string"});
            if let Some(pattern) = pattern {
                schema["pattern"] = json!(pattern);
            }
            response["headers"][name] = header(description, &schema, true);
        }
        self.answers(StatusCode::OK, response)
    }

    /// It returns a JSON object with at least these fields.
    pub(super) fn returns_document(self, description: &str, required: &[&str]) -> Self {
        let mut response = response(description);
        let schema = json!({"type": "object", "required": required});
        response["content"] = json!({JSON: {"schema": schema}});
        self.answers(StatusCode::OK, response)
    }

    /// It returns no content.
    pub(super) fn returns_nothing(self, description: &str) -> Self {
        self.answers(StatusCode::NO_CONTENT, response(description))
    }

    /// Another operation that takes values of the response.
    pub(super) fn link(
        mut self,
        name: &str,
        operation: &str,
        description: &str,
        parameters: &[(&str, Value)],
    ) -> Self {
        let parameters: Map<_, _> = parameters
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let success = self.responses.range_mut(200..300).next();
        let (_, response) = success.expect("the response is described before its links");
        response["links"][name] = json!({
            "description": description,
            "operationId": operation,
            "parameters": parameters,
        });
        self
    }

    /// It refuses filters that are not valid.
    pub(super) fn refuses_filters(self) -> Self {
        let description = "`invalid after`: the value is not the id of a message in this inbox. `invalid has`: a word \
                           is not `otp`, `code` or `link`. `invalid header`: the value is not `Name:substring`. \
                           `invalid subject`, `invalid from`, `invalid to`, `invalid text`: the value is longer than \
                           998 bytes. `invalid x-restante-wait`: the header of this name has no text, more than 64 \
                           characters, or others than visible ones of ASCII.";
        let parameters = [
            "after", "has", "header", "subject", "from", "to", "text", WAIT,
        ];
        self.refuses(description, &parameters.map(Error::InvalidParameter))
    }

    /// It refuses with one of these errors; those with the same status share the description.
    pub(super) fn refuses(mut self, description: &str, errors: &[Error]) -> Self {
        for status in errors.iter().map(Error::status) {
            let same = errors.iter().filter(|error| error.status() == status);
            let refusal = refusal(description, &same.collect::<Vec<_>>(), self.schemas);
            self = self.answers(status, refusal);
        }
        self
    }

    /// It refuses as others do.
    pub(super) fn refuses_as(mut self, shared: &Shared) -> Self {
        self.add_shared(shared);
        self
    }

    /// Adds a shared refusal.
    pub(super) fn add_shared(&mut self, shared: &Shared) {
        let reference = json!({"$ref": format!("#/components/responses/{}", shared.name)});
        for error in (shared.errors)() {
            let status = error.status().as_u16();
            self.responses.insert(status, reference.clone());
        }
    }

    /// Adds the fields of `T` as parameters.
    pub(super) fn add_parameters<T: JsonSchema>(&mut self, place: &str) {
        let schema = T::json_schema(self.schemas);
        let fields = schema.get("properties").and_then(Value::as_object);
        for (name, field) in fields.into_iter().flatten() {
            let field = field.as_object().cloned();
            let mut field = field.expect("the schema of a field is an object");
            let is_optional = field.contains_key("default");
            // An empty parameter counts as absent, so this says nothing.
            field.retain(|name, value| name != "default" || value != "");
            let mut parameter = json!({"in": place, "name": name});
            let example = field.remove("example");
            let extension = field.remove(EXTENSION);
            if let Some(description) = field.remove("description") {
                parameter["description"] = description;
            }
            if place == "path" || !is_optional {
                parameter["required"] = json!(true);
            }
            parameter["schema"] = field.into();
            for (name, value) in [("example", example), (EXTENSION, extension)] {
                if let Some(value) = value {
                    parameter[name] = value;
                }
            }
            self.parameters.push(parameter);
        }
    }

    /// The description, with what can happen at every operation.
    fn finish(mut self) -> Value {
        for shared in [&INTERNAL_ERROR, &UNAVAILABLE] {
            let statuses: Vec<_> = (shared.errors)().iter().map(Error::status).collect();
            if !statuses
                .iter()
                .any(|status| self.responses.contains_key(&status.as_u16()))
            {
                self.add_shared(shared);
            }
        }
        let responses: Map<_, _> = self
            .responses
            .into_iter()
            .map(|(status, response)| (status.to_string(), response))
            .collect();
        let mut operation = Value::Object(self.about);
        if !self.parameters.is_empty() {
            operation["parameters"] = self.parameters.into();
        }
        if let Some(body) = self.others.remove("requestBody") {
            operation["requestBody"] = body;
        }
        operation["responses"] = responses.into();
        for (name, value) in self.others {
            operation[name] = value;
        }
        operation
    }
}

/// Adds the parts of the document that operations refer to: refusals and a header.
pub(super) fn add_components(components: &mut Value, schemas: &mut SchemaGenerator) {
    for shared in SHARED {
        let errors = (shared.errors)();
        let errors: Vec<_> = errors.iter().collect();
        components["responses"][shared.name] = refusal(shared.description, &errors, schemas);
    }
    let request_id = json!({"type": "string", "format": "uuid"});
    let description = "Identifies the request in the log of the service.";
    components["headers"]["RequestId"] = header(description, &request_id, true);
}

/// A response with the header that every response has.
fn response(description: &str) -> Value {
    let request_id = json!({"$ref": "#/components/headers/RequestId"});
    json!({"description": description, "headers": {"X-Request-Id": request_id}})
}

/// The response for errors of one status.
fn refusal(description: &str, errors: &[&Error], schemas: &mut SchemaGenerator) -> Value {
    let mut response = response(description);
    let with_header = errors.iter().find_map(|error| error.header());
    if let Some((name, header)) = with_header.and_then(|(name, _)| documented(&name)) {
        response["headers"][name] = header;
    }
    let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
    let is_open = texts.iter().any(|text| text.ends_with(' '));
    let reference = schemas.subschema_for::<ErrorBody>().to_value();
    let mut schema = json!({});
    // A text with numbers is an example.
    if !texts.iter().any(|text| text.contains(char::is_numeric)) {
        schema["properties"] = json!({"error": allowed(&texts, is_open)});
    }
    schema["$ref"] = reference["$ref"].clone();
    let mut media = json!({"schema": schema});
    if let Some(error) = texts.first().filter(|_| !is_open) {
        media["example"] = json!({"error": error});
    }
    response["content"] = json!({JSON: media});
    response
}

/// The texts that an error can have. After one that ends with a space, the name of a field follows.
fn allowed(texts: &[String], is_open: bool) -> Value {
    if !is_open {
        return json!({"enum": texts});
    }
    let exact = |text: &String| match text.ends_with(' ') {
        true => text.clone(),
        false => format!("{text}$"),
    };
    let pattern = texts.iter().map(exact).collect::<Vec<_>>().join("|");
    json!({"pattern": format!("^({pattern})")})
}

/// The name and the description of a header of errors. `Connection` concerns one connection only.
fn documented(name: &HeaderName) -> Option<(&'static str, Value)> {
    match name.as_str() {
        "retry-after" => {
            let schema = json!({"type": "integer", "minimum": 0});
            let header = header("Seconds after which to retry.", &schema, true);
            Some(("Retry-After", header))
        }
        "link" => {
            let description = "Extension. The page of the dashboard that explains why no message arrived, with the \
                               relation `help`. Missing if too many waits time out at the same time.";
            let schema = json!({"type": "string", "pattern": "^<.*/failures/.*>; rel=\"help\"$"});
            Some(("Link", header(description, &schema, false)))
        }
        "www-authenticate" => {
            let header = header("Always Bearer.", &json!({"type": "string"}), true);
            Some(("WWW-Authenticate", header))
        }
        _ => None,
    }
}

fn header(description: &str, schema: &Value, is_always_there: bool) -> Value {
    let mut header = json!({"description": description});
    if is_always_there {
        header["required"] = json!(true);
    }
    header["schema"] = schema.clone();
    header
}

fn json_content<T: JsonSchema + Example + Serialize>(schemas: &mut SchemaGenerator) -> Value {
    let schema = schemas.subschema_for::<T>();
    json!({JSON: {"schema": schema, "example": T::example()}})
}
