//! Responses, errors, and that the core writes errors as the host does.

use super::*;
use crate::{Core, WasmCore, codes, driver, engine, wit};
use serde_json::{Value, json};

fn call(id: Option<&str>, method: &str) -> Call {
    Call { id: id.map(str::to_owned), method: method.into(), params: "{}".into(), response: None }
}

#[test]
fn a_frame_is_answered_call_by_call() {
    let ready = Call { response: Some("ready".into()), ..call(Some("9"), "") };
    let calls = vec![call(Some("1"), "a"), ready, call(None, "b"), call(Some("\"x\""), "c")];
    let mut ran = Vec::new();
    let mut each = |call: &Call| {
        ran.push(call.method.clone());
        Answer::Result(format!("{:?}", call.method))
    };
    let answers = run(&Frame { batch: true, calls: calls.clone() }, &mut each).expect("answers");
    assert_eq!(answers, r#"[{"jsonrpc":"2.0","id":1,"result":"a"},ready,{"jsonrpc":"2.0","id":"x","result":"c"}]"#);
    assert_eq!(run(&Frame { batch: true, calls: vec![call(None, "d")] }, &mut each), None);
    assert_eq!(ran, ["a", "b", "c", "d"], "a notification is run, a faulty call is not");
    let refused = refuse(&Frame { batch: false, calls: calls[..1].to_vec() }, &error("backpressure", "full"));
    let refused = Response::read(&refused.expect("an answer")).expect("a response");
    assert_eq!(refused.id, "1");
    let Answer::Error(text) = refused.answer else { panic!("{refused:?}") };
    assert_eq!(Refusal::read(&text).code, "backpressure");
}

#[test]
fn what_is_written_is_read_again() {
    let problem = codes::PARAMS_INVALID.error("no \"such\"\n\u{202e}");
    let answer = Answer::Error(object(&wit::Error { pointer: "/a~1b".into(), ..problem }));
    let response = Response::read(&respond("\"\\u0041\"", &answer)).expect("a response");
    assert_eq!((response.id.as_str(), &response.answer), ("\"\\u0041\"", &answer), "an id stays as it was written");
    let Answer::Error(text) = &answer else { unreachable!() };
    let refusal = Refusal::read(text);
    assert_eq!((refusal.pointer.as_str(), refusal.detail.as_str()), ("/a~1b", "no \"such\"\n\u{202e}"));
    assert_eq!((refusal.number, refusal.retryable, refusal.group.as_str()), (-32602, false, "input"));
    assert_eq!(refusal.public_code, "threadmesh_jsonrpc_invalid");
    for text in ["", "[]", "{}", r#"{"id":1}"#, r#"{"id":1,"result":1,"error":{}}"#, r#"{"result":1}"#] {
        assert_eq!(Response::read(text), None, "{text}");
    }
    assert_eq!(Refusal::read("7"), Refusal::default());
    assert_eq!(Refusal::read(r#"{"message":"other"}"#).code, "other");
}

#[test]
fn requests_stay_on_one_line() {
    let text = request("7", "a\"\n", "{\"b\":\r\n1}");
    assert_eq!(text, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\\\"\\n\",\"params\":{\"b\":  1}}");
    let told: Value = serde_json::from_str(&notification("m", "[\n]")).expect("JSON");
    assert_eq!(told, json!({"jsonrpc": "2.0", "method": "m", "params": []}));
}

#[test]
fn an_error_is_of_the_form_that_its_schema_has() {
    let told: Value = serde_json::from_str(&error("no-such-code", &"é".repeat(5_000))).expect("JSON");
    assert_eq!((&told["code"], &told["message"]), (&json!(-32603), &json!("threadmesh_internal_error")));
    assert_eq!(told["data"]["detail"].as_str().map(|detail| detail.chars().count()), Some(2_000));
    assert_eq!(told["data"]["group"], "core", "a code that no host gives");
}

/// One form of errors, whoever makes them: to the byte.
#[test]
fn the_core_writes_errors_as_the_host_does() {
    let options = engine::Options { cache: crate::tests_cache(), ..engine::Options::default() };
    let core = WasmCore::with(options).expect("the component loads");
    let mut session = core.session().expect("a session");
    for text in ["no json", "[]", r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[]}"#, "\u{feff}{}"] {
        let frame = session.split(text).expect("an answer");
        let response = frame.calls[0].response.clone().expect("a faulty call");
        let response = Response::read(&response).expect("a response");
        let Answer::Error(told) = response.answer else { panic!("{text}") };
        let data: Value = serde_json::from_str(&told).expect("JSON");
        assert_eq!(object(&driver::error_from(&data["data"])), told, "{text}");
    }
}
