//! One thing that is written by hand in one file.

use crate::codegen::ordered::Json;
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::{fs, path::Path};

/// How wide rows of tables may be.
const WIDTH: usize = 118;

/// A change of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    /// The file, from the root.
    pub(super) file: String,
    /// For a table in JSON: the list that gets a row, as the names that lead to it; `name=value` chooses one of a list.
    list: Option<String>,
    /// The row.
    row: Option<Json>,
    /// The member by which the list is sorted, if it is.
    by: Option<String>,
    /// For any other file: the line that is written before the first line that starts with this.
    before: Option<String>,
    line: Option<String>,
    /// The file of `tests/xtask/grow/` that is the new file, or is added at the end of the known one.
    text: Option<String>,
}

impl Edit {
    /// Writes it into `tree`. Texts come from `root`. An error says what the file does not have.
    pub(super) fn apply(&self, root: &Path, tree: &Path) -> Result<()> {
        let path = tree.join(&self.file);
        match (&self.list, &self.row, &self.before, &self.line, &self.text) {
            (Some(list), Some(row), None, None, None) => {
                let mut table = Json::load(&path)?;
                let place = list.split('/').try_fold(&mut table, |at, step| walk(at, step))?;
                let Json::List(rows) = place else { bail!("{list} is no list") };
                rows.push(row.clone());
                if let Some(member) = &self.by {
                    let key = |row: &Json| row.get(member).and_then(Json::text).unwrap_or_default().to_owned();
                    rows.sort_by_key(key);
                }
                Ok(fs::write(&path, table.pretty(WIDTH))?)
            }
            (None, None, Some(before), Some(line), None) => {
                let known = fs::read_to_string(&path)?;
                let start = known.lines().find(|known| known.starts_with(before.as_str()));
                let start = start.with_context(|| format!("no line starts with {before}"))?;
                Ok(fs::write(&path, known.replacen(start, &format!("{line}\n{start}"), 1))?)
            }
            (None, None, None, None, Some(text)) => {
                let text = fs::read_to_string(root.join(super::FOLDER).join(text))?;
                let known = if path.is_file() { fs::read_to_string(&path)? } else { String::new() };
                fs::create_dir_all(path.parent().context("a file has a folder")?)?;
                Ok(fs::write(&path, known + &text)?)
            }
            _ => bail!("an edit is a row of a list, a line before another, or a text"),
        }
    }
}

/// One step down into a table.
fn walk<'a>(at: &'a mut Json, step: &str) -> Result<&'a mut Json> {
    match (at, step.split_once('=')) {
        (Json::List(items), Some((name, value))) => {
            let found = items.iter_mut().find(|item| item.get(name).and_then(Json::text) == Some(value));
            found.with_context(|| format!("there is no {step}"))
        }
        (map @ Json::Map(_), None) => {
            ensure!(map.get(step).is_some(), "there is no {step}");
            Ok(map.slot(step))
        }
        _ => bail!("{step} leads nowhere"),
    }
}
