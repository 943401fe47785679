//! Where the time of an operation goes, and what it costs the system: processor time by phase, bytes, calls, switches.
//!
//! The core and the store are wrapped in clocks, which cost a few microseconds an operation themselves: the rates of `load`
//! are the ones to compare.

mod timed;

use crate::load::{processor, times};
use crate::output::Output;
use crate::world::{self, Pair};
use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::time::Instant;
use threadmesh_runtime::{Core, Host, WasmCore};
use threadmesh_store_sqlite::SqliteStore;
use timed::{Clock, PHASES, Spent, TimedCore, TimedStore};

/// Callers, and operations of each.
const SHAPES: [(usize, usize); 3] = [(1, 1_500), (16, 300), (64, 150)];

/// Prints a table for each number of callers.
pub fn run(directory: &Path, output: &Output) -> Result<()> {
    println!("where the time goes: microseconds an operation of processor time / on the clock, by phase");
    for (callers, each) in SHAPES {
        let folder = tempfile::tempdir_in(directory)?;
        let clock = Arc::new(Clock::default());
        let store = SqliteStore::open(folder.path().join("bench.db"), world::options())?;
        let store = TimedStore { store, clock: Arc::clone(&clock) };
        let core: Arc<dyn Core> = Arc::new(TimedCore { core: Arc::new(WasmCore::new()?), clock: Arc::clone(&clock) });
        let host = Host::builder(core, Arc::new(store)).instance("bench").build()?;
        world::declare(&host)?;
        let pairs: Vec<Pair> = (0..callers).map(|number| world::pair(&host, number)).collect::<Result<_>>()?;
        let bench = Bench { host: &host, clock: &clock, pairs: &pairs, output };
        bench.measure("send", each, |pair, number| {
            let (now, expires) = times();
            let reply = host.call(Some(&pair.sender), "messages.send", &pair.message(&now, &expires, number))?;
            world::value("messages.send", &reply).map(|_| ())
        })?;
        let half = each / 2;
        bench.measure("claim+ack", half, |pair, number| {
            let token = pair.claim(&host, number)?;
            pair.ack(&host, number, &token)
        })?;
        bench.measure("claim+effect", half, |pair, number| {
            let token = pair.claim(&host, number + half)?;
            let submission = pair.begin(&host, number + half, &token)?;
            pair.receipt(&host, &submission)
        })?;
    }
    Ok(())
}

struct Bench<'a> {
    host: &'a Host,
    clock: &'a Clock,
    pairs: &'a [Pair],
    output: &'a Output,
}

/// What the process has used.
struct Used {
    phases: Vec<Spent>,
    processor: f64,
    commits: u64,
    system: Vec<(&'static str, u64)>,
}

impl Bench<'_> {
    /// Every caller runs `step` for its messages in turn.
    fn measure(&self, name: &str, each: usize, step: impl Fn(&Pair, usize) -> Result<()> + Sync) -> Result<()> {
        let start = Barrier::new(self.pairs.len() + 1);
        let (before, wall) = (
            self.used(),
            std::thread::scope(|scope| -> Result<f64> {
                let one = |pair| {
                    start.wait();
                    (0..each).try_for_each(|number| step(pair, number))
                };
                let threads: Vec<_> = self.pairs.iter().map(|pair| scope.spawn(move || one(pair))).collect();
                start.wait();
                let began = Instant::now();
                threads.into_iter().try_for_each(|thread| thread.join().ok().context("a caller panicked")?)?;
                Ok(began.elapsed().as_secs_f64())
            })?,
        );
        self.report(name, self.pairs.len() * each, wall, &before, &self.used());
        Ok(())
    }

    fn used(&self) -> Used {
        Used {
            phases: PHASES.iter().map(|(phase, _)| self.clock.spent(*phase)).collect(),
            processor: processor().as_secs_f64() * 1e6,
            commits: self.host.counters().commits,
            system: system(),
        }
    }

    #[allow(clippy::cast_precision_loss)] // Counts far below 2^52.
    fn report(&self, name: &str, operations: usize, wall: f64, before: &Used, after: &Used) {
        let callers = self.pairs.len();
        let per = |total: f64| total / operations as f64;
        let (mut rest, mut members) = (per(after.processor - before.processor), Map::new());
        println!(
            "  {callers} x {name}: {:.0} a second, {rest:.1} us of processor an operation",
            operations as f64 / wall
        );
        members.insert("us of processor".into(), rest.into());
        for ((_, phase), (from, to)) in PHASES.iter().zip(before.phases.iter().zip(&after.phases)) {
            let used = per((to.processor - from.processor) as f64 / 1e3);
            let wall = per((to.wall - from.wall) as f64 / 1e3);
            println!("      {phase:<20} {used:>8.1} / {wall:.1}");
            members.insert((*phase).into(), json!({"processor": used, "wall": wall}));
            rest -= used;
        }
        println!("      {:<20} {rest:>8.1}", "everything else");
        members.insert("everything else".into(), rest.into());
        let mut counts = vec![("commits", per((after.commits - before.commits) as f64))];
        for ((what, from), (_, to)) in before.system.iter().zip(&after.system) {
            counts.push((what, per(to.saturating_sub(*from) as f64)));
        }
        let told: Vec<String> = counts.iter().map(|(what, count)| format!("{count:.3} {what}")).collect();
        println!("      {}", told.join(", "));
        members.extend(counts.into_iter().map(|(what, count)| (what.to_owned(), Value::from(count))));
        self.output.line(json!({"bench": "phases", "name": name, "callers": callers, "each": members}));
    }
}

/// What the system counts for this process; nothing where it does not tell.
fn system() -> Vec<(&'static str, u64)> {
    const IO: [(&str, &str); 4] = [
        ("syscr: ", "read calls"),
        ("syscw: ", "write calls"),
        ("rchar: ", "bytes read"),
        ("wchar: ", "bytes written"),
    ];
    let text = |path| std::fs::read_to_string(path).unwrap_or_default();
    let find = |text: &str, known: &[(&'static str, &'static str)]| -> Vec<(&'static str, u64)> {
        let number = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        known.iter().filter_map(|(name, what)| Some((*what, number(name)?))).collect()
    };
    find(&text("/proc/self/io"), &IO)
}
