//! The records of the boundary as JSON: members in camel case, enum cases as in WIT, what is absent is `null`.

use crate::{
    CoreError,
    wit::{
        Answer, AuditRecord, Call, Decision, Effect, EffectKind, Entry, Evaluated, Evaluation, Fact, Found, Frame,
        Group, Operation, Principal, PrincipalKind, Query, Request, Status, Step, StepKind, Stored, Write,
    },
};
use serde_json::{Value, json};

/// Why a call could not be made, or gave no answer.
pub(super) enum Fault {
    /// The arguments are not of the right shape.
    Args(String),
    /// The core failed.
    Core(CoreError),
}

fn text(value: &Value, name: &str) -> Result<String, Fault> {
    option(value, name)?.ok_or_else(|| Fault::Args(format!("`{name}` is missing")))
}

fn option(value: &Value, name: &str) -> Result<Option<String>, Fault> {
    match value.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Fault::Args(format!("`{name}` is not a string"))),
    }
}

fn count(value: &Value, name: &str) -> Result<u32, Fault> {
    let number = value.get(name).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| Fault::Args(format!("`{name}` is not a 32-bit number")))
}

fn list<T>(value: &Value, what: &str, item: impl Fn(&Value) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
    let items = value.as_array().ok_or_else(|| Fault::Args(format!("`{what}` is not a list")))?;
    items.iter().map(item).collect()
}

/// A request from JSON.
pub(super) fn request(value: &Value) -> Result<Request, Fault> {
    let principal = value.get("principal").filter(|principal| !principal.is_null()).map(principal).transpose()?;
    Ok(Request {
        operation: text(value, "operation")?,
        principal,
        params: text(value, "params")?,
        instance: text(value, "instance")?,
        cursor: option(value, "cursor")?,
        context: facts(&value["context"])?,
    })
}

/// Facts from JSON; none from null.
pub(super) fn facts(value: &Value) -> Result<Vec<Fact>, Fault> {
    if value.is_null() {
        return Ok(Vec::new());
    }
    list(value, "facts", |fact| Ok(Fact { name: text(fact, "name")?, value: text(fact, "value")? }))
}

fn fact_json(fact: &Fact) -> Value {
    json!({ "name": fact.name, "value": fact.value })
}

/// A principal from JSON.
pub(super) fn principal(value: &Value) -> Result<Principal, Fault> {
    let kind = match text(value, "kind")?.as_str() {
        "user" => PrincipalKind::User,
        "policy" => PrincipalKind::Policy,
        "task" => PrincipalKind::Task,
        "operator" => PrincipalKind::Operator,
        "host" => PrincipalKind::Host,
        other => return Err(Fault::Args(format!("there is no principal kind `{other}`"))),
    };
    Ok(Principal {
        tenant: text(value, "tenant")?,
        kind,
        id: text(value, "id")?,
        incarnation: option(value, "incarnation")?,
        owner: option(value, "owner")?,
        worker: option(value, "worker")?,
        authentication: text(value, "authentication")?,
    })
}

/// Answers from JSON.
pub(super) fn answers(value: &Value) -> Result<Vec<Answer>, Fault> {
    list(value, "answers", |value| {
        let query = query(value.get("query").unwrap_or(&Value::Null))?;
        let rows = list(value.get("rows").unwrap_or(&Value::Null), "rows", stored)?;
        Ok(Answer { query, rows, more: flag(value, "more") })
    })
}

/// What was found for the queries of a step, from JSON.
pub(super) fn found(value: &Value) -> Result<Vec<Found>, Fault> {
    list(value, "found", |value| {
        let rows = list(value.get("rows").unwrap_or(&Value::Null), "rows", stored)?;
        Ok(Found { rows, more: flag(value, "more") })
    })
}

/// Evaluations that ended, from JSON; none where they are left out.
pub(super) fn evaluated(value: Option<&Value>) -> Result<Vec<Evaluated>, Fault> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(Vec::new()) };
    list(value, "evaluated", |value| {
        Ok(Evaluated {
            policy: text(value, "policy")?,
            hook: text(value, "hook")?,
            input: text(value, "input")?,
            end: text(value, "end")?,
            verdict: option(value, "verdict")?,
            facts: facts(&value["facts"])?,
        })
    })
}

fn evaluated_json(evaluated: &Evaluated) -> Value {
    json!({
        "policy": evaluated.policy,
        "hook": evaluated.hook,
        "input": evaluated.input,
        "end": evaluated.end,
        "verdict": evaluated.verdict,
        "facts": evaluated.facts.iter().map(fact_json).collect::<Value>(),
    })
}

fn evaluation(evaluation: &Evaluation) -> Value {
    json!({ "policy": evaluation.policy, "hook": evaluation.hook, "input": evaluation.input })
}

fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or(false)
}

fn query(value: &Value) -> Result<Query, Fault> {
    Ok(Query {
        collection: text(value, "collection")?,
        index: text(value, "index")?,
        start: text(value, "start")?,
        end: option(value, "end")?,
        reverse: flag(value, "reverse"),
        limit: count(value, "limit")?,
        bytes: if value.get("bytes").is_some() { count(value, "bytes")? } else { 0 },
    })
}

fn stored(value: &Value) -> Result<Stored, Fault> {
    Ok(Stored {
        id: text(value, "id")?,
        key: text(value, "key")?,
        revision: count(value, "revision")?,
        body: text(value, "body")?,
    })
}

