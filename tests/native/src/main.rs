//! `threadmesh-native`: the rules without the sandbox, on the command line.
//!
//! - `threadmesh-native driver` answers calls as JSON lines (see `spec/conformance/README.md`). It has two
//!   functions more: `rules` lists the rules' ids and whether they can be switched off; `disable-rule` with the argument
//!   `rule` (an id, or `null` for none) switches one off and all others on, and says whether there is such a rule.
//! - `threadmesh-native replay FILE` runs the call that a replay file holds.

use serde_json::{Value, json};
use std::{
    env, fs,
    io::{self, BufReader},
    process::ExitCode,
};
use threadmesh_native::NativeCore;
use threadmesh_protocol::{generated::rules::ALL, rules};
use threadmesh_runtime::{Core, driver};

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["driver"] => serve(),
        ["replay", file] => replay(file),
        _ => Err("usage: threadmesh-native driver | threadmesh-native replay FILE".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("threadmesh-native: {error}");
            ExitCode::from(2)
        }
    }
}

fn serve() -> Result<(), Box<dyn std::error::Error>> {
    Ok(driver::serve(&NativeCore, BufReader::new(io::stdin()), io::stdout().lock(), extra)?)
}

/// The functions that only this driver has.
fn extra(function: &str, args: &Value) -> Option<Value> {
    match function {
        "rules" => Some(ALL.iter().map(|rule| json!({ "id": rule.id(), "toggles": rule.toggles() })).collect()),
        "disable-rule" => Some(disable(args["rule"].as_str())),
        _ => None,
    }
}

/// Switches a rule off, or all on again: whether that is what was done.
fn disable(id: Option<&str>) -> Value {
    let rule = ALL.iter().copied().find(|rule| Some(rule.id()) == id);
    rules::disable(rule);
    json!(rule.is_some() == id.is_some())
}

/// Runs the call in `file` and prints the answer.
fn replay(file: &str) -> Result<(), Box<dyn std::error::Error>> {
    let record: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
    let function = record["function"].as_str().ok_or("not a replay file")?;
    let mut session = NativeCore.session()?;
    println!("{:#}", driver::answer(session.as_mut(), function, &record["args"]));
    Ok(())
}
