//! Every rule is noticed: with any one of them switched off, some conformance vector fails.
//!
//! The switch is one for the whole process, so this is a test program of its own with a single test.

use serde_json::Value;
use std::{collections::BTreeMap, time::Instant};
use threadmesh_native::{NativeCore, vectors};
use threadmesh_protocol::{generated::rules::ALL, rules};
use threadmesh_runtime::{
    Core, Session, driver,
    vectors::{Verdict, judge},
};

/// The rules that a vector is about, at any depth: steps of scenarios name their own.
fn named(vector: &Value, rules: &mut Vec<String>) {
    match vector {
        Value::Array(items) => items.iter().for_each(|item| named(item, rules)),
        Value::Object(members) => {
            rules.extend(members.get("rules").and_then(Value::as_array).into_iter().flatten().filter_map(text));
            members.values().for_each(|member| named(member, rules));
        }
        _ => {}
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(Into::into)
}

fn verdict(session: &mut dyn Session, vector: &Value) -> Verdict {
    let answer = driver::answer(session, vector["function"].as_str().expect("a function"), &vector["args"]);
    judge(vector, &answer)
}

#[test]
fn disabling_any_rule_makes_a_vector_fail() {
    let vectors = vectors::all();
    let mut session = NativeCore.session().expect("a session");
    let mut failing = Vec::new();
    let mut about: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, (file, vector)) in vectors.iter().enumerate() {
        if let Verdict::Failed(how) = verdict(session.as_mut(), vector) {
            failing.push(format!("{file}: {}: {how:.1000}", vector["name"]));
        }
        let mut rules = Vec::new();
        named(vector, &mut rules);
        rules.into_iter().for_each(|rule| about.entry(rule).or_default().push(index));
    }
    assert!(failing.is_empty(), "{} fail with all rules on:\n{}", failing.len(), failing.join("\n"));
    let (mut own, mut other, mut unnoticed) = (0, Vec::new(), Vec::new());
    let start = Instant::now();
    for rule in ALL.iter().copied().filter(|rule| rule.toggles()) {
        rules::disable(Some(rule));
        let mut fails = |index: &usize| verdict(session.as_mut(), &vectors[*index].1) != Verdict::Passed;
        // The last ones first: they reject.
        if about.get(rule.id()).is_some_and(|known| known.iter().rev().any(&mut fails)) {
            own += 1;
        } else if (0..vectors.len()).any(|index| fails(&index)) {
            other.push(rule.id());
        } else {
            unnoticed.push(rule.id());
        }
        rules::disable(None);
    }
    let spent = start.elapsed().as_secs_f64();
    println!("{} vectors; {own} rules noticed by vectors of their own in {spent:.1} s", vectors.len());
    println!("noticed by others only: {other:?}");
    let fixed: Vec<&str> = ALL.iter().filter(|rule| !rule.toggles()).map(|rule| rule.id()).collect();
    println!("not to be switched off: {fixed:?}");
    assert!(unnoticed.is_empty(), "no vector notices that these are off: {unnoticed:?}");
    assert!(other.is_empty(), "no vector that names them notices that these are off: {other:?}");
}
