//! What the host is asked to look at: the call that the commit of an inquiry returns, and when it may be asked again.

use crate::delivery::life::{Inquiry, Life};
use crate::generated::limits;
use crate::json::Writer;
use crate::kernel::{Effect, EffectKind, context::Context, records::Row};
use crate::time;
use alloc::format;

/// When an inquiry that was asked `asked` times may be asked again.
pub(crate) fn next(now: i64, asked: i64) -> i64 {
    let doubled = (1..asked).fold(limits::INQUIRY_BACKOFF_MS, |wait, _| wait.saturating_mul(2));
    now.saturating_add(doubled)
}

/// Asks the host at once, from memory.
pub(crate) fn ask(cx: &mut Context<'_>, life: &Row<Life>) {
    let Some(inquiry) = life.record.event.as_ref().and_then(|part| part.inquiry.as_ref()) else { return };
    let mut w = Writer::new();
    put(&mut w, life, inquiry);
    let key = format!("{}#{}", life.id, inquiry.fence);
    cx.effects.push(Effect { kind: EffectKind::Call, name: "inquiry.ask".into(), key, body: w.finish() });
}

/// An inquiry as the host is told of it.
pub(crate) fn put(w: &mut Writer, life: &Row<Life>, inquiry: &Inquiry) {
    w.begin_object();
    w.member_str("messageId", &life.record.message);
    w.member_str("senderIncarnationId", &life.record.sender.incarnation);
    w.member_str("owner", &life.record.sender.owner);
    w.member_int("fence", inquiry.fence);
    w.member_str("resolver", &inquiry.resolver);
    w.member_str("resolverDigest", &inquiry.resolver_digest);
    w.member_str("address", &inquiry.address);
    w.member_str("answer", &inquiry.answer);
    w.member_int("asked", inquiry.asked);
    w.member_str("next", &time::format(inquiry.next));
    w.end_object();
}
