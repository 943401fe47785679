//! Which operation can end how: `spec/operations.json`. A code that is not there is out of reach, and finding it is a fault as
//! well: either the table or the core is wrong.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// An operation, and how it ended: a code, `accepted` or `replayed`.
pub type Ending = (String, String);

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Every ending that the table lists.
fn possible() -> BTreeSet<Ending> {
    let text = fs::read_to_string(xtask::root().join("spec/operations.json")).expect("the table");
    let table: Value = serde_json::from_str(&text).expect("JSON");
    let mut all = BTreeSet::new();
    for operation in table["operations"].as_array().into_iter().flatten() {
        let mut codes: Vec<&str> =
            texts(&table["endings"]["always"]).chain(texts(&operation["codes"])).chain(["accepted"]).collect();
        if operation["keyed"] == Value::Bool(true) {
            codes.extend(texts(&table["endings"]["keyed"]).chain(["replayed"]));
        }
        let name = operation["name"].as_str().expect("a name");
        all.extend(codes.into_iter().map(|code| (name.to_owned(), code.to_owned())));
    }
    all
}

/// Checks that all of it happened, and nothing else did. `operations` are those of the core.
pub fn check(operations: &[String], ended: &BTreeSet<Ending>) {
    let possible = possible();
    let known: BTreeSet<&str> = possible.iter().map(|(operation, _)| operation.as_str()).collect();
    let named: BTreeSet<&str> = operations.iter().map(String::as_str).collect();
    assert_eq!(known, named, "the table is not about the core's operations");
    let all: BTreeSet<Ending> = ended.iter().filter(|(operation, _)| operations.contains(operation)).cloned().collect();
    let reached = all.intersection(&possible).count();
    println!("{reached} of {} ways for {} operations to end", possible.len(), known.len());
    let missing: Vec<_> = possible.difference(&all).collect();
    let surprising: Vec<_> = all.difference(&possible).collect();
    assert!(missing.is_empty(), "these never happened: {missing:?}");
    assert!(surprising.is_empty(), "these should be out of reach: {surprising:?}");
}
