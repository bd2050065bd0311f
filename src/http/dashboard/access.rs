//! Access rights for pages.

/// Access rights for pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Public,
    SignedIn,
    /// Viewers with access to the `{project}` of the path.
    Project,
    /// The administrator; a `{project}` in the path must exist.
    Administrator,
}
