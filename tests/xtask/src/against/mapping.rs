//! The one thing that is mapped: the form of errors.

use serde_json::{Map, Value};

/// `value` with every error in the form of `{code, pointer, detail}`: of contract 0.2 (`{group, code, retryable, pointer,
/// detail}`) the group and whether to try again are left out, wherever an object has these members. Texts that hold JSON
/// are mapped inside.
#[must_use]
pub fn old_form(value: &Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(members_of(members)),
        Value::Array(items) => items.iter().map(old_form).collect(),
        Value::String(text) if text.contains("\"retryable\"") => match serde_json::from_str::<Value>(text) {
            Ok(inner) if inner.is_object() || inner.is_array() => old_form(&inner).to_string().into(),
            _ => value.clone(),
        },
        _ => value.clone(),
    }
}

fn members_of(members: &Map<String, Value>) -> Map<String, Value> {
    let error = members.get("code").is_some_and(Value::is_string)
        && members.get("group").is_some_and(Value::is_string)
        && members.get("retryable").is_some_and(Value::is_boolean);
    let kept = |name: &str| !error || !matches!(name, "group" | "retryable");
    members.iter().filter(|(name, _)| kept(name)).map(|(name, value)| (name.clone(), old_form(value))).collect()
}
