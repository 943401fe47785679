//! Missing and foreign are one answer, for every operation that there is.
//!
//! The vectors `operations/uniform` call each operation with ids of others and with ids of nothing; that their answers are
//! the same, byte by byte, in both cores, in hosts over both stores and over JSON-RPC, is tested with all vectors in
//! `conformance.rs`. Here: that no operation is left out, and that nothing whatever is stored by such a call.

use crate::conformance::vectors;
use crate::contract::rows;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use threadmesh_native::NativeCore;
use threadmesh_runtime::scenario::{self, Call, Local, Reply, Target};
use threadmesh_runtime::store::MemoryStore;
use threadmesh_runtime::{Core, Session, WasmCore};

/// A session over a store that keeps, for every call, whether anything was committed.
struct Watched<'a> {
    session: Box<dyn Session + 'a>,
    store: MemoryStore,
    changed: Vec<bool>,
}

impl Target for Watched<'_> {
    fn start(&mut self, text: &str) -> Result<i64, String> {
        Local::new(self.session.as_mut(), &self.store).start(text)
    }

    fn call(&mut self, call: &Call<'_>) -> Result<Option<Reply>, String> {
        let mut log = Vec::new();
        let reply = Local::new(self.session.as_mut(), &self.store).logging(&mut log).call(call);
        let changes = |decision: &Value| ["writes", "audit", "effects"].iter().any(|part| decision[part] != json!([]));
        self.changed.push(log.iter().any(changes));
        reply
    }
}

fn uniform() -> Vec<Value> {
    let all = vectors().into_iter().filter(|(file, _)| file == "operations/uniform.json");
    all.map(|(_, vector)| vector).collect()
}

#[test]
fn every_operation_tells_missing_from_foreign_for_nobody() {
    let operations = NativeCore.session().expect("a session").operations().expect("operations");
    let operations: BTreeSet<String> = operations.into_iter().map(|operation| operation.name).collect();
    let vectors = uniform();
    let shown = vectors.iter().filter_map(|vector| vector["name"].as_str()?.strip_prefix("uniform: "));
    let shown: BTreeSet<String> = shown.map(Into::into).collect();
    let nameless = rows().into_iter().filter(|row| row["nameless"].is_string());
    let nameless: BTreeSet<String> = nameless.map(|row| row["name"].as_str().expect("a name").into()).collect();
    let left_out: Vec<_> = operations.difference(&shown).filter(|name| !nameless.contains(*name)).collect();
    assert!(
        left_out.is_empty(),
        "give these a case in tests/xtask/src/codegen/scenarios/uniform.rs, or say in their rows why they name nothing: {left_out:?}"
    );
    let gone: Vec<_> = shown.union(&nameless).filter(|name| !operations.contains(*name)).collect();
    assert!(gone.is_empty(), "there are no such operations: {gone:?}");
    for vector in &vectors {
        let steps = vector["args"]["steps"].as_array().expect("steps");
        let pairs = steps.iter().filter(|step| step.get("error").is_some() && step["same_as"].is_string()).count();
        assert!(pairs >= 2, "{}: {pairs} calls with a foreign id", vector["name"]);
    }
}

#[test]
fn calls_about_what_nobody_may_see_store_nothing() {
    let component = WasmCore::new().expect("the component");
    for core in [&NativeCore as &dyn Core, &component] {
        let mut refused = 0;
        for vector in uniform() {
            let session = core.session().expect("a session");
            let mut watched = Watched { session, store: MemoryStore::new(), changed: Vec::new() };
            let transcript = scenario::perform(&vector["args"], &mut watched).expect("a transcript");
            let entries = transcript.as_array().expect("entries");
            assert_eq!(entries.len(), watched.changed.len());
            for (index, (entry, changed)) in entries.iter().zip(&watched.changed).enumerate() {
                refused += usize::from(entry["error"].is_string());
                assert!(!changed || entry["error"].is_null(), "{}, step {}", vector["name"], index + 1);
            }
        }
        assert!(refused > 100, "{refused} refusals");
    }
}
