//! What holds of every decision, whoever asked for whatever.

use super::{found, key, of_tenant};
use crate::{store::Store, targets::canonical_json::WIDE};
use serde_json::Value as Other;
use threadmesh_protocol::{
    json,
    kernel::{Decision, Effect, EffectKind, Operation, PrincipalKind, Request, Status},
    operations::operations,
};

/// The rows of a decision, and its answer, are such as a host may commit and pass on.
pub(crate) fn sound(request: &Request, decision: &Decision, store: &Store) {
    let operation = operations().iter().find(|operation| operation.name == request.operation);
    answer(request, decision, operation);
    let host = request.principal.as_ref().is_some_and(|principal| principal.kind == PrincipalKind::Host);
    if decision.status != Status::Accepted {
        silent(decision);
    }
    if decision.status == Status::Refused {
        return;
    }
    let operation = operation.expect("what was done is in the table");
    assert!(host || !operation.internal, "{} for somebody else than the host", operation.name);
    if operation.read_only {
        silent(decision);
    }
    let tenant = key(&request.principal.as_ref().expect("somebody").tenant);
    writes(decision, store, &tenant);
    decision.effects.iter().for_each(|effect| shaped(effect, operation));
    for record in &decision.audit {
        assert!(!record.entries.is_empty(), "an audit record that nobody finds");
        assert!(json::parse_with(&record.body, &WIDE, false).is_ok());
        assert!(record.entries.iter().all(|entry| found("audit", entry, &tenant)), "audit leaves the tenant");
    }
}

/// Nothing to commit, nothing to do.
fn silent(decision: &Decision) {
    assert!(decision.writes.is_empty(), "writes without doing anything: {:?}", decision.writes);
    assert!(decision.effects.is_empty() && decision.audit.is_empty() && decision.topics.is_empty());
    assert!(decision.proceed.is_none());
}

/// The member of the JSON-RPC response.
fn answer(request: &Request, decision: &Decision, operation: Option<&Operation>) {
    json::parse_with(&decision.response, &WIDE, false).expect("an answer is strict JSON");
    let answer: Other = serde_json::from_str(&decision.response).expect("an answer is JSON");
    assert_eq!(decision.problem.is_some(), decision.status == Status::Refused);
    if let Some(problem) = &decision.problem {
        assert!(answer["code"].is_i64() && answer["message"].is_string(), "{answer}");
        assert_eq!(answer["data"]["code"], problem.code.name());
        assert_eq!(answer["data"]["threadmeshCode"], problem.code.public());
        assert!(answer["data"]["pointer"].is_string() && answer["data"]["detail"].is_string());
        return;
    }
    let operation = operation.expect("what was done is in the table");
    assert_eq!(answer["method"], operation.name);
    assert!(!answer["value"].is_null(), "{answer}");
    if let Some(replay) = answer["value"].get("operationReplay") {
        assert_eq!(*replay, Other::Bool(decision.status == Status::Replayed));
        assert!(!operation.read_only, "{} has a key", request.operation);
    }
}

/// Each write follows from the revision that was read, and stays within the tenant.
fn writes(decision: &Decision, store: &Store, tenant: &str) {
    for write in &decision.writes {
        let place = (&write.collection, &write.id);
        let before = decision.writes.iter().take_while(|other| !std::ptr::eq(*other, write));
        let twice = before.filter(|other| (&other.collection, &other.id) == place).count();
        assert_eq!(twice, 0, "writes {place:?} twice");
        assert_eq!(write.expected, store.revision(&write.collection, &write.id), "{place:?} was not read");
        assert!(of_tenant(&write.id, tenant), "{place:?} leaves the tenant {tenant}");
        for entry in &write.entries {
            assert!(!entry.index.is_empty(), "{entry:?} is the id");
            assert!(found(&write.collection, entry, tenant), "{entry:?} leaves the tenant");
        }
        if let Some(body) = &write.body {
            assert!(json::parse_with(body, &WIDE, false).is_ok(), "{place:?} is no JSON");
        }
    }
}

fn shaped(effect: &Effect, operation: &Operation) {
    let body: Other = serde_json::from_str(&effect.body).expect("arguments are JSON");
    let begins = matches!(operation.name, "adapter.beginSubmission" | "adapter.acceptAndBegin");
    match effect.kind {
        // To look at evidence changes nothing outside; what is found is held against the fence.
        EffectKind::Call if effect.name == "inquiry.ask" => {
            assert!(!begins && body["fence"].is_u64(), "{} asks for {body}", operation.name);
            assert!(effect.key.ends_with(&format!("#{}", body["fence"])), "{}", effect.key);
        }
        EffectKind::Call => {
            assert!(begins, "{} calls outside", operation.name);
            assert_eq!(body["submissionId"], effect.key.as_str());
        }
        EffectKind::Repeatable => assert!(!begins, "a submission that may be repeated"),
    }
}
