//! Describes an operation for the document of the API, next to its handler.
//!
//! A handler's extractors describe the parameters that they read and the errors with which they
//! refuse; the rest is written at the handler. Statuses, texts and headers of errors come from
//! [`Error`].

use aide::generate::{GenContext, in_context};
use aide::openapi::{
    Components, Header, HeaderStyle, Link, LinkOperation, MediaType, Operation, Parameter,
    ParameterData, ParameterSchemaOrContent, PathStyle, QueryStyle, ReferenceOr, RequestBody,
    Response, SchemaObject, SecurityRequirement, StatusCode as Status,
};
use aide::transform::TransformOperation;
use axum::http::{HeaderName, StatusCode};
use restante_api::{ErrorBody, Example};
use schemars::{JsonSchema, Schema, json_schema};
use serde::Serialize;
use serde_json::Value;

use super::error::Error;
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

/// What a handler adds to the description of its operation.
pub(super) trait Describe: Sized {
    /// The name, the tag and the texts of the operation.
    fn named(self, id: &str, tag: &str, summary: &str, description: &str) -> Self;
    /// It is not part of the contract.
    fn extension(self) -> Self;
    /// It needs no key.
    fn public(self) -> Self;
    /// It takes a JSON body, and rejects one that is too large, too slow, or not of this type.
    fn body<T: JsonSchema + Example + Serialize>(self, required: bool, refused: &str) -> Self;
    /// It returns JSON.
    fn returns<T: JsonSchema + Example + Serialize>(
        self,
        status: StatusCode,
        description: &str,
    ) -> Self;
    /// It returns this type of content, with these headers.
    fn returns_content(self, media_type: &str, description: &str, headers: &[TextHeader]) -> Self;
    /// It returns a JSON object with at least these fields.
    fn returns_document(self, description: &str, required: &[&str]) -> Self;
    /// It returns no content.
    fn returns_nothing(self, description: &str) -> Self;
    /// Another operation that takes values of the response.
    fn link(
        self,
        name: &str,
        operation: &str,
        description: &str,
        parameters: &[(&str, Value)],
    ) -> Self;
    /// It refuses filters that are not valid.
    fn refuses_filters(self) -> Self;
    /// It refuses with one of these errors; those with the same status share the description.
    fn refuses(self, description: &str, errors: &[Error]) -> Self;
    /// It refuses as others do.
    fn refuses_as(self, shared: &Shared) -> Self;
}

