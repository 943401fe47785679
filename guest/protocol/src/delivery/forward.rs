//! `messages.forward`: a task passes on what it accepted, unchanged, under a grant of its own. Who wrote it and through
//! whom it came stay with it; nothing about it gets stronger on the way.

use crate::delivery::{
    life::Life,
    message::{Forwarding, Hop, Message},
    names::MessageName,
    scene::{Scene, with_message},
    send::{self, Envelope},
};
use crate::documents::Kind;
use crate::generated::machines::Decision;
use crate::json::{self, Value};
use crate::kernel::{
    context::Context,
    fields::Fields,
    flow::{Flow, damaged, not_visible},
    records::{Party, parse},
};
use crate::rules::{check, check_at};
use crate::{Error, Rule};
use alloc::{format, string::String, vec::Vec};

/// Intents and delivery modes, the weakest first.
const STRENGTH: [&[&str]; 2] = [
    &["notify", "suggest", "steer", "interrupt"],
    &["store-only", "side-channel", "checkpoint-offer", "wake-idle", "active-steer", "interrupt-request"],
];

/// Members that are passed on as they are.
const KEPT: [&str; 4] = ["content", "evidenceRefs", "messageType", "claimStatus"];

/// `messages.forward`.
pub(crate) fn forward(cx: &mut Context<'_>) -> Flow<String> {
    let document = cx.shaped.document(Kind::Envelope, "envelope")?.ok_or_else(|| damaged("envelope"))?;
    let envelope = send::read(&document)?;
    send::author(cx, &envelope)?;
    let original = original(cx)?;
    let named = envelope.parent.as_deref() == Some(original.message);
    check_at(Rule::FW1, named, || "/envelope/causality/parentMessageId".into())?;
    for query in cx.scene_queries(original) {
        cx.hint(&query);
    }
    cx.hint(&Message::find(cx.tenant(), original));
    send::prefetch(cx, &envelope)?;
    send::take(cx, envelope, document.digest(), provenance)
}

/// The message that is passed on.
fn original<'a>(cx: &Context<'a>) -> Flow<MessageName<'a>> {
    MessageName::read(cx.params.member("original")?)
}

/// What the original allows, and where it came from.
fn provenance(cx: &mut Context<'_>, envelope: &Envelope<'_>, forwarder: &Party) -> Flow<Option<Forwarding>> {
    // The grant to pass it on tells nothing of the original.
    let disclose = core::mem::replace(&mut cx.disclose, false);
    let (scene, _) = cx.scene_with(original(cx)?, with_message)?;
    if scene.life.record.receiver != *forwarder {
        return Err(not_visible());
    }
    scene.authorise(cx)?;
    scene.unexpired(cx.now)?;
    cx.disclose = disclose;
    let life = &scene.life.record;
    check(Rule::EV6, life.event.is_none())?;
    check(Rule::FW2, life.decision == Decision::Accepted)?;
    let stored = scene.message(cx)?;
    unchanged(cx.params.member("envelope")?, parse(&stored.envelope)?.root())?;
    no_stronger(envelope, life)?;
    let hop = Hop { party: forwarder.clone(), message: envelope.message.into(), at: cx.now };
    passed_on(&scene, stored, hop).map(Some)
}

fn unchanged(envelope: Value<'_>, original: Value<'_>) -> Result<(), Error> {
    for name in KEPT {
        let same = match (envelope.get(name), original.get(name)) {
            (Some(new), Some(old)) => new.same(old),
            (new, old) => new.is_none() && old.is_none(),
        };
        check_at(Rule::FW3, same, || format!("/envelope/{name}"))?;
    }
    Ok(())
}

fn no_stronger(envelope: &Envelope<'_>, original: &Life) -> Result<(), Error> {
    let rank = |words: &[&str], word: &str| words.iter().position(|known| *known == word);
    let [intents, modes] = STRENGTH;
    let intent = rank(intents, envelope.intent) <= rank(intents, &original.intent);
    check_at(Rule::FW4, intent, || "/envelope/intent".into())?;
    let mode = rank(modes, envelope.mode) <= rank(modes, &original.mode);
    check_at(Rule::FW4, mode, || "/envelope/delivery/requestedMode".into())?;
    check_at(Rule::FW5, envelope.expires <= original.expires, || "/envelope/expiresAt".into())
}

/// The provenance of the original, or the original as the first of it, with one more hop.
fn passed_on(scene: &Scene, stored: Message, hop: Hop) -> Flow<Forwarding> {
    let life = &scene.life.record;
    let mut forwarding = match stored.forwarding {
        Some(known) => known,
        None => Forwarding {
            origin: life.sender.clone(),
            actor: json::parse(&stored.envelope)?.root().member("sender")?.text("actorType")?.into(),
            message: life.message.clone(),
            digest: life.digest.clone(),
            intent: life.intent.clone(),
            hops: Vec::new(),
        },
    };
    forwarding.hops.push(hop);
    Ok(forwarding)
}
