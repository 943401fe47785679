//! The component beside the native rules, on every conformance vector.

use serde_json::{Value, json};
use std::{fs, path::Path, sync::Arc};
use threadmesh_native::{NativeCore, twin::Twin};
use threadmesh_protocol::{Rule, rules};
use threadmesh_runtime::{Core, CoreError, WasmCore, driver};

/// Functions that are calls of the core; scenarios are run by `threadmesh conformance`.
const NOT_CALLS: &[&str] = &["scenario"];

/// Function and arguments of every vector.
fn vectors() -> Vec<(String, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/conformance");
    let folders = fs::read_dir(root).expect("there are vectors").map(|folder| folder.expect("readable").path());
    let files = folders.filter(|path| path.is_dir()).flat_map(|folder| fs::read_dir(folder).expect("readable"));
    let mut calls = Vec::new();
    for file in files {
        let text = fs::read_to_string(file.expect("readable").path()).expect("readable");
        let content: Value = serde_json::from_str(&text).expect("JSON");
        for vector in content["vectors"].as_array().into_iter().flatten() {
            let function = vector["function"].as_str().expect("a function");
            if !NOT_CALLS.contains(&function) {
                calls.push((function.to_owned(), vector["args"].clone()));
            }
        }
    }
    calls
}

#[test]
fn the_component_answers_as_the_rules_do_whatever_it_ran_before() {
    let wasm = Arc::new(WasmCore::new().expect("the component runs"));
    let twin = Twin::new(Arc::clone(&wasm) as Arc<dyn Core>, Arc::new(NativeCore));
    let mut reused = twin.session().expect("a session");
    let vectors = vectors();
    assert!(vectors.len() > 1_000);
    for (number, (function, args)) in vectors.iter().enumerate() {
        let answer = driver::answer(reused.as_mut(), function, args);
        assert!(answer.get("trap").is_none() && answer.get("unusable").is_none(), "{function} {args}: {answer}");
        if number % 20 == 0 {
            let fresh = driver::answer(wasm.session().expect("a session").as_mut(), function, args);
            assert_eq!(answer, fresh, "{function} {args} depends on what ran before");
        }
    }
    assert!(twin.compared() > 1_000);
    drop(reused);
    differences_are_noticed(&twin);
}

/// Breaks a rule on the native side. Not a test of its own, since that holds for the whole process.
fn differences_are_noticed(twin: &Twin) {
    let text = "\u{feff}{}";
    let mut session = twin.session().expect("a session");
    assert!(session.digest(text).expect("they agree").is_err());
    rules::disable(Some(Rule::CJ3));
    let differs = session.digest(text);
    rules::disable(None);
    assert!(matches!(differs, Err(CoreError::Trap { function: "digest", .. })), "{differs:?}");
}

/// Every `decide` of the vectors from its start: what each step goes on to is what it decides with everything, which the
/// twin compares.
#[test]
fn steps_go_on_to_what_they_decide() {
    let twin = Twin::new(Arc::new(WasmCore::new().expect("the component")), Arc::new(NativeCore));
    let mut session = twin.session().expect("a session");
    let mut went_on = 0;
    for (_, args) in vectors().iter().filter(|(function, _)| function == "decide") {
        let mut first = args.clone();
        (first["answers"], first["evaluated"]) = (json!([]), json!([]));
        let mut step = driver::answer(session.as_mut(), "decide", &first);
        while let Some(found) = answers(&step, args) {
            let new = json!({ "entropy": args["entropy"], "found": found });
            step = driver::answer(session.as_mut(), "resume", &new);
            // Answers that do not fit or are damaged are errors in either way, which the twin compares too.
            let went = step.get("ok").is_some_and(|ok| !ok.is_null());
            assert!(went || step["error"]["code"].is_string(), "{args}: {step}");
            went_on += 1;
        }
    }
    assert!(went_on > 10, "only {went_on} steps went on");
    assert_eq!(twin.resumed(), went_on);
}

/// What a vector answers to all that a step asks for, if it needs anything and all of it is there.
fn answers(step: &Value, args: &Value) -> Option<Vec<Value>> {
    let asked = step["ok"]["queries"].as_array().filter(|_| step["ok"]["kind"] == "needs")?;
    let same = |asked: &Value, known: &Value| {
        ["collection", "index", "start", "end", "limit"].iter().all(|member| asked[member] == known[member])
    };
    let known = args["answers"].as_array().filter(|_| !asked.is_empty())?;
    asked.iter().map(|query| known.iter().find(|answer| same(query, &answer["query"])).cloned()).collect()
}
