//! What a text may cost, and how far its whole numbers may go.

use crate::generated::limits;

/// The largest integer that a double and every number below it hold exactly: 2^53-1.
pub const INTEGER_MAX: i64 = 9_007_199_254_740_991;

/// What a text may cost. Texts over 2^32-2 bytes are refused whatever `bytes_max` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Length of the text in bytes.
    pub bytes_max: usize,
    /// Nesting of arrays and objects; 0 allows scalars only.
    pub depth_max: usize,
    /// Members and elements, all together.
    pub members_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let size = |limit: i64| usize::try_from(limit).unwrap_or(usize::MAX);
        Self {
            bytes_max: size(limits::DOCUMENT_BYTES_MAX),
            depth_max: size(limits::DOCUMENT_DEPTH_MAX),
            members_max: size(limits::DOCUMENT_MEMBERS_MAX),
        }
    }
}
