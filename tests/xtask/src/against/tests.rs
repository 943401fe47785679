use super::{Class, Wanted, classes, compare, mapping::old_form};
use serde_json::{Value, json};

fn found(old: Value, new: Value) -> Vec<Class> {
    compare(&old, &new).into_iter().map(|difference| difference.class).collect()
}

#[test]
fn only_the_form_of_errors_is_mapped() {
    let new = json!({"group": "input", "code": "x", "retryable": false, "pointer": "/a", "detail": "d"});
    let old = json!({"code": "x", "pointer": "/a", "detail": "d"});
    assert_eq!(old_form(&old, &new), old);
    // A group of something else stays, and what was there before is compared.
    let other = json!({"group": "lifecycle", "vectors": []});
    assert_eq!(old_form(&json!({}), &other), other);
    let known = json!({"code": "x", "retryable": true, "pointer": "/a", "detail": "d"});
    assert_eq!(old_form(&known, &new)["retryable"], false);
    let text = |error: &Value| json!({"error": json!({"data": error}).to_string()});
    assert_eq!(old_form(&text(&old), &text(&new)), text(&old));
}

#[test]
fn a_verdict_is_never_allowed_to_differ() {
    let vector = |code: &str, rules: Value| json!({"name": "n", "rules": rules, "error": {"code": code}});
    assert_eq!(found(vector("x", json!([])), vector("y", json!([]))), [Class::Other]);
    assert_eq!(found(vector("x", json!(["A-1"])), vector("x", json!(["A-2"]))), [Class::Other]);
    let step = |code: &str| json!({"args": {"steps": [{"error": {"code": code}}]}});
    assert_eq!(found(step("x"), step("y")), [Class::Other]);
    let problem = |code: &str| json!({"has": {"decision": {"problem": {"code": code}}}});
    assert_eq!(found(problem("x"), problem("y")), [Class::Other]);
}

#[test]
fn what_is_stored_has_classes() {
    let args = |row: Value, query: Value| json!({"args": {"answers": [{"query": query, "rows": [row]}]}});
    let query = json!({"collection": "life", "index": "", "start": "a"});
    let row = json!({"id": "a", "key": "a", "revision": 1, "body": "{\"sender\":1}"});
    let old = args(row.clone(), query.clone());
    let mut body = old.clone();
    body["args"]["answers"][0]["rows"][0]["body"] = "{\"sender\":2}".into();
    assert_eq!(found(old.clone(), body), [Class::RowBody]);
    let mut key = old.clone();
    key["args"]["answers"][0]["query"]["start"] = "b".into();
    assert_eq!(found(old.clone(), key), [Class::RowKey]);
    let mut added = old.clone();
    added["args"]["answers"][0]["query"]["bytes"] = 0.into();
    assert_eq!(found(old.clone(), added.clone()), [Class::Added]);
    added["args"]["answers"][0]["query"]["bytes"] = 7.into();
    assert_eq!(found(old.clone(), added), [Class::Other]);
    let mut gone = old.clone();
    gone["args"]["answers"][0]["rows"] = json!([]);
    assert_eq!(found(old, gone), [Class::Rows]);
}

#[test]
fn texts_that_hold_json_are_looked_into() {
    let old = json!({"params": "{\"a\":1,\"b\":2}"});
    assert!(classes::differences(&old, &json!({"params": "{\"b\":2,\"a\":1}"})).is_empty());
    assert_eq!(classes::differences(&old, &json!({"params": "{\"b\":2,\"a\":0}"})).len(), 1);
}

#[test]
fn a_class_is_allowed_by_its_name() {
    assert!(Wanted::parse(&["dir", "--allow", "row-body,added"]).is_ok());
    assert!(Wanted::parse(&["dir", "--allow", "other"]).is_err(), "what has no class is never allowed");
    assert!(Wanted::parse(&[]).is_err());
}
