//! Converts errors of the driver to those for the callers.

use tokio_postgres::error::SqlState;

use crate::db::DatabaseError;

/// The meaning of an error, by its SQLSTATE.
pub(super) fn failed(error: tokio_postgres::Error) -> DatabaseError {
    let Some(state) = error.code() else {
        // The error does not come from the server: the connection is lost, or the driver rejected a
        // parameter.
        let cause = std::error::Error::source(&error);
        let lost =
            error.is_closed() || cause.is_some_and(<dyn std::error::Error>::is::<std::io::Error>);
        return if lost {
            DatabaseError::Unreachable(error.into())
        } else {
            DatabaseError::Postgres(error)
        };
    };
    match *state {
        SqlState::LOCK_NOT_AVAILABLE => DatabaseError::LockTimeout,
        SqlState::T_R_DEADLOCK_DETECTED
        | SqlState::T_R_SERIALIZATION_FAILURE
        // Another transaction has inserted a row with a key that was free when this one looked.
        | SqlState::UNIQUE_VIOLATION => DatabaseError::Conflict(error),
        SqlState::QUERY_CANCELED => DatabaseError::Cancelled,
        SqlState::READ_ONLY_SQL_TRANSACTION => DatabaseError::ReadOnly,
        SqlState::ADMIN_SHUTDOWN
        | SqlState::CRASH_SHUTDOWN
        | SqlState::CANNOT_CONNECT_NOW
        | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
        | SqlState::IDLE_SESSION_TIMEOUT
        // The connection has a transaction or lacks statements that it should not; it is replaced.
        | SqlState::IN_FAILED_SQL_TRANSACTION
        | SqlState::INVALID_SQL_STATEMENT_NAME => DatabaseError::Unreachable(error.into()),
        _ => match state.code().get(..2) {
            // The database was dropped, or the transaction's time is over: the server ends the
            // session.
            _ if matches!(state.code(), "57P04" | "25P04") => DatabaseError::Unreachable(error.into()),
            // A connection exception: a pooler reports one when its own connection breaks.
            Some("08") => DatabaseError::Unreachable(error.into()),
            // Disk, memory or connections.
            Some("53" | "58") => DatabaseError::Exhausted(error),
            _ => DatabaseError::Postgres(error),
        },
    }
}
