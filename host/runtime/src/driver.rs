//! The core's functions by name, with JSON in and out: for conformance drivers and replays.
//!
//! Function and member names are those of `wit/world.wit`, members in camel case. `spec/conformance/README.md` describes
//! the protocol of a driver.

mod lines;
mod records;
#[cfg(test)]
mod tests;
mod text;

pub use lines::serve;
pub use records::decide_args;
pub use records::group_name;
pub(crate) use records::kind_name;

use crate::{
    CoreError, Outcome, Session,
    scenario::{self, Local},
    store::MemoryStore,
    wit::{Decision, Error, Evaluated, Fact, Group, Principal, Request, Verdict},
};
use records::Fault;
use serde_json::{Map, Value, json};

/// What a driver answers to one call: an object with exactly one of the members `ok`, `error` (`group`, `code`,
/// `retryable`, `pointer`, `detail`), `trap` (the core gave no answer) and `unusable` (there is no such function, or not with such arguments).
pub fn answer(session: &mut dyn Session, function: &str, args: &Value) -> Value {
    match call(session, function, args) {
        Ok(Ok(ok)) => json!({ "ok": ok }),
        Ok(Err(error)) => json!({ "error": refusal(&error) }),
        Err(Fault::Core(fault)) => json!({ "trap": fault.to_string() }),
        Err(Fault::Args(what)) => json!({ "unusable": what }),
    }
}

/// A request from JSON; the error says what is wrong with it.
pub(crate) fn request_from(value: &Value) -> Result<Request, String> {
    records::request(value).map_err(said)
}

/// Facts from JSON, none from null; the error says what is wrong with them.
pub fn facts_from(value: &Value) -> Result<Vec<Fact>, String> {
    records::facts(value).map_err(said)
}

/// Evaluations that ended from JSON, none from null; the error says what is wrong with them.
pub(crate) fn evaluated_from(value: &Value) -> Result<Vec<Evaluated>, String> {
    records::evaluated(Some(value)).map_err(said)
}

/// A principal from JSON; the error says what is wrong with it.
pub fn principal_from(value: &Value) -> Result<Principal, String> {
    records::principal(value).map_err(said)
}

fn said(fault: Fault) -> String {
    match fault {
        Fault::Args(what) => what,
        Fault::Core(error) => error.to_string(),
    }
}

/// A request as JSON, as [`request_from`] takes it.
pub(crate) fn request_json(request: &Request) -> Value {
    records::request_json(request)
}

/// A decision as JSON.
pub(crate) fn decision_json(decision: &Decision) -> Value {
    records::decision(decision)
}

/// The error in such an answer; a group that is not known is the core's.
pub fn error_from(refusal: &Value) -> Error {
    let text = |name: &str| refusal[name].as_str().unwrap_or_default().to_owned();
    let named = |group: &&Group| group_name(**group) == refusal["group"];
    Error {
        group: records::GROUPS.iter().find(named).copied().unwrap_or(Group::Core),
        code: text("code"),
        retryable: refusal["retryable"] == true,
        pointer: text("pointer"),
        detail: text("detail"),
    }
}

/// An error of the core as JSON.
fn refusal(error: &Error) -> Value {
    json!({
        "group": group_name(error.group),
        "code": error.code,
        "retryable": error.retryable,
        "pointer": error.pointer,
        "detail": error.detail,
    })
}

