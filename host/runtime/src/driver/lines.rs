//! A driver: calls as JSON lines in, answers as JSON lines out, in the same order.

use super::answer;
use crate::{Core, CoreError};
use serde_json::{Value, json};
use std::io::{self, BufRead, Write};

/// Answers one line after the other until the input ends: `{"id", "function", "args"}` by an object with the same `id`
/// and what [`answer`] says. `other` is asked first and may answer functions that the core does not have; where it
/// answers, that becomes `ok`. A line that is not such an object gets an `unusable` answer with the id `null`.
///
/// Fails where input or output fails, or where no session can be made. A session that faulted is replaced.
pub fn serve(
    core: &dyn Core,
    input: impl BufRead,
    mut output: impl Write,
    mut other: impl FnMut(&str, &Value) -> Option<Value>,
) -> io::Result<()> {
    let failed = |error: CoreError| io::Error::other(error);
    let mut session = core.session().map_err(failed)?;
    for line in input.lines() {
        let call: Value = serde_json::from_str(&line?).unwrap_or_default();
        let mut reply = match (call.get("function").and_then(Value::as_str), call.get("args")) {
            (Some(function), Some(args)) => match other(function, args) {
                Some(ok) => json!({ "ok": ok }),
                None => answer(session.as_mut(), function, args),
            },
            _ => json!({ "unusable": "not an object with `id`, `function` and `args`" }),
        };
        if reply.get("trap").is_some() {
            session = core.session().map_err(failed)?;
        }
        reply["id"] = call.get("id").cloned().unwrap_or_default();
        writeln!(output, "{reply}")?;
        output.flush()?;
    }
    Ok(())
}