/// A request as JSON, as [`request`] takes it.
pub(super) fn request_json(request: &Request) -> Value {
    let principal = request.principal.as_ref().map(|principal| {
        json!({
            "tenant": principal.tenant,
            "kind": kind_name(principal.kind),
            "id": principal.id,
            "incarnation": principal.incarnation,
            "owner": principal.owner,
            "worker": principal.worker,
            "authentication": principal.authentication,
        })
    });
    json!({
        "operation": request.operation,
        "principal": principal,
        "params": request.params,
        "instance": request.instance,
        "cursor": request.cursor,
        "context": request.context.iter().map(fact_json).collect::<Value>(),
    })
}

/// The arguments of a `decide` as JSON, as [`super::answer`] takes them.
pub fn decide_args(request: &Request, answers: &[Answer], evaluated: &[Evaluated], now: f64, entropy: &str) -> Value {
    json!({
        "request": request_json(request),
        "answers": answers.iter().map(answer_json).collect::<Value>(),
        "evaluated": evaluated.iter().map(evaluated_json).collect::<Value>(),
        "now": number(now),
        "entropy": entropy,
    })
}

/// The kind's name in requests and records.
pub(crate) fn kind_name(kind: PrincipalKind) -> &'static str {
    match kind {
        PrincipalKind::User => "user",
        PrincipalKind::Policy => "policy",
        PrincipalKind::Task => "task",
        PrincipalKind::Operator => "operator",
        PrincipalKind::Host => "host",
    }
}

/// All groups.
pub(super) const GROUPS: [Group; 10] = [
    Group::Input,
    Group::Authority,
    Group::State,
    Group::Budget,
    Group::Unsupported,
    Group::Outside,
    Group::Host,
    Group::Store,
    Group::Core,
    Group::Unknown,
];

/// The group's name, as in `wit/world.wit`.
pub fn group_name(group: Group) -> &'static str {
    match group {
        Group::Input => "input",
        Group::Authority => "authority",
        Group::State => "state",
        Group::Budget => "budget",
        Group::Unsupported => "unsupported",
        Group::Outside => "outside",
        Group::Host => "host",
        Group::Store => "store",
        Group::Core => "core",
        Group::Unknown => "unknown",
    }
}

fn answer_json(answer: &Answer) -> Value {
    let row = |row: &Stored| json!({ "id": row.id, "key": row.key, "revision": row.revision, "body": row.body });
    let rows = answer.rows.iter().map(row).collect::<Value>();
    json!({ "query": query_json(&answer.query), "rows": rows, "more": answer.more })
}

fn query_json(query: &Query) -> Value {
    json!({
        "collection": query.collection,
        "index": query.index,
        "start": query.start,
        "end": query.end,
        "reverse": query.reverse,
        "limit": query.limit,
        "bytes": query.bytes,
    })
}

/// A whole number without a fraction, as every host prints it.
pub(super) fn number(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_991.0 { json!(number as i64) } else { json!(number) }
}

/// A step as JSON.
pub(super) fn step(step: &Step) -> Value {
    let kind = match step.kind {
        StepKind::Needs => "needs",
        StepKind::Ready => "ready",
        StepKind::Wait => "wait",
    };
    let waiting = step.waiting.as_ref();
    let waiting = waiting.map(|waiting| json!({ "topics": waiting.topics, "until": number(waiting.until) }));
    json!({
        "kind": kind,
        "queries": step.queries.iter().map(query_json).collect::<Value>(),
        "evaluations": step.evaluations.iter().map(evaluation).collect::<Value>(),
        "decision": step.decision.as_ref().map(decision),
        "waiting": waiting,
    })
}

/// A decision as JSON.
pub(super) fn decision(decision: &Decision) -> Value {
    let status = match decision.status {
        Status::Accepted => "accepted",
        Status::Replayed => "replayed",
        Status::Refused => "refused",
    };
    json!({
        "status": status,
        "response": decision.response,
        "problem": decision.problem.as_ref().map(super::refusal),
        "writes": decision.writes.iter().map(write).collect::<Value>(),
        "effects": decision.effects.iter().map(effect).collect::<Value>(),
        "audit": decision.audit.iter().map(audit).collect::<Value>(),
        "topics": decision.topics,
        "proceed": decision.proceed,
        "facts": decision.facts.iter().map(fact_json).collect::<Value>(),
    })
}

fn write(write: &Write) -> Value {
    json!({
        "collection": write.collection,
        "id": write.id,
        "expected": write.expected,
        "body": write.body,
        "entries": write.entries.iter().map(entry).collect::<Value>(),
    })
}

fn entry(entry: &Entry) -> Value {
    json!({ "index": entry.index, "key": entry.key })
}

fn effect(effect: &Effect) -> Value {
    let kind = match effect.kind {
        EffectKind::Call => "call",
        EffectKind::Repeatable => "repeatable",
    };
    json!({ "kind": kind, "name": effect.name, "key": effect.key, "body": effect.body })
}

fn audit(record: &AuditRecord) -> Value {
    json!({ "body": record.body, "entries": record.entries.iter().map(entry).collect::<Value>() })
}

/// An operation as JSON.
pub(super) fn operation(operation: &Operation) -> Value {
    json!({
        "name": operation.name,
        "readOnly": operation.read_only,
        "internal": operation.internal,
        "row": operation.row,
    })
}

/// A frame as JSON.
pub(super) fn frame(frame: &Frame) -> Value {
    let call =
        |call: &Call| json!({ "id": call.id, "method": call.method, "params": call.params, "response": call.response });
    json!({ "batch": frame.batch, "calls": frame.calls.iter().map(call).collect::<Value>() })
}
