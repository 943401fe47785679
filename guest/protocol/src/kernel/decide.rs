//! The frame around every operation: authentication, params, idempotency, and the answer.

use crate::documents::{Params, shape};
use crate::generated::{limits, shapes};
use crate::json::{self, Parse, Writer};
use crate::kernel::{
    Decision, Fact, Principal, PrincipalKind, Request, Status, Step,
    context::{Context, Given},
    flow::{Flow, Stop},
    operation::Entry,
};
use crate::rules::check;
use crate::{Code, Error, Rule};
use alloc::{format, string::String, vec::Vec};

/// The entry of an operation in the table, by its name.
pub(crate) type Find = fn(&str) -> Option<&'static Entry>;

/// How many facts a request's context has at most, and how many bytes a text of one; checked by their own values.
const FACTS_MAX: usize = limits::CONTEXT_FACTS_MAX as usize;
const FACT_BYTES_MAX: usize = limits::CONTEXT_FACT_BYTES_MAX as usize;

/// What the first step of an operation is asked with, and every later one again.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// The operation.
    pub request: &'a Request,
    /// Milliseconds since the epoch, as they came.
    pub now: f64,
    /// 64 hex digits, as they came.
    pub entropy: &'a str,
}

/// The first step of an operation, or a later one of which nothing was kept. What was parsed comes back with the step.
pub(crate) fn decide(find: Find, asked: Asked<'_>, given: Given<'_>) -> Result<(Step, Option<Parse>), Error> {
    let Asked { request, now, entropy } = asked;
    let now = whole(now)?;
    let sound = entropy.len() == 64 && entropy.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !sound {
        return Err(Error::new(Code::HostMisuse, "", "entropy is 64 hex digits"));
    }
    let refused = |error| Ok((Step::Ready(refusal(error, false)), None));
    let (entry, tree) = match enter(find, request) {
        Ok(entered) => entered,
        Err(error) => return refused(error),
    };
    let Some(principal) = request.principal.as_ref() else {
        return refused(Error::broken(Rule::OP1, ""));
    };
    let step = match Params::from_value(entry.operation.name, tree.root()) {
        Ok(shaped) => step(Context::new(request, principal, shaped, given, now, entropy), entry)?,
        Err(error) => return refused(error),
    };
    Ok((step, Some(tree.into_parse())))
}

/// A later step of an operation whose earlier one parsed the params and took them; nothing where none can have.
pub(crate) fn again(
    find: Find,
    asked: Asked<'_>,
    parse: Parse,
    given: Given<'_>,
) -> Option<Result<(Step, Option<Parse>), Error>> {
    let Asked { request, now, entropy } = asked;
    let entry = find(&request.operation)?;
    let tree = parse.over(&request.params);
    let shaped = Params::again(entry.operation.name, tree.root())?;
    let cx = Context::new(request, request.principal.as_ref()?, shaped, given, whole(now).ok()?, entropy);
    let step = step(cx, entry);
    Some(step.map(|step| (step, Some(tree.into_parse()))))
}

/// Runs an operation over what is there.
fn step(mut cx: Context<'_>, entry: &Entry) -> Result<Step, Error> {
    match run(&mut cx, entry) {
        Ok(value) => Ok(Step::Ready(accepted(cx, entry, &value))),
        Err(Stop::Needs) => Ok(Step::Needs { queries: cx.missing, evaluations: cx.unevaluated }),
        Err(Stop::Wait(topics, until)) => Ok(Step::Wait { topics, until }),
        Err(Stop::Refuse(error)) => {
            cx.tell("code", error.code.name());
            Ok(Step::Ready(Decision { facts: cx.facts, ..refusal(error, cx.disclose) }))
        }
        Err(Stop::Misuse(error)) => Err(error),
    }
}

/// Authenticate, then see whether the operation exists for this caller, then look at the params.
fn enter(find: Find, request: &Request) -> Result<(&'static Entry, json::Tree<'_>), Error> {
    check(Rule::OP11, request.context.len() <= FACTS_MAX && request.context.iter().all(short))
        .map_err(|broken| broken.at(""))?;
    authenticated(request.principal.as_ref())?;
    let host = request.principal.as_ref().is_some_and(|principal| principal.kind == PrincipalKind::Host);
    let entry = find(&request.operation).filter(|entry| host || !entry.operation.internal);
    let entry = entry.ok_or_else(|| Error::broken(Rule::OP2, ""))?;
    let tree = json::parse_document(&request.params)?;
    Ok((entry, tree))
}

fn run(cx: &mut Context<'_>, entry: &Entry) -> Flow<String> {
    if entry.keyed() && cx.request.cursor.is_none() {
        cx.read_key(entry.by_worker)?;
    }
    let value = (entry.run)(cx)?;
    if cx.lacks() {
        return Err(Stop::Needs);
    }
    cx.close_key();
    Ok(value)
}

