//! Where a message goes outside, and what is handed over there.

use crate::Rule;
use crate::authority::profile::{self, Profile};
use crate::delivery::{message::Message, names::MessageName, scene::Scene};
use crate::json;
use crate::kernel::{
    context::Context,
    fields::Fields,
    flow::{Flow, damaged},
    keys,
};
use crate::rules::check;
use crate::submission::holder::Target;

/// Asks in the first round for what a submission needs beside the message.
pub(crate) fn hints(cx: &mut Context<'_>, name: MessageName<'_>) {
    cx.hint(&Profile::find_all(cx.tenant()));
    cx.hint(&Message::find(cx.tenant(), name));
}

/// The profile that the receiver's adapter reference names, and whether it can do what the message asks for.
pub(crate) fn adapter(cx: &mut Context<'_>, scene: &Scene) -> Flow<Target> {
    let reference = scene.receiver.as_ref().and_then(|row| row.record.adapter_ref.clone());
    check(Rule::AD1, reference.is_some())?;
    let reference = reference.unwrap_or_default();
    let tree = json::parse(&reference)?;
    let name = tree.root().text("kind")?;
    let row = cx.lookup(profile::COLLECTION, &keys::key(&[cx.tenant(), name]))?;
    let profile = row.map(Profile::read).transpose()?;
    check(Rule::AD1, profile.is_some())?;
    let profile = profile.ok_or_else(|| damaged("profile"))?;
    let life = &scene.life.record;
    let native = !matches!(life.mode.as_str(), "store-only" | "side-channel");
    check(Rule::AD2, native && profile.record.takes(&life.intent, &life.mode)?)?;
    let (digest, session) = (tree.digest(), tree.root().maybe_text("session"));
    Ok(Target { digest, session, profile })
}
