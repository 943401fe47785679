//! The functions of the vectors, with JSON in and out.

use serde_json::{Value, json};
use threadmesh_fuzz::targets::decide::cast::{facts, principal_from};
use threadmesh_protocol::{
    Error, about, attestation, documents, json as rules,
    kernel::{
        self, Answer, AuditRecord, Call, Decision, Effect, EffectKind, Entry, Evaluated, Evaluation, Query, Request,
        Status, Step, Stored, Write,
    },
    lifecycle, operations, time,
};

/// The answer of the function; the outer error says that the vector is none.
pub(crate) fn answer(function: &str, args: &Value) -> Result<Result<Value, Error>, String> {
    let text = |name: &str| args[name].as_str().unwrap_or_default();
    let now = args["now"].as_f64().unwrap_or(f64::NAN);
    Ok(match function {
        "canonicalize" | "digest" | "check" | "split" | "parse-time" => {
            let bytes = input(args)?;
            match rules::text(&bytes) {
                // A byte-order mark is the core's to refuse.
                Err(error) if std::str::from_utf8(&bytes).is_err() => Err(error),
                _ => of_text(function, std::str::from_utf8(&bytes).unwrap_or_default(), text("kind")),
            }
        }
        "describe" => Ok(about::DESCRIPTION.into()),
        "check-principal" => {
            let principal = principal_from(&args["principal"]).ok_or("no principal")?;
            kernel::check_principal(&principal).map_or(Ok(Value::Bool(true)), Err)
        }
        "kinds" => Ok(documents::kinds().collect()),
        "check-anchors" => attestation::check_anchors(text("anchors")).map(Into::into),
        "verify" => attestation::verify(text("document"), text("anchors"), text("expected"), now).map(verdict),
        "verify-disposition" => attestation::verify_disposition(text("document"), text("anchors"), now)
            .map(|all| all.into_iter().map(verdict).collect()),
        "step" => lifecycle::step_text(text("machine"), text("state"), text("event")).map(Into::into),
        "check-reason" => lifecycle::check_reason(text("state"), text("reason")).map(Into::into),
        "check-combination" => lifecycle::check_combination(text("states")).map(Into::into),
        "operations" => Ok(operations::operations().iter().map(operation).collect()),
        "decide" => decide(args, now, text("entropy"))?,
        other => return Err(format!("there is no function {other}")),
    })
}

/// An error as the vectors give it.
pub(crate) fn refusal(error: &Error) -> Value {
    let Error { code, pointer, detail } = error;
    json!({
        "group": code.group().name(), "code": code.name(), "retryable": code.retryable(), "pointer": pointer,
        "detail": detail,
    })
}

/// The refusal that an accepted answer of `decide` or `split` holds.
pub(crate) fn refused_by_value(function: &str, value: &Value) -> Option<Value> {
    let found = match function {
        "decide" => value["decision"]["problem"].clone(),
        "split" if value["batch"] == Value::Bool(false) => {
            let response: Value = serde_json::from_str(value["calls"][0]["response"].as_str()?).ok()?;
            response["error"]["data"].clone()
        }
        _ => return None,
    };
    Some(found).filter(|found| !found.is_null())
}

fn of_text(function: &str, text: &str, kind: &str) -> Result<Value, Error> {
    match function {
        "canonicalize" => rules::parse(text).map(|tree| tree.canonical().into()),
        "digest" => rules::parse(text).map(|tree| tree.digest().into()),
        "parse-time" => time::parse(text).map(Into::into),
        "split" => {
            let frame = kernel::split(text);
            Ok(json!({ "batch": frame.batch, "calls": frame.calls.iter().map(call).collect::<Value>() }))
        }
        _ => documents::check(kind, text).map(|all| json!({ "canonical": all.canonical, "digest": all.digest })),
    }
}

/// The bytes that a vector gives in one of three ways.
fn input(args: &Value) -> Result<Vec<u8>, String> {
    if let Some(text) = args["text"].as_str() {
        return Ok(text.into());
    }
    if let Some(text) = args["bytes_base64url"].as_str() {
        return Ok(base64url(text));
    }
    let repeat = &args["text_repeat"];
    let part = |name: &str| repeat[name].as_str().unwrap_or_default();
    let times = repeat["times"].as_u64().ok_or("no text")?;
    Ok([part("head"), &part("unit").repeat(usize::try_from(times).unwrap_or(0)), part("tail")].concat().into())
}

fn base64url(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let value = |letter: u8| LETTERS.iter().position(|known| *known == letter).expect("base64url") as u32;
    let whole = |group: &[u8]| {
        let bits = group.iter().fold(0, |bits, letter| bits << 6 | value(*letter)) << (6 * (4 - group.len()));
        bits.to_be_bytes()[1..group.len()].to_vec()
    };
    text.as_bytes().chunks(4).flat_map(whole).collect()
}

