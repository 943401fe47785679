//! Where runs begin: the conformance vectors, in the form that each target takes.

use crate::targets::documents::HEAD;
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::Path};
use threadmesh_protocol::documents;

/// The largest seed: what is larger is about limits, and costs more than it brings.
const BYTES_MAX: usize = 40_000;

/// Steps of a scenario that is a seed.
const STEPS: usize = 20;

/// The seeds of the target of that name, each once, the same at every run.
pub fn of(target: &str) -> Vec<Vec<u8>> {
    let seeds = match target {
        "canonical-json" => texts(&["canonicalize", "digest", "check", "split"]),
        "documents" => documents(),
        "decide" => arguments(&["scenario"]),
        "jsonrpc" => frames(),
        "attestation" => arguments(&["verify", "verify-disposition", "check-anchors"]),
        _ => Vec::new(),
    };
    let distinct: BTreeSet<Vec<u8>> = seeds.into_iter().filter(|seed| seed.len() <= BYTES_MAX).collect();
    distinct.into_iter().collect()
}

/// Words that stand in the vectors as names of members or as short texts, for a fuzzer's dictionary.
pub fn words() -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for vector in vectors() {
        gather(&vector["args"], &mut words);
    }
    words
}

/// All vectors, in the order of their files.
pub fn vectors() -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/conformance");
    let below = |folder: &Path| {
        let mut paths: Vec<_> =
            fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("one").path()).collect();
        paths.sort();
        paths
    };
    let files = below(&root).into_iter().filter(|path| path.is_dir()).flat_map(|folder| below(&folder));
    let mut all = Vec::new();
    for file in files {
        let mut content: Value = serde_json::from_str(&fs::read_to_string(&file).expect("readable")).expect("JSON");
        if let Value::Array(vectors) = content["vectors"].take() {
            all.extend(vectors);
        }
    }
    all
}

fn of_functions(functions: &[&str]) -> impl Iterator<Item = Value> {
    let names: Vec<String> = functions.iter().map(|name| (*name).to_owned()).collect();
    vectors().into_iter().filter(move |vector| names.iter().any(|name| vector["function"] == **name))
}

fn texts(functions: &[&str]) -> Vec<Vec<u8>> {
    of_functions(functions).filter_map(|vector| Some(vector["args"]["text"].as_str()?.into())).collect()
}

fn documents() -> Vec<Vec<u8>> {
    let kinds: Vec<&str> = documents::kinds().collect();
    let seed = |vector: Value| {
        let kind = kinds.iter().position(|kind| vector["args"]["kind"] == **kind)?;
        let text = vector["args"]["text"].as_str()?;
        Some([[HEAD + u8::try_from(kind).ok()?].as_slice(), text.as_bytes()].concat())
    };
    of_functions(&["check"]).filter_map(seed).collect()
}

/// The arguments of vectors. Documents in them stand as values, so that a change of one is a change within it.
fn arguments(functions: &[&str]) -> Vec<Vec<u8>> {
    let open = |mut args: Value| {
        for (_, value) in args.as_object_mut().into_iter().flatten() {
            let inner = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
            if let Some(inner) = inner.filter(|inner| inner.is_object() || inner.is_array()) {
                *value = inner;
            }
        }
        args
    };
    of_functions(functions).map(|mut vector| slim(open(vector["args"].take())).to_string().into_bytes()).collect()
}

/// Without what a scenario expects, and not so long that few can be tried.
fn slim(mut args: Value) -> Value {
    args["steps"].as_array_mut().into_iter().for_each(|steps| steps.truncate(STEPS));
    for step in args["steps"].as_array_mut().into_iter().flatten() {
        if let Some(step) = step.as_object_mut() {
            step.retain(|name, _| {
                matches!(name.as_str(), "as" | "method" | "params" | "text" | "at" | "keep" | "instance")
            });
        }
    }
    if args["steps"].is_null() {
        args.as_object_mut().map(|args| args.remove("steps"));
    }
    args
}

fn frames() -> Vec<Vec<u8>> {
    let mut frames = texts(&["split"]);
    let mut calls = Vec::new();
    for vector in of_functions(&["scenario"]) {
        let steps = vector["args"]["steps"].as_array().into_iter().flatten();
        for step in steps.take(3) {
            let id = calls.len();
            calls.push(json!({ "jsonrpc": "2.0", "id": id, "method": step["method"], "params": step["params"] }));
        }
    }
    frames.extend(calls.chunks(5).map(|calls| Value::from(calls.to_vec()).to_string().into_bytes()));
    frames.extend(calls.iter().map(|call| call.to_string().into_bytes()));
    frames
}

fn gather(value: &Value, words: &mut BTreeSet<String>) {
    let fits = |text: &str| {
        (2..=32).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\')
    };
    match value {
        Value::String(text) => {
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                gather(&inner, words);
            } else if fits(text) && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'-' || b == b'.') {
                words.insert(text.clone());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, words)),
        Value::Object(members) => {
            words.extend(members.keys().filter(|name| fits(name)).cloned());
            members.values().for_each(|value| gather(value, words));
        }
        _ => {}
    }
}
