//! The same requests natively and in the component, in reused and in fresh instances, over a store in memory and over
//! SQLite: the same answers, writes, effects and audit records, whatever is asked in whatever order.
//!
//! `THREADMESH_DIFFERENTIAL_SECONDS` sets how long random logs are tried; `THREADMESH_DIFFERENTIAL_SEED` the first seed.

pub mod logs;
mod reach;

use crate::conformance;
use crate::embedded::read_only;
use logs::{Log, Random};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use threadmesh_native::{NativeCore, twin::Twin};
use threadmesh_runtime::scenario::{Call, Local, Reply, Target};
use threadmesh_runtime::store::{MemoryStore, Store};
use threadmesh_runtime::{Core, Session, WasmCore};
use threadmesh_store_sqlite::{Options, SqliteStore, Synchronous};

/// What one lane made of a call: the answer, and every decision with all that it commits.
type Made = (Result<Option<Reply>, String>, Vec<Value>);

/// A core and a store that are compared with the others.
struct Lane<'c> {
    name: &'static str,
    core: &'c dyn Core,
    session: Box<dyn Session + 'c>,
    /// Whether every call gets an instance of its own.
    fresh: bool,
    store: Box<dyn Store>,
    /// Takes part in every how manieth log.
    every: u64,
}

impl<'c> Lane<'c> {
    fn new(name: &'static str, core: &'c dyn Core, fresh: bool, store: Box<dyn Store>, every: u64) -> Self {
        Self { name, core, session: core.session().expect("a session"), fresh, store, every }
    }

    fn call(&mut self, call: &Call<'_>) -> Made {
        if self.fresh {
            self.session = self.core.session().expect("a session");
        }
        let mut log = Vec::new();
        let reply = Local::new(self.session.as_mut(), self.store.as_ref()).logging(&mut log).call(call);
        (reply, log)
    }
}

/// What happened in all logs together.
#[derive(Default)]
struct Seen {
    calls: usize,
    changed: usize,
    commits: usize,
    ended: BTreeSet<reach::Ending>,
    /// The one answer for missing and foreign.
    unseen: BTreeSet<String>,
    /// Every call that was handed out: the tenant and the submission.
    handed_out: BTreeSet<String>,
}

impl Seen {
    /// Counts a call, and says what must not be about it.
    fn note(&mut self, call: &Call<'_>, made: &Made) -> Result<(), String> {
        self.calls += 1;
        self.commits += made.1.len();
        self.changed += usize::from(made.1.iter().any(|decision| decision["writes"] != json!([])));
        let first = made.1.first().ok_or("there is no decision")?;
        let status = first["status"].as_str().unwrap_or_default();
        let ended = first["problem"]["code"].as_str().unwrap_or(status);
        self.ended.insert((call.method.to_owned(), ended.to_owned()));
        let changes = ["writes", "audit", "effects"].iter().any(|part| first[part] != json!([]));
        if changes && (status != "accepted" || read_only(call.method)) {
            return Err(format!("{status}, and yet it changes something: {first:#}"));
        }
        if ended == "not-visible" {
            self.unseen.insert(first["response"].as_str().unwrap_or_default().to_owned());
        }
        let effects = first["effects"].as_array().into_iter().flatten();
        for effect in effects.filter(|effect| effect["kind"] == "call") {
            let tenant = call.principal.as_ref().map_or(&Value::Null, |principal| &principal["tenant"]);
            if !self.handed_out.insert(format!("{tenant} {}", effect["key"])) {
                return Err(format!("the same call was handed out twice: {effect}"));
            }
        }
        if self.unseen.len() > 1 {
            return Err(format!("missing and foreign look different: {:?}", self.unseen));
        }
        Ok(())
    }
}

