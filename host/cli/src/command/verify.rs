//! `threadmesh verify FILE --anchors FILE`: does a signed document stand, by anchors that the user trusts?

use crate::core::{flat, with_session};
use crate::failure::{Exit, Failure, Outcome};
use crate::terminal::Printer;
use crate::{input, time};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use threadmesh_runtime::{Session, driver, wit::Verdict};

/// Verify an attestation, or a disposition with its attestations, offline.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh verify attestation.json --anchors anchors.json
  threadmesh verify disposition.json --anchors anchors.json --expect-message msg_0000001
  threadmesh verify old.json --anchors anchors.json --at 2026-08-01T00:00:00Z

ANCHORS is a JSON array of trust anchors that you configured; never take it from whoever sent FILE.
Exit codes: 0 verified, 1 refused, 2 unusable.")]
pub struct Arguments {
    /// The document; `-` is standard input
    file: String,
    /// A file with a JSON array of trust anchors
    #[arg(long, value_name = "FILE")]
    anchors: String,
    /// What the document is; found out by itself unless given
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// The message that it must be about
    #[arg(long, value_name = "ID")]
    expect_message: Option<String>,
    /// The sender incarnation that it must be about
    #[arg(long, value_name = "ID")]
    expect_sender: Option<String>,
    /// The claim type that it must make
    #[arg(long, value_name = "TYPE")]
    expect_claim_type: Option<String>,
    /// The claim digest that it must make
    #[arg(long, value_name = "DIGEST")]
    expect_claim_digest: Option<String>,
    /// The evidence digest that it must name
    #[arg(long, value_name = "DIGEST")]
    expect_evidence_digest: Option<String>,
    /// The time at which anchors must be valid (RFC 3339); now unless given
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
}

/// What can be verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A verification attestation.
    Attestation,
    /// A disposition whose outcome is externally verified.
    Disposition,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let document = input::text(&arguments.file)?;
    let anchors = input::text(&arguments.anchors)?;
    with_session(|session| {
        let now = match &arguments.at {
            Some(text) => {
                flat(session.parse_time(text)).map_err(|failure| Failure { exit: Exit::Unusable, ..failure })?
            }
            // Whole milliseconds of this age fit into a double.
            None => time::now_ms() as f64,
        };
        // An unusable anchor file is no verdict on the document.
        flat(session.check_anchors(&anchors)).map_err(|failure| Failure {
            exit: Exit::Unusable,
            next: format!("mend {}", arguments.anchors),
            ..failure
        })?;
        let verdicts = verdicts(session, arguments, &document, &anchors, now)?;
        printer.show(&json!({"file": arguments.file, "accepted": true, "verdicts": verdicts.iter().map(as_json).collect::<Vec<_>>()}), || {
            verdicts.iter().flat_map(|verdict| for_people(&arguments.file, verdict)).collect()
        });
        Ok(Exit::Accepted)
    })
}

fn verdicts(
    session: &mut dyn Session,
    arguments: &Arguments,
    document: &str,
    anchors: &str,
    now: f64,
) -> Result<Vec<Verdict>, Failure> {
    let expected = expected(arguments);
    let kind = kind(arguments, document);
    if kind == Kind::Disposition && arguments.expect_evidence_digest.is_some() {
        let next = "leave --expect-evidence-digest out";
        return Err(Failure::unusable(
            "usage",
            "a disposition may have attestations on several pieces of evidence",
            next,
        ));
    }
    if kind == Kind::Attestation {
        let expected = Value::Object(expected).to_string();
        return Ok(vec![flat(session.verify(document, anchors, &expected, now))?]);
    }
    let verdicts = flat(session.verify_disposition(document, anchors, now))?;
    let unmet = |verdict: &Verdict| {
        let subject: Value = serde_json::from_str(&verdict.subject).unwrap_or_default();
        expected.iter().any(|(member, value)| &subject[member] != value)
    };
    match verdicts.iter().any(unmet) {
        true => Err(Failure::refused("verification-subject-mismatch", "the disposition is about something else", "")),
        false => Ok(verdicts),
    }
}

/// An attestation has a proof, a disposition has none; what is neither is refused by either.
fn kind(arguments: &Arguments, document: &str) -> Kind {
    let disposition =
        || serde_json::from_str::<Value>(document).is_ok_and(|value| value.get("dispositionId").is_some());
    arguments.kind.unwrap_or_else(|| if disposition() { Kind::Disposition } else { Kind::Attestation })
}

fn expected(arguments: &Arguments) -> Map<String, Value> {
    let members = [
        ("messageId", &arguments.expect_message),
        ("senderIncarnationId", &arguments.expect_sender),
        ("claimType", &arguments.expect_claim_type),
        ("claimDigest", &arguments.expect_claim_digest),
        ("evidenceDigest", &arguments.expect_evidence_digest),
    ];
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Value::from(value.clone()?)))).collect()
}

fn as_json(verdict: &Verdict) -> Value {
    let mut shown = driver::verdict(verdict);
    shown["subject"] = serde_json::from_str(&verdict.subject).unwrap_or_default();
    shown
}

fn for_people(file: &str, verdict: &Verdict) -> Vec<String> {
    vec![
        format!("{file}: verified {}", verdict.attestation_id),
        format!(
            "  signed by  {} of {} ({}, key {})",
            verdict.actor_id, verdict.trust_domain, verdict.algorithm, verdict.key_id
        ),
        format!("  by policy  {}", verdict.policy_id),
        format!("  about      {}", verdict.subject),
        format!("  payload    {}", verdict.signed_payload_digest),
    ]
}
