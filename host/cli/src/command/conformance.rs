//! `threadmesh conformance`: does an implementation answer every vector as it must?

use crate::client::Client;
use crate::conformance::drivers::{BuiltIn, Driver, Process, Server};
use crate::conformance::servers::OwnServers;
use crate::conformance::vectors::{self, File};
use crate::conformance::{Verdict, judge};
use crate::failure::{Exit, Failure, Outcome};
use crate::terminal::Printer;
use crate::{core, target};
use clap::Args;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// So many failing vectors are shown; the rest is counted.
const SHOWN_MAX: usize = 50;

/// Run the conformance vectors against the built-in component, another program, or a running server.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh conformance
  threadmesh conformance --group lifecycle --group time
  threadmesh conformance --driver 'python3 my_driver.py'
  threadmesh conformance --driver-jsonrpc
  threadmesh conformance --driver-jsonrpc mesh.db.run/socket --token-file operator.token

A driver reads calls and writes answers as JSON lines on stdio: spec/conformance/README.md. Vectors that it answers with
`unusable` are left out and counted.
Exit codes: 0 all pass, 1 some fail or none was answered, 2 the driver or the vectors are unusable.")]
pub struct Arguments {
    /// A command that answers JSON lines
    #[arg(long, value_name = "CMD", conflicts_with = "driver_jsonrpc")]
    driver: Option<String>,
    /// A server: the one that runs behind this socket, by its core.* methods alone; without PATH, servers of this run's
    /// own on fresh databases, which perform the scenarios too
    #[arg(long, value_name = "PATH", num_args = 0..=1)]
    driver_jsonrpc: Option<Option<PathBuf>>,
    /// Do not compare the pointers of refusals, only their codes
    #[arg(long)]
    without_pointers: bool,
    #[command(flatten)]
    token: target::TokenArguments,
    /// Only this group; may be given more than once
    #[arg(long, value_name = "GROUP")]
    group: Vec<String>,
    /// Take the vectors of this folder instead of those in the program
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The counts of one group.
#[derive(Default)]
struct Count {
    passed: usize,
    failed: usize,
    /// Steps of scenarios that the driver has no way to make.
    skipped_steps: usize,
    /// Vectors of functions that the driver does not have.
    skipped: usize,
    /// Vectors that a driver of a part has no use for.
    unusable: usize,
    accepting: usize,
    rejecting: usize,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let files = match &arguments.dir {
        Some(dir) => vectors::under(dir)?,
        None => vectors::embedded()?,
    };
    let unknown = arguments.group.iter().find(|group| !files.iter().any(|file| file.group == **group));
    if let Some(group) = unknown {
        return Err(Failure::unusable("group-unknown", format_args!("no vectors of group {group:?}"), groups(&files)));
    }
    let wanted = |file: &File| arguments.group.is_empty() || arguments.group.contains(&file.group);
    let mut files: Vec<File> = files.into_iter().filter(wanted).collect();
    if arguments.without_pointers {
        let errors = files.iter_mut().flat_map(|file| &mut file.vectors).filter_map(|vector| vector.error.as_mut());
        errors.filter_map(Value::as_object_mut).for_each(|error| drop(error.remove("pointer")));
    }
    if files.iter().all(|file| file.vectors.is_empty()) {
        return Err(Failure::unusable("vectors-missing", "there is not one vector", "name another folder or group"));
    }
    if let Some(command) = &arguments.driver {
        return report(&files, &mut Process::start(command)?, printer);
    }
    if let Some(None) = &arguments.driver_jsonrpc {
        return report(&files, &mut OwnServers::start()?, printer);
    }
    if let Some(Some(socket)) = &arguments.driver_jsonrpc {
        let client = Client::connect(socket, &arguments.token.secret(crate::database::of_socket(socket).as_deref())?)?;
        return report(&files, &mut Server { client }, printer);
    }
    let core = core::load()?;
    report(&files, &mut BuiltIn::new(&core)?, printer)
}

fn groups(files: &[File]) -> String {
    let mut names: Vec<&str> = files.iter().map(|file| file.group.as_str()).collect();
    names.dedup();
    format!("use one of: {}", names.join(", "))
}

fn report(files: &[File], driver: &mut dyn Driver, printer: Printer) -> Outcome {
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let mut failing: Vec<Value> = Vec::new();
    for file in files {
        let count = counts.entry(&file.group).or_default();
        for vector in &file.vectors {
            if !driver.knows(&vector.function) {
                count.skipped += 1;
                continue;
            }
            let answer = driver.answer(&vector.function, &vector.args)?;
            if driver.partial() && answer.get("unusable").is_some() {
                count.unusable += 1;
                continue;
            }
            *(if vector.ok.is_some() { &mut count.accepting } else { &mut count.rejecting }) += 1;
            match judge(vector, &answer) {
                Verdict::Passed => count.passed += 1,
                Verdict::Skipped(steps) => {
                    count.passed += 1;
                    count.skipped_steps += steps;
                }
                Verdict::Failed(how) => {
                    count.failed += 1;
                    failing
                        .push(json!({"file": file.name, "name": vector.name, "function": vector.function, "how": how}));
                }
            }
        }
    }
    let failed: usize = counts.values().map(|count| count.failed).sum();
    let passed: usize = counts.values().map(|count| count.passed).sum();
    let members = |count: &Count| json!({"passed": count.passed, "failed": count.failed, "skipped": count.skipped, "unusable": count.unusable, "skippedSteps": count.skipped_steps, "accepting": count.accepting, "rejecting": count.rejecting});
    let groups: serde_json::Map<String, Value> =
        counts.iter().map(|(group, count)| ((*group).to_owned(), members(count))).collect();
    let unusable: usize = counts.values().map(|count| count.unusable).sum();
    let value = json!({"passed": passed, "failed": failed, "unusable": unusable, "groups": groups, "failing": failing});
    printer.show(&value, || for_people(&counts, &failing, passed, failed));
    let answered = passed > 0 || unusable == 0;
    Ok(if failed == 0 && answered { Exit::Accepted } else { Exit::Refused })
}

fn for_people(counts: &BTreeMap<&str, Count>, failing: &[Value], passed: usize, failed: usize) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut lines: Vec<String> = failing
        .iter()
        .take(SHOWN_MAX)
        .map(|vector| {
            format!("failed: {} {:?}: {}", text(&vector["file"]), text(&vector["name"]), text(&vector["how"]))
        })
        .collect();
    if failing.len() > SHOWN_MAX {
        lines.push(format!("… and {} more; --json lists them all", failing.len() - SHOWN_MAX));
    }
    for (group, count) in counts {
        let Count { passed, failed, skipped_steps, skipped, unusable, accepting, rejecting } = count;
        let left_out = |number: &usize, what: &str| match number {
            0 => String::new(),
            number => format!(", {number} {what} left out"),
        };
        let skipped =
            [left_out(skipped, "vectors"), left_out(unusable, "unusable vectors"), left_out(skipped_steps, "steps")]
                .concat();
        lines.push(format!(
            "{group:16} {passed:6} passed {failed:4} failed  ({accepting} accepting, {rejecting} rejecting{skipped})"
        ));
    }
    lines.push(format!("{passed} passed, {failed} failed"));
    lines
}
