//! The contract with callers: `spec/openrpc.json` is a whole document, it lists the operations that there are, and every
//! answer of every scenario is one that it describes.

use crate::conformance::vectors;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use threadmesh_native::NativeCore;
use threadmesh_runtime::{Core, driver};
use xtask::codegen::schema::Answers;

fn document() -> Value {
    let text = fs::read_to_string(xtask::root().join("spec/openrpc.json")).expect("spec/openrpc.json");
    serde_json::from_str(&text).expect("JSON")
}

/// The rows of `spec/operations.json`.
pub fn rows() -> Vec<Value> {
    let text = fs::read_to_string(xtask::root().join("spec/operations.json")).expect("the table");
    let mut table: Value = serde_json::from_str(&text).expect("JSON");
    serde_json::from_value(table["operations"].take()).expect("rows")
}

/// A step of a scenario, and what came of it.
struct Performed {
    /// File and name of the vector.
    place: String,
    /// The kind of the principal that asked, `null` for nobody.
    kind: Value,
    method: String,
    result: Option<Value>,
}

/// Every step of every scenario, performed natively.
fn performed() -> Vec<Performed> {
    let mut session = NativeCore.session().expect("a session");
    let mut all = Vec::new();
    for (file, vector) in vectors().iter().filter(|(_, vector)| vector["function"] == "scenario") {
        let transcript = driver::answer(session.as_mut(), "scenario", &vector["args"]);
        let steps = vector["args"]["steps"].as_array().expect("steps");
        for (step, done) in steps.iter().zip(transcript["ok"].as_array().expect("a transcript")) {
            let who = step["as"].as_str().map_or(&Value::Null, |name| &vector["args"]["principals"][name]);
            let result = done["result"].as_str().map(|text| serde_json::from_str(text).expect("an answer is JSON"));
            let method = step["method"].as_str().expect("a method").to_owned();
            all.push(Performed {
                place: format!("{file}: {}", vector["name"]),
                kind: who["kind"].clone(),
                method,
                result,
            });
        }
    }
    all
}

fn methods(document: &Value) -> &Vec<Value> {
    document["methods"].as_array().expect("methods")
}

/// Every object in `value`.
fn objects<'a>(value: &'a Value, found: &mut Vec<&'a serde_json::Map<String, Value>>) {
    match value {
        Value::Object(members) => {
            found.push(members);
            members.values().for_each(|value| objects(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| objects(value, found)),
        _ => {}
    }
}

#[test]
fn the_document_has_the_form_of_openrpc() {
    let document = document();
    assert!(document["openrpc"].as_str().is_some_and(|version| version.starts_with("1.3.")));
    for member in ["title", "version"] {
        assert!(document["info"][member].as_str().is_some_and(|text| !text.is_empty()), "{member}");
    }
    let mut names = BTreeSet::new();
    for method in methods(&document) {
        let name = method["name"].as_str().expect("a method has a name");
        assert!(names.insert(name), "{name} stands twice");
        assert!(method["summary"].as_str().is_some_and(|summary| summary.ends_with('.')), "{name} says what it does");
        assert_eq!(method["paramStructure"], "by-name", "{name}");
        let mut params = BTreeSet::new();
        for param in method["params"].as_array().expect("params") {
            assert!(params.insert(param["name"].as_str().expect("a param has a name")), "{name}");
            assert!(param["schema"].is_object() && param["required"].is_boolean(), "{name}");
        }
        assert_eq!(params.contains("idempotencyKey"), method["x-read-only"] == false, "{name}");
        assert!(method["result"]["name"].is_string() && method["result"]["schema"].is_object(), "{name}");
        let errors: Vec<&Value> = method["errors"].as_array().expect("errors").iter().collect();
        let distinct: BTreeSet<String> = errors.iter().map(ToString::to_string).collect();
        assert!(!errors.is_empty() && distinct.len() == errors.len(), "{name}");
    }
    for (name, error) in document["components"]["errors"].as_object().expect("errors") {
        assert!(error["code"].is_i64() && error["message"].is_string(), "{name}");
        assert_eq!(error["data"]["code"], name.as_str());
    }
    for name in document["components"]["schemas"].as_object().expect("schemas").keys() {
        let plain = |sign: char| sign.is_ascii_alphanumeric() || "._-".contains(sign);
        assert!(name.chars().all(plain), "{name} is no name of a component");
    }
}

#[test]
fn every_reference_leads_somewhere_and_nothing_is_left_over() {
    let document = document();
    let (mut all, mut used) = (Vec::new(), BTreeSet::new());
    objects(&document, &mut all);
    for object in all {
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            let pointer = reference.strip_prefix('#').expect("the document is complete in itself");
            assert!(document.pointer(pointer).is_some(), "{reference}");
            used.insert(pointer.to_owned());
        }
    }
    for kind in ["schemas", "errors"] {
        for name in document["components"][kind].as_object().expect("components").keys() {
            assert!(used.contains(&format!("/components/{kind}/{name}")), "nothing refers to {name}");
        }
    }
}

