use super::*;
use serde_json::json;

fn judged(vector: Value, answer: Value) -> bool {
    let mut whole = json!({"name": "n", "rules": [], "function": "f", "args": {}});
    whole.as_object_mut().unwrap().extend(vector.as_object().unwrap().clone());
    judge(&whole, &answer) == Verdict::Passed
}

#[test]
fn an_accepting_vector_wants_exactly_its_answer_or_any() {
    assert!(judged(json!({"ok": {"a": 1}}), json!({"ok": {"a": 1.0}})));
    assert!(judged(json!({"ok": {"a": 1}}), json!({"ok": {"a": 1, "b": null}})));
    assert!(judged(json!({"ok": true}), json!({"ok": {"a": 1}})));
    assert!(!judged(json!({"ok": {"a": 1}}), json!({"ok": {"a": 1, "b": 2}})));
    assert!(!judged(json!({"ok": {"a": 1, "b": 2}}), json!({"ok": {"a": 1}})));
    assert!(!judged(json!({"ok": true}), json!({"error": {"code": "x", "pointer": ""}})));
    assert!(!judged(json!({"ok": true}), json!({"trap": "unreachable"})));
    assert!(!judged(json!({"ok": "x"}), json!({"unusable": "what?"})));
}

#[test]
fn a_rejecting_vector_wants_its_code_and_pointer_and_rule() {
    let error = json!({"error": {"code": "x", "pointer": "/a", "detail": "AB-1: whatever"}});
    assert!(judged(json!({"error": {"code": "x"}}), error.clone()));
    assert!(judged(json!({"error": {"code": "x", "pointer": "/a", "rule": "AB-1"}}), error.clone()));
    assert!(!judged(json!({"error": {"code": "x", "pointer": ""}}), error.clone()));
    assert!(!judged(json!({"error": {"code": "x", "rule": "AB"}}), error.clone()));
    assert!(!judged(json!({"error": {"code": "x", "rule": "AB-11"}}), error.clone()));
    assert!(!judged(json!({"error": {"code": "y"}}), error));
    assert!(!judged(json!({"error": {"code": "x"}}), json!({"ok": 1})));
    assert!(!judged(json!({"error": {"code": "x"}}), json!({"trap": "unreachable"})));
}

#[test]
fn a_refusal_may_come_back_as_a_value() {
    let step = json!({"ok": {"kind": "ready", "decision": {"problem": {"code": "x", "pointer": "", "detail": ""}}}});
    assert!(judged(json!({"function": "decide", "error": {"code": "x"}}), step.clone()));
    assert!(!judged(json!({"function": "f", "error": {"code": "x"}}), step));
    assert!(!judged(json!({"function": "decide", "error": {"code": "x"}}), json!({"ok": {"kind": "needs"}})));
    let frame = |batch: bool| {
        let response = json!({"id": null, "error": {"data": {"code": "x", "pointer": ""}}}).to_string();
        json!({"ok": {"batch": batch, "calls": [{"response": response}]}})
    };
    assert!(judged(json!({"function": "split", "error": {"code": "x"}}), frame(false)));
    assert!(!judged(json!({"function": "split", "error": {"code": "x"}}), frame(true)));
    assert!(!judged(
        json!({"function": "split", "error": {"code": "x"}}),
        json!({"ok": {"batch": false, "calls": []}})
    ));
}

#[test]
fn partial_values_say_what_is_there_at_least() {
    let fits = |expected: Value, found: Value| matches(&expected, &found).is_ok();
    assert!(fits(json!({"a": {"b": 1}}), json!({"a": {"b": 1, "c": 2}, "d": 3})));
    assert!(!fits(json!({"a": {"b": 1}}), json!({"a": {"c": 2}})));
    assert!(!fits(json!([{"a": 1}]), json!([{"a": 1}, {"a": 2}])));
    assert!(fits(json!([{"a": 1}]), json!([{"a": 1, "b": 2}])));
    assert!(fits(json!({"a": {"$absent": true}}), json!({"b": 1})));
    assert!(!fits(json!({"a": {"$absent": true}}), json!({"a": null})));
    assert!(fits(json!({"a": {"$not": 1}}), json!({"a": 2})));
    assert!(!fits(json!({"a": {"$not": 1}}), json!({"a": 1})));
    assert!(!fits(json!({"a": {"$not": 1}}), json!({})));
    assert!(fits(json!({"a": {"$json": {"b": 1}}}), json!({"a": "{\"b\":1,\"c\":2}"})));
    assert!(!fits(json!({"a": {"$json": {"b": 1}}}), json!({"a": "{"})));
}

fn scenario(steps: Value, transcript: Value) -> Verdict {
    judge(&json!({"function": "scenario", "args": {"steps": steps}, "ok": true}), &json!({"ok": transcript}))
}

#[test]
fn steps_are_judged_with_what_earlier_ones_kept() {
    let steps = json!([
        {"name": "first", "keep": {"a": "/value"}, "ok": {"value": 1}},
        {"ok": {"value": {"$var": "a"}}, "keep": {"a": "/other"}},
        {"error": {"code": "x"}, "same_as": "first"},
    ]);
    let first = json!({"result": "{\"value\":1}"});
    let second = json!({"result": "{\"value\":1,\"other\":2}"});
    let refused = json!({"error": "{\"data\":{\"code\":\"x\"}}"});
    let told = |verdict: Verdict| match verdict {
        Verdict::Failed(how) => how,
        other => format!("{other:?}"),
    };
    let verdict = told(scenario(steps.clone(), json!([first, second, refused])));
    assert!(verdict.starts_with("step 3, : the answer is not that of first"), "{verdict}");
    let verdict = told(scenario(steps.clone(), json!([first, first, refused])));
    assert!(verdict.contains("step 2, : nothing at /other"), "{verdict}");
    let verdict = told(scenario(steps, json!([first, second])));
    assert!(verdict.contains("not as many"), "{verdict}");
}

#[test]
fn a_step_that_expects_an_answer_and_an_error_is_no_step() {
    let steps = json!([{"ok": {"a": 1}, "error": {"code": "x"}}]);
    for entry in [json!({"result": "{\"a\":1}"}), json!({"error": "{\"data\":{\"code\":\"x\"}}"})] {
        assert!(matches!(scenario(steps.clone(), json!([entry])), Verdict::Failed(_)));
    }
}

#[test]
fn nothing_is_compared_after_a_step_that_could_not_be_made() {
    let steps = json!([{"ok": {"a": 1}}, {"ok": {}}, {"ok": {"a": 1}}]);
    let left_out = json!({"skipped": "there is no way to make this call"});
    let missing = json!({"skipped": "nothing was kept as a"});
    let done = json!({"result": "{\"a\":1}"});
    assert_eq!(scenario(steps.clone(), json!([done, left_out, missing])), Verdict::Skipped(2));
    assert!(matches!(scenario(steps.clone(), json!([{"result": "{}"}, left_out, done])), Verdict::Failed(_)));
    assert!(matches!(scenario(steps, json!([done, missing, done])), Verdict::Failed(_)));
}

#[test]
fn effects_are_compared_where_they_are_seen() {
    let steps = json!([{"ok": {}, "effects": [{"kind": "call"}]}]);
    let seen = |effects: Value| scenario(steps.clone(), json!([{"result": "{}", "effects": effects}]));
    assert_eq!(seen(json!([{"kind": "call", "name": "x"}])), Verdict::Passed);
    assert!(matches!(seen(json!([])), Verdict::Failed(_)));
    assert_eq!(scenario(steps.clone(), json!([{"result": "{}"}])), Verdict::Passed);
}
