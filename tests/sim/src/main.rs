//! Lives simulated lives.
//!
//! ```text
//! threadmesh-sim --seeds 1..1000            live them all, and say what was seen
//! threadmesh-sim --seeds 1..1000 --component  the same over the component instead of the native rules
//! threadmesh-sim --seeds 1..1000 --file     the same over files, which every process opens for itself
//! threadmesh-sim --seed 7 --trace           live one and tell everything
//! threadmesh-sim --seed 7 --minimise        make a failing one shorter, and print it as a scenario
//! threadmesh-sim --seeds 1..99 --without PO-3  with one rule switched off: what is seen of it?
//! threadmesh-sim --model 1x2                look through every order of everything: 1 message, 2 workers and hosts
//! threadmesh-sim --model 2x2                the same with 2 messages that share grant, tasks, boxes and hosts
//! threadmesh-sim --model 2x1x1              smaller: 1 worker and host, and each message is tried once, not twice
//! ```
//!
//! Exits with 1 where something was seen that must never be.

use stateright::{Checker, Expectation, Model, report::WriteReporter};
use std::{process::ExitCode, sync::Arc, time::Instant};
use threadmesh_native::NativeCore;
use threadmesh_protocol::{Rule, generated::rules::ALL, rules};
use threadmesh_runtime::{Core, WasmCore};
use threadmesh_sim::{
    coverage::{Coverage, rules as broken},
    life::{Keep, Life},
    machines::Machines,
    minimise,
    model::{COMMON, World, pair::Pair},
    scenario,
};

/// What the command line asks for.
#[derive(Default)]
struct Wanted {
    first: u64,
    last: u64,
    trace: bool,
    minimise: bool,
    component: bool,
    file: bool,
    without: Option<Rule>,
    model: Option<World>,
}

fn main() -> ExitCode {
    let Some(wanted) = wanted(std::env::args().skip(1)) else {
        eprintln!(
            "usage: threadmesh-sim (--seeds A..B | --seed N | --model MESSAGESxPAIRS[xTRIES]) [--trace] [--minimise] [--component] [--file] [--without RULE]"
        );
        return ExitCode::from(2);
    };
    rules::disable(wanted.without);
    if let Some(world) = wanted.model {
        return if world.messages == 1 { look_through(world) } else { look_through_two(world) };
    }
    let core: Arc<dyn Core> = if wanted.component {
        match WasmCore::new() {
            Ok(core) => Arc::new(core),
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::from(2);
            }
        }
    } else {
        Arc::new(NativeCore)
    };
    let (mut coverage, mut failing, begun) = (Coverage::default(), Vec::new(), Instant::now());
    for seed in wanted.first..=wanted.last {
        let outcome = Life::draw(seed).live(&core, Keep { trace: wanted.trace, calls: false, file: wanted.file });
        outcome.trace.iter().for_each(|line| println!("{line}"));
        coverage.add(&outcome.stats, &outcome.seen);
        if let Some(violation) = outcome.violations.first() {
            println!("seed {seed}: {violation}");
            failing.push(seed);
            if wanted.without.is_some() {
                break;
            }
        }
    }
    report(&coverage, begun.elapsed().as_secs_f64());
    if let Some(seed) = failing.first().filter(|_| wanted.minimise) {
        shorten(*seed, &core);
    }
    println!("{} lives in violation: {failing:?}", failing.len());
    ExitCode::from(u8::from(!failing.is_empty()))
}

fn wanted(args: impl Iterator<Item = String>) -> Option<Wanted> {
    let mut wanted = Wanted::default();
    let mut args = args;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seeds" => {
                let text = args.next()?;
                let (first, last) = text.split_once("..")?;
                (wanted.first, wanted.last) = (first.parse().ok()?, last.parse().ok()?);
            }
            "--seed" => {
                let seed = args.next()?.parse().ok()?;
                (wanted.first, wanted.last) = (seed, seed);
            }
            "--trace" => wanted.trace = true,
            "--minimise" => wanted.minimise = true,
            "--component" => wanted.component = true,
            "--file" => wanted.file = true,
            "--model" => wanted.model = Some(world(&args.next()?)?),
            "--without" => {
                let id = args.next()?;
                wanted.without = Some(*ALL.iter().find(|rule| rule.id() == id && rule.toggles())?);
            }
            _ => return None,
        }
    }
    let some = wanted.model.is_some() || (wanted.last >= wanted.first && wanted.last > 0);
    some.then_some(wanted)
}

