//! What `spec/records.json` says of purges against what is stored: every member of every record that any scenario writes is classified, and
//! when a purge has gone over what a scenario left, nothing of it is content any more.

use crate::conformance;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use threadmesh_native::NativeCore;
use threadmesh_runtime::scenario::{self, Call, Local, Reply, Target};
use threadmesh_runtime::store::MemoryStore;
use threadmesh_runtime::{Core, Session};
use xtask::codegen::records::{Fate, fates};

/// How long after every scenario it is purged: whatever can expire has.
const LATER_MS: i64 = 60_000_000_000;
/// Later than anything expires in a scenario, and not later than the purge.
const CUTOFF: &str = "2027-12-01T00:00:00Z";

/// A row of the table.
struct Member {
    collection: String,
    path: Vec<String>,
    becomes: String,
    /// The member of `spec/records.json` that it comes from: several paths may lead to one.
    origin: String,
}

/// The table.
fn table() -> Vec<Member> {
    let fates = fates(&xtask::root()).expect("the table");
    let row = |fate: Fate| Member {
        collection: fate.collection,
        path: fate.path.split('.').map(str::to_owned).collect(),
        becomes: fate.becomes,
        origin: fate.member,
    };
    fates.into_iter().map(row).collect()
}

/// Whether `pattern` covers `path`.
fn covers(pattern: &[String], path: &[String]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((first, _)), Some(_)) if first == "**" => true,
        (Some((first, rest)), Some((name, path))) => (first == "*" || first == name) && covers(rest, path),
        _ => false,
    }
}

/// The values of a record that have no members, with their paths.
fn leaves(value: &Value) -> Vec<(Vec<String>, &Value)> {
    let mut open = vec![(Vec::new(), value)];
    let mut found = Vec::new();
    while let Some((path, value)) = open.pop() {
        let below = |name: &str| path.iter().cloned().chain([name.to_owned()]).collect::<Vec<_>>();
        match value {
            Value::Object(members) => open.extend(members.iter().map(|(name, value)| (below(name), value))),
            Value::Array(items) => open.extend(items.iter().map(|value| (below("-"), value))),
            _ => found.push((path, value)),
        }
    }
    found
}

/// The first row that covers a member.
fn place(table: &[Member], collection: &str, path: &[String]) -> Option<usize> {
    table.iter().position(|row| row.collection == collection && covers(&row.path, path))
}

/// Whether `value` is what may stand there after a purge.
fn gone(becomes: &str, value: &Value) -> bool {
    match becomes {
        "kept" => true,
        "tombstone" => value == "Removed by retention policy.",
        "digest" => value.as_str().is_some_and(|text| text.len() == 71 && text.starts_with("sha256:")),
        "ends" => value == "",
        _ => false,
    }
}

/// Everything that a run wrote: collection and body.
fn written(decisions: &[Value]) -> impl Iterator<Item = (&str, Value)> {
    let rows = decisions.iter().flat_map(|decision| decision["writes"].as_array().into_iter().flatten());
    let rows = rows.filter_map(|write| Some((write["collection"].as_str()?, write["body"].as_str()?)));
    rows.map(|(collection, body)| (collection, serde_json::from_str(body).expect("a record is JSON")))
}

/// A store and a core that keep what was decided.
struct Recorder {
    session: Box<dyn Session>,
    store: MemoryStore,
    decisions: Vec<Value>,
    now: i64,
}

impl Target for Recorder {
    fn start(&mut self, text: &str) -> Result<i64, String> {
        let time = self.session.parse_time(text).map_err(|fault| fault.to_string())?;
        time.map(|time| time as i64).map_err(|error| error.detail)
    }

    fn call(&mut self, call: &Call<'_>) -> Result<Option<Reply>, String> {
        self.now = call.now;
        Local::new(self.session.as_mut(), &self.store).logging(&mut self.decisions).call(call)
    }
}

/// Performs a scenario, then purges until nothing is due; what both parts decided.
fn perform(scenario: &Value) -> (Vec<Value>, Vec<Value>) {
    let session = NativeCore.session().expect("a session");
    let mut recorder = Recorder { session, store: MemoryStore::new(), decisions: Vec::new(), now: 0 };
    scenario::perform(&scenario["args"], &mut recorder).expect("a transcript");
    let before = std::mem::take(&mut recorder.decisions);
    for round in 0.. {
        let params = json!({"before": CUTOFF, "idempotencyKey": format!("idem_later-{round:04}")});
        let call = Call {
            principal: Some(json!({
                "tenant": "default", "kind": "policy", "id": "retention", "authentication": "authn_retention", "name": "",
            })),
            method: "maintenance.purgeContent",
            params: params.to_string(),
            now: recorder.now + LATER_MS,
            entropy: format!("{round:064x}"),
            instance: "host-1",
            context: &Value::Null,
            evaluated: &Value::Null,
        };
        let reply = recorder.call(&call).expect("an answer").expect("a reply").response.expect("it is purged");
        let answer: Value = serde_json::from_str(&reply).expect("JSON");
        if answer["value"]["value"]["hasMore"] == false {
            break;
        }
        assert!(round < 100, "a purge does not end");
    }
    (before, recorder.decisions)
}

#[test]
fn every_stored_member_is_classified_and_purged_as_it_says() {
    let table = table();
    let mut unknown = BTreeSet::new();
    let mut left = BTreeSet::new();
    let mut used = BTreeSet::new();
    let mut purged = 0;
    let vectors = conformance::vectors();
    for (_, scenario) in vectors.iter().filter(|(_, vector)| vector["function"] == "scenario") {
        let (before, after) = perform(scenario);
        for (collection, body) in written(&before).chain(written(&after)) {
            for (path, _) in leaves(&body) {
                match place(&table, collection, &path) {
                    Some(place) => drop(used.insert(place)),
                    None => drop(unknown.insert(format!("{collection}: {}", path.join(".")))),
                }
            }
        }
        for (collection, body) in written(&after)
            .filter(|(collection, _)| matches!(*collection, "message" | "life" | "task" | "proposal" | "summary"))
        {
            purged += 1;
            for (path, value) in leaves(&body) {
                let row = place(&table, collection, &path).map(|place| &table[place]);
                if !row.is_some_and(|row| gone(&row.becomes, value)) {
                    left.insert(format!("{collection}: {} = {value}", path.join(".")));
                }
            }
        }
    }
    assert!(unknown.is_empty(), "spec/records.json says nothing of these: {unknown:#?}");
    assert!(left.is_empty(), "a purge left these: {left:#?}");
    assert!(purged > 300, "only {purged} rows were purged");
    let content = |row: &Member| !matches!(row.becomes.as_str(), "kept" | "ends");
    let reached: BTreeSet<&str> = used.iter().map(|place: &usize| table[*place].origin.as_str()).collect();
    let idle = table.iter().enumerate().filter(|(_, row)| content(row) && !reached.contains(row.origin.as_str()));
    let idle: Vec<String> = idle.map(|(_, row)| format!("{}: {}", row.collection, row.path.join("."))).collect();
    assert!(idle.is_empty(), "no scenario writes this content, so that nothing shows that it goes: {idle:#?}");
}
