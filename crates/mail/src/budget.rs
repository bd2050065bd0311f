//! The bounds of parsing: what a message may cost, and why one was read only in part.
//!
//! An ordinary message is far below all of them. They keep a hostile one from costing more than its size is worth.

use std::fmt;

/// Bytes of the top header section that are read, and bytes of all part headers together.
pub(super) const HEADER_SECTION_BYTES: usize = 1024 * 1024;
/// Bytes of one header field that are read.
pub(super) const HEADER_FIELD_BYTES: usize = 100 * 1024;
/// Bytes of a field with parameters that are read: a boundary has at most 70 (RFC 2046, section 5.1.1), the rest is
/// file names, and putting their RFC 2231 pieces together costs the square of their number.
pub(super) const PARAMETERS_BYTES: usize = 4 * 1024;
/// Parts that are looked at.
pub(super) const PARTS: usize = 1_000;
/// Multiparts that may lie within one another.
pub(super) const DEPTH: usize = 100;
/// Bytes of the text, and of the HTML, in UTF-8. Only a message near the default size limit that grows when its
/// charset is decoded can reach this.
pub(super) const BODY_BYTES: usize = 25 * 1024 * 1024;
/// Links of one message.
pub(super) const LINKS: usize = 10_000;
/// Bytes of one link as it stands in the message.
pub(super) const LINK_BYTES: usize = 64 * 1024;
/// Bytes of all links of one message together.
pub(super) const ALL_LINKS_BYTES: usize = 4 * 1024 * 1024;
/// Elements within one another whose style or numbers are kept; what lies deeper is laid out without.
pub(super) const NESTED_LAYOUTS: usize = 1_000;
/// Bytes of the visible text that are searched for a one-time code.
pub(super) const CODE_SEARCH_BYTES: usize = 256 * 1024;

/// The bound at which reading a message ended; what lies before it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// The header section, or the headers of all parts together, have more than 1 MiB.
    HeaderSection,
    /// One header field has more than 100 KiB.
    HeaderField,
    /// There are more than 1,000 parts.
    Parts,
    /// Multiparts lie more than 100 deep.
    Depth,
    /// The text or the HTML has more than 25 MiB once decoded.
    BodySize,
}

impl fmt::Display for Budget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::HeaderSection => "header sections over 1 MiB",
            Self::HeaderField => "a header field over 100 KiB",
            Self::Parts => "more than 1,000 parts",
            Self::Depth => "multiparts more than 100 deep",
            Self::BodySize => "a body over 25 MiB once decoded",
        })
    }
}
