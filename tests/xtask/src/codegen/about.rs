//! What the rules say of themselves (`describe` in wit/world.wit): the digest of the data in `spec/`, and the names and
//! numbers in it.

use super::{HEADER, Output, literal, load};
use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::{fs, path::Path};

/// The number of the form in which records are written, and those that are understood.
const RECORDS: (u32, &[u32]) = (2, &[2]);
/// The files and folders of `spec/` that say what the rules are. What is generated from them, prose and vectors are not
/// among them.
const DATA: [&str; 7] = [
    "spec/errors.json",
    "spec/limits.json",
    "spec/operations.json",
    "spec/records.json",
    "spec/rules",
    "spec/schema",
    "spec/transitions.json",
];

pub(super) fn generate(root: &Path) -> Result<Vec<Output>> {
    let mut out = String::from(HEADER);
    out += "//! What this build of the rules is.\n\n";
    out += "/// The text of `describe`: see `wit/world.wit`.\npub const DESCRIPTION: &str = concat!(\n";
    out += "    \"{\\\"core\\\":\\\"\",\n    env!(\"CARGO_PKG_VERSION\"),\n    \"\\\",\",\n";
    out += &format!("    {},\n);\n", literal(&members(root)?));
    Ok(vec![("guest/protocol/src/generated/about.rs".into(), out)])
}

/// Examples, and what is generated.
const LEFT_OUT: [&str; 2] = ["examples", "jsonrpc-request.schema.json"];

/// All members of the description but the version of the crate, and the closing brace.
fn members(root: &Path) -> Result<String> {
    let machines: Value = load(root, "spec/transitions.json")?;
    let machines = machines["machines"].as_array().context("machines")?;
    let limits: Value = load(root, "spec/limits.json")?;
    let limits = limits["limits"].as_array().context("limits")?;
    let limit = |row: &Value| Some((row["name"].as_str()?.to_owned(), row["value"].clone()));
    let kinds: Vec<String> = super::documents::kinds(root)?.into_iter().map(|kind| kind.name).collect();
    let description = json!({
        "contract": contract(root)?,
        "specDigest": digest(root)?,
        "records": {"writes": RECORDS.0, "reads": RECORDS.1},
        "machines": machines.iter().map(|machine| machine["name"].clone()).collect::<Value>(),
        "kinds": kinds,
        "limits": limits.iter().map(limit).collect::<Option<Map<_, _>>>().context("a limit has a name and a value")?,
    });
    Ok(description.to_string().trim_start_matches('{').to_owned())
}

/// The package of wit/world.wit with its version.
fn contract(root: &Path) -> Result<String> {
    let wit = fs::read_to_string(root.join("wit/world.wit"))?;
    let name = wit.lines().find_map(|line| line.strip_prefix("package ")?.strip_suffix(';'));
    Ok(name.context("wit/world.wit names its package")?.to_owned())
}

/// `sha256:` and the hex digits over the names and texts of all files, in order.
fn digest(root: &Path) -> Result<String> {
    let mut files = Vec::new();
    for path in DATA {
        collect(root, path, &mut files)?;
    }
    files.sort();
    let mut hasher = Sha256::new();
    for path in files {
        let text = fs::read(root.join(&path)).with_context(|| format!("reading {path}"))?;
        for part in [path.as_bytes(), &text] {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
    }
    let digest = hasher.finalize();
    Ok(digest.iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}")))
}

/// Adds the JSON files at or below `path`.
fn collect(root: &Path, path: &str, files: &mut Vec<String>) -> Result<()> {
    let full = root.join(path);
    if full.is_dir() {
        for entry in fs::read_dir(&full)? {
            let name = entry?.file_name().into_string().ok().context("a name in UTF-8")?;
            if !LEFT_OUT.contains(&name.as_str()) {
                collect(root, &format!("{path}/{name}"), files)?;
            }
        }
    } else if full.is_file() && Path::new(path).extension().is_some_and(|extension| extension == "json") {
        files.push(path.to_owned());
    }
    Ok(())
}
