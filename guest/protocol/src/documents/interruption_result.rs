//! The interruption result: rules IR-1 to IR-7.

use super::part::Part;
use super::shape::text;
use super::shared;
use crate::{Error, Rule};

pub(super) fn rules(result: Part<'_>) -> Result<(), Error> {
    shared::freshness(result)?;
    result.part("/results/modelTurn").map_or(Ok(()), target)?;
    for path in ["/results/toolCalls", "/results/subprocesses"] {
        let Some(set) = result.part(path) else { continue };
        set.parts("/targets").try_for_each(target)?;
        let unavailable = set.is("/enumeration", &["unavailable"]);
        set.must(Rule::IR5, !unavailable || set.items("/targets").next().is_none(), "/targets")?;
        let distinct = text::distinct(set.parts("/targets").map(|target| target.text("/targetId")));
        set.must(Rule::IR6, distinct, "/targets")?;
    }
    result.in_order(Rule::IR7, false, "/requestedAt", "/updatedAt")
}

/// The reason that each state of a target asks for.
fn target(target: Part<'_>) -> Result<(), Error> {
    let (rule, reasons): (Rule, &[&str]) = match target.text("/state") {
        "cancelled" => (Rule::IR1, &["accepted"]),
        "denied" => (Rule::IR2, &["policy-denied"]),
        "stale" => (Rule::IR3, &["stale-incarnation", "stale-run", "stale-objective"]),
        "failed" => (Rule::IR4, &["adapter-failed", "other"]),
        _ => return Ok(()),
    };
    target.must(rule, target.is("/reasonCode", reasons), "/reasonCode")
}
