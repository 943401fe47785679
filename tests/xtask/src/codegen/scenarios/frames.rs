//! JSON-RPC frames: what `split` makes of them.

use super::steps::Vector;
use serde_json::{Value, json};

pub(super) fn vectors() -> Vec<Vector> {
    let mut all = calls();
    all.extend(notifications());
    all.extend(ids());
    all.extend(faulty_calls());
    all.extend(batches());
    all.extend(faulty_texts());
    all.extend(told_ids());
    all
}

/// A text that is JSON and none that is taken is answered under its id, where that can be told.
fn told_ids() -> Vec<Vector> {
    let deep = |id: &str| format!(r#"{{"params":{{"a":{}{}}},"id":{id}}}"#, "[".repeat(200), "]".repeat(200));
    let mut all = Vec::new();
    for (name, text, id, code) in [
        (
            "a lone surrogate beside an id",
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"b":"\udc00"}}"#.into(),
            "1",
            "json-surrogate",
        ),
        (
            "an infinite number beside an id",
            r#"{"params":{"b":1e400},"id":"é\u0041","method":"a"}"#.into(),
            "\"é\\u0041\"",
            "json-number",
        ),
        ("a depth of 200 beside an id", deep("7"), "7", "json-depth"),
        (
            "a number beyond 2^53-1 beside an id",
            r#"{"id":-3,"params":{"b":9007199254740992}}"#.into(),
            "-3",
            "json-integer-range",
        ),
        (
            "a member twice beside an id",
            r#"{"id":"x","params":{"id":1,"id":2}}"#.into(),
            "\"x\"",
            "json-duplicate-member",
        ),
        ("an id twice is none", r#"{"id":1,"id":1,"method":"a"}"#.into(), "null", "json-duplicate-member"),
        (
            "an id beside one in escapes is none",
            r#"{"id":1,"\u0069d":2,"method":"a"}"#.into(),
            "null",
            "json-duplicate-member",
        ),
        ("an id of null in a text that is too deep", deep("null"), "null", "json-depth"),
        ("an id that is too deep itself", deep(&format!("{}{}", "[".repeat(70), "]".repeat(70))), "null", "json-depth"),
        ("an id with a lone surrogate is none", r#"{"id":"\ud800","method":"a"}"#.into(), "null", "json-surrogate"),
        ("a batch with a lone surrogate has no id", r#"[{"id":1,"method":"\ud800"}]"#.into(), "null", "json-surrogate"),
        ("what is no JSON has no id", r#"{"id":1,"method":"a","params":{"b":tru}}"#.into(), "null", "json-syntax"),
    ] {
        let text: String = text;
        let answer: Value =
            serde_json::from_str(&format!("{{\"id\":{id},\"error\":{{\"data\":{{\"code\":{code:?}}}}}}}"))
                .expect("JSON");
        let ready = json!({"batch": false, "calls": [{"id": id, "method": "", "response": {"$json": answer}}]});
        all.push(split(name, &[], &text).has(ready));
    }
    all
}

fn split(name: &str, rules: &[&str], text: &str) -> Vector {
    Vector::new(name, rules, "split", json!({"text": text}))
}

fn one(call: Value) -> Value {
    json!({"batch": false, "calls": [call]})
}

fn call(id: &str, method: &str, params: &str) -> Value {
    json!({"id": id, "method": method, "params": params})
}

/// Accepted: one call with this id, method and params.
fn taken(name: &str, rules: &[&str], text: &str, id: &str, params: &str) -> Vector {
    split(name, rules, text).ok(one(call(id, "tasks.get", params)))
}

/// Refused: an answer is ready, and there is nothing to run.
fn refused(name: &str, rules: &[&str], text: &str, code: &str) -> Vector {
    split(name, rules, text).error(code)
}

/// Params cross exactly as they stand.
fn calls() -> Vec<Vector> {
    let all = &["FR-1", "FR-3", "FR-4", "FR-5", "FR-6", "FR-7"];
    vec![
        taken(
            "a call",
            all,
            r#"{"jsonrpc":"2.0","id":1,"method":"tasks.get","params":{"task":{}}}"#,
            "1",
            r#"{"task":{}}"#,
        ),
        taken(
            "members in another order",
            all,
            r#"{"params":{},"method":"tasks.get","id":"a","jsonrpc":"2.0"}"#,
            r#""a""#,
            "{}",
        ),
        taken("no params", &["FR-6"], r#"{"jsonrpc":"2.0","id":1,"method":"tasks.get"}"#, "1", "{}"),
        taken(
            "params as they stand, with white space, escapes and numbers in any form",
            &["FR-6"],
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks.get\",\"params\": {\"b\" : 1.0e0 ,\t\"a\":\"\\u0041\\/\" }}",
            "1",
            "{\"b\" : 1.0e0 ,\t\"a\":\"\\u0041\\/\" }",
        ),
        taken("white space around", all, " {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks.get\"}\r\n", "1", "{}"),
        taken(
            "a method written with escapes",
            &["FR-5"],
            r#"{"jsonrpc":"2.0","id":1,"method":"tasks\u002eget"}"#,
            "1",
            "{}",
        ),
        split(
            "a method that is not there is found out later",
            &["FR-5"],
            r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#,
        )
        .ok(one(call("1", "nothing", "{}"))),
        split(
            "a method of the host is found out later",
            &["FR-5"],
            r#"{"jsonrpc":"2.0","id":1,"method":"adapter.recordQuery"}"#,
        )
        .ok(one(call("1", "adapter.recordQuery", "{}"))),
    ]
}

/// A call without an id gets no answer.
fn notifications() -> Vec<Vector> {
    let quiet = |method: &str, params: &str| json!({"method": method, "params": params});
    vec![
        split("a notification", &["FR-4"], r#"{"jsonrpc":"2.0","method":"tasks.get","params":{"a":1}}"#)
            .ok(one(quiet("tasks.get", r#"{"a":1}"#))),
        split(
            "a batch of notifications",
            &["FR-2", "FR-4"],
            r#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]"#,
        )
        .ok(json!({"batch": true, "calls": [quiet("a", "{}"), quiet("b", "{}")]})),
    ]
}

/// Ids that are ids, and those that make other servers throw (weaknesses B9).
fn ids() -> Vec<Vector> {
    let with = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tasks.get"}}"#);
    let mut all = Vec::new();
    for id in [
        "0",
        "-1",
        "9007199254740991",
        "-9007199254740991",
        r#""""#,
        r#""a b""#,
        r#""\u00e9\n""#,
        r#""1""#,
        "1.0",
        "1e2",
    ] {
        all.push(taken(&format!("the id {id}"), &["FR-4"], &with(id), id, "{}"));
    }
    for id in ["null", "1.5", "1e-1", "true", "false", "{}", "[]", r#"["a"]"#, r#"{"a":1}"#] {
        all.push(refused(&format!("the id {id}"), &["FR-4"], &with(id), "jsonrpc-invalid"));
    }
    all.push(refused("an id beyond 2^53-1", &[], &with("9007199254740992"), "json-integer-range"));
    all.push(refused("an id of other digits than its double", &[], &with("9007199254740993"), "json-number"));
    all.push(refused("an id with an unpaired surrogate", &[], &with(r#""\ud800""#), "json-surrogate"));
    all
}

fn faulty_calls() -> Vec<Vector> {
    let invalid = "jsonrpc-invalid";
    let mut all = Vec::new();
    for text in ["1", "\"call\"", "true", "null", "1.5", "\"\""] {
        all.push(refused(&format!("a call that is {text}"), &["FR-1"], text, invalid));
    }
    for (name, version) in [
        ("another version", "\"1.0\""),
        ("a number as version", "2.0"),
        ("a longer version", "\"2.0.0\""),
        ("no version", "null"),
        ("a version with a space", "\"2.0 \""),
    ] {
        let text = format!(r#"{{"jsonrpc":{version},"id":1,"method":"tasks.get"}}"#);
        all.push(refused(name, &["FR-3"], &text, invalid));
    }
    all.push(refused("the member jsonrpc is missing", &["FR-3"], r#"{"id":1,"method":"tasks.get"}"#, invalid));
    all.push(refused("a response sent as a call", &["FR-5"], r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, invalid));
    for (name, method) in [
        ("an empty method", "\"\""),
        ("a method that is a number", "1"),
        ("a method that is null", "null"),
        ("a method that is a list", "[\"tasks.get\"]"),
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":{method}}}"#);
        all.push(refused(name, &["FR-5"], &text, invalid));
    }
    for (name, params) in [
        ("params by position", "[1]"),
        ("empty params by position", "[]"),
        ("params that are null", "null"),
        ("params that are a text", "\"{}\""),
        ("params that are a number", "1"),
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tasks.get","params":{params}}}"#);
        all.push(refused(name, &["FR-6"], &text, "params-invalid"));
    }
    for member in ["principal", "result", "error", "Id", "meta"] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tasks.get","params":{{}},"{member}":{{}}}}"#);
        all.push(refused(&format!("a member {member} beside the call"), &["FR-7"], &text, invalid));
    }
    all
}

/// A batch is answered call by call; a batch that is none is answered once.
fn batches() -> Vec<Vector> {
    let good = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tasks.get"}}"#);
    let many = |count: u32| format!("[{}]", (1..=count).map(good).collect::<Vec<_>>().join(","));
    let calls = |count: u32| (1..=count).map(|id| call(&id.to_string(), "tasks.get", "{}")).collect::<Vec<_>>();
    let ready = |id: &str, code: i64, public: &str| json!({"id": id, "method": "", "response": {"$json": {"id": serde_json::from_str::<Value>(id).expect("JSON"), "error": {"code": code, "message": public}}}});
    let mixed = format!(
        r#"[{},1,{{"jsonrpc":"2.0","method":"quiet"}},{{"jsonrpc":"2.0","id":"x","method":""}},[],{}]"#,
        good(1),
        good(2)
    );
    let invalid = "threadmesh_jsonrpc_invalid";
    let answered = json!({"batch": true, "calls": [
        {"id": "1", "method": "tasks.get"}, ready("null", -32600, invalid), {"method": "quiet"}, ready("\"x\"", -32600, invalid),
        ready("null", -32600, invalid), {"id": "2", "method": "tasks.get"},
    ]});
    vec![
        split("a batch of one", &["FR-2"], &many(1)).ok(json!({"batch": true, "calls": calls(1)})),
        split("a batch of two", &["FR-2"], &many(2)).ok(json!({"batch": true, "calls": calls(2)})),
        split("a batch as large as it may be", &["FR-2"], &many(64)).ok(json!({"batch": true, "calls": calls(64)})),
        split("faulty calls in a batch are answered in their places", &["FR-2"], &mixed).has(answered),
        split("the same id twice is the caller's business", &["FR-2", "FR-4"], &format!("[{},{}]", good(1), good(1)))
            .has(json!({"batch": true, "calls": [{"id": "1"}, {"id": "1"}]})),
        refused("a batch of none", &["FR-2"], "[]", "jsonrpc-invalid"),
        refused("a batch that is too large", &["FR-2"], &many(65), "jsonrpc-invalid"),
        refused(
            "a batch that is far too large",
            &["FR-2"],
            &format!("[{}]", vec!["1"; 1_000].join(",")),
            "jsonrpc-invalid",
        ),
    ]
}

/// What is not a text of the right form is answered once.
fn faulty_texts() -> Vec<Vector> {
    let mut all = Vec::new();
    for (name, text, code) in [
        ("nothing", "", "json-syntax"),
        ("white space alone", " \n", "json-syntax"),
        ("half a call", r#"{"jsonrpc":"2.0","id":1,"#, "json-syntax"),
        (
            "two calls without a batch",
            r#"{"jsonrpc":"2.0","id":1,"method":"a"}{"jsonrpc":"2.0","id":2,"method":"b"}"#,
            "json-syntax",
        ),
        ("half a batch", r#"[{"jsonrpc":"2.0","id":1,"method":"a"},"#, "json-syntax"),
        ("a batch with a comma at its end", r#"[{"jsonrpc":"2.0","id":1,"method":"a"},]"#, "json-syntax"),
        ("a comment", "// {}", "json-syntax"),
        ("a byte-order mark", "\u{feff}{}", "json-encoding"),
        ("a method twice", r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#, "json-duplicate-member"),
        (
            "a member twice in the params",
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"b":1,"b":1}}"#,
            "json-duplicate-member",
        ),
        (
            "an unpaired surrogate in the params",
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"b":"\udc00"}}"#,
            "json-surrogate",
        ),
        (
            "an infinite number in the params",
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"b":1e400}}"#,
            "json-number",
        ),
    ] {
        all.push(refused(name, &[], text, code));
    }
    let deep = |levels: usize| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tasks.get","params":{{"a":{}{}}}}}"#,
            "[".repeat(levels),
            "]".repeat(levels)
        )
    };
    all.push(
        split("params as deep as they may be", &[], &deep(62)).has(one(json!({"id": "1", "method": "tasks.get"}))),
    );
    all.push(refused("params that are too deep", &[], &deep(63), "json-depth"));
    let wide = json!({"text_repeat": {"head": "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks.get\",\"params\":{\"a\":\"", "unit": "x", "times": 1_048_576, "tail": "\"}}"}});
    all.push(Vector::new("a text that is too large", &[], "split", wide).error("json-size"));
    let bytes = json!({"bytes_base64url": "eyJqc29ucnBjIjoi_yJ9"});
    all.push(Vector::new("a text that is not UTF-8", &[], "split", bytes).error("json-encoding"));
    all
}
