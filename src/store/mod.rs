//! (sketch)
/// (sketch)
#[derive(Debug, thiserror::Error)]
#[error("database")]
pub struct StoreError;