#[test]
fn the_document_lists_the_operations_of_the_core() {
    let core = NativeCore.session().expect("a session").operations().expect("the operations");
    let core: BTreeMap<String, bool> =
        core.into_iter().filter(|it| !it.internal).map(|it| (it.name, it.read_only)).collect();
    let document = document();
    let told = |method: &Value| {
        (method["name"].as_str().expect("a name").to_owned(), method["x-read-only"].as_bool().expect("a mark"))
    };
    let listed: BTreeMap<String, bool> = methods(&document).iter().map(told).collect();
    assert_eq!(listed, core, "the document and the operations of the core differ: run `cargo xtask codegen`");
}

#[test]
fn every_operation_says_what_it_answers() {
    let document = document();
    let missing: Vec<&str> = methods(&document)
        .iter()
        .filter_map(|method| method["name"].as_str())
        .filter(|name| !xtask::root().join(format!("spec/schema/results/{name}.schema.json")).is_file())
        .collect();
    assert!(
        missing.is_empty(),
        "write spec/schema/results/NAME.schema.json (a closed schema of the operation's own answer, without method and \
         operationReplay) for {missing:?}, then run `cargo xtask codegen`"
    );
}

#[test]
fn every_answer_of_every_scenario_is_one_that_its_schema_describes() {
    let answers = Answers::load(&xtask::root()).expect("the schemas");
    let document = document();
    let reads: BTreeMap<&str, bool> = methods(&document)
        .iter()
        .filter_map(|method| Some((method["name"].as_str()?, method["x-read-only"].as_bool()?)))
        .collect();
    let (mut seen, mut faults) = (BTreeSet::new(), Vec::new());
    for Performed { place, method, result, .. } in performed() {
        let (Some(result), Some(read)) = (result, reads.get(method.as_str())) else { continue };
        if let Err(fault) = unwrapped(&result, &method, *read).and_then(|value| answers.judge(&method, value)) {
            faults.push(format!("{place}: {method}: {fault}"));
        }
        seen.insert(method);
    }
    let count = faults.len();
    faults.truncate(8);
    assert!(faults.is_empty(), "spec/schema/results does not describe {count} answers:\n{}", faults.join("\n"));
    let silent: Vec<&str> = answers.names().filter(|name| !seen.contains(*name)).collect();
    assert!(silent.is_empty(), "no scenario has an answer of {silent:?}");
}

#[test]
fn every_example_is_one_that_the_schema_of_the_params_describes() {
    let params = Answers::params(&xtask::root()).expect("the schemas");
    for row in rows() {
        let name = row["name"].as_str().expect("a name");
        assert_eq!(params.judge(name, &row["example"]), Ok(()), "the example of {name}");
    }
}

/// The column `who` is what is left over all rules: whoever it does not name is refused in every scenario, and whoever it
/// names is let in by the core far enough that a rule decides.
#[test]
fn nobody_is_served_whom_the_table_does_not_name() {
    let rows: BTreeMap<String, Value> =
        rows().into_iter().map(|row| (row["name"].as_str().expect("a name").to_owned(), row)).collect();
    let (mut served, mut asked) = (BTreeSet::new(), BTreeSet::new());
    for Performed { place, kind, method, result } in performed() {
        let (Some(row), Some(kind)) = (rows.get(&method), kind.as_str()) else { continue };
        let named = row["who"].as_array().expect("who").iter().any(|who| who == kind);
        assert!(named || result.is_none(), "{place}: {method} was carried out for a {kind}");
        asked.insert((method.clone(), kind.to_owned()));
        if result.is_some() {
            served.insert((method, kind.to_owned()));
        }
    }
    for (name, row) in &rows {
        let shown = |kind: &str| served.contains(&(name.clone(), kind.to_owned()));
        let who: Vec<&str> = row["who"].as_array().expect("who").iter().filter_map(Value::as_str).collect();
        assert!(who.iter().any(|kind| shown(kind)), "no scenario carries {name} out");
        let tried = ["user", "policy", "task", "operator", "host"].into_iter().filter(|kind| !who.contains(kind));
        let untried = tried.filter(|kind| !asked.contains(&(name.clone(), (*kind).to_owned()))).count();
        assert!(untried < 4, "no scenario shows that {name} is refused to anybody");
    }
}

/// The operation's own answer in a `result` member.
fn unwrapped<'a>(result: &'a Value, method: &str, read: bool) -> Result<&'a Value, String> {
    let named = result.as_object().filter(|members| members.len() == 2 && members["method"] == method);
    let value = named.and_then(|members| members.get("value")).ok_or("no {method, value}")?;
    if read {
        return Ok(value);
    }
    let keyed = value.as_object().filter(|members| members.len() == 2 && members["operationReplay"].is_boolean());
    Ok(keyed.and_then(|members| members.get("value")).ok_or("no {operationReplay, value}")?)
}
