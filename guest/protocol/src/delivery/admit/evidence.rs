//! Evidence that a rendering was put before a model: bound to the message by nonce, digest and length, and to the session
//! by what its kind of harness tells.

use crate::Rule;
use crate::delivery::admission::Admission;
use crate::json::{Value, Writer};
use crate::kernel::{context::Context, fields::Fields, flow::Flow};
use crate::rules::check;
use alloc::{string::String, vec::Vec};

/// What every kind has beside its own members.
const BOUND: &[&str] = &["kind", "nonce", "renderingBytes", "renderingDigest"];

/// The members of a kind, in order.
fn members(kind: &str) -> &'static [&'static str] {
    match kind {
        "acp-session" => &["sessionId", "snapshotDigest", "stopReason"],
        "codex-app-server" => &["snapshotDigest", "threadId", "turnId", "turnStatus"],
        "gemini-headless" => &["exitCode", "resultStatus", "sessionId", "snapshotDigest", "toolUseCount"],
        _ => &["session", "toolCallId"],
    }
}

/// Checks evidence for `admission`, and takes what is stored of it: the kind and the members of the kind. The nonce is
/// asked of whoever holds the token, and must be right wherever it is given.
pub(crate) fn of(admission: &Admission, evidence: Value<'_>, holder: bool) -> Flow<String> {
    let kind = evidence.text("kind")?;
    let own = members(kind);
    let known = |name: &str| BOUND.contains(&name) || own.contains(&name);
    let whole = evidence.members().all(|(name, _)| known(name)) && own.iter().all(|name| evidence.get(name).is_some());
    check(Rule::CX9, kind == admission.kind && whole)?;
    let nonce = evidence.maybe_text("nonce");
    check(Rule::CX10, nonce.map_or(!holder, |nonce| nonce == admission.nonce))?;
    let same = evidence.text("renderingDigest")? == admission.digest;
    check(Rule::CX11, same && evidence.int("renderingBytes")? == admission.bytes)?;
    let session = ["session", "sessionId", "threadId"].iter().find_map(|name| evidence.maybe_text(name));
    let snapshot = evidence.maybe_text("snapshotDigest");
    check(Rule::CX12, session.as_ref() == Some(&admission.session) && snapshot == admission.snapshot)?;
    check(Rule::CX13, ended(kind, evidence))?;
    Ok(project(kind, |name| evidence.get(name).map(|value| value.canonical())))
}

/// Whether the harness says that the turn ended well, and that it was this text alone that did it.
fn ended(kind: &str, evidence: Value<'_>) -> bool {
    let is = |name: &str, text: &str| evidence.maybe_text(name).as_deref() == Some(text);
    let zero = |name: &str| evidence.maybe_int(name) == Some(0);
    match kind {
        "acp-session" => is("stopReason", "end_turn"),
        "codex-app-server" => is("turnStatus", "completed"),
        "gemini-headless" => zero("exitCode") && zero("toolUseCount") && is("resultStatus", "success"),
        _ => true,
    }
}

/// The evidence of a client that reads by a tool call, which the core writes itself.
pub(crate) fn of_read(cx: &Context<'_>) -> Flow<String> {
    let (session, call) = (cx.params.member("session")?, cx.params.member("toolCallId")?);
    Ok(project("mcp-session", |name| Some(if name == "session" { session } else { call }.canonical())))
}

/// The canonical object of the kind and its members.
fn project(kind: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut w = Writer::new();
    w.begin_object();
    let own = members(kind).iter().filter_map(|name| Some((*name, value(name)?)));
    let mut all: Vec<(&str, String)> = own.chain([("kind", ["\"", kind, "\""].concat())]).collect();
    all.sort_unstable();
    for (name, value) in all {
        w.member_raw(name, &value);
    }
    w.end_object();
    w.finish()
}
