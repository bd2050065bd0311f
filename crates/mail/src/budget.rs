//! The limits of parsing, and why a message was read only in part.
//!
//! Ordinary messages are far below all limits. The limits bound the cost of a hostile message.

use std::fmt;

/// Bytes of the top header section that are read, and bytes of all part headers together.
pub(super) const HEADER_SECTION_BYTES: usize = 1024 * 1024;
/// Bytes of one header field that are read.
pub(super) const HEADER_FIELD_BYTES: usize = 100 * 1024;
/// Bytes of a field with parameters that are read. A boundary has at most 70 bytes (RFC 2046,
/// section 5.1.1); the rest is file names. The time for joining their RFC 2231 pieces is
/// proportional to the square of their number.
pub(super) const PARAMETERS_BYTES: usize = 4 * 1024;
/// Maximum number of parts that are read.
pub(super) const PARTS: usize = 1_000;
/// Maximum number of levels of nested multiparts.
pub(super) const DEPTH: usize = 100;
/// Bytes of the text, and of the HTML, in UTF-8. Only a message near the default size limit can
/// reach this, if it needs more bytes after decoding.
pub(super) const BODY_BYTES: usize = 25 * 1024 * 1024;
/// Maximum number of links of one message.
pub(super) const LINKS: usize = 10_000;
/// Bytes of one link as written in the message.
pub(super) const LINK_BYTES: usize = 64 * 1024;
/// Bytes of all links of one message.
pub(super) const ALL_LINKS_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of levels of nested elements whose style or numbers are kept. Deeper elements are
/// laid out without styles.
pub(super) const NESTED_LAYOUTS: usize = 1_000;
/// Bytes of the visible text that are searched for a one-time code.
pub(super) const CODE_SEARCH_BYTES: usize = 256 * 1024;

/// The limit at which reading a message stopped. The part before it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// The header section, or the headers of all parts together, have more than 1 MiB.
    HeaderSection,
    /// One header field has more than 100 KiB.
    HeaderField,
    /// There are more than 1,000 parts.
    Parts,
    /// Multiparts are nested more than 100 levels deep.
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
