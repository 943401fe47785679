//! `policy.evaluate`: what a policy of the user says, for hosts that try one out.

use crate::json::Writer;
use crate::kernel::{context::Context, fields::Fields, flow::Flow};
use alloc::string::String;

/// `policy.evaluate`.
pub(crate) fn evaluate(cx: &mut Context<'_>) -> Flow<String> {
    let text = |name: &str| cx.params.text(name);
    let (policy, hook, input) = (text("policy")?, text("hook")?, text("input")?);
    let verdict = cx.evaluate(policy, hook, input)?;
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("verdict", verdict);
    w.end_object();
    Ok(w.finish())
}
