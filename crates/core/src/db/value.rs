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

    /// The integer of a statement that always returns one row.
    ///
    /// # Errors
    /// [`DatabaseError::NoRow`]; [`DatabaseError::Column`].
    pub fn only_integer(rows: Vec<Self>) -> Result<i64, DatabaseError> {
        let row = rows.into_iter().next();
        row.ok_or(DatabaseError::NoRow)?.integer()
    }

    /// The next column, an integer.
    ///
    /// # Errors
    /// [`DatabaseError::Column`] for any other type.
    pub fn integer(&mut self) -> Result<i64, DatabaseError> {
        self.optional_integer()?
            .ok_or_else(|| self.unexpected("an integer"))
    }

    /// The next column, a number that is not negative: a count, a size or a time span.
    pub fn count<N: TryFrom<i64>>(&mut self) -> Result<N, DatabaseError> {
        N::try_from(self.integer()?).map_err(|_| self.unexpected("a count"))
    }

    /// The next column, an integer or null.
    pub fn optional_integer(&mut self) -> Result<Option<i64>, DatabaseError> {
        match self.column() {
            Some(Value::Integer(integer)) => Ok(Some(integer)),
            Some(Value::Null) => Ok(None),
            _ => Err(self.unexpected("an integer or null")),
        }
    }

    /// The next column, text.
    pub fn text(&mut self) -> Result<String, DatabaseError> {
        match self.column() {
            Some(Value::Text(text)) => Ok(text),
            _ => Err(self.unexpected("text")),
        }
    }

    /// The next column, text or null.
    pub fn optional_text(&mut self) -> Result<Option<String>, DatabaseError> {
        match self.column() {
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(Value::Null) => Ok(None),
            _ => Err(self.unexpected("text or null")),
        }
    }

    /// The next column, bytes.
    pub fn bytes(&mut self) -> Result<Bytes, DatabaseError> {
        self.optional_bytes()?
            .ok_or_else(|| self.unexpected("bytes"))
    }

    /// The next column, bytes or null.
    pub fn optional_bytes(&mut self) -> Result<Option<Bytes>, DatabaseError> {
        match self.column() {
            Some(Value::Bytes(bytes)) => Ok(Some(bytes)),
            Some(Value::Null) => Ok(None),
            _ => Err(self.unexpected("bytes or null")),
        }
    }

    /// The next column, a UUID.
    pub fn uuid(&mut self) -> Result<Uuid, DatabaseError> {
        let bytes = self.bytes()?;
        Uuid::from_slice(&bytes).map_err(|_| self.unexpected("a UUID"))
    }

    fn column(&mut self) -> Option<Value> {
        self.read += 1;
        self.columns.next()
    }

    fn unexpected(&self, expected: &'static str) -> DatabaseError {
        DatabaseError::Column {
            index: self.read.saturating_sub(1),
            expected,
        }
    }
}
