//! Conformance vectors and those who answer them: spec/conformance/README.md.

pub mod drivers;
pub mod vectors;

use serde_json::Value;
use vectors::Vector;

/// What became of one vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As the vector says.
    Passed,
    /// Otherwise; in words.
    Failed(String),
}

/// Compares an answer of a driver with what the vector says.
pub fn judge(vector: &Vector, answer: &Value) -> Verdict {
    let said = || Verdict::Failed(format!("answered {answer}"));
    match (&vector.ok, &vector.error) {
        (Some(Value::Bool(true)), None) if answer.get("ok").is_some() => Verdict::Passed,
        (Some(ok), None) if answer.get("ok").is_some_and(|answered| equal(answered, ok)) => Verdict::Passed,
        (None, Some(error)) => match answer.get("error") {
            Some(answered) if answered["code"] != error["code"] => said(),
            Some(answered) if error.get("pointer").is_some_and(|pointer| *pointer != answered["pointer"]) => said(),
            Some(_) => Verdict::Passed,
            None => said(),
        },
        _ => said(),
    }
}

/// Whether two JSON values are equal, `1` and `1.0` included.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same = |(name, value): (&String, &Value)| right.get(name).is_some_and(|other| equal(value, other));
            left.len() == right.len() && left.iter().all(same)
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn judged(vector: Value, answer: Value) -> bool {
        let mut whole = json!({"name": "n", "rules": [], "function": "f", "args": {}});
        whole.as_object_mut().unwrap().extend(vector.as_object().unwrap().clone());
        judge(&serde_json::from_value(whole).unwrap(), &answer) == Verdict::Passed
    }

    #[test]
    fn an_accepting_vector_wants_exactly_its_answer_or_any() {
        assert!(judged(json!({"ok": {"a": 1}}), json!({"ok": {"a": 1.0}})));
        assert!(judged(json!({"ok": true}), json!({"ok": {"a": 1}})));
        assert!(!judged(json!({"ok": {"a": 1}}), json!({"ok": {"a": 1, "b": 2}})));
        assert!(!judged(json!({"ok": true}), json!({"error": {"code": "x", "pointer": ""}})));
        assert!(!judged(json!({"ok": true}), json!({"trap": "unreachable"})));
        assert!(!judged(json!({"ok": "x"}), json!({"unusable": "what?"})));
    }

    #[test]
    fn a_rejecting_vector_wants_its_code_and_pointer() {
        let error = json!({"error": {"code": "x", "pointer": "/a", "detail": "whatever"}});
        assert!(judged(json!({"error": {"code": "x"}}), error.clone()));
        assert!(judged(json!({"error": {"code": "x", "pointer": "/a"}}), error.clone()));
        assert!(!judged(json!({"error": {"code": "x", "pointer": ""}}), error.clone()));
        assert!(!judged(json!({"error": {"code": "y"}}), error));
        assert!(!judged(json!({"error": {"code": "x"}}), json!({"ok": 1})));
        assert!(!judged(json!({"error": {"code": "x"}}), json!({"trap": "unreachable"})));
    }
}
