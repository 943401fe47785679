//! Two drivers are asked the same, and must answer the same.

use super::{Name, classes, classes::Tally, mapping};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A driver, as `spec/conformance/README.md` describes it.
struct Driver {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Driver {
    /// Starts a command line, which is split at spaces.
    fn start(command: &str) -> Result<Self> {
        let mut words = command.split_whitespace();
        let program = words.next().context("a driver needs a command")?;
        let mut child = Command::new(program)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("the driver {command}"))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("an output")?);
        Ok(Self { child, input, output, asked: 0 })
    }

    fn ask(&mut self, function: &Value, args: &Value) -> Result<Value> {
        self.asked += 1;
        let line = json!({"id": self.asked, "function": function, "args": args});
        let input = self.input.as_mut().context("an input")?;
        writeln!(input, "{line}")?;
        input.flush()?;
        let mut answer = String::new();
        ensure!(self.output.read_line(&mut answer)? > 0, "the driver ended");
        Ok(serde_json::from_str(&answer)?)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The end of its input is its sign to go.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// Asks both drivers all `vectors` that hold no stored rows, and notes where their answers differ.
pub fn compare(vectors: &BTreeMap<Name, Value>, old: &str, new: &str, tally: &mut Tally<'_>) -> Result<()> {
    let (mut old, mut new) = (Driver::start(old)?, Driver::start(new)?);
    let (mut asked, mut equal, mut steps) = (0, 0, 0);
    for (name, vector) in vectors.iter().filter(|(_, vector)| !has_rows(vector)) {
        let (function, args) = (&vector["function"], &vector["args"]);
        let (before, after) = (old.ask(function, args)?, new.ask(function, args)?);
        asked += 1;
        steps += args["steps"].as_array().map_or(0, Vec::len);
        let found = classes::differences(&before, &mapping::old_form(&before, &after));
        equal += usize::from(found.is_empty());
        tally.add(name, found);
    }
    let left_out = vectors.len() - asked;
    println!(
        "{asked} vectors asked, with {steps} steps of scenarios; {equal} answers are equal whole; {left_out} with rows left out"
    );
    Ok(())
}

/// Whether the vector is a step with rows in its answers, which only the format that they are in can read.
fn has_rows(vector: &Value) -> bool {
    let answers = vector["args"]["answers"].as_array();
    answers.into_iter().flatten().any(|answer| answer["rows"].as_array().is_some_and(|rows| !rows.is_empty()))
}
