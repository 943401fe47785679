use super::{Behaviour, Known, expects, faults, functions};
use serde_json::json;
use std::collections::BTreeMap;

#[test]
fn every_behaviour_is_shown_by_what_exists_and_can_fail() {
    let faults = faults(&crate::root()).unwrap();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn tests_are_found_with_whether_they_can_fail() {
    let source = "\
#[test]
fn alone() {}

mod inner {
    #[test]
    #[ignore]
    fn compares() {
        assert_eq!(1, 1);
    }

    #[tokio::test(flavor = \"current_thread\")]
    async fn waits() {
        ready().await.unwrap();
    }

    fn no_test() {
        assert!(true);
    }

    #[test]
    fn hopes() {
        let _ = 1;
    }
}
";
    let mut all = BTreeMap::new();
    functions(source, &mut all);
    let expected = [("alone", false), ("compares", true), ("hopes", false), ("waits", true)];
    assert_eq!(all, expected.map(|(name, fails)| (name.to_owned(), fails)).into());
}

#[test]
fn what_expects_nothing_cannot_fail() {
    let scenario = |steps: serde_json::Value| json!({"function": "scenario", "args": {"steps": steps}, "ok": true});
    assert!(!expects(&scenario(json!([{"method": "m", "ok": {"value": {}}}]))));
    assert!(expects(&scenario(json!([{"ok": {"value": {}}}, {"error": {"code": "c"}}]))));
    assert!(expects(&scenario(json!([{"ok": {"value": {"state": "idle"}}}]))));
    assert!(expects(&json!({"function": "check", "error": {"code": "c"}})));
    assert!(!expects(&json!({"function": "check"})));
}

#[test]
fn what_is_wrong_with_an_entry_is_told() {
    let known = Known {
        rules: ["EN-1".into()].into(),
        vectors: [("documents/envelope: one".into(), true), ("documents/envelope: idle".into(), false)].into(),
        tests: [("proves".into(), true)].into(),
    };
    let entry = |value: serde_json::Value| -> Behaviour { serde_json::from_value(value).unwrap() };
    let count = |value: serde_json::Value| known.faults(&entry(value)).len();
    let good =
        json!({"id": "1", "says": "x", "rules": ["EN-1"], "vectors": ["documents/envelope: one"], "tests": ["proves"]});
    assert_eq!(count(good), 0);
    assert_eq!(count(json!({"id": "1", "says": "x", "outside": "because"})), 0);
    for (bad, faults) in [
        (json!({"id": "1", "says": ""}), 2),
        (json!({"id": "1", "says": "x", "outside": "because", "tests": ["proves"]}), 1),
        (json!({"id": "1", "says": "x", "rules": ["EN-2"], "tests": ["proves"]}), 2),
        (json!({"id": "1", "says": "x", "answers": ["documents/envelope: idle", "documents/envelope: two"]}), 2),
        (json!({"id": "1", "says": "x", "vectors": ["documents/envelope: one"]}), 0),
        (json!({"id": "1", "says": "x", "tests": ["hopes"]}), 1),
    ] {
        assert_eq!(count(bad.clone()), faults, "{bad}");
    }
}
