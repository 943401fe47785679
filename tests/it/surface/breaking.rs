//! Frames that are no requests, or none that a schema allows: each is broken for certain.

use crate::differential::logs::Random;
use serde_json::{Value, json};

/// The longest frame.
pub const FRAME_BYTES_MAX: usize = 1 << 20;

/// A frame that must be refused. Its bytes hold no line feed.
pub struct Broken {
    /// How it is broken.
    pub how: &'static str,
    /// What is sent.
    pub bytes: Vec<u8>,
    /// Whether its id may be unknown to who answers.
    pub nameless: bool,
}

/// Breaks a call with the id `id`.
pub fn broken(id: &Value, method: &str, params: &Value, random: &mut Random) -> Broken {
    match random.below(3) {
        0 => text(id, method, params, random),
        1 => member(id, method, params, random),
        _ => content(id, method, params, random),
    }
}

fn frame(id: &Value, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// What is no JSON text that is taken: syntax, encoding, depth, size.
fn text(id: &Value, method: &str, params: &Value, random: &mut Random) -> Broken {
    let whole = frame(id, method, params).to_string();
    let with =
        |inner: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"task":{inner}}}}}"#);
    let (how, bytes): (&'static str, Vec<u8>) = match random.below(14) {
        0 => ("truncated", whole.as_bytes()[..1 + random.below(whole.len() - 1)].to_vec()),
        1 => ("noise", noise(random)),
        2 => ("a duplicate member", whole.replacen('{', r#"{"method":"tasks.get","#, 1).into_bytes()),
        3 => ("a duplicate param", with(r#"{"taskId":"a","taskId":"b"}"#).into_bytes()),
        4 => {
            let depth = *random.pick(&[65, 70, 1000, 100_000]);
            ("depth", with(&("[".repeat(depth) + &"]".repeat(depth))).into_bytes())
        }
        5 => ("an open depth", "[".repeat(1 + random.below(200_000)).into_bytes()),
        6 => {
            ("a lone surrogate", with(one(random, &[r#""\ud800""#, r#""\udc00x""#, r#""\ud83d\u0041""#])).into_bytes())
        }
        7 => (
            "a number",
            with(one(random, &["1e400", "9007199254740993", "01", "1.", "+1", "NaN", "-", "0x1"])).into_bytes(),
        ),
        8 => (
            "no UTF-8",
            [b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"", noise(random).as_slice(), b"\xff\xc0\"}"].concat(),
        ),
        9 => ("a byte order mark", ["\u{feff}".as_bytes(), whole.as_bytes()].concat()),
        10 => ("a control character", with("\"\u{1}\"").into_bytes()),
        11 => ("too many members", with(&format!("[{}0]", "0,".repeat(65_600))).into_bytes()),
        12 => ("something after it", format!("{whole}}}").into_bytes()),
        _ => ("an escape", with(one(random, &[r#""\x41""#, r#""\u12""#, "'a'", "\"a"])).into_bytes()),
    };
    let bytes = bytes.into_iter().map(|byte| if byte == b'\n' { b' ' } else { byte }).collect();
    Broken { how, bytes, nameless: true }
}

fn one(random: &mut Random, texts: &[&'static str]) -> &'static str {
    texts[random.below(texts.len())]
}

/// Bytes that begin with no JSON.
fn noise(random: &mut Random) -> Vec<u8> {
    let length = 1 + random.below(64);
    let byte = |random: &mut Random| u8::try_from(random.below(256)).expect("a byte");
    [b"!".to_vec(), (0..length).map(|_| byte(random)).collect()].concat()
}

/// What is JSON and no request: the members of JSON-RPC.
fn member(id: &Value, method: &str, params: &Value, random: &mut Random) -> Broken {
    let mut whole = frame(id, method, params);
    let how = match random.below(11) {
        0 => {
            whole["jsonrpc"] = random.pick(&[json!("1.0"), json!(2.0), Value::Null, json!("2.0 ")]).clone();
            "another version"
        }
        1 => {
            drop(whole.as_object_mut().expect("an object").remove("jsonrpc"));
            "no version"
        }
        2 => {
            whole["id"] = random.pick(&[json!([1]), json!({"a": 1}), json!(true)]).clone();
            "an id that is none"
        }
        3 => {
            whole["method"] = random.pick(&[json!(1), Value::Null, json!(["tasks.get"]), json!({})]).clone();
            "a method that is none"
        }
        4 => {
            drop(whole.as_object_mut().expect("an object").remove("method"));
            "no method"
        }
        5 => {
            whole["method"] = random
                .pick(&[
                    "tasks.nothing",
                    "",
                    "adapter.recordQuery",
                    "audit.recordDenials",
                    "session.authenticate",
                    "rpc.x",
                ])
                .to_owned()
                .into();
            "an unknown method"
        }
        6 => {
            whole["params"] = random.pick(&[json!("x"), json!(7), json!(true)]).clone();
            "params that are none"
        }
        7 => {
            whole = json!([]);
            "an empty batch"
        }
        8 => {
            whole = Value::Array(vec![frame(id, method, &json!({})); 65]);
            "a long batch"
        }
        9 => {
            whole = random.pick(&[json!(1), json!("tasks.get"), json!(true), Value::Null]).clone();
            "no object"
        }
        _ => {
            whole["method"] = "tasks.get".repeat(1 + random.below(40_000)).into();
            "a long method"
        }
    };
    Broken { how, bytes: whole.to_string().into_bytes(), nameless: true }
}

/// What is a request, with params that the schema does not allow.
fn content(id: &Value, method: &str, params: &Value, random: &mut Random) -> Broken {
    let mut params = params.clone();
    let members = params.as_object_mut().expect("params");
    let names: Vec<String> = members.keys().cloned().collect();
    // The key of an operation and what it names are never optional; every method has one of them.
    let needed = ["idempotencyKey", "task", "messageId", "receiver", "submissionId"];
    let needed = needed.iter().find(|name| members.contains_key(**name));
    let how = match random.below(7) {
        0 if needed.is_some() => {
            drop(members.remove(*needed.expect("it is there")));
            "a param is missing"
        }
        1 => {
            members.insert(random.pick(&["principal", "tenant", "Task", "\u{0}", "__proto__"]).to_string(), json!("x"));
            "an unknown param"
        }
        2 if !names.is_empty() => {
            members.insert(random.pick(&names).clone(), json!([[1]]));
            "a param of another type"
        }
        3 if !names.is_empty() => {
            members.insert(random.pick(&names).clone(), json!({"\u{202e}": {"a": 1}}));
            "a param of another type"
        }
        4 if members.contains_key("idempotencyKey") => {
            let key = random.pick(&["", "idem_", "idem_\u{0}aaaaaaaa", "key_0000001", "idem_ä0000000"]).to_string();
            members
                .insert("idempotencyKey".to_owned(), if random.once_in(3) { "idem_a".repeat(999) } else { key }.into());
            "a key that is none"
        }
        5 if names.iter().any(|name| name.starts_with("expected")) => {
            let name = names.iter().find(|name| name.starts_with("expected")).expect("it is there");
            let number = random.pick(&[json!(-1), json!(1.5), json!("1"), json!(true), json!(-0.5)]).clone();
            members.insert(name.clone(), number);
            "a revision that is none"
        }
        _ => {
            leaf(&mut params, random);
            "something deep of another type"
        }
    };
    Broken { how, bytes: frame(id, method, &params).to_string().into_bytes(), nameless: false }
}

/// Replaces one text or number somewhere by what it never is; where there is none, adds a member that is not known.
fn leaf(value: &mut Value, random: &mut Random) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let at = random.below(members.len());
            leaf(members.values_mut().nth(at).expect("a member"), random);
        }
        Value::Array(items) if !items.is_empty() => {
            let at = random.below(items.len());
            leaf(&mut items[at], random);
        }
        Value::Object(members) => drop(members.insert("unknown".into(), true.into())),
        other => *other = json!({"another": [[]]}),
    }
}
