//! Who may see a page.

/// Who may see a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everybody.
    Public,
    /// Everybody who is signed in.
    SignedIn,
    /// Everybody who may see the `{project}` of the path.
    Project,
    /// The administrator; where the path has a `{project}`, it must exist.
    Administrator,
}
