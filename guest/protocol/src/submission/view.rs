//! Submissions in the wire form, and the answers that show one.

use crate::digest::sha256_text;
use crate::json::Writer;
use crate::kernel::{context::Context, flow::Flow, records};
use crate::submission::{
    attempt::Attempt,
    holder::{self, Holder},
};
use crate::time;
use alloc::string::String;

/// Writes the member `submission`. Only whoever may perform the call sees its key.
pub(crate) fn submission(w: &mut Writer, holder: &dyn Holder, intent: usize, attempt: &Attempt, key: bool) {
    w.key("submission");
    w.begin_object();
    w.member_str("specVersion", "0.0-draft");
    w.member_str("submissionId", &attempt.id);
    holder.put_subject(w, intent);
    w.member_str("adapterRefDigest", &attempt.adapter_ref_digest);
    if key {
        w.member_str("adapterIdempotencyKey", &attempt.key);
    } else {
        w.member_str("adapterIdempotencyKeyDigest", &sha256_text(attempt.key.as_bytes()));
    }
    w.member_int(holder.revision_member(), attempt.disposition_revision);
    w.member_str("state", attempt.state.name());
    w.member_str("preparedAt", &time::format(attempt.prepared));
    w.member_str("updatedAt", &time::format(attempt.updated));
    records::put_text(w, "attemptStartedAt", attempt.call.as_ref().map(|call| time::format(call.started)).as_deref());
    records::put_raw(w, "receipt", attempt.receipt.as_deref());
    records::put_raw(w, "reconciliation", attempt.reconciliation.as_deref());
    w.end_object();
}

/// The answer of a resolution: the attempt, and how its holder stands.
pub(crate) fn answer(
    holder: &dyn Holder,
    intent: usize,
    attempt: &Attempt,
    replay: bool,
    contradiction: bool,
) -> String {
    let mut w = Writer::new();
    w.begin_object();
    w.member_bool("replay", replay);
    submission(&mut w, holder, intent, attempt, true);
    holder.put_state(&mut w);
    if contradiction {
        w.member_bool("contradiction", true);
    }
    w.end_object();
    w.finish()
}

/// The answer of a begin. Only the first one carries what a caller needs that performs the call itself.
pub(crate) fn begun(
    cx: &mut Context<'_>,
    holder: &dyn Holder,
    intent: usize,
    replay: bool,
    dispatch: bool,
) -> Flow<String> {
    let mut w = Writer::new();
    w.begin_object();
    w.member_bool("replay", replay);
    if let Some(attempt) = holder::current(holder, intent) {
        submission(&mut w, holder, intent, attempt, true);
    }
    if dispatch {
        put_dispatch(cx, &mut w, holder, intent)?;
    }
    w.end_object();
    Ok(w.finish())
}

/// Writes what a caller needs that performs the call itself.
pub(crate) fn put_dispatch(cx: &mut Context<'_>, w: &mut Writer, holder: &dyn Holder, intent: usize) -> Flow<()> {
    w.key("dispatch");
    w.begin_object();
    holder.put_dispatch(cx, w, intent)?;
    if let Some(attempt) = holder::current(holder, intent) {
        w.member_str("settleAt", &time::format(attempt.settled_at()));
    }
    w.end_object();
    Ok(())
}
