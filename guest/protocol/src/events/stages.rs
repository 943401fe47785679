//! The stages that are judged when an event is sent and again when it is received: authentication and scope. The first
//! rule that does not hold is the reason.

use crate::Rule;
use crate::events::{capability::Capability, event::Event, thread::Thread};
use crate::generated::machines;
use crate::json::{self, Value};
use crate::kernel::{fields::Fields, records::Row};
use crate::rules::{Broken, check};
use alloc::vec::Vec;

/// The three kinds of authority.
const AUTHORITY: [&str; 3] = ["may_inform", "may_request_action", "may_authorize_execution"];

/// The capabilities of `route` that still stand at `now`: rules CG-1 to CG-4.
pub(crate) fn standing(route: Vec<Row<Capability>>, now: i64) -> Result<Vec<Row<Capability>>, Broken> {
    let mut left = route;
    check(Rule::CG1, !left.is_empty())?;
    narrow(&mut left, Rule::CG2, |it| it.revoked.is_none())?;
    narrow(&mut left, Rule::CG3, |it| it.expires.is_none_or(|end| now < end))?;
    narrow(&mut left, Rule::CG4, |it| it.consent != Some(false))?;
    Ok(left)
}

/// Of capabilities that stand those that allow the event: rules CG-5 to CG-8.
pub(crate) fn allowing(
    standing: Vec<Row<Capability>>,
    event: &Event<'_>,
    target: &Thread,
) -> Result<Vec<Row<Capability>>, Broken> {
    let mut left = standing;
    narrow(&mut left, Rule::CG5, |it| with(it, |document| lists(document, "allowed_event_types", event.kind)))?;
    narrow(&mut left, Rule::CG6, |it| {
        let free =
            |document: Value<'_>, list: &str, word: &str| document.get(list).is_none() || lists(document, list, word);
        with(it, |document| {
            free(document, "allowed_subjects", event.subject)
                && free(document, "allowed_trajectories", event.trajectory)
        })
    })?;
    narrow(&mut left, Rule::CG7, |it| with(it, |document| authority(document, event)))?;
    narrow(&mut left, Rule::CG8, |it| with(it, |document| overrides(document, event, target)))?;
    Ok(left)
}

/// Drops those that do not fit. With none left the rule is broken; where it is switched off, all stay.
fn narrow(left: &mut Vec<Row<Capability>>, rule: Rule, fits: impl Fn(&Capability) -> bool) -> Result<(), Broken> {
    if left.is_empty() {
        return Ok(());
    }
    let some = left.iter().any(|row| fits(&row.record));
    check(rule, some)?;
    if some {
        left.retain(|row| fits(&row.record));
    }
    Ok(())
}

/// Asks the document of a capability.
fn with(capability: &Capability, ask: impl Fn(Value<'_>) -> bool) -> bool {
    json::parse(&capability.document).is_ok_and(|tree| ask(tree.root()))
}

fn lists(document: Value<'_>, list: &str, word: &str) -> bool {
    document.get(list).is_some_and(|list| list.items().any(|item| item.as_str() == Some(word)))
}

/// The event claims what its type needs, and nothing beyond what the capability allows at most.
fn authority(document: Value<'_>, event: &Event<'_>) -> bool {
    let most = document.get("max_authority");
    let within = |name: &str| !event.claims(name) || most.is_some_and(|most| most.flag(name));
    let needed = if event.requests() { "may_request_action" } else { "may_inform" };
    event.claims(needed) && AUTHORITY.into_iter().all(within)
}

/// Every override is listed, and where the target runs with a setting that has an order, none is looser. A value that is
/// not on the list is none of that order, and refused.
fn overrides(document: Value<'_>, event: &Event<'_>, target: &Thread) -> bool {
    let Some(overrides) = event.value.get("overrides") else { return true };
    let tree = target.settings.as_deref().and_then(|settings| json::parse(settings).ok());
    overrides.members().all(|(name, value)| {
        let setting = tree.as_ref().and_then(|tree| tree.root().get(name));
        let guarded = matches!(name, "sandbox" | "approval");
        let strict = setting.map_or(!guarded, |setting| no_looser(setting, value));
        lists(document, "allowed_overrides", name) && strict
    })
}

fn no_looser(setting: Value<'_>, value: Value<'_>) -> bool {
    let rank = |word: Option<&str>| {
        setting.get("order").and_then(|order| order.items().position(|known| word.is_some() && known.as_str() == word))
    };
    let current = rank(setting.get("value").and_then(|value| value.as_str()));
    rank(value.as_str()).is_some_and(|new| current.is_some_and(|current| new >= current))
}

/// Whether a thread takes part, and, where an epoch is given, is the one that it was then.
pub(crate) fn active(thread: &Thread, epoch: Option<i64>) -> bool {
    thread.state == machines::Thread::Active && epoch.is_none_or(|epoch| epoch == thread.epoch)
}
