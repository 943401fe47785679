//! That a message is queued is never worded as if its receiver had accepted it: in no answer, description or line of the
//! program.

use crate::conformance::vectors;
use crate::program::world::World;
use serde_json::Value;
use std::fs;
use threadmesh_native::NativeCore;
use threadmesh_runtime::{Core, driver};

/// What queues messages.
const QUEUE: &[&str] = &["messages.send", "messages.sendBatch", "messages.forward"];
/// What only a receiver's answer could be called.
const SUGGESTIVE: &[&str] = &[
    "accept",
    "acknowledg",
    "agreed",
    "approved",
    "complete",
    "confirmed",
    "delivered",
    "done",
    "granted",
    "read by",
    "success",
    "understood",
];

#[track_caller]
fn neutral(what: &str, text: &str) {
    let lower = text.to_lowercase();
    for word in SUGGESTIVE {
        assert!(!lower.contains(word), "{what} says {word:?}: {text}");
    }
}

/// The messages that an answer says are queued, and were not there before.
fn queued(method: &str, result: &Value) -> Vec<Value> {
    let value = &result["value"]["value"];
    let all = match method {
        "messages.sendBatch" => value["results"].as_array().cloned().unwrap_or_default(),
        _ => vec![value.clone()],
    };
    all.into_iter().filter(|one| one["replay"] == false).collect()
}

#[test]
fn no_answer_takes_queueing_for_acceptance() {
    let mut session = NativeCore.session().expect("a session");
    let mut seen = vec![0; QUEUE.len()];
    for (file, vector) in vectors().iter().filter(|(_, vector)| vector["function"] == "scenario") {
        let transcript = driver::answer(session.as_mut(), "scenario", &vector["args"]);
        let steps = vector["args"]["steps"].as_array().expect("steps");
        for (step, entry) in steps.iter().zip(transcript["ok"].as_array().expect("a transcript")) {
            let method = step["method"].as_str().unwrap_or_default();
            let (Some(place), Some(text)) = (QUEUE.iter().position(|known| *known == method), entry["result"].as_str())
            else {
                continue;
            };
            for one in queued(method, &serde_json::from_str(text).expect("JSON")) {
                neutral(&format!("{file}: {}", vector["name"]), &one.to_string());
                assert_eq!(one["disposition"]["decision"], "pending", "{file}: {}", vector["name"]);
                seen[place] += 1;
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 5), "too few to show anything: {seen:?}");
}

#[test]
fn no_description_takes_queueing_for_acceptance() {
    let text = fs::read_to_string(xtask::root().join("spec/openrpc.json")).expect("the document");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let methods = document["methods"].as_array().expect("methods");
    for name in QUEUE {
        let method = methods.iter().find(|method| method["name"] == *name).expect("the method is listed");
        neutral(name, method["summary"].as_str().expect("a summary"));
        let path = xtask::root().join(format!("spec/schema/results/{name}.schema.json"));
        let schema: Value = serde_json::from_str(&fs::read_to_string(path).expect("a schema")).expect("JSON");
        neutral(name, schema["description"].as_str().expect("a description"));
        for member in schema["properties"].as_object().into_iter().flatten().map(|(member, _)| member) {
            neutral(name, member);
        }
    }
}

#[test]
fn no_line_of_the_program_takes_queueing_for_acceptance() {
    let world = World::new();
    let send = |id: &str, more: &[&str]| {
        let place = ["--db", "mesh.db", "--as", "planner", "--message-id", id];
        world.rig.run(&[&["send", "Use the cache."][..], World::ROUTE, &place, more].concat())
    };
    for (id, more) in [("msg_word_0001", &[][..]), ("msg_word_0002", &["--json"])] {
        let ran = send(id, more);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!ran.out.is_empty());
        neutral("send", &ran.out);
        neutral("send", &ran.err);
    }
    for arguments in [&["show", "msg_word_0001"][..], &["inbox"]] {
        let who = if arguments[0] == "inbox" { "builder" } else { "planner" };
        let ran = world.rig.run(&[arguments, &["--db", "mesh.db", "--as", who]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        neutral(arguments[0], &ran.out);
    }
}
