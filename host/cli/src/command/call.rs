//! `threadmesh call METHOD [PARAMS]`: any operation, as it is.

use crate::failure::{Exit, Outcome};
use crate::mesh::{self, Mesh};
use crate::target::MeshArguments;
use crate::terminal::Printer;
use crate::{core, input};
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command};
use serde_json::Value;
use std::ffi::OsStr;
use threadmesh_runtime::client::operations;
use threadmesh_runtime::wit::Operation;

/// Call an operation on a database or on a running server.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh call tasks.get '{\"task\": {\"taskId\": \"build-1\", \"incarnationId\": \"inc_build_0001\"}}' --db mesh.db --as builder
  threadmesh call messages.send - --socket mesh.db.run/socket --as builder < params.json
  threadmesh call --list

An operation that changes something needs an idempotencyKey; where PARAMS has none, one is made and shown. Repeat a call
whose answer you missed with the same key: it is carried out once.
With --json the answer is {\"idempotencyKey\": …, \"result\": …} or {\"idempotencyKey\": …, \"error\": …}.")]
pub struct Arguments {
    /// The operation, as messages.send
    #[arg(required_unless_present = "list", value_parser = Methods, hide_possible_values = true)]
    method: Option<String>,
    /// Its params, a JSON object; `-` is standard input
    #[arg(default_value = "{}")]
    params: String,
    /// List the operations
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    mesh: MeshArguments,
}

/// Takes any name, since the core says what is an operation, and offers the known ones to shells that complete it.
#[derive(Clone)]
struct Methods;

impl TypedValueParser for Methods {
    type Value = String;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let known = operations::all().iter();
        Some(Box::new(known.map(|operation| PossibleValue::new(operation.name).help(operation.summary))))
    }
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let operations = core::with_session(|session| Ok(session.operations()?))?;
    let Some(method) = arguments.method.as_ref().filter(|_| !arguments.list) else {
        let public = || operations.iter().filter(|operation| !operation.internal);
        let value = public().map(|operation| {
            serde_json::json!({"name": operation.name, "readOnly": operation.read_only, "summary": summary(operation)})
        });
        printer.show(&serde_json::json!({"operations": value.collect::<Vec<_>>()}), || {
            public().map(|operation| format!("{:28} {}", operation.name, summary(operation))).collect()
        });
        return Ok(Exit::Accepted);
    };
    let params = match arguments.params.as_str() {
        "-" => input::text("-")?,
        text => text.to_owned(),
    };
    let mut mesh = arguments.mesh.open(printer)?;
    let keyed = operations.iter().any(|operation| operation.name == *method && !operation.read_only);
    let (params, key) = if keyed { with_key(&params) } else { (params, None) };
    if let Some(key) = &key {
        printer.remark(&format!("idempotencyKey {key} was made for this call"));
    }
    finish(mesh.as_mut(), method, &params, key.as_deref(), printer)
}

/// The line for people in the row of an operation.
fn summary(operation: &Operation) -> String {
    let row: serde_json::Value = serde_json::from_str(&operation.row).unwrap_or_default();
    row["summary"].as_str().unwrap_or_default().to_owned()
}

fn finish(mesh: &mut dyn Mesh, method: &str, params: &str, key: Option<&str>, printer: Printer) -> Outcome {
    let key = key.map(|key| format!("\"idempotencyKey\":\"{key}\",")).unwrap_or_default();
    match mesh.call(method, params)? {
        Ok(result) => {
            printer.raw(&format!("{{{key}\"result\":{result}}}"), || pretty(&result));
            Ok(Exit::Accepted)
        }
        Err(failure) if printer.json() => {
            printer.raw(&format!("{{{key}\"error\":{}}}", failure.members()), Vec::new);
            Ok(failure.exit)
        }
        Err(failure) => Err(failure),
    }
}

/// The params with an idempotency key, and the key if it was made here. Params that are no object are passed on as they
/// are: the core says what is wrong with them.
fn with_key(params: &str) -> (String, Option<String>) {
    let Ok(members) = serde_json::from_str::<serde_json::Map<String, Value>>(params) else {
        return (params.to_owned(), None);
    };
    let start = params.find('{').map_or(0, |at| at + 1);
    match members.contains_key("idempotencyKey") {
        true => (params.to_owned(), None),
        false => {
            // Nothing of the text is written anew: what was typed is what is digested.
            let (head, tail) = params.split_at(start);
            let (key, comma) = (mesh::fresh_key(), if members.is_empty() { "" } else { "," });
            (format!("{head}\"idempotencyKey\":\"{key}\"{comma}{tail}"), Some(key))
        }
    }
}

/// JSON text for people; `--json` gives it as received.
fn pretty(text: &str) -> Vec<String> {
    let value = serde_json::from_str::<Value>(text).ok();
    let indented = value.and_then(|value| serde_json::to_string_pretty(&value).ok());
    indented.unwrap_or_else(|| text.to_owned()).lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_added_to_the_text_as_it_is() {
        let (text, key) = with_key(" { \"a\": 1e2 }");
        assert_eq!(text, format!(" {{\"idempotencyKey\":\"{}\", \"a\": 1e2 }}", key.unwrap()));
        let (text, key) = with_key("{}");
        assert_eq!(text, format!("{{\"idempotencyKey\":\"{}\"}}", key.unwrap()));
        assert_eq!(with_key("{\"idempotencyKey\": 7}"), ("{\"idempotencyKey\": 7}".to_owned(), None));
        assert_eq!(with_key("[1]"), ("[1]".to_owned(), None));
        assert_eq!(with_key("{"), ("{".to_owned(), None));
    }
}
