//! Every vector of `spec/conformance/lifecycle/`, natively and without a driver.

use super::super::{check_combination, check_reason, step_text};
use crate::Error;
use crate::json::{self, Value};
use std::string::{String, ToString};
use std::vec::Vec;

/// The files are larger than a document may be.
const LIMITS: json::Limits = json::Limits { bytes_max: 1 << 24, depth_max: 8, members_max: 1 << 20 };

fn call(vector: Value<'_>) -> Result<String, Error> {
    let arg = |name: &str| vector.get("args").and_then(|args| args.get(name)).and_then(|arg| arg.as_str()).unwrap();
    match vector.get("function").and_then(|function| function.as_str()).unwrap() {
        "step" => step_text(arg("machine"), arg("state"), arg("event")).map(ToString::to_string),
        "check-reason" => check_reason(arg("state"), arg("reason")).map(ToString::to_string),
        "check-combination" => check_combination(arg("states")).map(ToString::to_string),
        other => panic!("no function {other}"),
    }
}

/// Runs a file and returns how many vectors accept and reject.
fn run(file: &str) -> (usize, usize) {
    let tree = json::parse_with(file, &LIMITS, true).unwrap();
    let (mut accepting, mut rejecting) = (0, 0);
    for vector in tree.root().get("vectors").unwrap().items() {
        match (call(vector), vector.get("ok"), vector.get("error")) {
            (Ok(value), Some(expected), None) => {
                assert_eq!(Some(value.as_str()), expected.as_str(), "{vector:?}");
                accepting += 1;
            }
            (Err(error), None, Some(expected)) => {
                let part = |name: &str| expected.get(name).and_then(|part| part.as_str());
                assert_eq!(part("code"), Some(error.code.name()), "{vector:?}");
                assert!(part("pointer").is_none_or(|pointer| pointer == error.pointer), "{vector:?}: {error:?}");
                let rules: Vec<&str> = vector.get("rules").unwrap().items().filter_map(|rule| rule.as_str()).collect();
                let names_rule = rules.iter().any(|rule| error.detail.starts_with(&std::format!("{rule}:")));
                assert!(names_rule || error.code.name().starts_with("json-"), "{vector:?}: {error:?}");
                rejecting += 1;
            }
            (got, ..) => panic!("{vector:?}: {got:?}"),
        }
    }
    (accepting, rejecting)
}

#[test]
fn every_pair_of_state_and_event() {
    let (accepting, rejecting) = run(include_str!("../../../../../spec/conformance/lifecycle/steps.json"));
    // 21 + 13 + 4 + 10 + 5 + 4 edges of 8×7 + 8×7 + 4×3 + 5×6 + 3×5 + 5×4 pairs, and those of machines that came later.
    assert!(accepting >= 57 && accepting + rejecting >= 189, "{accepting} and {rejecting}");
}

#[test]
fn every_pair_of_decision_and_reason() {
    let (accepting, rejecting) = run(include_str!("../../../../../spec/conformance/lifecycle/reasons.json"));
    // 16 codes, none, and one that is no code, for 8 decisions.
    assert_eq!((accepting, accepting + rejecting), (19, 144));
}

#[test]
fn every_combination() {
    let (accepting, rejecting) = run(include_str!("../../../../../spec/conformance/lifecycle/combinations.json"));
    // 8 × 8 × 4 states, no attempt or one of 5, no claim or one of 3.
    assert_eq!((accepting, accepting + rejecting), (588, 6144));
}

#[test]
fn every_combination_of_an_event() {
    let file = include_str!("../../../../../spec/conformance/lifecycle/events-combinations.json");
    let (accepting, rejecting) = run(file);
    // 8 × 5 × 7 states beside a delivery and an outcome.
    assert!(accepting > 0 && accepting + rejecting == 280, "{accepting} and {rejecting}");
}

#[test]
fn names_and_shapes() {
    let (accepting, rejecting) = run(include_str!("../../../../../spec/conformance/lifecycle/names.json"));
    assert!(accepting > 0 && rejecting > accepting);
}
