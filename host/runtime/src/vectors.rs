//! How an answer of a driver is compared with a conformance vector; see `spec/conformance/README.md`.

mod matching;
mod steps;
#[cfg(test)]
mod tests;

use matching::{equal, matches};
use serde_json::Value;

/// What became of a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As the vector says.
    Passed,
    /// As far as it goes; so many steps of a scenario could not be performed.
    Skipped(usize),
    /// Otherwise; in words.
    Failed(String),
}

/// Compares `answer`, an object with one of the members `ok`, `error`, `trap` and `unusable`, with what `vector` says.
pub fn judge(vector: &Value, answer: &Value) -> Verdict {
    match verdict(vector, answer) {
        Ok(0) => Verdict::Passed,
        Ok(skipped) => Verdict::Skipped(skipped),
        Err(fault) => Verdict::Failed(fault),
    }
}

/// How many steps were skipped, or what is wrong.
fn verdict(vector: &Value, answer: &Value) -> Result<usize, String> {
    let said = || format!("answered {answer}");
    if let Some(error) = vector.get("error") {
        let refusal = refusal(vector, answer).ok_or_else(said)?;
        let fits = |name: &str| error.get(name).is_none_or(|expected| refusal[name] == *expected);
        let told =
            |rule: &str| refusal["detail"].as_str().is_some_and(|detail| detail.starts_with(&format!("{rule}: ")));
        let rule = error["rule"].as_str().is_none_or(told);
        return if fits("code") && fits("pointer") && rule { Ok(0) } else { Err(said()) };
    }
    let ok = answer.get("ok").ok_or_else(said)?;
    if vector["function"] == "scenario" {
        return steps::judge(&vector["args"], ok);
    }
    if let Some(has) = vector.get("has") {
        matches(has, ok).map_err(|fault| format!("{fault}: {}", said()))?;
    }
    let exact = vector.get("ok").is_none_or(|expected| *expected == Value::Bool(true) || equal(expected, ok));
    if exact { Ok(0) } else { Err(said()) }
}

/// The refusal in an answer: a code and a pointer. Of a step or a frame it is also one that comes back as a value: a
/// refused decision, or the ready response of the only call.
fn refusal(vector: &Value, answer: &Value) -> Option<Value> {
    if let Some(error) = answer.get("error") {
        return Some(error.clone());
    }
    let ok = answer.get("ok")?;
    match vector["function"].as_str()? {
        "decide" => Some(ok["decision"]["problem"].clone()).filter(|problem| !problem.is_null()),
        "split" => {
            let [call] = ok["calls"].as_array()?.as_slice() else { return None };
            let response: Value = serde_json::from_str(call["response"].as_str()?).ok()?;
            Some(response["error"]["data"].clone()).filter(|data| ok["batch"] == Value::Bool(false) && !data.is_null())
        }
        _ => None,
    }
}
