//! Scenarios of the conformance vectors: steps of several callers against one fresh store.
//!
//! [`perform`] makes the calls and writes a transcript; [`crate::vectors`] compares a transcript with what the steps
//! expect. They are apart so that an implementation under test only has to perform. `spec/conformance/README.md`
//! describes both.

mod local;
#[cfg(test)]
mod tests;

pub use local::Local;

use serde_json::{Map, Value, json, value::RawValue};

/// One call of a scenario.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The caller as the scenario describes it, with its name as `name`; nothing where nobody is authenticated.
    pub principal: Option<Value>,
    /// The operation.
    pub method: &'a str,
    /// The text of the params.
    pub params: String,
    /// The time of the call, in milliseconds since the Unix epoch.
    pub now: i64,
    /// 64 hex digits, for systems that take them.
    pub entropy: String,
    /// Names the running host.
    pub instance: &'a str,
    /// Where the call belongs in a trace: a list of facts, or null.
    pub context: &'a Value,
    /// Evaluations that have ended before the call: a list, or null.
    pub evaluated: &'a Value,
}

/// What a call brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The text of the `result` member, or of the `error` member.
    pub response: Result<String, String>,
    /// The effects that the host was handed, as a JSON array; nothing where they cannot be seen.
    pub effects: Option<Value>,
}

/// Where a scenario is performed: a fresh store behind it, and a clock that stands where the calls say.
pub trait Target {
    /// The start of the scenario, an RFC 3339 text, in milliseconds. An error ends the scenario.
    fn start(&mut self, text: &str) -> Result<i64, String>;

    /// Performs a call. Nothing comes back where this target has no way to make such a call (a transport never takes
    /// the calls of the host itself). An error ends the scenario: the system under test gave no answer at all.
    fn call(&mut self, call: &Call<'_>) -> Result<Option<Reply>, String>;
}

/// Performs the scenario in `args`. The transcript is an array with an object per step: `result` or `error` with the
/// text as it was answered, `effects` where they were seen, or `skipped`. Fails where the scenario is not of the
/// described form or the target gives no answer.
pub fn perform(args: &Value, target: &mut dyn Target) -> Result<Value, String> {
    let start = args["start"].as_str().ok_or("a scenario has a start")?;
    let (start, mut offset) = (target.start(start)?, 0);
    let mut kept = Map::new();
    let mut transcript = Vec::new();
    for (index, step) in args["steps"].as_array().ok_or("a scenario has steps")?.iter().enumerate() {
        offset = step["at"].as_i64().unwrap_or(offset);
        let params = match substitute(&step["params"], &kept) {
            Ok(params) => params.to_string(),
            Err(missing) => {
                transcript.push(json!({ "skipped": format!("nothing was kept as {missing}") }));
                continue;
            }
        };
        let call = Call {
            principal: principal(args, step)?,
            method: step["method"].as_str().ok_or("a step has a method")?,
            params: step["text"].as_str().map_or(params, Into::into),
            now: start + offset,
            entropy: format!("{:064x}", index + 1),
            instance: step["instance"].as_str().unwrap_or("host-1"),
            context: &step["context"],
            evaluated: &step["evaluated"],
        };
        transcript.push(match target.call(&call).map_err(|fault| format!("step {}: {fault}", index + 1))? {
            None => json!({ "skipped": "there is no way to make this call" }),
            Some(reply) => entry(&reply, step, &mut kept)?,
        });
    }
    Ok(transcript.into())
}

/// The caller of a step, completed.
fn principal(args: &Value, step: &Value) -> Result<Option<Value>, String> {
    let Some(name) = step["as"].as_str() else { return Ok(None) };
    let mut principal = args["principals"][name].clone();
    let members = principal.as_object_mut().ok_or_else(|| format!("there is no principal {name}"))?;
    members.entry("tenant").or_insert("default".into());
    members.entry("authentication").or_insert(format!("authn_{name}-session").into());
    members.insert("name".into(), name.into());
    Ok(Some(principal))
}

/// The transcript of a step, and what it keeps.
fn entry(reply: &Reply, step: &Value, kept: &mut Map<String, Value>) -> Result<Value, String> {
    let (name, text) = match &reply.response {
        Ok(text) => ("result", text),
        Err(text) => ("error", text),
    };
    let value: Value = serde_json::from_str(text).map_err(|error| format!("the answer is not JSON: {error}"))?;
    for (variable, pointer) in step["keep"].as_object().into_iter().flatten() {
        if let Some(found) = value.pointer(pointer.as_str().unwrap_or("")) {
            kept.insert(variable.clone(), found.clone());
        }
    }
    let mut entry = json!({ name: text });
    if let Some(effects) = &reply.effects {
        entry["effects"] = effects.clone();
    }
    Ok(entry)
}

/// `value` with every `{"$var": name}` replaced by what was kept under the name; otherwise the name that is missing.
pub(crate) fn substitute(value: &Value, kept: &Map<String, Value>) -> Result<Value, String> {
    Ok(match value {
        Value::Object(members) => match members.get("$var").and_then(Value::as_str) {
            Some(name) => kept.get(name).cloned().ok_or(name)?,
            None => {
                let members = members.iter().map(|(name, value)| Ok((name.clone(), substitute(value, kept)?)));
                Value::Object(members.collect::<Result<_, String>>()?)
            }
        },
        Value::Array(items) => items.iter().map(|item| substitute(item, kept)).collect::<Result<_, _>>()?,
        _ => value.clone(),
    })
}

/// The `result` or `error` text of a whole JSON-RPC response, as it stands there. Error: it has neither.
pub fn response_text(response: &str) -> Result<Result<String, String>, String> {
    #[derive(serde::Deserialize)]
    struct Response<'a> {
        #[serde(borrow)]
        result: Option<&'a RawValue>,
        #[serde(borrow)]
        error: Option<&'a RawValue>,
    }
    let response: Response<'_> = serde_json::from_str(response).map_err(|error| error.to_string())?;
    match (response.result, response.error) {
        (Some(result), None) => Ok(Ok(result.get().into())),
        (None, Some(error)) => Ok(Err(error.get().into())),
        _ => Err("a response has either a result or an error".into()),
    }
}
