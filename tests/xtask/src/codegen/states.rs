//! `spec/transitions.json` → the words of states in the schemas, wherever a comment beside an `enum` names the machine.

use super::{Output, transitions::Table};
use anyhow::{Context, Result};
use std::{fs, path::Path};

/// What stands before and after the name of a machine.
const MARK: (&str, &str) = ("\"$comment\": \"The states of the machine `", "`; written by cargo xtask codegen.\",");
const FOLDERS: &[&str] = &["spec/schema", "spec/schema/params", "spec/schema/results"];
/// The longest line.
const WIDTH: usize = 120;

pub(super) fn generate(root: &Path) -> Result<Vec<Output>> {
    let table = Table::load(root)?;
    let mut outputs = Vec::new();
    for folder in FOLDERS {
        let mut paths: Vec<_> =
            fs::read_dir(root.join(folder))?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        paths.retain(|path| path.is_file());
        paths.sort();
        for path in paths {
            let text = fs::read_to_string(&path)?;
            if text.contains(MARK.0) {
                let name = path.file_name().context("a file has a name")?.to_string_lossy().into_owned();
                let filled = filled(&text, &table).with_context(|| name.clone())?;
                outputs.push((format!("{folder}/{name}"), filled));
            }
        }
    }
    Ok(outputs)
}

/// `text` with the states of the machines where they are asked for.
fn filled(text: &str, table: &Table) -> Result<String> {
    let mut parts = text.split(MARK.0);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (machine, rest) = part.split_once(MARK.1).context("the comment names a machine")?;
        let states = table.machine(machine).with_context(|| format!("there is no machine {machine}"))?.state_names();
        let open = rest.find('[').context("an enum follows the comment")?;
        let close = rest.find(']').context("an enum ends")?;
        let indent = rest[..open].rfind('\n').map_or(0, |line| open - line - 1 - "\"enum\": ".len());
        out += &format!("{}{machine}{}{}", MARK.0, MARK.1, &rest[..open]);
        out += &list(&states, indent);
        out += &rest[close + 1..];
    }
    Ok(out)
}

/// The words as a JSON list: on one line if it fits, or else indented.
fn list(words: &[&str], indent: usize) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    let line = format!("[{}]", words.join(", "));
    if indent + "\"enum\": ".len() + line.len() <= WIDTH {
        return line;
    }
    let pad = " ".repeat(indent + 2);
    let (mut out, mut width) = (String::from("["), WIDTH);
    for (index, word) in words.iter().enumerate() {
        let comma = if index + 1 < words.len() { "," } else { "" };
        if width + word.len() + comma.len() > WIDTH {
            out += &format!("\n{pad}");
            width = pad.len();
        } else {
            out.push(' ');
        }
        out += &format!("{word}{comma}");
        width += word.len() + comma.len() + 1;
    }
    out += &format!("\n{}]", " ".repeat(indent));
    out
}
