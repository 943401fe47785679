//! The one thing that is mapped: the form of errors.

use serde_json::{Map, Value};

/// `new` with its errors in the form that they have at the same place in `old`: of an error of contract 0.2 (`{group, code,
/// retryable, pointer, detail}`) the group and whether to try again are left out where `old` does not have them. Texts that
/// hold JSON are mapped inside.
#[must_use]
pub fn old_form(old: &Value, new: &Value) -> Value {
    match (old, new) {
        (_, Value::Object(members)) => Value::Object(members_of(old, members)),
        (Value::Array(before), Value::Array(items)) if before.len() == items.len() => {
            before.iter().zip(items).map(|(old, new)| old_form(old, new)).collect()
        }
        (Value::String(before), Value::String(text)) if text.contains("\"group\"") => {
            let read = |text: &str| serde_json::from_str::<Value>(text).ok().filter(|inner| !inner.is_string());
            match (read(before), read(text)) {
                (Some(before), Some(inner)) => old_form(&before, &inner).to_string().into(),
                _ => new.clone(),
            }
        }
        _ => new.clone(),
    }
}

fn members_of(old: &Value, members: &Map<String, Value>) -> Map<String, Value> {
    let error = members.get("code").is_some_and(Value::is_string)
        && members.get("group").is_some_and(Value::is_string)
        && members.get("retryable").is_some_and(Value::is_boolean);
    let kept = |name: &str| !error || !matches!(name, "group" | "retryable") || old.get(name).is_some();
    let of = |name: &str| old.get(name).unwrap_or(&Value::Null);
    members.iter().filter(|(name, _)| kept(name)).map(|(name, new)| (name.clone(), old_form(of(name), new))).collect()
}
