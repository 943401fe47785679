//! The public operations as callers see them: what each takes, answers and is refused with. Read from
//! `spec/endings.json`, `spec/schema/params/` and `spec/schema/results/`.

mod catalogue;
mod client;
mod openrpc;
mod types;

use super::{Output, ordered::Json};
use anyhow::{Context, Result};
use std::path::Path;

const PARAMS: &str = "spec/schema/params";
const RESULTS: &str = "spec/schema/results";

/// An operation that a transport takes.
struct Operation {
    /// Its name.
    name: String,
    /// What it does, in a sentence.
    summary: String,
    /// Whether it takes an idempotency key, which is what operations that write do.
    keyed: bool,
    /// The codes that it can be refused with.
    codes: Vec<String>,
    /// Whether there is a schema of what it answers; `tests/it/results.rs` asks for it.
    answers: bool,
}

pub(super) fn generate(root: &Path) -> Result<Vec<Output>> {
    let operations = operations(root)?;
    let mut outputs = vec![("spec/openrpc.json".into(), openrpc::document(root, &operations)?)];
    outputs.extend(client::generate(root, &operations)?);
    Ok(outputs)
}

/// The public operations, sorted.
fn operations(root: &Path) -> Result<Vec<Operation>> {
    let endings = Json::load(&root.join("spec/endings.json"))?;
    let texts = |value: Option<&Json>| -> Vec<String> {
        value.map(Json::items).unwrap_or_default().iter().filter_map(Json::text).map(str::to_owned).collect()
    };
    let (always, with_key) = (texts(endings.get("always")), texts(endings.get("keyed")));
    let mut operations = Vec::new();
    for ending in endings.get("operations").map(Json::items).unwrap_or_default() {
        let name = ending.get("name").and_then(Json::text).context("an operation has a name")?;
        let params = Json::load(&root.join(format!("{PARAMS}/{name}.schema.json")))?;
        let told = |member: &str| params.get(member).and_then(Json::text).unwrap_or_default().to_owned();
        if told("$comment").starts_with("Internal") {
            continue;
        }
        let keyed = ending.get("keyed") == Some(&Json::Bool(true));
        let mut codes = always.clone();
        codes.extend(with_key.iter().filter(|_| keyed).cloned());
        codes.extend(texts(ending.get("codes")));
        codes.sort();
        codes.dedup();
        operations.push(Operation {
            name: name.to_owned(),
            summary: told("description"),
            keyed,
            codes,
            answers: root.join(format!("{RESULTS}/{name}.schema.json")).is_file(),
        });
    }
    operations.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(operations)
}

impl Operation {
    fn params(&self) -> String {
        format!("{PARAMS}/{}.schema.json", self.name)
    }

    fn result(&self) -> String {
        format!("{RESULTS}/{}.schema.json", self.name)
    }
}
