//! JSON-RPC 2.0 frames: single calls and batches, cut by raw slices so that params stay as received.

mod told;

use crate::generated::limits::BATCH_CALLS_MAX;
use crate::json::{self, Kind, Value, Writer};
use crate::kernel::{Call, Frame, decide::error_object};
use crate::{Code, Error, Rule, rules::check};
use alloc::{string::String, vec};

pub(crate) fn split(text: &str) -> Frame {
    let tree = match json::parse_document(text) {
        Ok(tree) => tree,
        // JSON-RPC 2.0 has the id null where the text is no JSON, or where its id cannot be told.
        Err(error) => {
            let json = !matches!(error.code, Code::JsonSyntax | Code::JsonEncoding);
            let id = json.then(|| told::id(text)).flatten().filter(|id| id_alone(id));
            return Frame { batch: false, calls: vec![failed(id.unwrap_or("null"), &error)] };
        }
    };
    let root = tree.root();
    if root.kind() != Kind::Array {
        return Frame { batch: false, calls: vec![call(root)] };
    }
    let count = i64::try_from(root.len()).unwrap_or(i64::MAX);
    if let Err(broken) = check(Rule::FR2, (1..=BATCH_CALLS_MAX).contains(&count)) {
        return Frame { batch: false, calls: vec![failed("null", &broken.at(""))] };
    }
    Frame { batch: true, calls: root.items().map(call).collect() }
}

fn call(value: Value<'_>) -> Call {
    match read(value) {
        Ok(call) => call,
        Err(error) => failed(&known_id(value), &error),
    }
}

fn read(value: Value<'_>) -> Result<Call, Error> {
    check(Rule::FR1, value.kind() == Kind::Object)?;
    check(Rule::FR3, value.get("jsonrpc").and_then(|version| version.as_str()) == Some("2.0"))?;
    let id = value.get("id");
    check(Rule::FR4, id.is_none_or(|id| usable_id(id)))?;
    let method = value.get("method").and_then(|method| method.as_str());
    check(Rule::FR5, method.is_some_and(|method| !method.is_empty()))?;
    let params = value.get("params");
    check(Rule::FR6, params.is_none_or(|params| params.kind() == Kind::Object))?;
    let known = ["jsonrpc", "id", "method", "params"];
    check(Rule::FR7, value.members().all(|(name, _)| known.contains(&name)))?;
    Ok(Call {
        id: id.map(|id| id.raw().into()),
        method: method.unwrap_or_default().into(),
        params: params.map_or("{}", |params| params.raw()).into(),
        response: None,
    })
}

/// Strings and whole numbers identify a call.
fn usable_id(id: Value<'_>) -> bool {
    id.kind() == Kind::String || id.as_int().is_some()
}

/// Whether a text is one that identifies a call.
fn id_alone(text: &str) -> bool {
    json::parse_document(text).is_ok_and(|tree| usable_id(tree.root()))
}

/// The id to answer a faulty call with.
fn known_id(value: Value<'_>) -> String {
    value.get("id").filter(|id| usable_id(*id)).map_or_else(|| "null".into(), |id| id.raw().into())
}

fn failed(id: &str, error: &Error) -> Call {
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("jsonrpc", "2.0");
    w.member_raw("id", id);
    w.member_raw("error", &error_object(error, true));
    w.end_object();
    Call { id: Some(id.into()), method: String::new(), params: String::new(), response: Some(w.finish()) }
}
