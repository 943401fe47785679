//! `inspector.snapshot`: one message, as the caller may see it: who wrote it with what authority, how far it came, what was
//! seen. Content shows only while it may be acted on, to the ends and their owners; policies see that it is there.

use crate::authority::task::Task;
use crate::delivery::{
    evidence::{self, Evidence, INTERRUPTION, OUTCOME},
    facts::receiving,
    interrupt,
    life::{Life, disposition},
    message::{self, Message},
    scene::{Role, Scene},
};
use crate::digest::sha256_text;
use crate::generated::machines::Delivery;
use crate::json::{Value, Writer};
use crate::kernel::{
    audit,
    context::Context,
    fields::Fields,
    flow::{Flow, not_visible},
    pages::{cursor, page},
    records::{self, Row, parse},
};
use crate::time;
use alloc::string::String;

/// `inspector.snapshot`.
pub(crate) fn snapshot(cx: &mut Context<'_>) -> Flow<String> {
    let name = cx.message_in_params()?;
    cx.hint(&Message::find(cx.tenant(), name));
    cx.hint_evidence(name);
    let (scene, role) = cx.scene_with(name, everything)?;
    if role == Role::Host {
        return Err(not_visible());
    }
    scene.reads(cx, role)?;
    let stored = scene.message(cx)?;
    let tree = parse(&stored.envelope)?;
    let hidden = hidden(cx, &scene, role);
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("specVersion", "0.0-draft");
    w.member_str("messageId", &scene.life.record.message);
    provenance(&mut w, &scene, &stored, tree.root(), hidden.is_none())?;
    records::put_raw(&mut w, "context", stored.context.as_deref());
    content(&mut w, tree.root(), hidden);
    lifecycle(&mut w, cx, &scene, tree.root());
    w.member_raw("disposition", &disposition(&scene.life));
    submission(&mut w, &scene.life.record);
    seen(cx, &mut w, &scene, role, hidden)?;
    events(cx, &mut w, &scene.life)?;
    w.end_object();
    Ok(w.finish())
}

/// What goes with a life in the second round.
fn everything(cx: &mut Context<'_>, life: &str) {
    cx.want(message::COLLECTION, life);
    for kind in [OUTCOME, INTERRUPTION] {
        cx.want(evidence::COLLECTION, &Evidence::id(life, kind));
    }
    let (after, limit) = page(cx);
    cx.hint(&audit::find_message(life, after, limit));
}

