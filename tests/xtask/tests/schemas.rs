//! The schemas, judged by a JSON Schema validator that is not ours, accept and refuse what `check` does.
//!
//! A schema cannot say everything: which rules it leaves out, their rows say, and it is what outside users must add.

use boon::{Compiler, Schemas};
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};

/// A date whose month is shorter, which the pattern of times lets pass.
const DATES: &[&str] = &["2026-02-29T09:30:00Z", "2026-04-31T09:30:00Z"];

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// All schemas, in one compiler, by `$id`.
fn compiler(root: &Path) -> Compiler {
    let mut compiler = Compiler::new();
    for folder in ["spec/schema", "spec/schema/params"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let schema = json(&path);
                let id = schema["$id"].as_str().unwrap().to_owned();
                compiler.add_resource(&id, schema).unwrap();
            }
        }
    }
    compiler
}

#[test]
fn an_outside_validator_agrees_on_every_vector_that_a_schema_can_judge() {
    let root = xtask::root();
    // Rules that compare members, recompute digests or read times. Their vectors are only required to be refused by us.
    let beyond = xtask::codegen::rules_beyond_schemas(&root).unwrap();
    let (mut compiler, mut schemas, mut compiled) = (compiler(&root), Schemas::new(), BTreeMap::new());
    let (mut judged, mut faults) = (0, Vec::new());
    for entry in fs::read_dir(root.join("spec/conformance/documents")).unwrap() {
        let path = entry.unwrap().path();
        for vector in json(&path)["vectors"].as_array().unwrap() {
            let kind = vector["args"]["kind"].as_str().unwrap().to_owned();
            let text = vector["args"]["text"].as_str().unwrap();
            let accepted = vector.get("ok").is_some();
            let rule = vector["rules"][0].as_str().unwrap_or_default();
            if !accepted
                && (rule.starts_with("CJ-")
                    || beyond.iter().any(|id| id == rule)
                    || DATES.iter().any(|it| text.contains(it)))
            {
                continue;
            }
            let index = *compiled.entry(kind.clone()).or_insert_with(|| {
                let id = format!("https://threadmesh.dev/core/0.0-draft/{kind}.schema.json");
                compiler.compile(&id, &mut schemas).unwrap_or_else(|error| panic!("{error:#}"))
            });
            judged += 1;
            if schemas.validate(&serde_json::from_str(text).unwrap(), index).is_ok() != accepted {
                faults.push(format!("{}: {}: {}", path.display(), vector["name"], vector["rules"]));
            }
        }
    }
    assert!(faults.is_empty(), "{} of {judged}:\n{}", faults.len(), faults.join("\n"));
    println!("{judged} vectors judged");
}
