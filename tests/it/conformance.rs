//! The conformance vectors against the rules: natively and in the component, with the same answers, letter by letter.
//!
//! That every rule is noticed when it is switched off is tested in `tests/native/tests/toggles.rs`, since the switch is
//! one for a whole process.

mod hosted;

use crate::program::Rig;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use threadmesh_native::{NativeCore, twin::Twin};
use threadmesh_runtime::rpc;
use threadmesh_runtime::store::{MemoryStore, Store};
use threadmesh_runtime::vectors::{Verdict, judge};
use threadmesh_runtime::{Core, Session, WasmCore, driver, scenario};
use threadmesh_store_sqlite::{Options, SqliteStore, Synchronous};

/// A vector and the name of its file.
pub type Named = (String, Value);

/// All vectors, in the order of their files.
pub fn vectors() -> Vec<Named> {
    let root = xtask::root().join("spec/conformance");
    let mut all = Vec::new();
    for path in sorted(&root).iter().filter(|path| path.is_dir()).flat_map(|group| sorted(group)) {
        let file: Value = serde_json::from_str(&fs::read_to_string(&path).expect("a vector file")).expect("JSON");
        let name = path.strip_prefix(&root).expect("below the root").display().to_string();
        all.extend(file["vectors"].as_array().expect("vectors").iter().map(|vector| (name.clone(), vector.clone())));
    }
    all
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn answer(session: &mut dyn Session, vector: &Value) -> Value {
    driver::answer(session, vector["function"].as_str().expect("a function"), &vector["args"])
}

#[test]
fn every_vector_holds_natively_and_in_the_component_with_the_same_text() {
    let core = WasmCore::new().expect("the component");
    let (mut native, mut component) = (NativeCore.session().expect("a session"), core.session().expect("a session"));
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut faults = Vec::new();
    let start = Instant::now();
    for (index, (file, vector)) in vectors().iter().enumerate() {
        if index % 64 == 0 {
            component = core.session().expect("a session");
        }
        let (here, there) = (answer(native.as_mut(), vector), answer(component.as_mut(), vector));
        let count = counts.entry(file.split('/').next().unwrap_or_default().to_owned()).or_default();
        count.0 += 1;
        count.1 += vector["args"]["steps"].as_array().map_or(0, Vec::len);
        let same = format!("{here}") == format!("{there}");
        match judge(vector, &here) {
            Verdict::Passed if same => {}
            Verdict::Passed => faults.push(format!("{file}: {}: the component answers {there:.1000}", vector["name"])),
            other => faults.push(format!("{file}: {}: {other:?}", vector["name"])),
        }
    }
    for (group, (vectors, steps)) in counts {
        println!("{group}: {vectors} vectors, {steps} steps of scenarios");
    }
    println!("natively and in the component in {:.1} s", start.elapsed().as_secs_f64());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// The errors table by code.
fn errors() -> BTreeMap<String, Value> {
    let text = fs::read_to_string(xtask::root().join("spec/errors.json")).expect("the table");
    let table: Value = serde_json::from_str(&text).expect("JSON");
    let codes = table["codes"].as_array().expect("codes");
    codes.iter().map(|code| (code["code"].as_str().expect("a code").to_owned(), code.clone())).collect()
}

/// What is wrong with an error object as such.
fn ill_formed(error: &Value, table: &BTreeMap<String, Value>) -> Option<String> {
    let data = &error["data"];
    let Some(entry) = data["code"].as_str().and_then(|code| table.get(code)) else { return Some("no code".into()) };
    let same = error["code"] == entry["rpc"]
        && error["message"] == entry["public"]
        && data["threadmeshCode"] == entry["public"]
        && data["group"] == entry["group"]
        && data["retryable"] == entry["retryable"].as_bool().unwrap_or(false);
    let placed = data["pointer"].is_string() && data["detail"].as_str().is_some_and(|detail| !detail.is_empty());
    let names: Vec<&str> = data.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let closed = names == ["code", "detail", "group", "pointer", "retryable", "threadmeshCode"];
    if same && placed && closed { None } else { Some(format!("not as the table says: {error}")) }
}

/// A step that names rules is refused by one of them, where the caller is told the rule at all.
fn by_another_rule(step: &Value, error: &Value) -> Option<String> {
    let rules: Vec<&str> = step["rules"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let (told, _) = error["data"]["detail"].as_str()?.split_once(": ")?;
    let is_rule = told.split_once('-').is_some_and(|(group, number)| {
        group.chars().all(|letter| letter.is_ascii_uppercase()) && number.chars().all(|digit| digit.is_ascii_digit())
    });
    (is_rule && !rules.is_empty() && !rules.contains(&told)).then(|| format!("refused by {told}, not {rules:?}"))
}

#[test]
fn refusals_are_those_of_the_table_and_name_the_rules_of_their_steps() {
    let (table, mut session) = (errors(), NativeCore.session().expect("a session"));
    let (mut refusals, mut faults) = (0, Vec::new());
    let mut checker = NativeCore.session().expect("a session");
    for (file, vector) in vectors().iter().filter(|(_, vector)| vector["function"] == "scenario") {
        let transcript = answer(session.as_mut(), vector);
        let steps = vector["args"]["steps"].as_array().expect("steps");
        for (index, (step, entry)) in steps.iter().zip(transcript["ok"].as_array().expect("a transcript")).enumerate() {
            let Some(text) = entry["error"].as_str() else { continue };
            let error: Value = serde_json::from_str(text).expect("JSON");
            refusals += 1;
            let response = rpc::respond("null", &rpc::Answer::Error(text.to_owned()));
            let checked = checker.check("jsonrpc-response", &response).expect("an answer");
            let unsound = checked.err().map(|error| format!("check refuses it: {error:?}"));
            let ill_formed = || ill_formed(&error, &table).or_else(|| by_another_rule(step, &error));
            if let Some(fault) = unsound.or_else(ill_formed) {
                faults.push(format!("{file}: {}, step {}: {fault}", vector["name"], index + 1));
            }
        }
    }
    println!("{refusals} refusals");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Performs every scenario through hosts over a store of `make`, with both cores as one.
fn through_hosts(make: &dyn Fn(usize) -> Arc<dyn Store>) {
    let twin = Twin::new(Arc::new(NativeCore), Arc::new(WasmCore::new().expect("the component")));
    let (mut performed, mut faults, start) = (0, Vec::new(), Instant::now());
    for (index, (file, vector)) in vectors().iter().enumerate().filter(|(_, (_, it))| it["function"] == "scenario") {
        let mut hosts = hosted::Hosts::new(Arc::new(twin.clone()), make(index));
        let answer = match scenario::perform(&vector["args"], &mut hosts) {
            Ok(transcript) => json!({"ok": transcript}),
            Err(fault) => json!({"unusable": fault}),
        };
        performed += 1;
        if let Verdict::Failed(how) = judge(vector, &answer) {
            faults.push(format!("{file}: {}: {how:.2000}", vector["name"]));
        }
    }
    println!("{performed} scenarios through hosts in {:.1} s", start.elapsed().as_secs_f64());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn every_scenario_holds_in_hosts_over_memory() {
    through_hosts(&|_| Arc::new(MemoryStore::new()));
}

#[test]
fn every_scenario_holds_in_hosts_over_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    through_hosts(&|index| {
        let options = Options { synchronous: Synchronous::Off, ..Options::default() };
        Arc::new(SqliteStore::open(folder.path().join(format!("{index}.db")), options).expect("a store"))
    });
}

#[test]
fn every_scenario_holds_over_json_rpc() {
    let groups = ["operations", "policy", "delivery", "frames", "time"];
    let mut args = vec!["conformance", "--json", "--driver-jsonrpc"];
    args.extend(groups.iter().flat_map(|group| ["--group", group]));
    let folder = xtask::root().join("spec/conformance");
    args.extend(["--dir", folder.to_str().expect("a path")]);
    let ran = Rig::new().run(&args);
    let told: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    let left_out: i64 = groups.iter().filter_map(|group| told["groups"][group]["skippedSteps"].as_i64()).sum();
    println!("{} passed over JSON-RPC, {left_out} steps of the host's own left out", told["passed"]);
    assert_eq!((ran.code, &told["failing"]), (0, &json!([])), "{ran:?}");
    assert!(told["passed"].as_u64() > Some(300), "{ran:?}");
    // The host's own calls, calls with a context, what follows on them, and the one scenario of callers without a credential.
    assert!((1..950).contains(&left_out), "{left_out} steps were left out");
}

/// A driver of a part sees how much of it is right: what it does not have is no failure, and pointers may be left aside.
#[test]
fn a_driver_of_a_part_is_told_its_own_score() {
    let rig = Rig::new();
    let answering = |answer: &str| {
        // One answer for every call, under its own number.
        format!("n=0; while read -r line; do n=$((n+1)); printf '{{\"id\":%d,{answer}}}\\n' $n; done")
    };
    let run = |answer: &str, more: &[&str]| {
        let driver = answering(answer);
        let mut args = vec!["conformance", "--json", "--group", "time", "--driver", &driver];
        args.extend(more);
        let ran = rig.run(&args);
        let told: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        (ran.code, told)
    };
    let (code, told) = run("\"unusable\":\"not here\"", &[]);
    assert_eq!((code, told["passed"].as_u64(), told["failed"].as_u64()), (1, Some(0), Some(0)), "nothing was answered");
    let unusable = told["unusable"].as_u64().expect("a count");
    assert!(unusable > 20, "{told}");
    assert_eq!(told["groups"]["time"]["unusable"].as_u64(), Some(unusable));
    let refusal = "\"error\":{\"code\":\"time-format\",\"pointer\":\"/nowhere\",\"detail\":\"\"}";
    let passed = |told: &Value| told["passed"].as_u64().expect("a count");
    let (_, with) = run(refusal, &[]);
    let (_, without) = run(refusal, &["--without-pointers"]);
    assert_eq!(passed(&with), 0);
    assert!(passed(&without) > 20, "{without}");
    assert_eq!(with["unusable"], 0);
}