impl Describe for TransformOperation<'_> {
    fn named(self, id: &str, tag: &str, summary: &str, description: &str) -> Self {
        self.id(id)
            .tag(tag)
            .summary(summary)
            .description(description)
    }

    fn extension(mut self) -> Self {
        self.inner_mut()
            .extensions
            .insert(EXTENSION.to_owned(), true.into());
        self
    }

    fn public(mut self) -> Self {
        self.inner_mut().security = vec![SecurityRequirement::default()];
        self
    }

    fn body<T: JsonSchema + Example + Serialize>(mut self, required: bool, refused: &str) -> Self {
        let content = [(JSON.to_owned(), json_content::<T>())]
            .into_iter()
            .collect();
        let body = RequestBody {
            content,
            required,
            ..RequestBody::default()
        };
        self.inner_mut().request_body = Some(ReferenceOr::Item(body));
        // Only a type with fields can miss one.
        let has_fields = in_context(|context| T::json_schema(&mut context.schema))
            .get("properties")
            .is_some();
        let mut errors = vec![Error::InvalidJson, Error::UnknownField(String::new())];
        errors.extend(
            has_fields
                .then_some([Error::MissingField(""), Error::InvalidField("")])
                .into_iter()
                .flatten(),
        );
        self.refuses(refused, &errors)
            .refuses_as(&BODY_TOO_LARGE)
            .refuses_as(&SLOW_BODY)
    }

    fn returns<T: JsonSchema + Example + Serialize>(
        mut self,
        status: StatusCode,
        description: &str,
    ) -> Self {
        let content = [(JSON.to_owned(), json_content::<T>())]
            .into_iter()
            .collect();
        insert(
            self.inner_mut(),
            status,
            ReferenceOr::Item(Response {
                content,
                ..response(description)
            }),
        );
        self
    }

    fn returns_content(
        mut self,
        media_type: &str,
        description: &str,
        headers: &[TextHeader],
    ) -> Self {
        let schema = Some(schema_object(json_schema!({"type": "string"})));
        let media = MediaType {
            schema,
            ..MediaType::default()
        };
        let mut response = response(description);
        response.content.insert(media_type.to_owned(), media);
        for (name, description, pattern) in headers {
            let mut schema = json_schema!({"type": "string"});
            if let Some(pattern) = pattern {
                schema.insert("pattern".to_owned(), (*pattern).into());
            }
            response.headers.insert(
                (*name).to_owned(),
                ReferenceOr::Item(header(description, schema)),
            );
        }
        insert(
            self.inner_mut(),
            StatusCode::OK,
            ReferenceOr::Item(response),
        );
        self
    }

    fn returns_document(mut self, description: &str, required: &[&str]) -> Self {
        let schema = Some(schema_object(
            json_schema!({"type": "object", "required": required}),
        ));
        let media = MediaType {
            schema,
            ..MediaType::default()
        };
        let content = [(JSON.to_owned(), media)].into_iter().collect();
        insert(
            self.inner_mut(),
            StatusCode::OK,
            ReferenceOr::Item(Response {
                content,
                ..response(description)
            }),
        );
        self
    }

    fn returns_nothing(mut self, description: &str) -> Self {
        insert(
            self.inner_mut(),
            StatusCode::NO_CONTENT,
            ReferenceOr::Item(response(description)),
        );
        self
    }

    fn link(
        mut self,
        name: &str,
        operation: &str,
        description: &str,
        parameters: &[(&str, Value)],
    ) -> Self {
        let link = Link {
            description: Some(description.to_owned()),
            operation: LinkOperation::OperationId(operation.to_owned()),
            request_body: None,
            parameters: parameters
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
            server: None,
            extensions: Default::default(),
        };
        let responses = self.inner_mut().responses.get_or_insert_default();
        let success = responses
            .responses
            .iter_mut()
            .find(|(status, _)| matches!(status, Status::Code(200..300)));
        if let Some((_, ReferenceOr::Item(response))) = success {
            response
                .links
                .insert(name.to_owned(), ReferenceOr::Item(link));
        }
        self
    }

    fn refuses_filters(self) -> Self {
        let description = "`invalid after`: the value is not the id of a message in this inbox. `invalid has`: a word \
                           is not `otp`, `code` or `link`. `invalid header`: the value is not `Name:substring`. \
                           `invalid subject`, `invalid from`, `invalid to`, `invalid text`: the value is longer than \
                           998 bytes.";
        let parameters = ["after", "has", "header", "subject", "from", "to", "text"];
        self.refuses(description, &parameters.map(Error::InvalidParameter))
    }

    fn refuses(mut self, description: &str, errors: &[Error]) -> Self {
        for status in errors.iter().map(Error::status) {
            let same: Vec<_> = errors
                .iter()
                .filter(|error| error.status() == status)
                .collect();
            insert(
                self.inner_mut(),
                status,
                ReferenceOr::Item(refusal(description, &same)),
            );
        }
        self
    }

    fn refuses_as(mut self, shared: &Shared) -> Self {
        add_shared(self.inner_mut(), shared);
        self
    }
}

/// Adds a shared refusal to an operation.
pub(super) fn add_shared(operation: &mut Operation, shared: &Shared) {
    let reference = ReferenceOr::ref_(&format!("#/components/responses/{}", shared.name));
    for error in (shared.errors)() {
        insert(operation, error.status(), reference.clone());
    }
}

/// Adds what can happen at every operation, and sorts the responses by their status.
pub(super) fn complete(operation: &mut Operation) {
    for shared in [&INTERNAL_ERROR, &UNAVAILABLE] {
        let status = (shared.errors)().first().map(Error::status);
        if !status.is_some_and(|status| has(operation, status)) {
            add_shared(operation, shared);
        }
    }
    if let Some(responses) = &mut operation.responses {
        responses.responses.sort_unstable_keys();
    }
}

fn has(operation: &Operation, status: StatusCode) -> bool {
    let status = Status::Code(status.as_u16());
    operation
        .responses
        .as_ref()
        .is_some_and(|responses| responses.responses.contains_key(&status))
}

/// The parts of the document that operations refer to.
pub(super) fn components() -> Components {
    let mut components = Components::default();
    let schema = json_schema!({"type": "string", "format": "uuid"});
    let request_id = header("Identifies the request in the log of the service.", schema);
    components
        .headers
        .insert("RequestId".to_owned(), ReferenceOr::Item(request_id));
    for shared in SHARED {
        let errors = (shared.errors)();
        let refusal = refusal(shared.description, &errors.iter().collect::<Vec<_>>());
        components
            .responses
            .insert(shared.name.to_owned(), ReferenceOr::Item(refusal));
    }
    components
}

