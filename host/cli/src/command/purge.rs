//! `threadmesh purge`: removes content that is past its retention, and says when nothing is left of it.

use crate::failure::{Exit, Failure, Outcome};
use crate::mesh::{Mesh, fresh_key};
use crate::target::MeshArguments;
use crate::terminal::Printer;
use crate::time;
use clap::Args;
use serde_json::{Value, json};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is asked whether anything is left.
const POLL: Duration = Duration::from_millis(100);

/// Remove the content of messages that are past their retention
///
/// Texts, evidence, receipts and sessions go; ids, states, times and digests stay. It is done when nothing is left in the
/// files of the database either: spec/retention.md.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh purge --db mesh.db --as operator
  threadmesh purge --before 2026-01-01T00:00:00Z --socket mesh.db.run/socket --as retention-policy

Exits with 1 where something was removed and may still be on the disk: somebody reads an old state of the database. The
server, or the next command on the database, goes on with it.")]
pub struct Arguments {
    /// Up to when a message must have expired, as RFC 3339; now unless given
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    /// How long to wait until nothing is left
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = time::duration)]
    timeout: Duration,
    #[command(flatten)]
    mesh: MeshArguments,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let mut mesh = arguments.mesh.open(printer)?;
    let before = arguments.before.clone().unwrap_or_else(|| time::format(time::now_ms()));
    let until = Instant::now() + arguments.timeout;
    let mut pages = Vec::new();
    loop {
        let page = page(mesh.as_mut(), &before, until)?;
        let more = page["hasMore"] == true;
        pages.push(page);
        if !more {
            break;
        }
    }
    let all = |name: &str| pages.iter().flat_map(|page| page[name].as_array().into_iter().flatten()).cloned().collect();
    let removed: [Vec<Value>; 4] = ["messages", "adapterRefs", "proposalIds", "summaryIds"].map(all);
    let counts = removed.each_ref().map(Vec::len);
    let [messages, references, proposals, summaries] = removed;
    let reason = pages.iter().find_map(|page| page["pendingReason"].as_str());
    let report = json!({
        "purges": pages.iter().map(|page| &page["purgeId"]).filter(|id| !id.is_null()).collect::<Vec<_>>(),
        "retentionCutoff": pages[0]["retentionCutoff"],
        "messages": messages,
        "adapterRefs": references,
        "proposalIds": proposals,
        "summaryIds": summaries,
        "pendingReason": reason,
    });
    printer.show(&report, || lines(&report, counts, reason));
    Ok(if reason.is_none() { Exit::Accepted } else { Exit::Refused })
}

/// One purge, and how it stands when it is over or the time is.
fn page(mesh: &mut dyn Mesh, before: &str, until: Instant) -> Result<Value, Failure> {
    let params = json!({"before": before, "idempotencyKey": fresh_key()});
    loop {
        // The same call again answers how it stands.
        let page = mesh.value("maintenance.purgeContent", &params)?;
        if page["purgedAt"].is_string() || Instant::now() >= until {
            return Ok(page);
        }
        thread::sleep(POLL);
    }
}

fn lines(report: &Value, counts: [usize; 4], reason: Option<&str>) -> Vec<String> {
    let cutoff = report["retentionCutoff"].as_str().unwrap_or_default();
    if counts == [0; 4] {
        return vec![format!("nothing that was over by {cutoff} has content any more")];
    }
    let names = [
        ("message", "messages"),
        ("adapter reference", "adapter references"),
        ("proposal", "proposals"),
        ("summary", "summaries"),
    ];
    let what = counts.iter().zip(names).filter(|(count, _)| **count > 0);
    let what = what.map(|(count, (one, many))| format!("{count} {}", if *count == 1 { one } else { many }));
    let what = what.collect::<Vec<_>>().join(", ");
    let mut lines = vec![format!("removed the content of what was over by {cutoff}: {what}")];
    lines.push(match reason {
        None => "nothing of it is left in the files of the database".to_owned(),
        Some(reason) => format!("some of it may still be on the disk ({reason}): a later command goes on with that"),
    });
    lines
}