/// Performs a log in every lane that takes part in it. An error names the step and the lanes that differ.
fn compare(lanes: &mut [Lane<'_>], log: &Log, number: u64, seen: &mut Seen) -> Result<(), String> {
    let start = NativeCore.session().expect("a session").parse_time(&log.start).expect("an answer").expect("a time");
    let (mut kept, mut offset, mut drift) = (Map::new(), 0, 0);
    for (index, step) in log.steps.iter().enumerate() {
        offset = step["at"].as_i64().unwrap_or(offset);
        drift += step["wait"].as_i64().unwrap_or(0);
        let params = step["text"].as_str().map_or_else(|| logs::text(&step["params"], &kept), Into::into);
        let call = Call {
            principal: principal(log, step, number),
            method: step["method"].as_str().expect("a method"),
            params: step["break"].as_str().map_or(params.clone(), |how| logs::break_text(&params, how)),
            now: start as i64 + offset + drift,
            entropy: format!("{:032x}{:032x}", number, index),
            instance: step["instance"].as_str().unwrap_or("host-1"),
            context: &step["context"],
            evaluated: &step["evaluated"],
        };
        let mut made =
            lanes.iter_mut().filter(|lane| number.is_multiple_of(lane.every)).map(|lane| (lane.name, lane.call(&call)));
        let (name, first) = made.next().expect("the first lane always takes part");
        for (other, same) in made {
            if first != same {
                let show = |made: &Made| format!("{:#?}", made);
                return Err(format!(
                    "step {}: {call:?}\n{name}: {}\n{other}: {}",
                    index + 1,
                    show(&first),
                    show(&same)
                ));
            }
        }
        if let Err(fault) = &first.0 {
            return Err(format!("step {}: {call:?}\n{name}: {fault}", index + 1));
        }
        seen.note(&call, &first).map_err(|fault| format!("step {}: {call:?}\n{fault}", index + 1))?;
        keep(step, &first, &mut kept);
    }
    Ok(())
}

/// The caller of a step; the tenants of every log are its own.
fn principal(log: &Log, step: &Value, number: u64) -> Option<Value> {
    let name = step["as"].as_str()?;
    let mut principal = log.principals.get(name)?.clone();
    let tenant = principal["tenant"].as_str().unwrap_or("default");
    principal["tenant"] = json!(format!("{tenant}-{number}"));
    if principal.get("authentication").is_none() {
        principal["authentication"] = json!(format!("authn_{name}-session"));
    }
    Some(principal)
}

fn keep(step: &Value, made: &Made, kept: &mut Map<String, Value>) {
    let Ok(Some(reply)) = &made.0 else { return };
    let (Ok(text) | Err(text)) = &reply.response;
    let value: Value = serde_json::from_str(text).expect("answers are JSON");
    for (name, pointer) in step["keep"].as_object().into_iter().flatten() {
        if let Some(found) = value.pointer(pointer.as_str().unwrap_or_default()) {
            kept.insert(name.clone(), found.clone());
        }
    }
}

/// One step of every operation, with its params broken as a text in every way, and without a credential.
fn systematic(corpus: &[Value]) -> Log {
    let mut log = logs::straight(&corpus[0]);
    log.steps.clear();
    let mut known = BTreeSet::new();
    for scenario in corpus {
        log.principals.extend(logs::straight(scenario).principals);
        for step in scenario["args"]["steps"].as_array().into_iter().flatten() {
            let (method, accepted) = (step["method"].as_str().unwrap_or_default(), step.get("ok").is_some());
            if !accepted || step["as"].is_null() || !known.insert(method.to_owned()) {
                continue;
            }
            log.steps.extend(logs::BREAKS.iter().map(|how| {
                let mut broken = step.clone();
                broken["break"] = json!(how);
                broken
            }));
            let mut anonymous = step.clone();
            anonymous["as"] = Value::Null;
            let mut traced = step.clone();
            traced["context"] = (0..9).map(|number| json!({"name": number.to_string(), "value": ""})).collect();
            log.steps.extend([anonymous, traced]);
        }
    }
    log
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn all_cores_and_stores_make_the_same_of_random_logs() {
    let wasm: Arc<dyn Core> = Arc::new(WasmCore::new().expect("the component"));
    let twin = Twin::new(Arc::new(NativeCore), Arc::clone(&wasm));
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { synchronous: Synchronous::Off, ..Options::default() };
    let sqlite = SqliteStore::open(folder.path().join("mesh.db"), options).expect("a store");
    let mut lanes = [
        Lane::new("both cores, reused, in memory", &twin, false, Box::new(MemoryStore::new()), 1),
        Lane::new("the component, fresh, in memory", wasm.as_ref(), true, Box::new(MemoryStore::new()), 3),
        Lane::new("natively, over SQLite", &NativeCore, false, Box::new(sqlite), 2),
    ];
    let all = conformance::vectors();
    let corpus: Vec<Value> =
        all.into_iter().map(|(_, vector)| vector).filter(|vector| vector["function"] == "scenario").collect();
    let (mut seen, begun) = (Seen::default(), Instant::now());
    let straight = corpus.iter().map(logs::straight).chain([systematic(&corpus)]);
    let mut log = 0;
    for scenario in straight {
        log += 1;
        compare(&mut lanes, &scenario, log, &mut seen).unwrap_or_else(|fault| panic!("scenario {log}: {fault}"));
    }
    println!("{log} scenarios as they stand: {} calls in {:.1} s", seen.calls, begun.elapsed().as_secs_f64());
    let seconds = number("THREADMESH_DIFFERENTIAL_SECONDS", 10);
    let first = number("THREADMESH_DIFFERENTIAL_SEED", 1);
    let (begun, mut random) = (Instant::now(), Seen::default());
    let mut seed = first;
    // A few logs say little about what most of them do, and a busy machine performs few in that time.
    while seed < first + 100 || begun.elapsed() < Duration::from_secs(seconds) {
        let broken = logs::broken(&corpus, &mut Random::new(seed));
        let (log, names) = (log + seed, "THREADMESH_DIFFERENTIAL_SEED");
        compare(&mut lanes, &broken, log, &mut random).unwrap_or_else(|fault| panic!("{names}={seed}: {fault}"));
        seed += 1;
    }
    let Seen { calls, changed, commits, .. } = random;
    println!(
        "{} random logs, seeds {first} to {}: {calls} calls, {changed} changed something, {commits} commits",
        seed - first,
        seed - 1
    );
    println!("{} answers of both cores compared, {} steps that went on", twin.compared(), twin.resumed());
    assert!(twin.resumed() > 0, "no step went on from an earlier one");
    assert!(changed * 2 >= calls, "only {changed} of {calls} random calls changed something");
    seen.ended.extend(random.ended);
    let operations = NativeCore.session().expect("a session").operations().expect("the operations");
    reach::check(&operations.into_iter().map(|operation| operation.name).collect::<Vec<_>>(), &seen.ended);
}