fn call(session: &mut dyn Session, function: &str, args: &Value) -> Result<Result<Value, Error>, Fault> {
    let args = Args(args.as_object().ok_or_else(|| Fault::Args("`args` is not an object".into()))?);
    let found = match function {
        "canonicalize" | "digest" | "check" | "parse-time" | "split" => return documents(session, function, args),
        "describe" => Ok(session.describe()?.into()),
        "kinds" => Ok(session.kinds()?.into()),
        "verify" | "check-anchors" | "verify-disposition" => attestation(session, function, args)?,
        "step" => answered(session.step(args.text("machine")?, args.text("state")?, args.text("event")?))?,
        "check-reason" => answered(session.check_reason(args.text("state")?, args.text("reason")?))?,
        "check-combination" => answered(session.check_combination(args.text("states")?))?,
        "decide" => {
            let request = records::request(args.need("request")?)?;
            let answers = records::answers(args.need("answers")?)?;
            let evaluated = records::evaluated(args.0.get("evaluated"))?;
            let (now, entropy) = (args.number("now")?, args.text("entropy")?);
            session.decide(&request, &answers, &evaluated, now, entropy)?.map(|step| records::step(&step))
        }
        "resume" => {
            let found = records::found(args.need("found")?)?;
            let evaluated = records::evaluated(args.0.get("evaluated"))?;
            let step = session.resume(args.text("entropy")?, &found, &evaluated)?;
            step.map(|step| step.as_ref().map_or(Value::Null, records::step))
        }
        "check-principal" => {
            let problem = session.check_principal(&records::principal(args.need("principal")?)?)?;
            problem.map_or(Ok(Value::Bool(true)), Err)
        }
        "operations" => Ok(session.operations()?.iter().map(records::operation).collect()),
        "scenario" => {
            let store = MemoryStore::new();
            let mut local = Local::new(session, &store);
            let transcript = scenario::perform(&Value::Object(args.0.clone()), &mut local);
            Ok(transcript.map_err(|what| local.fault().map_or(Fault::Args(what), Fault::Core))?)
        }
        _ => return Err(Fault::Args(format!("there is no function `{function}`"))),
    };
    Ok(found)
}

/// The functions whose text may come in other ways than as a string.
fn documents(session: &mut dyn Session, function: &str, args: Args<'_>) -> Result<Result<Value, Error>, Fault> {
    let text = match text::of(args.0)? {
        Ok(text) => text,
        Err(refused) => return Ok(Err(refused)),
    };
    match function {
        "canonicalize" => answered(session.canonicalize(&text)),
        "digest" => answered(session.digest(&text)),
        "parse-time" => Ok(session.parse_time(&text)?.map(records::number)),
        "split" => Ok(Ok(records::frame(&session.split(&text)?))),
        _ => Ok(session
            .check(args.text("kind")?, &text)?
            .map(|checked| json!({ "canonical": checked.canonical, "digest": checked.digest }))),
    }
}

fn attestation(session: &mut dyn Session, function: &str, args: Args<'_>) -> Result<Result<Value, Error>, Fault> {
    let anchors = args.text("anchors")?;
    if function == "check-anchors" {
        return answered(session.check_anchors(anchors));
    }
    let (document, now) = (args.text("document")?, args.number("now")?);
    if function == "verify" {
        return Ok(session.verify(document, anchors, args.text("expected")?, now)?.map(|found| verdict(&found)));
    }
    let verdicts = session.verify_disposition(document, anchors, now)?;
    Ok(verdicts.map(|all| all.iter().map(verdict).collect()))
}

fn answered<T: Into<Value>>(outcome: Outcome<T>) -> Result<Result<Value, Error>, Fault> {
    Ok(outcome?.map(Into::into))
}

/// A verdict as the drivers write it: the subject is a text that holds JSON.
pub fn verdict(verdict: &Verdict) -> Value {
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

impl From<CoreError> for Fault {
    fn from(error: CoreError) -> Self {
        Self::Core(error)
    }
}

/// The arguments of a call.
#[derive(Clone, Copy)]
struct Args<'a>(&'a Map<String, Value>);

impl<'a> Args<'a> {
    fn need(self, name: &str) -> Result<&'a Value, Fault> {
        self.0.get(name).ok_or_else(|| Fault::Args(format!("the argument `{name}` is missing")))
    }

    fn text(self, name: &str) -> Result<&'a str, Fault> {
        self.need(name)?.as_str().ok_or_else(|| Fault::Args(format!("the argument `{name}` is not a string")))
    }

    fn number(self, name: &str) -> Result<f64, Fault> {
        self.need(name)?.as_f64().ok_or_else(|| Fault::Args(format!("the argument `{name}` is not a number")))
    }
}
