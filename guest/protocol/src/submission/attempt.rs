//! One attempt to hand a message to a harness: the submission record of the wire, with who is at work on it.

pub(crate) use crate::generated::records::life::{Attempt, Call};

use crate::digest::sha256_text;
use crate::generated::machines::SubmissionEvent;
use crate::json::{self, Value, Writer};
use crate::kernel::{fields::Fields, flow::Flow, records::parse};
use alloc::string::String;

impl Attempt {
    /// Moves the machine, at `now`.
    pub fn apply(&mut self, event: SubmissionEvent, now: i64) -> Flow<()> {
        self.state = self.state.apply(event)?;
        self.updated = now;
        Ok(())
    }

    /// Whether `receipt` means the same as the recorded one.
    pub fn has_receipt(&self, receipt: &str) -> bool {
        same(self.receipt.as_deref(), self.receipt_digest.as_deref(), receipt)
    }

    /// Whether `receipt` means the same as the late one.
    pub fn has_late_receipt(&self, receipt: &str) -> bool {
        same(self.late_receipt.as_deref(), self.late_receipt_digest.as_deref(), receipt)
    }

    /// Keeps a receipt that came too late: evidence only.
    pub fn keep_late(&mut self, receipt: &str) {
        self.late_receipt = Some(receipt.into());
        self.late_receipt_digest = None;
    }

    /// Removes what harnesses and people wrote; digests say whether a receipt is the same.
    pub fn purge(&mut self) -> Flow<()> {
        self.session = None;
        let receipt = (&mut self.receipt, &mut self.receipt_digest);
        let late = (&mut self.late_receipt, &mut self.late_receipt_digest);
        for (text, digest) in [receipt, late] {
            if let (Some(whole), None) = (&*text, &*digest) {
                let tree = parse(whole)?;
                *digest = Some(tree.digest());
                let operation = sha256_text(tree.root().text("adapterOperationId")?.as_bytes());
                let kept = rewritten(tree.root(), "adapterOperationId", &operation);
                *text = Some(kept);
            }
        }
        if let Some(whole) = &self.reconciliation {
            self.reconciliation = Some(rewritten(parse(whole)?.root(), "", ""));
        }
        Ok(())
    }

    /// Whether a call may have happened and nobody knows.
    pub fn unresolved(&self) -> bool {
        self.state.unresolved()
    }

    /// When somebody other than the owner of the call may judge it.
    pub fn settled_at(&self) -> i64 {
        self.call.as_ref().map_or(0, |call| call.settle_at.max(call.lease_until))
    }
}

/// Whether a receipt is the stored one, by its text or by what is left of it.
fn same(stored: Option<&str>, digest: Option<&str>, receipt: &str) -> bool {
    let (Ok(stored), Ok(receipt)) = (json::parse(stored.unwrap_or("null")), json::parse(receipt)) else { return false };
    digest.map_or_else(|| stored.root().same(receipt.root()), |digest| receipt.digest() == digest)
}

/// The object without its evidence, and with `text` in `member`.
fn rewritten(value: Value<'_>, member: &str, text: &str) -> String {
    let mut w = Writer::new();
    w.begin_object();
    for (name, value) in value.members().filter(|(name, _)| *name != "evidenceRefs") {
        if name == member { w.member_str(name, text) } else { w.member_raw(name, value.raw()) }
    }
    w.end_object();
    w.finish()
}
