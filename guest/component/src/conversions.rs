//! The records of operations across the boundary, one to one.
//!
//! Also compiled into `tests/native`, over the types that the host has of the same records: what is compared with the
//! component differs from it by the sandbox alone.

use crate::verdicts::error;
use crate::wit;
use crate::wit::Fact;
use alloc::vec::Vec;
use threadmesh_protocol::kernel as core;

pub(crate) fn request(request: wit::Request) -> core::Request {
    core::Request {
        operation: request.operation,
        principal: request.principal.map(principal),
        params: request.params,
        instance: request.instance,
        cursor: request.cursor,
        context: request.context.into_iter().map(fact).collect(),
    }
}

fn fact(fact: Fact) -> core::Fact {
    core::Fact { name: fact.name, value: fact.value }
}

pub(crate) fn principal(principal: wit::Principal) -> core::Principal {
    core::Principal {
        tenant: principal.tenant,
        kind: kind(principal.kind),
        id: principal.id,
        incarnation: principal.incarnation,
        owner: principal.owner,
        worker: principal.worker,
        authentication: principal.authentication,
    }
}

fn kind(kind: wit::PrincipalKind) -> core::PrincipalKind {
    match kind {
        wit::PrincipalKind::User => core::PrincipalKind::User,
        wit::PrincipalKind::Policy => core::PrincipalKind::Policy,
        wit::PrincipalKind::Task => core::PrincipalKind::Task,
        wit::PrincipalKind::Operator => core::PrincipalKind::Operator,
        wit::PrincipalKind::Host => core::PrincipalKind::Host,
    }
}

pub(crate) fn answer(answer: wit::Answer) -> core::Answer {
    let wit::Query { collection, index, start, end, reverse, limit, bytes } = answer.query;
    let query = core::Query { collection, index, start, end, reverse, limit, bytes };
    core::Answer { query, rows: answer.rows.into_iter().map(stored).collect(), more: answer.more }
}

pub(crate) fn found(found: wit::Found) -> core::Found {
    core::Found { rows: found.rows.into_iter().map(stored).collect(), more: found.more }
}

pub(crate) fn evaluated(evaluated: wit::Evaluated) -> core::Evaluated {
    let wit::Evaluated { policy, hook, input, end, verdict, facts } = evaluated;
    let evaluation = core::Evaluation { policy, hook, input };
    core::Evaluated { evaluation, end, verdict, facts: facts.into_iter().map(fact).collect() }
}

fn stored(row: wit::Stored) -> core::Stored {
    core::Stored { id: row.id, key: row.key, revision: row.revision, body: row.body }
}

pub(crate) fn step(step: core::Step) -> wit::Step {
    let (queries, evaluations) = (Vec::new(), Vec::new());
    let mut out = wit::Step { kind: wit::StepKind::Needs, queries, evaluations, decision: None, waiting: None };
    match step {
        core::Step::Needs { queries, evaluations } => {
            out.queries = queries.into_iter().map(query).collect();
            out.evaluations = evaluations.into_iter().map(evaluation).collect();
        }
        core::Step::Ready(ready) => {
            out.kind = wit::StepKind::Ready;
            out.decision = Some(decision(ready));
        }
        core::Step::Wait { topics, until } => {
            out.kind = wit::StepKind::Wait;
            out.waiting = Some(wit::Waiting { topics, until: until as f64 });
        }
    }
    out
}

fn query(query: core::Query) -> wit::Query {
    let core::Query { collection, index, start, end, reverse, limit, bytes } = query;
    wit::Query { collection, index, start, end, reverse, limit, bytes }
}

fn evaluation(evaluation: core::Evaluation) -> wit::Evaluation {
    let core::Evaluation { policy, hook, input } = evaluation;
    wit::Evaluation { policy, hook, input }
}

fn decision(decision: core::Decision) -> wit::Decision {
    wit::Decision {
        status: match decision.status {
            core::Status::Accepted => wit::Status::Accepted,
            core::Status::Replayed => wit::Status::Replayed,
            core::Status::Refused => wit::Status::Refused,
        },
        response: decision.response,
        problem: decision.problem.map(error),
        writes: decision.writes.into_iter().map(write).collect(),
        effects: decision.effects.into_iter().map(effect).collect(),
        audit: decision.audit.into_iter().map(audit).collect(),
        topics: decision.topics,
        proceed: decision.proceed,
        facts: decision.facts.into_iter().map(|fact| Fact { name: fact.name, value: fact.value }).collect(),
    }
}

fn write(write: core::Write) -> wit::Write {
    let core::Write { collection, id, expected, body, entries } = write;
    wit::Write { collection, id, expected, body, entries: entries.into_iter().map(entry).collect() }
}

fn entry(entry: core::Entry) -> wit::Entry {
    wit::Entry { index: entry.index, key: entry.key }
}

fn effect(effect: core::Effect) -> wit::Effect {
    let kind = match effect.kind {
        core::EffectKind::Call => wit::EffectKind::Call,
        core::EffectKind::Repeatable => wit::EffectKind::Repeatable,
    };
    wit::Effect { kind, name: effect.name, key: effect.key, body: effect.body }
}

fn audit(record: core::AuditRecord) -> wit::AuditRecord {
    wit::AuditRecord { body: record.body, entries: record.entries.into_iter().map(entry).collect() }
}

pub(crate) fn operation(operation: &core::Operation) -> wit::Operation {
    wit::Operation {
        name: operation.name.into(),
        read_only: operation.read_only,
        internal: operation.internal,
        row: operation.row.into(),
    }
}

pub(crate) fn call(call: core::Call) -> wit::Call {
    wit::Call { id: call.id, method: call.method, params: call.params, response: call.response }
}
