//! The calls of a scenario: who makes them, with what was kept of earlier answers.

use serde_json::{Map, Value};
use threadmesh_protocol::kernel::{Fact, Principal, PrincipalKind, Request};

/// The call of a step. Nothing where the step is none, or takes what was never kept.
pub fn request(scenario: &Value, step: &Value, kept: &Map<String, Value>) -> Option<Request> {
    let params = substitute(&step["params"], kept)?.to_string();
    Some(Request {
        operation: step["method"].as_str()?.into(),
        principal: step["as"].as_str().and_then(|name| principal(&scenario["principals"], name)),
        params: step["text"].as_str().map_or(params, Into::into),
        instance: step["instance"].as_str().unwrap_or("host-1").into(),
        cursor: step["cursor"].as_str().map(Into::into),
        context: facts(&step["context"]),
    })
}

/// The facts of a list; none where there is no list.
pub fn facts(list: &Value) -> Vec<Fact> {
    let text = |fact: &Value, name: &str| fact[name].as_str().unwrap_or_default().to_owned();
    let read = |fact: &Value| Fact { name: text(fact, "name"), value: text(fact, "value") };
    list.as_array().into_iter().flatten().map(read).collect()
}

/// The principal of that name.
fn principal(all: &Value, name: &str) -> Option<Principal> {
    let known = all.get(name)?;
    let mut principal = principal_from(known)?;
    if known.get("authentication").is_none() {
        principal.authentication = format!("authn_{name}-session");
    }
    Some(principal)
}

/// A principal as the vectors describe it.
pub fn principal_from(known: &Value) -> Option<Principal> {
    let text = |name: &str| known[name].as_str().map(str::to_owned);
    let kind = match known["kind"].as_str()? {
        "user" => PrincipalKind::User,
        "policy" => PrincipalKind::Policy,
        "task" => PrincipalKind::Task,
        "operator" => PrincipalKind::Operator,
        "host" => PrincipalKind::Host,
        _ => return None,
    };
    Some(Principal {
        tenant: text("tenant").unwrap_or_else(|| "default".into()),
        kind,
        id: text("id")?,
        incarnation: text("incarnation"),
        owner: text("owner"),
        worker: text("worker"),
        authentication: text("authentication").unwrap_or_default(),
    })
}

/// Keeps what a step says of its answer.
pub fn keep(step: &Value, response: &str, kept: &mut Map<String, Value>) {
    let Ok(answer) = serde_json::from_str::<Value>(response) else { return };
    for (name, pointer) in step["keep"].as_object().into_iter().flatten() {
        if let Some(found) = answer.pointer(pointer.as_str().unwrap_or("")) {
            kept.insert(name.clone(), found.clone());
        }
    }
}

/// `value` with what was kept; nothing where it was not.
pub fn substitute(value: &Value, kept: &Map<String, Value>) -> Option<Value> {
    Some(match value {
        Value::Object(members) => match members.get("$var").and_then(Value::as_str) {
            Some(name) => kept.get(name)?.clone(),
            None => {
                let members = members.iter().map(|(name, value)| Some((name.clone(), substitute(value, kept)?)));
                Value::Object(members.collect::<Option<_>>()?)
            }
        },
        Value::Array(items) => items.iter().map(|item| substitute(item, kept)).collect::<Option<_>>()?,
        _ => value.clone(),
    })
}