fn verdict(verdict: attestation::Verdict) -> Value {
    json!({
        "attestationId": verdict.attestation_id,
        "keyId": verdict.key_id,
        "algorithm": verdict.algorithm,
        "actorId": verdict.actor_id,
        "trustDomain": verdict.trust_domain,
        "policyId": verdict.policy_id,
        "signedPayloadDigest": verdict.signed_payload_digest,
        "subject": verdict.subject,
    })
}

fn operation(known: &kernel::Operation) -> Value {
    json!({ "name": known.name, "readOnly": known.read_only, "internal": known.internal, "row": known.row })
}

fn call(call: &Call) -> Value {
    json!({ "id": call.id, "method": call.method, "params": call.params, "response": call.response })
}

fn decide(args: &Value, now: f64, entropy: &str) -> Result<Result<Value, Error>, String> {
    let asked = &args["request"];
    let request = Request {
        operation: text(asked, "operation"),
        principal: principal_from(&asked["principal"]),
        params: text(asked, "params"),
        instance: text(asked, "instance"),
        cursor: asked["cursor"].as_str().map(Into::into),
        context: facts(&asked["context"]),
    };
    let count = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
    let row = |row: &Value| Stored {
        id: text(row, "id"),
        key: text(row, "key"),
        revision: count(&row["revision"]),
        body: text(row, "body"),
    };
    let answer = |answer: &Value| {
        let query = &answer["query"];
        let query = Query {
            collection: text(query, "collection"),
            index: text(query, "index"),
            start: text(query, "start"),
            end: query["end"].as_str().map(Into::into),
            reverse: query["reverse"].as_bool().unwrap_or(false),
            limit: count(&query["limit"]),
            bytes: count(&query["bytes"]),
        };
        let rows = answer["rows"].as_array().into_iter().flatten().map(row).collect();
        Answer { query, rows, more: answer["more"].as_bool().unwrap_or(false) }
    };
    let answers: Vec<Answer> = args["answers"].as_array().ok_or("no answers")?.iter().map(answer).collect();
    let evaluated = evaluated(&args["evaluated"]);
    Ok(operations::decide(&request, &answers, &evaluated, now, entropy).map(step))
}

/// A text; empty where there is none.
fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

/// The evaluations of a list; none where there is no list.
pub(crate) fn evaluated(list: &Value) -> Vec<Evaluated> {
    let read = |value: &Value| Evaluated {
        evaluation: Evaluation {
            policy: text(value, "policy"),
            hook: text(value, "hook"),
            input: text(value, "input"),
        },
        end: text(value, "end"),
        verdict: value["verdict"].as_str().map(Into::into),
        facts: facts(&value["facts"]),
    };
    list.as_array().into_iter().flatten().map(read).collect()
}

fn evaluation(evaluation: &Evaluation) -> Value {
    json!({ "policy": evaluation.policy, "hook": evaluation.hook, "input": evaluation.input })
}

fn step(step: Step) -> Value {
    match step {
        Step::Needs { queries, evaluations } => json!({
            "kind": "needs",
            "queries": queries.iter().map(query).collect::<Value>(),
            "evaluations": evaluations.iter().map(evaluation).collect::<Value>(),
        }),
        Step::Ready(decision) => {
            json!({ "kind": "ready", "queries": [], "evaluations": [], "decision": decided(&decision) })
        }
        Step::Wait { topics, until } => {
            let waiting = json!({ "topics": topics, "until": until });
            json!({ "kind": "wait", "queries": [], "evaluations": [], "waiting": waiting })
        }
    }
}

fn query(query: &Query) -> Value {
    let Query { collection, index, start, end, reverse, limit, bytes } = query;
    json!({
        "collection": collection, "index": index, "start": start, "end": end, "reverse": reverse, "limit": limit,
        "bytes": bytes,
    })
}

fn decided(decision: &Decision) -> Value {
    let status = match decision.status {
        Status::Accepted => "accepted",
        Status::Replayed => "replayed",
        Status::Refused => "refused",
    };
    json!({
        "status": status,
        "response": decision.response,
        "problem": decision.problem.as_ref().map(refusal),
        "writes": decision.writes.iter().map(write).collect::<Value>(),
        "effects": decision.effects.iter().map(effect).collect::<Value>(),
        "audit": decision.audit.iter().map(audit).collect::<Value>(),
        "topics": decision.topics,
        "proceed": decision.proceed,
        "facts": decision.facts.iter().map(|fact| json!({ "name": fact.name, "value": fact.value })).collect::<Value>(),
    })
}

fn entries(entries: &[Entry]) -> Value {
    entries.iter().map(|entry| json!({ "index": entry.index, "key": entry.key })).collect()
}

fn write(write: &Write) -> Value {
    let Write { collection, id, expected, body, entries: keys } = write;
    json!({ "collection": collection, "id": id, "expected": expected, "body": body, "entries": entries(keys) })
}

fn effect(effect: &Effect) -> Value {
    let kind = if effect.kind == EffectKind::Call { "call" } else { "repeatable" };
    json!({ "kind": kind, "name": effect.name, "key": effect.key, "body": effect.body })
}

fn audit(record: &AuditRecord) -> Value {
    json!({ "body": record.body, "entries": entries(&record.entries) })
}
