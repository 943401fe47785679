//! Counting on small files, and the rules of the lifecycle on the real ones.

use super::{Count, Coverage, coverage};
use serde_json::json;

fn counted(file: &serde_json::Value) -> Coverage {
    let rules = ["A-1", "A-2"].map(|id| (id.to_owned(), Count::default())).into();
    let mut coverage = Coverage { rules, ..Coverage::default() };
    coverage.file("a.json", file);
    coverage
}

#[test]
fn vectors_and_steps_are_counted_for_each_rule_that_they_name() {
    let coverage = counted(&json!({"group": "a", "vectors": [
        {"name": "one", "rules": ["A-1", "A-2"], "ok": 1},
        {"name": "two", "rules": ["A-1"], "error": {"code": "c"}},
        {"name": "three", "rules": ["A-2"], "ok": null, "args": {"steps": [{"rules": ["A-2"], "error": {"code": "c"}}]}},
    ]}));
    assert_eq!(coverage.vectors, Count { accepting: 2, rejecting: 2 });
    assert_eq!(coverage.rules["A-1"], Count { accepting: 1, rejecting: 1 });
    assert_eq!(coverage.rules["A-2"], Count { accepting: 2, rejecting: 1 });
    assert!(coverage.unaccepted().is_empty() && coverage.unrejected().is_empty());
    assert!(!coverage.complete(), "rejecting vectors are not in the majority");
}

#[test]
fn what_is_lacking_unknown_or_named_twice_is_told() {
    let coverage = counted(&json!({"vectors": [
        {"name": "one", "rules": ["A-1"], "ok": 1},
        {"name": "one", "rules": ["B-9"], "error": {"code": "c"}},
    ]}));
    assert_eq!(coverage.unaccepted(), ["A-2"]);
    assert_eq!(coverage.unrejected(), ["A-1", "A-2"]);
    let told = coverage.to_string();
    assert!(told.contains("a.json: no rule B-9") && told.contains("two vectors named \"one\""), "{told}");
}

#[test]
fn every_rule_of_the_lifecycle_has_both() {
    let coverage = coverage(&crate::root()).unwrap();
    let rules: Vec<_> = coverage.rules.iter().filter(|(id, _)| id.starts_with("LC-")).collect();
    assert!(!rules.is_empty());
    for (id, count) in rules {
        assert!(count.accepting > 0 && count.rejecting > 0, "{id}: {count:?}");
    }
}
