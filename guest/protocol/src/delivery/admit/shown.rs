//! What of a message is put before a model; see `crate::rendering` for the frame.

use crate::delivery::{message::Message, scene::Scene};
use crate::json::{self, Value, Writer};
use crate::kernel::{
    context::Context,
    fields::Fields,
    flow::{Flow, damaged},
    records::{put_raw, put_text},
};
use crate::rendering::{FORMAT, NOTICE, Rendering};
use alloc::string::String;

/// A message as it is put before a model.
#[derive(Clone)]
pub(crate) struct Shown {
    /// What the model sees.
    pub rendering: Rendering,
    /// Where the message belongs in a trace; the model does not see it.
    pub context: Option<String>,
}

/// The rendering of the message. Labels are those of the registry and of the authenticated sender; what only the
/// envelope says stands under `claimed`.
pub(crate) fn render(cx: &mut Context<'_>, scene: &Scene) -> Flow<Shown> {
    let stored = scene.message(cx)?;
    let tree = json::parse(&stored.envelope)?;
    if tree.digest() != scene.life.record.digest {
        return Err(damaged("message"));
    }
    let envelope = tree.root();
    let mut w = Writer::new();
    // Members in RFC 8785 order.
    w.begin_object();
    w.member_str("authority", "untrusted-peer");
    claimed(&mut w, envelope)?;
    w.member_str("content", envelope.text("content")?);
    w.member_str("notice", NOTICE);
    provenance(&mut w, scene, &stored, envelope)?;
    w.member_str("reason", envelope.text("reason")?);
    w.member_str("type", "threadmesh.peer-suggestion");
    w.end_object();
    Ok(Shown { rendering: Rendering::of(&w.finish()), context: stored.context })
}

/// What nobody but the sender vouches for.
fn claimed(w: &mut Writer, envelope: Value<'_>) -> Flow<()> {
    w.key("claimed");
    w.begin_object();
    w.member_str("claimStatus", envelope.text("claimStatus")?);
    w.member_str("createdAt", envelope.text("createdAt")?);
    let evidence = envelope.get("evidenceRefs").map(|refs| refs.canonical());
    put_raw(w, "evidenceRefs", evidence.as_deref());
    w.member_str("harness", envelope.member("sender")?.text("harness")?);
    w.member_str("messageType", envelope.text("messageType")?);
    w.end_object();
    Ok(())
}

/// What the registry and the transport know.
fn provenance(w: &mut Writer, scene: &Scene, stored: &Message, envelope: Value<'_>) -> Flow<()> {
    let life = &scene.life.record;
    let sender = scene.sender.as_ref().map(|row| &row.record);
    let author = envelope.member("sender")?;
    w.key("provenance");
    w.begin_object();
    put_text(w, "actorId", author.maybe_text("actorId").as_deref());
    w.member_str("actorType", author.text("actorType")?);
    put_text(w, "agentId", sender.and_then(|task| task.agent.as_deref()));
    w.member_str("envelopeDigest", &life.digest);
    if let Some(forwarding) = &stored.forwarding {
        w.member_raw("forwarding", &json::parse(&forwarding.view())?.root().canonical());
    }
    put_text(w, "harness", sender.map(|task| task.harness.as_str()));
    w.member_str("incarnationId", &life.sender.incarnation);
    w.member_str("intent", &life.intent);
    w.member_str("messageId", &life.message);
    w.member_str("owner", &life.sender.owner);
    w.member_str("relationshipId", &life.relationship);
    put_text(w, "role", sender.and_then(|task| task.role.as_deref()));
    w.member_str("taskId", &life.sender.task);
    w.end_object();
    Ok(())
}

/// Writes the members `rendering` and `context`.
pub(crate) fn put(w: &mut Writer, shown: &Shown) {
    let Shown { rendering, context } = shown;
    w.key("rendering");
    w.begin_object();
    w.member_str("format", FORMAT);
    w.member_str("text", &rendering.text);
    w.member_str("digest", &rendering.digest);
    w.member_int("bytes", rendering.bytes);
    w.end_object();
    put_raw(w, "context", context.as_deref());
}
