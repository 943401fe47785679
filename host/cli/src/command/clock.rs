//! `threadmesh clock accept`: the operator's word that the clock is right.

use crate::database;
use crate::failure::{Exit, Failure, Outcome};
use crate::local::Local;
use crate::mesh::reply;
use crate::open::{self, Opening};
use crate::target::TokenArguments;
use crate::terminal::Printer;
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::PathBuf;
use threadmesh_runtime::rpc;
use threadmesh_server::hosted::principal;
use threadmesh_server::tokens;

/// Say that the clock is right although something was committed at a later time.
///
/// While the clock lies more than 5 seconds behind the last commit, nothing is written: what expired could live again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh doctor --db mesh.db
  threadmesh clock accept --db mesh.db --as operator")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Take the clock as it is from now on; on record with the operator's name
    Accept(Accept),
}

#[derive(Debug, Args)]
struct Accept {
    /// The database; that of this account unless given
    #[arg(long, value_name = "FILE", env = "THREADMESH_DB")]
    db: Option<PathBuf>,
    /// The token file, if it is not FILE.tokens.json
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    #[command(flatten)]
    token: TokenArguments,
    /// A file with the time in milliseconds since the Unix epoch (for tests only)
    #[arg(long, value_name = "FILE", hide = true)]
    test_clock: Option<PathBuf>,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let Action::Accept(accept) = &arguments.action;
    let db = database::chosen(accept.db.as_deref())?;
    open::existing(&db, false)?;
    let secret = accept.token.secret(Some(&db))?;
    let tokens = accept.tokens.clone().unwrap_or_else(|| tokens::default_path(&db));
    let opening = Opening { test_clock: accept.test_clock.as_deref(), ..Opening::existing(&db) };
    let local = Local::open(&opening, &tokens, &secret)?;
    if local.entry().principal.kind != tokens::Kind::Operator {
        let detail = "only the operator may say that the clock is right";
        return Err(Failure::refused("operator-required", detail, "use the token of an operator: --as operator"));
    }
    let accepted = local.opened().host().accept_clock(&principal(local.entry()));
    let accepted = accepted.map_err(|error| Failure { detail: error.to_string(), ..reply(&rpc::failed(&error)) })?;
    printer.show(&json!({"accepted": accepted}), || {
        vec![match accepted {
            true => "the clock counts as right from now on; it is on record who said so".to_owned(),
            false => "the clock is not behind; nothing was changed".to_owned(),
        }]
    });
    Ok(Exit::Accepted)
}
