//! Who may see a page.

/// Who may see a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everyone.
    Public,
    /// Everyone who is signed in.
    SignedIn,
    /// Everyone who may see the `{project}` of the path.
    Project,
    /// The administrator; a `{project}` in the path must exist.
    Administrator,
}