/// Adds the fields of `T` as parameters.
pub(super) fn add_parameters<T: JsonSchema>(
    context: &mut GenContext,
    operation: &mut Operation,
    in_path: bool,
) {
    let schema = T::json_schema(&mut context.schema);
    let fields = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    for (name, field) in fields {
        let Some(mut field) = field.as_object().cloned() else {
            continue;
        };
        let description = field.remove("description");
        let is_optional = field.contains_key("default");
        // An empty parameter counts as absent, so this says nothing.
        field.retain(|name, value| name != "default" || value != "");
        let parameter_data = ParameterData {
            name: name.clone(),
            description: description
                .as_ref()
                .and_then(Value::as_str)
                .map(str::to_owned),
            required: in_path || !is_optional,
            deprecated: None,
            example: field.remove("example"),
            extensions: field
                .remove(EXTENSION)
                .map(|value| (EXTENSION.to_owned(), value))
                .into_iter()
                .collect(),
            format: ParameterSchemaOrContent::Schema(schema_object(field.into())),
            examples: Default::default(),
            explode: None,
        };
        operation.parameters.push(ReferenceOr::Item(if in_path {
            Parameter::Path {
                parameter_data,
                style: PathStyle::Simple,
            }
        } else {
            let style = QueryStyle::Form;
            let allow_empty_value = None;
            Parameter::Query {
                parameter_data,
                allow_reserved: false,
                style,
                allow_empty_value,
            }
        }));
    }
}

/// A response with the header that every response has.
fn response(description: &str) -> Response {
    let request_id = (
        "X-Request-Id".to_owned(),
        ReferenceOr::ref_("#/components/headers/RequestId"),
    );
    Response {
        description: description.to_owned(),
        headers: [request_id].into_iter().collect(),
        ..Response::default()
    }
}

/// The response for errors of one status.
fn refusal(description: &str, errors: &[&Error]) -> Response {
    let mut response = response(description);
    if let Some((name, header)) = errors
        .iter()
        .find_map(|error| error.header())
        .and_then(|(name, _)| documented(&name))
    {
        response
            .headers
            .insert(name.to_owned(), ReferenceOr::Item(header));
    }
    let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
    let is_open = texts.iter().any(|text| text.ends_with(' '));
    let exact = |text: &String| {
        if text.ends_with(' ') {
            text.clone()
        } else {
            format!("{text}$")
        }
    };
    let allowed = match is_open {
        // The name of a field follows.
        true => {
            json_schema!({"pattern": format!("^({})", texts.iter().map(exact).collect::<Vec<_>>().join("|"))})
        }
        false => json_schema!({"enum": texts}),
    };
    let mut schema = in_context(|context| context.schema.subschema_for::<ErrorBody>());
    // A text with numbers is an example.
    if !texts.iter().any(|text| text.contains(char::is_numeric)) {
        schema.insert(
            "properties".to_owned(),
            serde_json::json!({"error": allowed}),
        );
    }
    let example = texts.into_iter().next().filter(|_| !is_open);
    let example = example.and_then(|error| serde_json::to_value(ErrorBody { error }).ok());
    let media = MediaType {
        schema: Some(schema_object(schema)),
        example,
        ..MediaType::default()
    };
    response.content.insert(JSON.to_owned(), media);
    response
}

/// The name and the description of a header of errors. `Connection` concerns one connection only.
fn documented(name: &HeaderName) -> Option<(&'static str, Header)> {
    match name.as_str() {
        "retry-after" => {
            let schema = json_schema!({"type": "integer", "minimum": 0});
            Some((
                "Retry-After",
                header("Seconds after which to retry.", schema),
            ))
        }
        "link" => {
            let description = "Extension. The page of the dashboard that explains why no message arrived, with the \
                               relation `help`. Missing if too many waits time out at the same time.";
            let schema =
                json_schema!({"type": "string", "pattern": "^<.*/failures/.*>; rel=\"help\"$"});
            Some((
                "Link",
                Header {
                    required: false,
                    ..header(description, schema)
                },
            ))
        }
        "www-authenticate" => Some((
            "WWW-Authenticate",
            header("Always Bearer.", json_schema!({"type": "string"})),
        )),
        _ => None,
    }
}

fn header(description: &str, schema: Schema) -> Header {
    Header {
        description: Some(description.to_owned()),
        style: HeaderStyle::Simple,
        required: true,
        deprecated: None,
        format: ParameterSchemaOrContent::Schema(schema_object(schema)),
        example: None,
        examples: Default::default(),
        extensions: Default::default(),
    }
}

fn json_content<T: JsonSchema + Example + Serialize>() -> MediaType {
    let schema = in_context(|context| context.schema.subschema_for::<T>());
    let example = serde_json::to_value(T::example()).ok();
    MediaType {
        schema: Some(schema_object(schema)),
        example,
        ..MediaType::default()
    }
}

fn schema_object(json_schema: Schema) -> SchemaObject {
    SchemaObject {
        json_schema,
        external_docs: None,
        example: None,
    }
}

fn insert(operation: &mut Operation, status: StatusCode, response: ReferenceOr<Response>) {
    let responses = operation.responses.get_or_insert_default();
    responses
        .responses
        .insert(Status::Code(status.as_u16()), response);
}
