//! Durable operations per second at several numbers of callers, beside the limits of the same disk in the same run.

use crate::output::Output;
use crate::peers;
use crate::raw;
use crate::world::{self, Pair};
use anyhow::{Context, Result};
use serde_json::json;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use threadmesh_runtime::Host;

/// Callers, operations of each, and pairs of each.
const SHAPES: [(usize, usize, usize); 3] = [(1, 2_000, 4), (16, 400, 1), (64, 200, 1)];

/// Now and in a day, as RFC 3339.
pub fn times() -> (String, String) {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    (rfc3339(seconds), rfc3339(seconds + 86_400))
}

fn rfc3339(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, split into eras of 400 years.
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let (date, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{date:02}T{:02}:{:02}:{:02}Z", rest / 3_600, rest / 60 % 60, rest % 60)
}

/// Prints the table.
pub fn run(directory: &Path, output: &Output) -> Result<()> {
    let folder = tempfile::tempdir_in(directory)?;
    let (syncs, commits) = (raw::syncs(folder.path())?, raw::commits(folder.path())?);
    println!("raw on this disk: {syncs:.0} syncs/s, {commits:.0} SQLite commits/s (one row, WAL, FULL)");
    println!("operations/s (x raw commits), p50 / p99 ms, commits and processor time per operation;");
    println!("below each what others did on a disk of the same kind, with the ratio to its commits:");
    for (callers, each, pairs) in SHAPES {
        let folder = tempfile::tempdir_in(directory)?;
        let host = world::host(folder.path(), world::options())?;
        world::declare(&host)?;
        let pairs: Vec<Vec<Pair>> = (0..callers)
            .map(|caller| (0..pairs).map(|pair| world::pair(&host, caller * pairs + pair)).collect())
            .collect::<Result<_>>()?;
        let bench = Bench { host: &host, pairs: &pairs, each, commits, output };
        bench.measure("send", |pair, number, _| {
            let (now, expires) = times();
            let reply = host.call(Some(&pair.sender), "messages.send", &pair.message(&now, &expires, number))?;
            world::value("messages.send", &reply).map(|_| String::new())
        })?;
        let half = each / 2;
        let part = Bench { each: half, ..bench };
        part.measure("claim+ack", |pair, number, _| {
            let token = pair.claim(&host, number)?;
            pair.ack(&host, number, &token).map(|()| String::new())
        })?;
        let tokens =
            part.measure("claim", |pair, number, _| pair.claim(&host, number + half.div_ceil(pairs[0].len())))?;
        part.measure("effect", |pair, number, at| {
            let (caller, turn) = at;
            let number = number + half.div_ceil(pairs[0].len());
            let submission = pair.begin(&host, number, &tokens[caller][turn])?;
            pair.receipt(&host, &submission).map(|()| String::new())
        })?;
        println!("  peak memory {}", peak());
    }
    Ok(())
}

/// The time of processors that this process has used.
pub fn processor() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or(0))
}

pub fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".into(), |line| line.trim().to_owned())
}

#[derive(Clone, Copy)]
struct Bench<'a> {
    host: &'a Host,
    pairs: &'a [Vec<Pair>],
    each: usize,
    commits: f64,
    output: &'a Output,
}

impl Bench<'_> {
    /// Every caller runs `step` for its messages in turn; what the steps returned, per caller.
    fn measure(
        &self,
        name: &str,
        step: impl Fn(&Pair, usize, (usize, usize)) -> Result<String> + Sync,
    ) -> Result<Vec<Vec<String>>> {
        let callers = self.pairs.len();
        let (start, before) = (Barrier::new(callers + 1), (self.host.counters().commits, processor()));
        let (mut results, mut elapsed) = (Vec::new(), Duration::ZERO);
        std::thread::scope(|scope| -> Result<()> {
            let threads: Vec<_> = (0..callers)
                .map(|caller| {
                    let (start, step) = (&start, &step);
                    scope.spawn(move || self.caller(caller, start, step))
                })
                .collect();
            start.wait();
            let began = Instant::now();
            for thread in threads {
                results.push(thread.join().ok().context("a caller panicked")??);
            }
            elapsed = began.elapsed();
            Ok(())
        })?;
        self.report(name, elapsed, before, &results);
        Ok(results.into_iter().map(|(values, _)| values).collect())
    }

    fn caller(
        &self,
        caller: usize,
        start: &Barrier,
        step: &(impl Fn(&Pair, usize, (usize, usize)) -> Result<String> + Sync),
    ) -> Result<(Vec<String>, Vec<Duration>)> {
        let pairs = &self.pairs[caller];
        let (mut values, mut took) = (Vec::with_capacity(self.each), Vec::with_capacity(self.each));
        start.wait();
        for turn in 0..self.each {
            let began = Instant::now();
            values.push(step(&pairs[turn % pairs.len()], turn / pairs.len(), (caller, turn))?);
            took.push(began.elapsed());
        }
        Ok((values, took))
    }

    #[allow(clippy::cast_precision_loss)] // Counts far below 2^52.
    fn report(&self, name: &str, elapsed: Duration, before: (u64, Duration), results: &[(Vec<String>, Vec<Duration>)]) {
        let mut took: Vec<Duration> = results.iter().flat_map(|(_, took)| took.iter().copied()).collect();
        took.sort_unstable();
        let at = |part: usize| took[(took.len() * part / 100).min(took.len() - 1)].as_secs_f64() * 1e3;
        let rate = took.len() as f64 / elapsed.as_secs_f64();
        let commits = (self.host.counters().commits - before.0) as f64 / took.len() as f64;
        let processor = (processor() - before.1).as_secs_f64() * 1e6 / took.len() as f64;
        println!(
            "  {:>2} callers {name:<10} {rate:>8.0} ({:.2}x)  {:.3} / {:.3}  {commits:.3}  {processor:.0} us",
            self.pairs.len(),
            rate / self.commits,
            at(50),
            at(99),
        );
        self.output.line(json!({
            "bench": "load", "name": name, "callers": self.pairs.len(), "rate": rate, "raw": self.commits,
            "ratio": rate / self.commits, "p50": at(50), "p99": at(99), "most": at(100), "commits": commits,
            "processor": processor,
        }));
        peers::print(name, self.pairs.len());
    }
}
