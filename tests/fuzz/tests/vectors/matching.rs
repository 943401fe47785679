//! What "at least" and "the same" mean in a vector.

use serde_json::{Map, Value};

/// Whether `value` has at least what `expected` has.
pub(crate) fn has(expected: &Value, value: &Value) -> Result<(), String> {
    match (expected, value) {
        (Value::Object(special), Value::String(text)) if special.contains_key("$json") => {
            has(&special["$json"], &serde_json::from_str(text).map_err(|error| error.to_string())?)
        }
        (Value::Object(members), Value::Object(found)) => {
            members.iter().try_for_each(|(name, expected)| member(name, expected, found.get(name)))
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            expected.iter().zip(found).try_for_each(|(expected, found)| has(expected, found))
        }
        _ if equal(expected, value) => Ok(()),
        _ => Err(format!("{value} instead of {expected}")),
    }
}

fn member(name: &str, expected: &Value, found: Option<&Value>) -> Result<(), String> {
    if expected.get("$absent").is_some() {
        return found.map_or(Ok(()), |found| Err(format!("{name} is there: {found}")));
    }
    let found = found.ok_or_else(|| format!("{name} is missing"))?;
    match expected.get("$not") {
        Some(other) if has(other, found).is_ok() => Err(format!("{name} is {other}")),
        Some(_) => Ok(()),
        None => has(expected, found).map_err(|fault| format!("{name}: {fault}")),
    }
}

/// Whether both are the same; a null member is none.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    let there = |members: &Map<String, Value>| members.values().filter(|value| !value.is_null()).count();
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            there(left) == there(right)
                && left.iter().all(|(name, value)| equal(value, right.get(name).unwrap_or(&Value::Null)))
        }
        _ => left == right,
    }
}

/// Whether a refusal has the code and, where they are given, the pointer and the rule.
pub(crate) fn refused(expected: &Value, refusal: &Value) -> Result<(), String> {
    let same = |name: &str| expected.get(name).is_none_or(|value| refusal[name] == *value);
    let rule = expected["rule"]
        .as_str()
        .is_none_or(|rule| refusal["detail"].as_str().is_some_and(|detail| detail.starts_with(&format!("{rule}: "))));
    if same("code") && same("pointer") && rule { Ok(()) } else { Err(format!("{refusal} instead of {expected}")) }
}
