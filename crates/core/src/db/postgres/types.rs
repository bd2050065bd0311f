//! Converts values to PostgreSQL's types and back.

use bytes::{BufMut, Bytes, BytesMut};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::db::{BoxedError, DatabaseError, Row, Value};

impl ToSql for Value {
    /// Writes the value as the type that the server has inferred for the parameter.
    fn to_sql(&self, inferred: &Type, out: &mut BytesMut) -> Result<IsNull, BoxedError> {
        match (self, inferred) {
            (Self::Null, _) => return Ok(IsNull::Yes),
            (Self::Integer(integer), &Type::INT8) => out.put_i64(*integer),
            (Self::Integer(integer), &Type::INT4) => out.put_i32(i32::try_from(*integer)?),
            (Self::Text(text), &Type::TEXT | &Type::VARCHAR) => put_text(text, out),
            (Self::Bytes(bytes), &Type::BYTEA) => out.put_slice(bytes),
            (Self::Uuid(uuid), &Type::BYTEA) => out.put_slice(uuid.as_bytes()),
            _ => {
                return Err(format!(
                    "the value of a parameter of type {inferred} is {}",
                    kind(self)
                )
                .into());
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Integer(_) => "an integer",
        Value::Text(_) => "text",
        Value::Bytes(_) => "bytes",
        Value::Uuid(_) => "a UUID",
    }
}

/// PostgreSQL does not accept NUL in text, so it is replaced.
fn put_text(text: &str, out: &mut BytesMut) {
    let mut parts = text.split('\0');
    out.put_slice(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        out.put_slice("\u{fffd}".as_bytes());
        out.put_slice(part.as_bytes());
    }
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(column: &Type, bytes: &'a [u8]) -> Result<Self, BoxedError> {
        Ok(match *column {
            Type::INT8 => Self::Integer(i64::from_sql(column, bytes)?),
            Type::INT4 => Self::Integer(i32::from_sql(column, bytes)?.into()),
            Type::BOOL => Self::from(bool::from_sql(column, bytes)?),
            Type::BYTEA => Self::Bytes(Bytes::copy_from_slice(bytes)),
            // The result of pg_notify.
            Type::VOID => Self::Null,
            _ => Self::Text(String::from_sql(column, bytes)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, BoxedError> {
        Ok(Self::Null)
    }

    fn accepts(column: &Type) -> bool {
        matches!(
            *column,
            Type::INT8
                | Type::INT4
                | Type::BOOL
                | Type::BYTEA
                | Type::TEXT
                | Type::VARCHAR
                | Type::VOID
        )
    }
}

impl Row {
    /// # Errors
    /// [`DatabaseError::Postgres`] for a type that has no [`Value`].
    pub(super) fn of_postgres(row: &tokio_postgres::Row) -> Result<Self, DatabaseError> {
        let columns: Result<_, _> = (0..row.len()).map(|index| row.try_get(index)).collect();
        Ok(Self::new(columns?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_takes_the_inferred_type() {
        let written = |value: Value, inferred: Type| {
            let mut out = BytesMut::new();
            value.to_sql(&inferred, &mut out).map(|_| out.to_vec())
        };
        assert_eq!(
            written(Value::Integer(1), Type::INT4).unwrap(),
            [0, 0, 0, 1]
        );
        assert_eq!(
            written(Value::Integer(1), Type::INT8).unwrap(),
            [0, 0, 0, 0, 0, 0, 0, 1]
        );
        assert!(written(Value::Integer(i64::MAX), Type::INT4).is_err());
        assert!(written(Value::Integer(1), Type::TEXT).is_err());
        assert_eq!(
            written(Value::from("\0a\0"), Type::TEXT).unwrap(),
            "\u{fffd}a\u{fffd}".as_bytes()
        );
        assert!(matches!(
            Value::Null.to_sql(&Type::BYTEA, &mut BytesMut::new()),
            Ok(IsNull::Yes)
        ));
    }
}
