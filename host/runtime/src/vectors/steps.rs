//! Whether a transcript is what a scenario expects.

use super::matching::matches;
use crate::scenario::substitute;
use serde_json::{Map, Value};

/// Compares `transcript`, as [`crate::scenario::perform`] made it from the scenario in `args`, with its steps. How many steps had
/// to be skipped because the target has no way to make such a call; or every difference, a line each.
///
/// A step that was skipped is not compared, nor is any later one: they stand on what it would have changed.
pub(super) fn judge(args: &Value, transcript: &Value) -> Result<usize, String> {
    let steps = args["steps"].as_array().ok_or("a scenario has steps")?;
    let entries = transcript.as_array().filter(|entries| entries.len() == steps.len());
    let entries = entries.ok_or("the transcript has not as many entries as the scenario has steps")?;
    let mut seen = Seen::default();
    let mut faults = Vec::new();
    for (index, (step, entry)) in steps.iter().zip(entries).enumerate() {
        if entry["skipped"].as_str().is_some_and(|why| why.starts_with("there is no way")) {
            return if faults.is_empty() { Ok(steps.len() - index) } else { Err(faults.join("\n")) };
        }
        if let Err(fault) = seen.step(step, entry) {
            let name = step["name"].as_str().map(|name| format!(" ({name})")).unwrap_or_default();
            faults.push(format!("step {}{name}, {}: {fault}", index + 1, step["method"].as_str().unwrap_or("")));
        }
    }
    if faults.is_empty() { Ok(0) } else { Err(faults.join("\n")) }
}

/// What earlier steps brought.
#[derive(Default)]
struct Seen {
    kept: Map<String, Value>,
    answers: Map<String, Value>,
}

impl Seen {
    fn step(&mut self, step: &Value, entry: &Value) -> Result<(), String> {
        let (member, text) = match (entry["result"].as_str(), entry["error"].as_str()) {
            (Some(text), None) => ("ok", text),
            (None, Some(text)) => ("error", text),
            _ => return Err(format!("no answer: {entry}")),
        };
        let value: Value = serde_json::from_str(text).map_err(|error| format!("the answer is not JSON: {error}"))?;
        if let Some(name) = step["name"].as_str() {
            self.answers.insert(name.into(), text.into());
        }
        if step.get("ok").is_some() && step.get("error").is_some() {
            return Err("the step expects an answer and an error, so that either would do".into());
        }
        if step.get(member).is_none() {
            return Err(format!("answered with {text}"));
        }
        // What this step expects is said in terms of what earlier ones kept.
        let (answer, effects) = (self.expected(&step["ok"]), self.expected(&step["effects"]));
        self.keep(step, &value)?;
        match member {
            "ok" => matches(&answer?, &value).map_err(|fault| format!("{fault} in {text}"))?,
            _ => refused(&step["error"], &value).map_err(|fault| format!("{fault} in {text}"))?,
        }
        if let Some(name) = step["same_as"].as_str()
            && self.answers.get(name).and_then(Value::as_str) != Some(text)
        {
            return Err(format!("the answer is not that of {name}: {text}"));
        }
        match (step.get("effects"), entry.get("effects")) {
            (Some(_), Some(found)) => {
                matches(&effects?, found).map_err(|fault| format!("{fault} in the effects {found}"))
            }
            _ => Ok(()),
        }
    }

    fn keep(&mut self, step: &Value, value: &Value) -> Result<(), String> {
        for (name, pointer) in step["keep"].as_object().into_iter().flatten() {
            let pointer = pointer.as_str().unwrap_or("");
            let found = value.pointer(pointer).ok_or_else(|| format!("nothing at {pointer} in {value}"))?;
            self.kept.insert(name.clone(), found.clone());
        }
        Ok(())
    }

    fn expected(&self, value: &Value) -> Result<Value, String> {
        substitute(value, &self.kept).map_err(|name| format!("nothing was kept as {name}"))
    }
}

/// Whether an error has the code and, where they are given, the pointer and the rule.
fn refused(expected: &Value, error: &Value) -> Result<(), String> {
    let data = &error["data"];
    if data["code"] != expected["code"] {
        return Err(format!("the code is not {}", expected["code"]));
    }
    if expected.get("pointer").is_some_and(|pointer| data["pointer"] != *pointer) {
        return Err(format!("the pointer is not {}", expected["pointer"]));
    }
    let told = |rule: &str| data["detail"].as_str().is_some_and(|detail| detail.starts_with(&format!("{rule}: ")));
    match expected["rule"].as_str() {
        Some(rule) if !told(rule) => Err(format!("the rule is not {rule}")),
        _ => Ok(()),
    }
}
