//! Loads of other shapes: a mixture for a span of time, and one mailbox that everybody sends to.

use crate::load::{peak, times};
use crate::output::Output;
use crate::world::{self, Pair};
use anyhow::{Context, Result};
use serde_json::json;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use threadmesh_runtime::Host;

/// Callers of each load.
const CALLERS: usize = 64;
/// Messages of each sender to the hot mailbox, which has room for all of them.
const HOT: usize = 60;
/// How long the mixture runs; `THREADMESH_BENCH_SECONDS` says otherwise.
const SECONDS: u64 = 20;

/// Send, claim, acknowledge, wait and list in turn; prints rates, the slowest calls, and how long the log became.
pub fn run(directory: &Path, output: &Output) -> Result<()> {
    let seconds = std::env::var("THREADMESH_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SECONDS);
    let folder = tempfile::tempdir_in(directory)?;
    let host = world::host(folder.path(), world::options())?;
    let pairs: Vec<Pair> = (0..CALLERS).map(|number| world::pair(&host, number)).collect::<Result<_>>()?;
    let (over, log) = (AtomicBool::new(false), AtomicU64::new(0));
    let began = Instant::now();
    let mut took: Vec<Duration> = Vec::new();
    std::thread::scope(|scope| -> Result<()> {
        let threads: Vec<_> = pairs.iter().map(|pair| scope.spawn(|| life(&host, pair, &over))).collect();
        while began.elapsed() < Duration::from_secs(seconds) {
            std::thread::sleep(Duration::from_millis(50));
            let length = std::fs::metadata(folder.path().join("bench.db-wal")).map_or(0, |log| log.len());
            log.fetch_max(length, Relaxed);
        }
        over.store(true, Relaxed);
        for thread in threads {
            took.extend(thread.join().ok().context("a caller panicked")??);
        }
        Ok(())
    })?;
    let rate = per_second(took.len(), began.elapsed());
    took.sort_unstable();
    let at = |part: usize| took[(took.len() * part / 1_000).min(took.len() - 1)].as_secs_f64() * 1e3;
    let (log, most) = (log.into_inner() >> 20, at(1_000));
    println!(
        "mixed load, {CALLERS} callers, {seconds} s: {rate:.0} calls/s, p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms, \
         slowest {most:.2} ms; log {log} MB, peak memory {}",
        at(500),
        at(990),
        at(999),
        peak()
    );
    output.line(json!({
        "bench": "mixed", "callers": CALLERS, "seconds": seconds, "rate": rate, "p50": at(500), "p99": at(990),
        "p999": at(999), "most": most, "log_mb": log,
    }));
    Ok(())
}

/// Lives of messages in turn, until it is over; how long each call took.
fn life(host: &Host, pair: &Pair, over: &AtomicBool) -> Result<Vec<Duration>> {
    let mut took = Vec::new();
    for number in 0.. {
        if over.load(Relaxed) {
            break;
        }
        let mut timed = |call: &mut dyn FnMut() -> Result<()>| {
            let began = Instant::now();
            let done = call();
            took.push(began.elapsed());
            done
        };
        let (now, expires) = times();
        timed(&mut || {
            let reply = host.call(Some(&pair.sender), "messages.send", &pair.message(&now, &expires, number))?;
            world::value("messages.send", &reply).map(|_| ())
        })?;
        let mut token = String::new();
        timed(&mut || pair.claim(host, number).map(|given| token = given))?;
        timed(&mut || pair.ack(host, number, &token))?;
        timed(&mut || pair.wait(host))?;
        timed(&mut || pair.list(host))?;
    }
    Ok(took)
}

/// Many senders and one receiver, beside as many senders with a receiver each.
pub fn hot(directory: &Path, output: &Output) -> Result<()> {
    let mut rates = Vec::new();
    for shared in [false, true] {
        let folder = tempfile::tempdir_in(directory)?;
        let host = world::host(folder.path(), world::options())?;
        let pairs: Vec<Pair> = if shared {
            world::to_one(&host, CALLERS)?
        } else {
            (0..CALLERS).map(|number| world::pair(&host, number)).collect::<Result<_>>()?
        };
        let start = Barrier::new(CALLERS + 1);
        let took = std::thread::scope(|scope| -> Result<Duration> {
            let send = |pair: &Pair| {
                start.wait();
                (0..HOT).try_for_each(|number| {
                    let (now, expires) = times();
                    let params = pair.message(&now, &expires, number);
                    let reply = host.call(Some(&pair.sender), "messages.send", &params)?;
                    world::value("messages.send", &reply).map(|_| ())
                })
            };
            let threads: Vec<_> = pairs.iter().map(|pair| scope.spawn(move || send(pair))).collect();
            start.wait();
            let began = Instant::now();
            threads.into_iter().try_for_each(|thread| thread.join().ok().context("a sender panicked")?)?;
            Ok(began.elapsed())
        })?;
        rates.push(per_second(CALLERS * HOT, took));
    }
    let (each, one) = (rates[0], rates[1]);
    println!("{CALLERS} senders: {each:.0} sends/s to a mailbox each, {one:.0} to one ({:.2}x)", one / each);
    output.line(json!({"bench": "hot", "senders": CALLERS, "each": each, "one": one, "ratio": one / each}));
    Ok(())
}

#[allow(clippy::cast_precision_loss)] // Counts far below 2^52.
fn per_second(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}
