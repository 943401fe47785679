//! One purge, as the domains that it empties see it.

use crate::kernel::audit::detail;
use crate::time;
use alloc::{string::String, vec::Vec};

/// What was removed of one row: two ids that name it.
pub(crate) type Removed = (String, String);

/// A purge that is under way.
#[derive(Clone, Copy)]
pub(crate) struct Purging<'a> {
    /// `purgeId`.
    pub id: &'a str,
    /// Up to when content had expired, in milliseconds.
    pub cutoff: i64,
}

impl Purging<'_> {
    /// What the audit says of it, beside the `members` that name what it took.
    pub fn detail(&self, members: &[(&str, &str)]) -> String {
        let cutoff = time::format(self.cutoff);
        let mut all: Vec<(&str, &str)> = members.to_vec();
        all.extend([("purgeId", self.id), ("retentionCutoff", cutoff.as_str())]);
        all.sort_unstable();
        detail(&all)
    }
}