/// The world of `MESSAGESxPAIRS[xTRIES]`, each 1 or 2.
fn world(text: &str) -> Option<World> {
    let few = |text: &str| text.parse().ok().filter(|count| (1..=2).contains(count));
    let counts: Vec<usize> = text.split('x').map(few).collect::<Option<_>>()?;
    let (&[messages, pairs], tries) = counts.split_at_checked(2)? else { return None };
    let tries = match tries {
        [] => 2,
        [tries] => *tries,
        _ => return None,
    };
    Some(World { messages, pairs, tries, common: COMMON, leaps: 2, planted: None })
}

/// Looks through every situation of two messages.
fn look_through_two(world: World) -> ExitCode {
    let begun = Instant::now();
    let report = Pair::new(world).look();
    println!("{} different states of both messages, as {} pairs of sets", report.situations, report.sets);
    println!(
        "the rules were asked about {} states of one message; {:.1} s",
        report.asked,
        begun.elapsed().as_secs_f64()
    );
    println!("seen: {:?}", report.seen);
    report.wrong.iter().for_each(|wrong| println!("not so: {wrong}"));
    ExitCode::from(u8::from(report.wrong.is_some()))
}

/// Looks through every situation of one message.
fn look_through(world: World) -> ExitCode {
    let checker =
        world.checker().threads(1).spawn_bfs().join_and_report(&mut WriteReporter::new(&mut std::io::stdout()));
    println!("{} different states", checker.unique_state_count());
    let always = |name: &'static str| checker.model().property(name).expectation == Expectation::Always;
    let wrong: Vec<_> = checker.discoveries().into_iter().filter(|(name, _)| always(name)).collect();
    let failed = !wrong.is_empty();
    wrong.into_iter().for_each(|(name, path)| println!("not so: {name}: {:?}", path.into_actions()));
    ExitCode::from(u8::from(failed))
}

fn report(coverage: &Coverage, seconds: f64) {
    let (operations, crashes) = coverage.medians();
    let total = &coverage.total;
    println!("{} lives in {seconds:.1} s: {:.1} a second", coverage.lives, coverage.lives as f64 / seconds);
    println!(
        "{} operations, {} crashes; the median life has {operations} and {crashes}",
        total.operations, total.crashes
    );
    println!("{} attempts were left to people", total.queued);
    println!("faults: {:?}", total.faults);
    println!("operations accepted: {:?}", total.accepted);
    println!("refused by rule: {:?}", total.rules);
    println!("not run: {:?}", total.failures);
    let edges =
        coverage.seen.edges.iter().map(|((machine, from, event), count)| format!("{machine} {from} {event} {count}"));
    println!("edges taken: {}", edges.collect::<Vec<_>>().join("; "));
    let machines = Machines::read();
    println!("edges not taken: {:?}", coverage.edges(&machines).0);
    println!("rules not broken: {:?}", broken(&total.rules));
    println!("illegal steps not asked for: {:?}", coverage.pairs(&machines).0);
}

/// Prints the shortest way to the same violation.
fn shorten(seed: u64, core: &Arc<dyn Core>) {
    let fails = |life: &Life| !life.live(core, Keep::default()).violations.is_empty();
    let short = minimise::minimise(&Life::draw(seed), fails);
    let outcome = short.live(core, Keep { trace: true, calls: true, file: false });
    println!("seed {seed} with {} actions:", short.actions.len());
    short.actions.iter().for_each(|action| println!("  {action}"));
    outcome.trace.iter().for_each(|line| println!("{line}"));
    outcome.violations.iter().for_each(|violation| println!("violation: {violation}"));
    println!("{}", scenario::scenario(&format!("seed {seed}"), &outcome.recorded));
}
