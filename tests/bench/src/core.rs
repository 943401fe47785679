//! The component on a reused instance beside native code: the same functions, the same inputs, one run.

use anyhow::{Context, Result, anyhow};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use threadmesh_native::NativeCore;
use threadmesh_runtime::store::{MemoryStore, Query, Store};
use threadmesh_runtime::wit::{Answer, Found, Principal, Request, StepKind, Stored};
use threadmesh_runtime::{Core, Host, Session, WasmCore};

const SPAN: Duration = Duration::from_millis(400);
const ENTROPY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Prints a table: microseconds in the component, native, and their ratio.
pub fn run() -> Result<()> {
    let began = Instant::now();
    let wasm = WasmCore::new()?;
    let loaded = began.elapsed();
    let first = {
        let mut session = wasm.session()?;
        session.digest("{}").map_err(|error| anyhow!("{error}"))?.map_err(|error| anyhow!("{}", error.detail))?;
        began.elapsed()
    };
    println!("component loaded in {loaded:.1?} ({:?}), first answer after {first:.1?}", wasm.origin());
    fresh(&wasm)?;
    let (mut guest, mut native) = (wasm.session()?, NativeCore.session()?);
    let envelope = envelope();
    println!("{:<28} {:>10} {:>10} {:>7}", "", "component", "native", "ratio");
    let mut row = |name: &str, run: &mut dyn FnMut(&mut dyn Session) -> Result<()>| -> Result<()> {
        let (in_guest, in_native) = (best(&mut *guest, run)?, best(&mut *native, run)?);
        println!("{name:<28} {in_guest:>7.2} us {in_native:>7.2} us {:>6.2}x", in_guest / in_native);
        Ok(())
    };
    row("canonicalise envelope", &mut |session| ok(session.canonicalize(&envelope)))?;
    row("digest envelope", &mut |session| ok(session.digest(&envelope)))?;
    row("check envelope", &mut |session| ok(session.check("envelope", &envelope)))?;
    let attestations = attestations()?;
    for (name, args) in &attestations {
        let text = |member: &str| args[member].as_str().unwrap_or("{}");
        let now = args["now"].as_f64().unwrap_or(0.0);
        row(&format!("verify {name}"), &mut |session| {
            ok(session.verify(text("document"), text("anchors"), text("expected"), now))
        })?;
    }
    let (request, answers, now) = send()?;
    row("decide send, 1st round", &mut |session| ok(session.decide(&request, &[], &[], now, ENTROPY)))?;
    row("decide send, 2nd round", &mut |session| ok(session.decide(&request, &answers, &[], now, ENTROPY)))?;
    let found: Vec<Found> =
        answers.iter().map(|answer| Found { rows: answer.rows.clone(), more: answer.more }).collect();
    row("send, decide and resume", &mut |session| {
        ok(session.decide(&request, &[], &[], now, ENTROPY))?;
        session.resume(ENTROPY, &found, &[])?.map_err(|error| anyhow!(error.detail))?.context("it was kept").map(|_| ())
    })
}

/// What an instance costs that nobody has used before: all are held, so that none is one that was kept.
fn fresh(core: &WasmCore) -> Result<()> {
    const HELD: usize = 200;
    // More than are kept.
    let _kept = (0..16).map(|_| core.session()).collect::<Result<Vec<_>, _>>()?;
    let began = Instant::now();
    let sessions = (0..HELD).map(|_| core.session()).collect::<Result<Vec<_>, _>>()?;
    println!("fresh instance: {:.1} us", began.elapsed().as_secs_f64() * 1e6 / sessions.len() as f64);
    Ok(())
}

fn ok<T>(outcome: threadmesh_runtime::Outcome<T>) -> Result<()> {
    outcome?.map(|_| ()).map_err(|error| anyhow!("{} {}", error.pointer, error.detail))
}

/// Microseconds of the fastest of many short series.
fn best(session: &mut dyn Session, run: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<f64> {
    const SERIES: u32 = 20;
    run(session)?;
    let began = Instant::now();
    let mut best = f64::INFINITY;
    while began.elapsed() < SPAN {
        let series = Instant::now();
        for _ in 0..SERIES {
            run(session)?;
        }
        best = best.min(series.elapsed().as_secs_f64() * 1e6 / f64::from(SERIES));
    }
    Ok(best)
}

fn envelope() -> String {
    let text = crate::world::sample().message("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", 1);
    let params: Value = serde_json::from_str(&text).unwrap_or_default();
    params["envelope"].to_string()
}

/// The first accepting `verify` vector of each algorithm.
fn attestations() -> Result<Vec<(String, Value)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/conformance/attestation");
    let mut found: Vec<(String, Value)> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let file: Value = serde_json::from_str(&std::fs::read_to_string(entry?.path())?)?;
        for vector in file["vectors"].as_array().into_iter().flatten() {
            let accepted = vector["function"] == "verify" && vector.get("ok").is_some();
            let document = vector["args"]["document"].as_str().unwrap_or_default();
            for algorithm in ["ed25519", "ecdsa-p256-sha256"] {
                let known = found.iter().any(|(name, _)| name == algorithm);
                if accepted && !known && document.contains(&format!("\"algorithm\":\"{algorithm}\"")) {
                    found.push((algorithm.into(), vector["args"].clone()));
                }
            }
        }
    }
    Ok(found)
}

/// A send with the facts that it needs, as a host on a store in memory would pass them.
fn send() -> Result<(Request, Vec<Answer>, f64)> {
    let store = Arc::new(MemoryStore::new());
    let host = Host::builder(Arc::new(NativeCore), Arc::<MemoryStore>::clone(&store)).build()?;
    let pair = crate::world::pair(&host, 1)?;
    let (now, expires) = crate::load::times();
    let request = Request {
        operation: "messages.send".into(),
        principal: Some(Principal { ..pair.sender.clone() }),
        params: pair.message(&now, &expires, 1),
        instance: "bench".into(),
        cursor: None,
        context: Vec::new(),
    };
    #[allow(clippy::cast_precision_loss)] // Below 2^53.
    let now = host.now_ms()? as f64;
    let mut session = NativeCore.session()?;
    let step = session.decide(&request, &[], &[], now, ENTROPY)?.map_err(|error| anyhow!(error.detail))?;
    let queries = step.queries;
    let read = store.read(&queries.iter().map(query).collect::<Vec<_>>())?;
    let answer = |(query, found): (_, threadmesh_runtime::store::Answer)| {
        let more = found.more;
        Answer { query, rows: rows(found), more }
    };
    let answers: Vec<Answer> = queries.into_iter().zip(read).map(answer).collect();
    let step = session.decide(&request, &answers, &[], now, ENTROPY)?.map_err(|error| anyhow!(error.detail))?;
    (step.kind == StepKind::Ready).then_some(()).context("a send needs one round")?;
    Ok((request, answers, now))
}

fn query(query: &threadmesh_runtime::wit::Query) -> Query {
    Query {
        collection: query.collection.clone(),
        index: query.index.clone(),
        start: query.start.clone(),
        end: query.end.clone(),
        reverse: query.reverse,
        limit: query.limit,
        bytes: query.bytes,
    }
}

fn rows(answer: threadmesh_runtime::store::Answer) -> Vec<Stored> {
    let stored = |row: threadmesh_runtime::store::Row| Stored {
        id: row.id,
        key: row.key,
        revision: row.revision,
        body: row.body,
    };
    answer.rows.into_iter().map(stored).collect()
}
