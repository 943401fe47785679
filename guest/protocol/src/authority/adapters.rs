//! `adapters.declare`: what the operator's configuration says about an adapter profile.

use crate::authority::profile::{self, Profile};
use crate::documents::Kind;
use crate::json::Writer;
use crate::kernel::{
    PrincipalKind,
    audit::{Event, detail},
    boxes::Box,
    context::Context,
    flow::Flow,
    keys,
};
use crate::rules::check;
use crate::{Rule, json};
use alloc::{string::String, vec::Vec};

/// `adapters.declare`: a new profile, or another content under another digest. The same again changes nothing.
pub(crate) fn declare(cx: &mut Context<'_>) -> Flow<String> {
    check(Rule::OP9, matches!(cx.principal.kind, PrincipalKind::Operator | PrincipalKind::Host))?;
    cx.shaped.document(Kind::Capabilities, "capabilities")?;
    let profile = Profile::from_params(cx.params)?;
    if let Some(admission) = &profile.admission {
        check(Rule::AP2, profile.admits()?)?;
        check(Rule::AP3, admission.evidence == "mcp-session" || admission.snapshot.is_some())?;
    }
    let query = Profile::find(cx.tenant(), &profile.name);
    // What operators do stands in a stream of its own; no task has a key of two parts.
    let stream = keys::key(&[cx.tenant(), "operator"]);
    cx.fetch(&[&query, &Box::find(&stream)])?;
    let replayed = cx.replayed()?;
    let known = cx.one(&query)?.map(Profile::read).transpose()?;
    let id = query.start;
    let revision = match known {
        Some(row) if replayed || same(&row.record, &profile)? => {
            if !replayed {
                cx.resource = Some((row.id.clone(), i64::from(row.revision)));
            }
            return Ok(view(&row.record, true));
        }
        Some(row) => row.revision,
        None => 0,
    };
    let mut stream = cx.load_box(&stream)?;
    let executor = if profile.hosted { "host" } else { "caller" };
    let told = detail(&[("executor", executor), ("profile", &profile.name), ("profileDigest", &profile.digest)]);
    let event = Event { kind: "profile-declared", revision: i64::from(revision), detail: told, ..Event::default() };
    cx.record(&mut [&mut stream], &event)?;
    cx.save_box(&stream);
    cx.write(profile::COLLECTION, &id, revision, profile.text(), Vec::new());
    cx.resource = Some((id, i64::from(revision).saturating_add(1)));
    Ok(view(&profile, false))
}

/// Whether nothing changed. Another content must come with another digest, since attempts are pinned to that.
fn same(known: &Profile, new: &Profile) -> Flow<bool> {
    let capabilities = json::parse(&known.capabilities)?.root().same(json::parse(&new.capabilities)?.root());
    let same = capabilities && Profile { capabilities: known.capabilities.clone(), ..new.clone() } == *known;
    check(Rule::AP1, same || known.digest != new.digest)?;
    Ok(same)
}

fn view(profile: &Profile, replay: bool) -> String {
    let mut w = Writer::new();
    w.begin_object();
    w.member_bool("replay", replay);
    w.member_str("profile", &profile.name);
    w.member_str("digest", &profile.digest);
    w.member_str("executor", if profile.hosted { "host" } else { "caller" });
    w.end_object();
    w.finish()
}
