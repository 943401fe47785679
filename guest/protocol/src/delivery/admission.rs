//! The admission of a message to a model's context: the one that is in flight, and what is known of one that happened.

pub(crate) use crate::generated::records::life::{Admission, Admitted};

use crate::digest::sha256_text;
use crate::json::Writer;

impl Admitted {
    /// Leaves the digest of the evidence in its place.
    pub fn purge(&mut self) {
        let mut w = Writer::new();
        w.begin_object();
        w.member_str("evidenceDigest", &sha256_text(self.evidence.as_bytes()));
        w.end_object();
        self.evidence = w.finish();
    }
}