/// Why content and evidence are not shown, if they are not. The order is part of the contract.
fn hidden(cx: &Context<'_>, scene: &Scene, role: Role) -> Option<&'static str> {
    let life = &scene.life.record;
    if life.purged.is_some() {
        return Some("purged");
    }
    if cx.now >= life.expires || life.delivery == Delivery::Expired {
        return Some("expired");
    }
    if matches!(role, Role::Policy | Role::Operator) {
        return Some("metadata-only-policy-view");
    }
    scene.gate(cx.now).judge().is_err().then_some("authorization-no-longer-current")
}

fn provenance(w: &mut Writer, scene: &Scene, stored: &Message, envelope: Value<'_>, whole: bool) -> Flow<()> {
    let (life, sender) = (&scene.life.record, envelope.member("sender")?);
    let actor = sender.text("actorType")?;
    w.key("provenance");
    w.begin_object();
    w.member_str(
        "authorship",
        match actor {
            "user" => "user-authored",
            "policy" => "policy-authored",
            _ => "peer-authored",
        },
    );
    w.key("actor");
    w.begin_object();
    w.member_str("actorType", actor);
    records::put_text(w, "actorId", sender.maybe_text("actorId").as_deref());
    w.end_object();
    end(w, "source", &life.sender, scene.sender.as_ref(), sender);
    end(w, "target", &life.receiver, scene.receiver.as_ref(), envelope.member("target")?);
    w.member_str("relationshipId", &life.relationship);
    w.member_str("intent", &life.intent);
    w.member_str("requestedMode", &life.mode);
    w.member_str("messageType", envelope.text("messageType")?);
    w.member_str("claimStatus", envelope.text("claimStatus")?);
    w.member_str("envelopeDigest", &life.digest);
    records::put_raw(w, "forwarding", stored.forwarding.as_ref().map(|known| known.view()).as_deref());
    caused(w, envelope, whole);
    w.end_object();
    Ok(())
}

/// What the message answers, and what it expects of its receiver. A trace and an expectation are texts that the sender
/// chose, so they are shown where the content is, and only there.
fn caused(w: &mut Writer, envelope: Value<'_>, whole: bool) {
    if let Some(causality) = envelope.get("causality") {
        w.key("causality");
        w.begin_object();
        for (name, value) in causality.members().filter(|(name, _)| whole || *name != "traceId") {
            w.member_raw(name, value.raw());
        }
        w.end_object();
    }
    if whole {
        records::put_raw(w, "freshness", envelope.get("freshness").map(|freshness| freshness.raw()));
    }
}

/// One end. Its labels are those of the registry; what the envelope calls it differently is only claimed.
fn end(w: &mut Writer, name: &str, party: &records::Party, task: Option<&Row<Task>>, claimed: Value<'_>) {
    let registered = task.map(|row| row.record.harness.as_str());
    w.key(name);
    w.begin_object();
    w.member_str("taskId", &party.task);
    w.member_str("incarnationId", &party.incarnation);
    records::put_text(w, "harness", registered);
    let claimed = claimed.maybe_text("harness").filter(|label| Some(label.as_str()) != registered);
    records::put_text(w, "claimedHarness", claimed.as_deref());
    w.end_object();
}

fn content(w: &mut Writer, envelope: Value<'_>, hidden: Option<&str>) {
    let refs = envelope.get("evidenceRefs");
    for name in ["content", "evidence"] {
        w.key(name);
        w.begin_object();
        w.member_str("state", if hidden.is_some() { "redacted" } else { "visible" });
        match (name, hidden) {
            ("content", None) => {
                for (member, source) in [("reason", "reason"), ("value", "content")] {
                    w.member_raw(member, envelope.get(source).map_or("null", |text| text.raw()));
                }
            }
            ("content", Some(why)) => w.member_str("reason", why),
            (_, None) => w.member_raw("refs", refs.map_or("[]", |refs| refs.raw())),
            (_, Some(why)) => {
                let count = refs.map_or(0, |refs| refs.len());
                w.member_int("count", i64::try_from(count).unwrap_or(i64::MAX));
                w.member_str("reason", why);
            }
        }
        w.end_object();
    }
}

fn lifecycle(w: &mut Writer, cx: &Context<'_>, scene: &Scene, envelope: Value<'_>) {
    let life = &scene.life.record;
    w.key("lifecycle");
    w.begin_object();
    w.member_raw("createdAt", envelope.get("createdAt").map_or("null", |time| time.raw()));
    w.member_str("expiresAt", &time::format(life.expires));
    w.member_bool("expired", cx.now >= life.expires);
    records::put_text(w, "notBefore", life.not_before.map(time::format).as_deref());
    let purged = life.purged.as_ref().and_then(|purged| purged.done);
    records::put_text(w, "contentPurgedAt", purged.map(time::format).as_deref());
    w.end_object();
}

/// The current attempt: digests of what is secret, and no receipt.
fn submission(w: &mut Writer, life: &Life) {
    w.key("adapterSubmission");
    let Some(attempt) = &life.attempt else { return w.null() };
    w.begin_object();
    w.member_str("submissionId", &attempt.id);
    w.member_str("state", attempt.state.name());
    w.member_str("envelopeDigest", &life.digest);
    w.member_str("adapterRefDigest", &attempt.adapter_ref_digest);
    w.member_str("adapterIdempotencyKeyDigest", &sha256_text(attempt.key.as_bytes()));
    w.member_str("updatedAt", &time::format(attempt.updated));
    w.end_object();
}

/// The evidence of the outcome, and what an interrupt did.
fn seen(cx: &mut Context<'_>, w: &mut Writer, scene: &Scene, role: Role, hidden: Option<&str>) -> Flow<()> {
    if let Some(known) = cx.evidence(&scene.life.id, OUTCOME)? {
        let refs = known.record.refs.as_deref().unwrap_or("[]");
        w.key("outcomeEvidence");
        w.begin_object();
        w.member_str("source", &known.record.source);
        w.member_str("recordedAt", &time::format(known.record.at));
        w.member_str("evidenceDigest", &parse(refs)?.digest());
        if hidden.is_none() {
            w.member_raw("refs", refs);
            records::put_raw(w, "verificationAttestations", known.record.attestations.as_deref());
        }
        w.end_object();
    }
    let interruption = scene.life.record.interruption.as_ref();
    if let (Some(interruption), Some(known)) = (interruption, cx.evidence(&scene.life.id, INTERRUPTION)?) {
        let whole = hidden.is_none() && receiving(role).is_ok();
        interrupt::view(w, interruption, &known, whole)?;
    }
    Ok(())
}

/// A page of the message's events, without their details.
fn events(cx: &mut Context<'_>, w: &mut Writer, life: &Row<Life>) -> Flow<()> {
    let (after, limit) = page(cx);
    let mut next = after;
    w.key("events");
    w.begin_array();
    for row in cx.rows(&audit::find_message(&life.id, after, limit))? {
        next = cursor(row)?;
        let tree = parse(&row.body)?;
        let value = tree.root();
        w.begin_object();
        w.member_int("cursor", next);
        w.member_str("eventType", value.text("eventType")?);
        w.member_int("revision", value.int("revision")?);
        w.member_str("occurredAt", &time::format(value.int("occurredAt")?));
        w.end_object();
    }
    w.end_array();
    w.member_int("nextCursor", next);
    Ok(())
}
