//! One attempt to hand a message to a harness: the submission record of the wire, with who is at work on it.

use crate::digest::sha256_text;
use crate::generated::machines::{Submission, SubmissionEvent};
use crate::json::{self, Value, Writer};
use crate::kernel::{
    fields::Fields,
    flow::{Flow, damaged},
    records::{parse, put_int, put_raw, put_text},
};
use alloc::string::String;

/// A submission.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// `submissionId`.
    pub id: String,
    /// `adapterIdempotencyKey`.
    pub key: String,
    /// The machine's state.
    pub state: Submission,
    /// The digest of the adapter reference at prepare.
    pub adapter_ref_digest: String,
    /// The adapter profile.
    pub profile: String,
    /// The digest of its configuration at prepare.
    pub profile_digest: String,
    /// The opaque session of the adapter reference.
    pub session: Option<String>,
    /// Whether the host performs the call.
    pub hosted: bool,
    /// The disposition's revision at prepare: a fact, not compared after begin.
    pub disposition_revision: i64,
    /// When it was prepared.
    pub prepared: i64,
    /// When it last changed.
    pub updated: i64,
    /// Set by begin.
    pub call: Option<Call>,
    /// The receipt, raw.
    pub receipt: Option<String>,
    /// Whether the host saw the receipt itself; otherwise somebody asserted it.
    pub observed: bool,
    /// The reconciliation, raw.
    pub reconciliation: Option<String>,
    /// A receipt that came too late or from a superseded owner, raw: evidence only.
    pub late_receipt: Option<String>,
    /// The late receipt contradicts what was established, and nobody ruled on that yet.
    pub contested: bool,
    /// How often the adapter was asked without a final answer.
    pub queries: i64,
    /// Digests of the receipt and of the late one, where their texts were removed.
    pub removed: [Option<String>; 2],
}

/// Who performs the call, and until when nobody else may judge it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The host instance, or the scope of the receiver that performs it itself.
    pub instance: String,
    /// Grows with every attempt of the message.
    pub fence: i64,
    /// When it began.
    pub started: i64,
    /// When the effect can no longer arrive.
    pub settle_at: i64,
    /// When the owner's lease ends.
    pub lease_until: i64,
}

impl Attempt {
    pub(crate) fn read(value: Value<'_>) -> Flow<Self> {
        let call = match value.get("call") {
            None => None,
            Some(call) => Some(Call {
                instance: call.text("instance")?.into(),
                fence: call.int("fence")?,
                started: call.int("started")?,
                settle_at: call.int("settleAt")?,
                lease_until: call.int("leaseUntil")?,
            }),
        };
        Ok(Self {
            id: value.text("id")?.into(),
            key: value.text("key")?.into(),
            state: Submission::parse(value.text("state")?).ok_or_else(|| damaged("state"))?,
            adapter_ref_digest: value.text("adapterRefDigest")?.into(),
            profile: value.text("profile")?.into(),
            profile_digest: value.text("profileDigest")?.into(),
            session: value.maybe_text("session"),
            hosted: value.flag("hosted"),
            disposition_revision: value.int("dispositionRevision")?,
            prepared: value.int("prepared")?,
            updated: value.int("updated")?,
            call,
            receipt: value.maybe_raw("receipt"),
            observed: value.flag("observed"),
            reconciliation: value.maybe_raw("reconciliation"),
            late_receipt: value.maybe_raw("lateReceipt"),
            contested: value.flag("contested"),
            queries: value.int("queries")?,
            removed: [value.maybe_text("receiptDigest"), value.maybe_text("lateReceiptDigest")],
        })
    }

    pub(crate) fn put(&self, w: &mut Writer) {
        w.begin_object();
        w.member_str("id", &self.id);
        w.member_str("key", &self.key);
        w.member_str("state", self.state.name());
        w.member_str("adapterRefDigest", &self.adapter_ref_digest);
        w.member_str("profile", &self.profile);
        w.member_str("profileDigest", &self.profile_digest);
        put_text(w, "session", self.session.as_deref());
        w.member_bool("hosted", self.hosted);
        w.member_int("dispositionRevision", self.disposition_revision);
        w.member_int("prepared", self.prepared);
        w.member_int("updated", self.updated);
        if let Some(call) = &self.call {
            w.key("call");
            w.begin_object();
            w.member_str("instance", &call.instance);
            w.member_int("fence", call.fence);
            w.member_int("started", call.started);
            w.member_int("settleAt", call.settle_at);
            w.member_int("leaseUntil", call.lease_until);
            w.end_object();
        }
        put_raw(w, "receipt", self.receipt.as_deref());
        w.member_bool("observed", self.observed);
        put_raw(w, "reconciliation", self.reconciliation.as_deref());
        put_raw(w, "lateReceipt", self.late_receipt.as_deref());
        w.member_bool("contested", self.contested);
        put_int(w, "queries", Some(self.queries));
        put_text(w, "receiptDigest", self.removed[0].as_deref());
        put_text(w, "lateReceiptDigest", self.removed[1].as_deref());
        w.end_object();
    }

    /// Moves the machine, at `now`.
    pub fn apply(&mut self, event: SubmissionEvent, now: i64) -> Flow<()> {
        self.state = self.state.apply(event)?;
        self.updated = now;
        Ok(())
    }

    /// Whether `receipt` means the same as the recorded one.
    pub fn has_receipt(&self, receipt: &str) -> bool {
        same(self.receipt.as_deref(), self.removed[0].as_deref(), receipt)
    }

    /// Whether `receipt` means the same as the late one.
    pub fn has_late_receipt(&self, receipt: &str) -> bool {
        same(self.late_receipt.as_deref(), self.removed[1].as_deref(), receipt)
    }

    /// Keeps a receipt that came too late: evidence only.
    pub fn keep_late(&mut self, receipt: &str) {
        self.late_receipt = Some(receipt.into());
        self.removed[1] = None;
    }

    /// Removes what harnesses and people wrote; digests say whether a receipt is the same.
    pub fn purge(&mut self) -> Flow<()> {
        self.session = None;
        let [receipt, late] = &mut self.removed;
        for (text, digest) in [(&mut self.receipt, receipt), (&mut self.late_receipt, late)] {
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
