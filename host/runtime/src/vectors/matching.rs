//! What is compared: equal values, and values that have at least what is expected.

use serde_json::Value;

/// Whether `value` has at least what `expected` has. Arrays are as long as expected.
pub(crate) fn matches(expected: &Value, value: &Value) -> Result<(), String> {
    match (expected, value) {
        (Value::Object(members), Value::Object(found)) => {
            for (name, member) in members {
                match (member.get("$absent"), member.get("$not"), found.get(name)) {
                    (Some(_), _, None) => {}
                    (Some(_), _, Some(_)) => return Err(format!("{name} must not be there")),
                    (_, Some(other), Some(value)) if matches(other, value).is_ok() => {
                        return Err(format!("{name} must not be {other}"));
                    }
                    (_, Some(_), Some(_)) => {}
                    (_, _, Some(value)) => matches(member, value).map_err(|fault| format!("{name}: {fault}"))?,
                    (_, _, None) => return Err(format!("{name} is missing")),
                }
            }
            Ok(())
        }
        (Value::Array(items), Value::Array(found)) => {
            if items.len() != found.len() {
                return Err(format!("{} elements instead of {}", found.len(), items.len()));
            }
            for (index, (item, value)) in items.iter().zip(found).enumerate() {
                matches(item, value).map_err(|fault| format!("[{index}]: {fault}"))?;
            }
            Ok(())
        }
        (Value::Object(_), Value::String(text)) if expected.get("$json").is_some() => {
            let inner: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
            matches(&expected["$json"], &inner)
        }
        (Value::Number(expected), Value::Number(found)) if expected.as_f64() == found.as_f64() => Ok(()),
        _ if expected == value => Ok(()),
        _ => Err(format!("{value} instead of {expected}")),
    }
}

/// Whether two values are equal: `1` is `1.0`, and a member that is null is none.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let count =
                |members: &serde_json::Map<String, Value>| members.values().filter(|value| !value.is_null()).count();
            let same = |(name, value): (&String, &Value)| {
                value.is_null() || right.get(name).is_some_and(|other| equal(value, other))
            };
            count(left) == count(right) && left.iter().all(same)
        }
        _ => left == right,
    }
}
