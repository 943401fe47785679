//! `threadmesh doctor`: is everything in place?

mod findings;
mod store;

use crate::failure::{Exit, Outcome};
use crate::terminal::Printer;
use crate::{core, database, outside, time};
use clap::Args;
use findings::{Finding, Level, bad, broken, fine, note};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use threadmesh_runtime::engine::Origin;
use threadmesh_runtime::{Core, WasmCore};

/// Check the program, its component, and a database with what lies beside it. Reads only, and needs no token.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh doctor
  threadmesh doctor --db mesh.db --json
  threadmesh doctor --profiles profiles.toml

Exit codes: 0 nothing is wrong (notes may be worth reading), 1 it works but something must be put right, 2 it cannot be
used.")]
pub struct Arguments {
    /// The database to look at; that of this account, if there is one, unless given
    #[arg(long, value_name = "FILE", env = "THREADMESH_DB")]
    db: Option<PathBuf>,
    /// The token file, if it is not FILE.tokens.json
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// The operator's file to look at: lists its adapter profiles and its resolvers of evidence
    #[arg(long, value_name = "FILE")]
    profiles: Option<PathBuf>,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let mut findings = vec![fine("program", format!("threadmesh {}", env!("CARGO_PKG_VERSION")))];
    findings.extend(component());
    findings.push(clock());
    findings.extend(arguments.profiles.as_deref().map_or_else(Vec::new, outside));
    let own = || database::of_account().filter(|db| db.exists());
    if let Some(db) = arguments.db.clone().or_else(own) {
        findings.extend(store::examine(&db, arguments.tokens.as_deref()));
    }
    let exit = findings.iter().map(|finding| finding.level.exit()).max().unwrap_or(Exit::Accepted);
    let report = json!({"healthy": exit == Exit::Accepted, "findings": findings.iter().map(Finding::to_json).collect::<Vec<_>>()});
    printer.show(&report, || findings.iter().flat_map(Finding::lines).collect());
    Ok(exit)
}

/// Loads the component and asks it something whose answer is known.
fn component() -> Vec<Finding> {
    let digest = threadmesh_artifact::CORE_DIGEST;
    let core = match core::load() {
        Ok(core) => core,
        Err(failure) => return vec![broken("component", failure.detail, "build the program again")],
    };
    let cache = match core.origin() {
        Origin::Carried => fine("cache", "the program carries the compiled component".to_owned()),
        Origin::Loaded => fine("cache", "the compiled component came from the cache".to_owned()),
        Origin::Compiled => fine("cache", "the compiled component is in the cache from now on".to_owned()),
        Origin::NotKept(why) => note(
            "cache",
            format!("the component is compiled at every start: {why}"),
            "set THREADMESH_CACHE_DIR to a private folder",
        ),
    };
    let component = match answers(&core) {
        true => fine("component", format!("core {digest}")),
        false => broken("component", format!("core {digest} does not answer as it must"), "build the program again"),
    };
    vec![component, cache]
}

/// What the operator's file configures. Targets and sources are not asked anything.
fn outside(path: &Path) -> Vec<Finding> {
    let read = core::load().and_then(|core| outside::read(path, &Arc::new(core)));
    let outside = match read {
        Ok(outside) => outside,
        Err(failure) => return vec![broken("profiles", failure.detail, &failure.next)],
    };
    let profiles = outside.profiles.iter().map(|profile| {
        let executor = if profile.adapter.is_some() { "called by the host" } else { "called by the receiver's task" };
        fine("profile", format!("{}: {executor}, {}", profile.name, profile.digest))
    });
    let resolvers = outside.resolvers.iter().map(|resolver| {
        let made_by = resolver.producers.join(", ");
        fine("resolver", format!("{}: {}, made by {made_by}, {}", resolver.name, resolver.kind, resolver.digest))
    });
    profiles.chain(resolvers).collect()
}

fn answers(core: &WasmCore) -> bool {
    // The digest of `null`, pinned by the public draft.
    const KNOWN: &str = "sha256:74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b";
    core.session().is_ok_and(|mut session| matches!(session.digest("null"), Ok(Ok(digest)) if digest == KNOWN))
}

/// A clock before this program was written is wrong.
fn clock() -> Finding {
    const WRITTEN_MS: u64 = 1_767_225_600_000;
    let now = time::now_ms();
    match now < WRITTEN_MS {
        true => {
            bad("clock", format!("it says {}", time::format(now)), "set the clock: messages and grants expire by it")
        }
        false => fine("clock", format!("it says {}", time::format(now))),
    }
}

impl Level {
    const fn exit(self) -> Exit {
        match self {
            Level::Fine | Level::Note => Exit::Accepted,
            Level::Bad => Exit::Refused,
            Level::Broken => Exit::Unusable,
        }
    }
}