/// A fact of the request's context whose texts have at most as many bytes as the limit says.
fn short(fact: &Fact) -> bool {
    fact.name.len() <= FACT_BYTES_MAX && fact.value.len() <= FACT_BYTES_MAX
}

/// Rule OP-1. The error says which member of the caller is not so.
pub(super) fn authenticated(caller: Option<&Principal>) -> Result<(), Error> {
    let fault = caller.and_then(misnamed);
    check(Rule::OP1, caller.is_some() && fault.is_none()).map_err(|broken| {
        let error = broken.at("");
        match fault {
            Some(member) => Error { detail: format!("{} Here it is not so: {member}.", error.detail), ..error },
            None => error,
        }
    })
}

/// The first member of a caller that no document could name as [`shapes::AUTH_CONTEXT`] does. A task is known by its
/// incarnation and by the scope that registered it, since two owners may use the same names; nobody else has either.
fn misnamed(caller: &Principal) -> Option<&'static str> {
    let id = |text: &str| shape::fits(shapes::TASK_REF, "taskId", text);
    let incarnation = |text: &str| shape::fits(shapes::TASK_REF, "incarnationId", text);
    let credential = |text: &str| shape::fits(shapes::AUTH_CONTEXT, "authenticationId", text);
    let scope = |text: &str| matches!(text.split_once(':'), Some(("user" | "policy", owner)) if id(owner));
    let task = caller.kind == PrincipalKind::Task;
    let members = [
        ("tenant", id(&caller.tenant)),
        ("id", id(&caller.id)),
        ("incarnation", caller.incarnation.as_deref().map_or(!task, |text| task && incarnation(text))),
        ("owner", caller.owner.as_deref().map_or(!task, |text| task && scope(text))),
        ("worker", caller.worker.as_deref().is_none_or(id)),
        ("authentication", credential(&caller.authentication)),
    ];
    members.into_iter().find(|(_, sound)| !sound).map(|(member, _)| member)
}

/// The answer and what to commit.
fn accepted(cx: Context<'_>, entry: &Entry, value: &str) -> Decision {
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("method", entry.operation.name);
    w.key("value");
    if entry.keyed() {
        w.begin_object();
        w.member_bool("operationReplay", cx.replay);
        w.member_raw("value", value);
        w.end_object();
    } else {
        w.raw(value);
    }
    w.end_object();
    Decision {
        status: if cx.replay { Status::Replayed } else { Status::Accepted },
        response: w.finish(),
        problem: None,
        writes: cx.writes,
        effects: cx.effects,
        audit: cx.audit,
        topics: cx.topics,
        proceed: cx.proceed,
        facts: cx.facts,
    }
}

/// A denial is a value. `disclose` says whether the caller may learn which rule denied it.
pub(crate) fn refusal(error: Error, disclose: bool) -> Decision {
    let facts = alloc::vec![Fact { name: "code".into(), value: error.code.name().into() }];
    Decision {
        status: Status::Refused,
        response: error_object(&error, disclose),
        problem: Some(error),
        writes: Vec::new(),
        effects: Vec::new(),
        audit: Vec::new(),
        topics: Vec::new(),
        proceed: None,
        facts,
    }
}

/// The JSON-RPC error object for a caller.
pub(crate) fn error_object(error: &Error, disclose: bool) -> String {
    // What is not visible looks the same to everybody: which of its rules it was would tell what there is.
    let silent = error.code == Code::NotVisible || (error.code == Code::PolicyDenied && !disclose);
    let (pointer, detail) = match (silent, error.code) {
        (false, _) => (error.pointer.as_str(), error.detail.as_str()),
        (true, Code::PolicyDenied) => ("", "no current grant allows this"),
        (true, _) => ("", "there is nothing here that you may see"),
    };
    let mut w = Writer::new();
    w.begin_object();
    w.member_int("code", i64::from(error.code.rpc()));
    w.member_str("message", error.code.public());
    w.key("data");
    w.begin_object();
    w.member_str("threadmeshCode", error.code.public());
    w.member_str("group", error.code.group().name());
    w.member_bool("retryable", error.code.retryable());
    w.member_str("code", error.code.name());
    w.member_str("pointer", pointer);
    w.member_str("detail", detail);
    w.end_object();
    w.end_object();
    w.finish()
}

/// A time that crossed the boundary as a double.
fn whole(now: f64) -> Result<i64, Error> {
    const MOST: f64 = 9_007_199_254_740_991.0;
    if now.is_finite() && (0.0..=MOST).contains(&now) && now % 1.0 == 0.0 {
        // In range and whole, as was just checked.
        return Ok(now as i64);
    }
    Err(Error::new(Code::HostMisuse, "", format!("now is whole milliseconds, not {now}")))
}
