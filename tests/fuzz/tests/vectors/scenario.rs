//! Scenarios: every step on one store, and its answer compared at once.

use crate::{functions, matching};
use serde_json::{Map, Value, json};
use threadmesh_fuzz::{
    store::Store,
    targets::decide::{cast, rounds_after},
};
use threadmesh_protocol::{
    kernel::{Decision, Effect, EffectKind, Evaluated, Request, Status, Step},
    time,
};

/// Commits that one call may take.
const COMMITS_MAX: usize = 10_000;

/// Performs a scenario; the first step that is not answered as it says.
pub(crate) fn judge(args: &Value) -> Result<(), String> {
    let start = args["start"].as_str().and_then(|text| time::parse(text).ok()).ok_or("no start")?;
    let (mut store, mut offset) = (Store::default(), 0);
    let (mut kept, mut named) = (Map::new(), Map::new());
    for (number, step) in args["steps"].as_array().ok_or("no steps")?.iter().enumerate() {
        offset = step["at"].as_i64().unwrap_or(offset);
        let request = cast::request(args, step, &kept).ok_or_else(|| format!("step {}: no call", number + 1))?;
        let entropy = format!("{:064x}", number + 1);
        let evaluated = functions::evaluated(&step["evaluated"]);
        let decision = perform(request, &mut store, start + offset, &entropy, &evaluated)?;
        // What a step expects is said in terms of what earlier ones kept.
        let judged = expected(step, &kept).and_then(|step| one(&step, &decision, &named));
        judged.map_err(|fault| format!("step {}, {}: {fault}", number + 1, step["method"]))?;
        cast::keep(step, &decision.response, &mut kept);
        if let Some(name) = step["name"].as_str() {
            named.insert(name.into(), decision.response.into());
        }
    }
    Ok(())
}

/// A call to its last page; its answer is that of the first.
fn perform(
    mut request: Request,
    store: &mut Store,
    now: i64,
    entropy: &str,
    evaluated: &[Evaluated],
) -> Result<Decision, String> {
    let mut first = None;
    for _ in 0..COMMITS_MAX {
        let decision = match rounds_after(&request, store, now, entropy, evaluated.to_vec()).step {
            Ok(Step::Ready(decision)) => decision,
            Ok(_) if request.cursor.as_deref() != Some("timeout") => {
                request.cursor = Some("timeout".into());
                continue;
            }
            step => return Err(format!("{step:?}")),
        };
        store.commit(&decision);
        request.cursor.clone_from(&decision.proceed);
        let answer = first.get_or_insert(decision);
        if request.cursor.is_none() {
            return Ok(answer.clone());
        }
    }
    Err("it goes on and on".into())
}

fn expected(step: &Value, kept: &Map<String, Value>) -> Result<Value, String> {
    let mut step = step.clone();
    for name in ["ok", "effects"] {
        if let Some(member) = step.get_mut(name) {
            *member = cast::substitute(member, kept).ok_or("nothing was kept under that name")?;
        }
    }
    Ok(step)
}

fn one(step: &Value, decision: &Decision, named: &Map<String, Value>) -> Result<(), String> {
    let answer: Value = serde_json::from_str(&decision.response).map_err(|error| error.to_string())?;
    match (step.get("ok"), step.get("error"), decision.status == Status::Refused) {
        (Some(ok), None, false) => matching::has(ok, &answer)?,
        (None, Some(error), true) => matching::refused(error, &answer["data"])?,
        _ => return Err(format!("answered {answer}")),
    }
    if let Some(name) = step["same_as"].as_str()
        && named.get(name).and_then(Value::as_str) != Some(&decision.response)
    {
        return Err(format!("not the answer of {name}: {answer}"));
    }
    let Some(effects) = step.get("effects") else { return Ok(()) };
    matching::has(effects, &decision.effects.iter().map(shown).collect())
}

fn shown(effect: &Effect) -> Value {
    let body: Value = serde_json::from_str(&effect.body).unwrap_or_default();
    let kind = if effect.kind == EffectKind::Call { "call" } else { "repeatable" };
    json!({ "kind": kind, "name": effect.name, "key": effect.key, "body": body })
}
