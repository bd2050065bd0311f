//! Forms: `multipart/form-data` with files, and `application/x-www-form-urlencoded`.

use std::convert::Infallible;

use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use futures_util::{FutureExt, stream};
use multer::{Field, Multipart};

use super::failure::Failure;

/// Maximum number of fields of a form.
const FIELDS: usize = 10_000;

/// The fields of a form, in order.
#[derive(Debug, Default)]
pub(super) struct Form {
    pub(super) fields: Vec<(String, String)>,
    pub(super) files: Vec<File>,
}

/// A file in a form.
#[derive(Debug)]
pub(super) struct File {
    /// The name of the field.
    pub(super) field: String,
    /// The name of the file.
    pub(super) name: String,
    pub(super) content_type: String,
    pub(super) content: Bytes,
}

impl Form {
    /// Parses a body.
    ///
    /// # Errors
    /// [`Failure`] for a multipart body that is cut off, or a form with too many fields.
    pub(super) fn parse(headers: &HeaderMap, body: &Bytes) -> Result<Self, Failure> {
        let content_type = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let form = match multer::parse_boundary(content_type) {
            // The body is in memory, so nothing is waited for.
            Ok(boundary) => Self::read_parts(body.clone(), boundary)
                .now_or_never()
                .ok_or_else(too_large)??,
            Err(_) => {
                let pairs = form_urlencoded::parse(body).take(FIELDS + 1);
                let fields = pairs
                    .map(|(name, value)| (name.into_owned(), value.into_owned()))
                    .collect();
                Self {
                    fields,
                    files: Vec::new(),
                }
            }
        };
        if form.fields.len() > FIELDS {
            Err(too_large())
        } else {
            Ok(form)
        }
    }

    async fn read_parts(body: Bytes, boundary: String) -> Result<Self, Failure> {
        let whole = stream::once(async { Ok::<_, Infallible>(body) });
        let mut multipart = Multipart::new(whole, boundary);
        let mut form = Self::default();
        while let Some(part) = multipart
            .next_field()
            .await
            .map_err(|error| malformed(&error))?
        {
            if form.fields.len() + form.files.len() >= FIELDS {
                return Err(too_large());
            }
            form.add(part).await?;
        }
        Ok(form)
    }

    async fn add(&mut self, part: Field<'_>) -> Result<(), Failure> {
        let field = part.name().unwrap_or_default().to_owned();
        let Some(name) = part.file_name().map(str::to_owned) else {
            let value = part.bytes().await.map_err(|error| malformed(&error))?;
            let value = String::from_utf8(value.into())
                .map_err(|_| Failure::invalid(format!("the field {field} is not UTF-8")))?;
            self.fields.push((field, value));
            return Ok(());
        };
        let content_type = part
            .content_type()
            .map(ToString::to_string)
            .unwrap_or_default();
        let content = part.bytes().await.map_err(|error| malformed(&error))?;
        self.files.push(File {
            field,
            name,
            content_type,
            content,
        });
        Ok(())
    }

    /// The first value of a field.
    pub(super) fn first(&self, wanted: &str) -> Option<&str> {
        self.all(wanted).next()
    }

    /// Every value of a field.
    pub(super) fn all<'a>(&'a self, wanted: &str) -> impl Iterator<Item = &'a str> {
        let named = self.fields.iter().filter(move |(name, _)| name == wanted);
        named.map(|(_, value)| value.as_str())
    }

    /// The fields whose name begins with `prefix`, each with the rest of its name.
    pub(super) fn beginning<'a>(
        &'a self,
        prefix: &str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.fields
            .iter()
            .filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?, value.as_str())))
    }
}

fn malformed(error: &multer::Error) -> Failure {
    Failure::invalid(format!("invalid form: {error}"))
}

