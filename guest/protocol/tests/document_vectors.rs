//! The conformance vectors of documents, natively.
//!
//! With feature `rule-toggle`: switching off any rule that documents have makes a vector fail. Both questions stand in
//! one test, since the switch is global.

use serde_json::Value;
use std::{fs, path::Path};
use threadmesh_protocol::{Rule, documents, generated::rules::ALL};

struct Vector {
    file: String,
    value: Value,
}

impl Vector {
    fn name(&self) -> String {
        format!("{}: {}", self.file, self.value["name"].as_str().unwrap())
    }

    fn names(&self, rule: Rule) -> bool {
        self.value["rules"].as_array().unwrap().iter().any(|id| id == rule.id())
    }

    fn rejects(&self) -> bool {
        self.value.get("error").is_some()
    }

    /// What is wrong with the answer; nothing if it is the expected one.
    fn fault(&self) -> Option<String> {
        let argument = |name: &str| self.value["args"][name].as_str().unwrap();
        match documents::check(argument("kind"), argument("text")) {
            Ok(checked) => match &self.value["ok"] {
                Value::Bool(true) => None,
                Value::Object(ok) if ok["digest"] == *checked.digest && ok["canonical"] == *checked.canonical => None,
                _ => Some(format!("accepted, {}", checked.digest)),
            },
            Err(error) => {
                let expected = &self.value["error"];
                let pointer = expected["pointer"].as_str();
                let same = expected["code"] == error.code.name() && pointer.is_none_or(|at| at == error.pointer);
                let first = self.value["rules"][0].as_str().unwrap_or_default();
                let rule = error.detail.starts_with(&format!("{first}:"));
                (!same || !rule).then(|| format!("{} at {:?}: {}", error.code.name(), error.pointer, error.detail))
            }
        }
    }
}

fn vectors() -> Vec<Vector> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/conformance/documents");
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut content: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(content["group"], "documents");
        let Value::Array(vectors) = content["vectors"].take() else { panic!("{file} has no vectors") };
        all.extend(vectors.into_iter().map(|value| Vector { file: file.clone(), value }));
    }
    all
}

#[test]
fn every_vector_holds_and_every_rule_matters() {
    let vectors = vectors();
    let faults: Vec<String> = vectors.iter().filter_map(|it| Some(format!("{}: {}", it.name(), it.fault()?))).collect();
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), vectors.len(), faults.join("\n"));
    let rejecting = vectors.iter().filter(|vector| vector.rejects()).count();
    assert!(rejecting * 2 > vectors.len(), "{rejecting} of {} reject", vectors.len());
    println!("{} vectors, {rejecting} reject", vectors.len());
    let rules = ALL.iter().filter(|rule| {
        let prefix = rule.id().split('-').next().unwrap_or_default();
        matches!(prefix, "SH" | "DC" | "EN" | "CA" | "DI" | "GR" | "RP" | "TS" | "AE" | "AS" | "IR" | "VA")
    });
    let mut lacking = Vec::new();
    for &rule in rules {
        let of_rule: Vec<&Vector> = vectors.iter().filter(|vector| vector.names(rule)).collect();
        if !of_rule.iter().any(|vector| vector.rejects()) {
            lacking.push(format!("{} has no rejecting vector", rule.id()));
        }
        if !of_rule.iter().any(|vector| !vector.rejects()) {
            lacking.push(format!("{} has no accepting vector", rule.id()));
        }
        if !notices(rule, &of_rule) {
            lacking.push(format!("no vector notices that {} is off", rule.id()));
        }
    }
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
}

#[cfg(feature = "rule-toggle")]
fn notices(rule: Rule, vectors: &[&Vector]) -> bool {
    threadmesh_protocol::rules::disable(Some(rule));
    let noticed = vectors.iter().any(|vector| vector.fault().is_some());
    threadmesh_protocol::rules::disable(None);
    noticed
}

#[cfg(not(feature = "rule-toggle"))]
fn notices(_rule: Rule, _vectors: &[&Vector]) -> bool {
    true
}
