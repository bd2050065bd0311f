//! Parameters and rows of statements.

use bytes::Bytes;
use uuid::Uuid;

use super::DatabaseError;

/// A parameter or a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Null,
    /// A 64-bit integer; also used for times (milliseconds) and booleans (0, 1).
    Integer(i64),
    /// Text in UTF-8, without NUL.
    Text(String),
    Bytes(Bytes),
    /// A UUID, stored as its 16 bytes; it is read back as [`Value::Bytes`].
    Uuid(Uuid),
}

impl From<i64> for Value {
    fn from(integer: i64) -> Self {
        Self::Integer(integer)
    }
}

impl From<usize> for Value {
    /// A size in bytes.
    fn from(size: usize) -> Self {
        Self::Integer(i64::try_from(size).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Integer(i64::from(truth))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Bytes> for Value {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(Bytes::copy_from_slice(bytes))
    }
}

impl From<Uuid> for Value {
    fn from(uuid: Uuid) -> Self {
        Self::Uuid(uuid)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Parameters of a statement, in the order `$1`, `$2` ….
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::db::Value::from($value)),*] };
}
pub(crate) use values;

/// A row, read column by column from the left.
#[derive(Debug)]
pub struct Row {
    columns: std::vec::IntoIter<Value>,
    read: usize,
}

impl Row {
    pub(super) fn new(columns: Vec<Value>) -> Self {
        Self {
            columns: columns.into_iter(),
            read: 0,
        }
    }

    /// The bytes of its texts and byte strings.
    pub(super) fn held(&self) -> usize {
        let bytes = |value: &Value| match value {
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::Null | Value::Integer(_) | Value::Uuid(_) => 0,
        };
        self.columns.as_slice().iter().map(bytes).sum()
    }

    /// The columns that have not been read.
    #[must_use]
    pub fn into_values(self) -> Vec<Value> {
        self.columns.collect()
    }

    /// The next column.
    ///
    /// # Errors
    /// [`DatabaseError::Column`] if it has another type.
    pub fn get<T: Column>(&mut self) -> Result<T, DatabaseError> {
        let column = self.columns.next();
        self.read += 1;
        column.and_then(T::of).ok_or(DatabaseError::Column {
            index: self.read - 1,
            expected: T::EXPECTED,
        })
    }

    /// All rows.
    ///
    /// # Errors
    /// The error of `read`.
    pub fn all<T>(
        rows: Vec<Self>,
        read: impl Fn(&mut Self) -> Result<T, DatabaseError>,
    ) -> Result<Vec<T>, DatabaseError> {
        rows.into_iter().map(|mut row| read(&mut row)).collect()
    }

    /// The first row, if there is one.
    ///
    /// # Errors
    /// The error of `read`.
    pub fn first<T>(
        rows: Vec<Self>,
        read: impl Fn(&mut Self) -> Result<T, DatabaseError>,
    ) -> Result<Option<T>, DatabaseError> {
        let row = rows.into_iter().next();
        row.map(|mut row| read(&mut row)).transpose()
    }

    /// The row of a statement that always returns one.
    ///
    /// # Errors
    /// [`DatabaseError::NoRow`], or the error of `read`.
    pub fn only<T>(
        rows: Vec<Self>,
        read: impl Fn(&mut Self) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        Self::first(rows, read)?.ok_or(DatabaseError::NoRow)
    }
}

/// A type of a column.
pub trait Column: Sized {
    /// Its name in an error.
    const EXPECTED: &'static str;

    /// The value, if it has this type.
    fn of(value: Value) -> Option<Self>;
}

impl Column for i64 {
    const EXPECTED: &'static str = "an integer";

    fn of(value: Value) -> Option<Self> {
        match value {
            Value::Integer(integer) => Some(integer),
            _ => None,
        }
    }
}

impl Column for bool {
    const EXPECTED: &'static str = i64::EXPECTED;

    fn of(value: Value) -> Option<Self> {
        i64::of(value).map(|integer| integer != 0)
    }
}

/// Numbers that are not negative: counts, sizes and time spans.
macro_rules! counts {
    ($($count:ty),*) => {
        $(impl Column for $count {
            const EXPECTED: &'static str = "a count";

            fn of(value: Value) -> Option<Self> {
                i64::of(value)?.try_into().ok()
            }
        })*
    };
}
counts!(u16, u32, u64, usize);

impl Column for String {
    const EXPECTED: &'static str = "text";

    fn of(value: Value) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Column for Bytes {
    const EXPECTED: &'static str = "bytes";

    fn of(value: Value) -> Option<Self> {
        match value {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

impl Column for Uuid {
    const EXPECTED: &'static str = "a UUID";

    fn of(value: Value) -> Option<Self> {
        Self::from_slice(&Bytes::of(value)?).ok()
    }
}

impl<T: Column> Column for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn of(value: Value) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::of(value).map(Some),
        }
    }
}