fn too_large() -> Failure {
    Failure::invalid(format!("the form has more than {FIELDS} fields"))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};

    use super::*;

    fn form(content_type: &str, body: &[u8]) -> Result<Form, Failure> {
        Form::parse(
            &[(CONTENT_TYPE, content_type.parse().unwrap())]
                .into_iter()
                .collect(),
            &Bytes::copy_from_slice(body),
        )
    }

    #[test]
    fn both_kinds_of_forms_are_read() {
        let form_of = |content_type, body: &[u8]| form(content_type, body).unwrap();
        let encoded = form_of(
            "application/x-www-form-urlencoded",
            b"to=a%40b&o:tag=x&o:tag=y+z",
        );
        assert_eq!(
            (
                encoded.first("to"),
                encoded.all("o:tag").collect::<Vec<_>>()
            ),
            (Some("a@b"), vec!["x", "y z"])
        );
        let body = "--X\r\nContent-Disposition: form-data; name=\"h:X-A\"\r\n\r\nzwölf\r\n--X\r\n\
            Content-Disposition: form-data; name=\"attachment\"; filename=\"a.bin\"\r\nContent-Type: image/png\r\n\r\n\
            \0\r\n--\n\r\n--X--\r\n";
        let parts = form_of("multipart/form-data; boundary=X", body.as_bytes());
        assert_eq!(
            parts.beginning("h:").collect::<Vec<_>>(),
            [("X-A", "zwölf")]
        );
        let file = &parts.files[0];
        assert_eq!(
            (&*file.field, &*file.name, &*file.content_type),
            ("attachment", "a.bin", "image/png")
        );
        assert_eq!(&file.content[..], b"\0\r\n--\n");
    }

    /// A name as applications write it: they percent-encode the other characters.
    const NAME: &str = r#"[^\x00-\x1f\x7f"\\]{0,8}"#;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn fields_are_read_as_they_were_written(
            fields in vec((NAME, ".{0,30}"), 0..8),
            files in vec(("[a-z]{1,8}", NAME, any::<Vec<u8>>()), 0..3),
        ) {
            let encoded = form_urlencoded::Serializer::new(String::new()).extend_pairs(&fields).finish();
            prop_assert_eq!(&form("application/x-www-form-urlencoded", encoded.as_bytes()).unwrap().fields, &fields);
            // No content can have this line.
            let line = "--THE-BOUNDARY-OF-THIS-FORM";
            let mut body = Vec::new();
            for (name, value) in &fields {
                let head = format!("{line}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
                body.extend([head.as_bytes(), value.as_bytes(), b"\r\n"].concat());
            }
            for (field, name, content) in &files {
                let names = format!("name=\"{field}\"; filename=\"{name}\"");
                let head = format!("{line}\r\nContent-Disposition: form-data; {names}\r\n\r\n");
                body.extend([head.as_bytes(), content, b"\r\n"].concat());
            }
            body.extend(format!("{line}--\r\n").as_bytes());
            let read = form("multipart/form-data; boundary=THE-BOUNDARY-OF-THIS-FORM", &body).unwrap();
            prop_assert_eq!(&read.fields, &fields);
            let read = read.files.into_iter().map(|file| (file.field, file.name, file.content.to_vec()));
            prop_assert_eq!(read.collect::<Vec<_>>(), files);
        }

        #[test]
        fn no_body_makes_it_panic(body in any::<Vec<u8>>(), boundary in "[a-z-]{0,4}") {
            for content_type in ["", "multipart/form-data", &format!("multipart/form-data; boundary={boundary}")] {
                let _ = form(content_type, &[b"--", boundary.as_bytes(), b"\r\n", &body].concat());
            }
        }
    }

    #[test]
    fn a_broken_form_is_refused() {
        for body in [
            "",
            "--X",
            "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nvalue",
        ] {
            assert!(
                form("multipart/form-data; boundary=X", body.as_bytes()).is_err(),
                "{body}"
            );
        }
        assert!(form("", "a=b&".repeat(FIELDS + 1).as_bytes()).is_err());
    }
}
