use super::*;
use crate::{Core, WasmCore, engine::Options, tests_cache};

fn core() -> WasmCore {
    WasmCore::with(Options { cache: tests_cache(), ..Options::default() }).unwrap()
}

#[test]
fn functions_are_found_by_name() {
    let core = core();
    let mut session = core.session().unwrap();
    let mut ask = |function: &str, args: Value| answer(session.as_mut(), function, &args);
    assert_eq!(ask("canonicalize", json!({ "text": "[1.0]" })), json!({ "ok": "[1]" }));
    assert_eq!(ask("parse-time", json!({ "text": "1970-01-01T00:00:01Z" })), json!({ "ok": 1000 }));
    assert_eq!(ask("canonicalize", json!({ "text": "{" }))["error"]["code"], "json-syntax");
    assert_eq!(ask("canonicalize", json!({ "bytes_base64url": "_w" }))["error"]["code"], "json-encoding");
    assert_eq!(ask("canonicalize", json!({ "bytes_base64url": "W10" })), json!({ "ok": "[]" }));
    let repeat = json!({ "text_repeat": { "head": "[", "unit": "0,", "times": 3, "tail": "0]" } });
    assert_eq!(ask("canonicalize", repeat), json!({ "ok": "[0,0,0,0]" }));
    assert!(ask("kinds", json!({}))["ok"].as_array().unwrap().contains(&json!("envelope")));
    assert!(
        ask("operations", json!({}))["ok"].as_array().unwrap().iter().any(|known| known["name"] == "messages.send")
    );
    for (function, args) in
        [("nothing", json!({})), ("digest", json!([])), ("digest", json!({})), ("decide", json!({}))]
    {
        assert!(ask(function, args)["unusable"].is_string());
    }
}

#[test]
fn a_step_goes_both_ways() {
    let core = core();
    let mut session = core.session().unwrap();
    let args = json!({
        "request": { "operation": "tasks.get", "principal": null, "params": "{}", "instance": "i" },
        "answers": [], "now": 1_000, "entropy": "0".repeat(64),
    });
    let step = answer(session.as_mut(), "decide", &args);
    assert_eq!(step["ok"]["kind"], "ready", "{step}");
    assert_eq!(step["ok"]["decision"]["status"], "refused");
    assert_eq!(step["ok"]["waiting"], Value::Null);
}

#[test]
fn lines_are_answered_in_order() {
    let core = core();
    let input = concat!(
        "{\"id\":1,\"function\":\"canonicalize\",\"args\":{\"text\":\"[ ]\"}}\n",
        "nonsense\n",
        "{\"id\":\"x\",\"function\":\"extra\",\"args\":{}}\n",
    );
    let mut output = Vec::new();
    let other = |function: &str, _: &Value| (function == "extra").then(|| json!("mine"));
    serve(&core, input.as_bytes(), &mut output, other).unwrap();
    let lines: Vec<Value> = output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(lines[0], json!({ "id": 1, "ok": "[]" }));
    assert_eq!((&lines[1]["id"], lines[1]["unusable"].is_string()), (&Value::Null, true));
    assert_eq!(lines[2], json!({ "id": "x", "ok": "mine" }));
}
