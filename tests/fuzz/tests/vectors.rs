//! Every conformance vector, by the rules alone: without a component, a host or a driver, so that it takes seconds to
//! build and to run. Reads `spec/conformance/README.md` a second time and shares no code with `threadmesh conformance`.

#[path = "vectors/functions.rs"]
mod functions;
#[path = "vectors/matching.rs"]
mod matching;
#[path = "vectors/scenario.rs"]
mod scenario;

use serde_json::Value;
use threadmesh_fuzz::seeds::vectors;

/// How many faults are told: further ones say little, and take their time.
const FAULTS_MAX: usize = 20;

#[test]
fn every_vector_holds() {
    let mut faults = Vec::new();
    let mut judged = 0;
    let mut all = vectors();
    // Short scenarios first: they find most faults, and name them best.
    all.sort_by_key(|vector| vector["args"]["steps"].as_array().map_or(0, Vec::len));
    for vector in all {
        judged += 1;
        if let Err(fault) = judge(&vector) {
            faults.push(format!("{}: {fault}", vector["name"]));
        }
        if faults.len() == FAULTS_MAX {
            break;
        }
    }
    assert!(faults.is_empty(), "{} of {judged} vectors fail:\n{}", faults.len(), faults.join("\n"));
    assert!(judged > 10_000, "only {judged} vectors");
}

fn judge(vector: &Value) -> Result<(), String> {
    if vector["function"] == "scenario" {
        return scenario::judge(&vector["args"]);
    }
    let function = vector["function"].as_str().ok_or("no function")?;
    let answer = functions::answer(function, &vector["args"])?;
    match (&answer, vector.get("error")) {
        (Err(error), Some(expected)) => matching::refused(expected, &functions::refusal(error)),
        (Ok(value), Some(expected)) => match functions::refused_by_value(function, value) {
            Some(refusal) => matching::refused(expected, &refusal),
            None => Err(format!("accepted: {value}")),
        },
        (Err(error), None) => Err(format!("refused: {error:?}")),
        (Ok(value), None) => {
            if let Some(has) = vector.get("has") {
                matching::has(has, value)?;
            }
            let whole = vector.get("ok").is_none_or(|ok| *ok == Value::Bool(true) || matching::equal(ok, value));
            if whole { Ok(()) } else { Err(format!("answered {value}")) }
        }
    }
}
