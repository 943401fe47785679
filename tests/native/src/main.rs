//! `threadmesh-native`: the rules without the sandbox, on the command line.
//!
//! - `threadmesh-native driver` answers calls as JSON lines (see `spec/conformance/README.md`). It has two
//!   functions more: `rules` lists the rules' ids and whether they can be switched off; `disable-rule` with the argument
//!   `rule` (an id, or `null` for none) switches one off and all others on, and says whether there is such a rule.
//! - `threadmesh-native vectors` answers the conformance vectors of the tree that it was built in, and prints a line for
//!   each that fails.
//! - `threadmesh-native replay FILE` runs the call that a replay file holds.

use serde_json::{Value, json};
use std::{
    env, fs,
    io::{self, BufReader},
    process::ExitCode,
};
use threadmesh_native::{NativeCore, vectors};
use threadmesh_protocol::{generated::rules::ALL, rules};
use threadmesh_runtime::{
    Core, driver,
    vectors::{Verdict, judge},
};

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["driver"] => serve().map(|()| true),
        ["vectors"] => all_vectors(),
        ["replay", file] => replay(file).map(|()| true),
        _ => Err("usage: threadmesh-native driver | threadmesh-native vectors | threadmesh-native replay FILE".into()),
    };
    match result {
        Ok(passed) => ExitCode::from(u8::from(!passed)),
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

/// Whether all vectors of the tree pass.
fn all_vectors() -> Result<bool, Box<dyn std::error::Error>> {
    let mut session = NativeCore.session()?;
    let (mut passed, mut failed) = (0_usize, 0_usize);
    for (file, vector) in vectors::all() {
        let answer = driver::answer(session.as_mut(), vector["function"].as_str().unwrap_or(""), &vector["args"]);
        match judge(&vector, &answer) {
            Verdict::Failed(how) => {
                failed += 1;
                println!("failed: {file} {}: {}", vector["name"], how.replace('\n', " / "));
            }
            Verdict::Passed | Verdict::Skipped(_) => passed += 1,
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(failed == 0)
}

/// Runs the call in `file` and prints the answer.
fn replay(file: &str) -> Result<(), Box<dyn std::error::Error>> {
    let record: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
    let function = record["function"].as_str().ok_or("not a replay file")?;
    let mut session = NativeCore.session()?;
    println!("{:#}", driver::answer(session.as_mut(), function, &record["args"]));
    Ok(())
}
