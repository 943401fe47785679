//! Conformance vectors and those who answer them: spec/conformance/README.md.

pub mod drivers;
pub mod servers;
pub mod vectors;

use serde_json::{Value, json};
pub use threadmesh_runtime::vectors::Verdict;
use vectors::Vector;

/// Compares an answer of a driver with what the vector says.
pub fn judge(vector: &Vector, answer: &Value) -> Verdict {
    threadmesh_runtime::vectors::judge(&json!(vector), answer)
}

#[cfg(test)]
mod tests {
    use super::*;

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
