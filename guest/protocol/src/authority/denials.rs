//! `audit.recordDenials`: what callers were denied, counted by the host, goes into the caller's own stream: one record for
//! each caller, code and minute, so that a flood of denials is no flood of records.

use crate::generated::errors;
use crate::json::{Value, Writer};
use crate::kernel::{
    audit::{Event, detail},
    context::Context,
    fields::Fields,
    flow::Flow,
    keys,
    records::Party,
    streams::Streams,
};
use crate::time;
use alloc::{format, string::String, vec::Vec};

/// Minutes since the Unix epoch as milliseconds.
const MINUTE_MS: i64 = 60_000;

/// `audit.recordDenials`. What is no denial but another kind of refusal is left out.
pub(crate) fn record(cx: &mut Context<'_>) -> Flow<String> {
    let denials: Vec<Value<'_>> = cx.params.member("denials")?.items().filter(denial).collect();
    let mut ids = Vec::new();
    for caller in &denials {
        ids.push(stream(cx.tenant(), *caller)?);
    }
    let mut streams = Streams::default();
    let loaded = streams.load(cx, ids.iter().cloned());
    cx.fetch(&[])?;
    loaded?;
    if cx.replayed()? {
        return Ok(recorded(denials.len()));
    }
    for (caller, id) in denials.iter().zip(&ids) {
        let minute = time::format(caller.int("minute")?.saturating_mul(MINUTE_MS));
        let count = format!("{}", caller.int("count")?);
        let told = detail(&[("code", caller.text("code")?), ("count", &count), ("minute", &minute)]);
        let event = Event { kind: "denials-counted", detail: told, ..Event::default() };
        streams.record(cx, &[id], &event)?;
    }
    streams.save(cx);
    Ok(recorded(denials.len()))
}

/// Whether it says that the caller may not do something.
fn denial(refusal: &Value<'_>) -> bool {
    let name = refusal.get("code").and_then(|code| code.as_str());
    errors::ALL.iter().any(|code| Some(code.name()) == name && code.denial())
}

/// The caller's own stream: a task's is that of its box, others' have keys of two parts, as no task has.
fn stream(tenant: &str, caller: Value<'_>) -> Flow<String> {
    let (kind, id) = (caller.text("kind")?, caller.text("id")?);
    if let ("task", Some(incarnation), Some(owner)) =
        (kind, caller.maybe_text("incarnation"), caller.maybe_text("owner"))
    {
        return Ok(Party { task: id.into(), incarnation, owner }.key(tenant));
    }
    Ok(keys::key(&[tenant, &[kind, ":", id].concat()]))
}

fn recorded(count: usize) -> String {
    let mut w = Writer::new();
    w.begin_object();
    w.member_int("recorded", i64::try_from(count).unwrap_or(i64::MAX));
    w.end_object();
    w.finish()
}
