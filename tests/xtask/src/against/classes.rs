//! Where two JSON values differ, and of which kind the difference is.

use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Kinds of difference. Everything but [`Class::Other`] can be allowed by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// `row-body`: the text of a stored row, in answers and in writes.
    RowBody,
    /// `row-key`: the id of a row, the key under which it was found, and the range of keys that is asked for.
    RowKey,
    /// `collection`: the collection or the index of a query or a write.
    Collection,
    /// `entries`: the index entries of a row or of an audit record.
    Entries,
    /// `rows`: how many queries, rows or writes there are.
    Rows,
    /// `audit`: the text of an audit record as it is stored.
    Audit,
    /// `added`: a member that was not there, and says nothing: `null`, `false`, `0`, an empty text, list or object.
    Added,
    /// `more`: whether a page is the last.
    More,
    /// `facts`: what a decision was about, for logs.
    Facts,
    /// `topics`: what is waited for or touched.
    Topics,
    /// `cursor`: where an operation continues.
    Cursor,
    /// `event`: an audit event as it is answered: its number, and the chain that it may carry.
    Event,
    /// `summary`: the description of an operation, in the list of operations.
    Summary,
    /// Anything else: never allowed.
    Other,
}

const NAMES: [(&str, Class); 13] = [
    ("row-body", Class::RowBody),
    ("row-key", Class::RowKey),
    ("collection", Class::Collection),
    ("entries", Class::Entries),
    ("rows", Class::Rows),
    ("audit", Class::Audit),
    ("added", Class::Added),
    ("more", Class::More),
    ("facts", Class::Facts),
    ("topics", Class::Topics),
    ("cursor", Class::Cursor),
    ("event", Class::Event),
    ("summary", Class::Summary),
];

impl Class {
    /// The class of this name.
    ///
    /// # Errors
    /// Where there is none; the error lists the names.
    pub fn parse(name: &str) -> Result<Self> {
        let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, class)| *class);
        known.with_context(|| format!("{name} is none of {}", NAMES.map(|(name, _)| name).join(", ")))
    }

    fn name(self) -> &'static str {
        NAMES.iter().find(|(_, class)| *class == self).map_or("other", |(name, _)| name)
    }

    /// The class of a difference at `path`; `added` where the new value says nothing and there was none.
    fn of(path: &[String], added: bool) -> Self {
        let has = |name: &str| path.iter().any(|part| part == name);
        let last = path.iter().rev().find(|part| part.parse::<usize>().is_err()).map_or("", String::as_str);
        let stored = has("rows") || has("writes");
        let before = |name: &str| path.iter().rev().nth(1).is_some_and(|part| part == name);
        match last {
            // What a vector is, and its verdict, are never stored.
            _ if matches!(path.first().map(String::as_str), Some("name" | "rules" | "function" | "error")) => {
                Self::Other
            }
            _ if has("events") => Self::Event,
            _ if added => Self::Added,
            _ if has("entries") => Self::Entries,
            _ if has("audit") => Self::Audit,
            _ if stored && has("body") => Self::RowBody,
            "id" | "key" if stored => Self::RowKey,
            "start" | "end" if has("queries") || has("query") => Self::RowKey,
            "collection" | "index" if stored || has("queries") || has("query") => Self::Collection,
            "queries" | "answers" | "rows" | "writes" | "revision" | "limit" => Self::Rows,
            "more" if has("answers") => Self::More,
            "facts" if before("decision") => Self::Facts,
            "topics" => Self::Topics,
            "cursor" | "proceed" if !before("items") => Self::Cursor,
            "summary" if path.len() <= 3 => Self::Summary,
            _ => Self::Other,
        }
    }
}

/// Something that is not the same in both values.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Of which kind.
    pub class: Class,
    /// Where: names and indices; what is inside of a text that holds JSON follows after `{}`.
    path: Vec<String>,
    old: Option<Value>,
    new: Option<Value>,
}

/// Where the values differ, in order.
pub fn differences(old: &Value, new: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(&mut Vec::new(), Some(old), Some(new), &mut found);
    found
}

fn walk(path: &mut Vec<String>, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<Difference>) {
    match (old, new) {
        (Some(old), Some(new)) if old == new => {}
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            for name in names {
                step(path, name, before.get(name), after.get(name), found);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) if before.len() == after.len() => {
            for (index, pair) in before.iter().zip(after).enumerate() {
                step(path, &index.to_string(), Some(pair.0), Some(pair.1), found);
            }
        }
        (Some(Value::String(before)), Some(Value::String(after))) => match (inner(before), inner(after)) {
            (Some(before), Some(after)) => step(path, "{}", Some(&before), Some(&after), found),
            _ => note(path, old, new, found),
        },
        _ => note(path, old, new, found),
    }
}

fn step(path: &mut Vec<String>, name: &str, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<Difference>) {
    path.push(name.to_owned());
    walk(path, old, new, found);
    path.pop();
}

/// The object or array that a text holds.
fn inner(text: &str) -> Option<Value> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(text).ok()
}

fn note(path: &[String], old: Option<&Value>, new: Option<&Value>, found: &mut Vec<Difference>) {
    let added = old.is_none_or(Value::is_null) && new.is_some_and(says_nothing);
    let class = Class::of(path, added);
    found.push(Difference { class, path: path.to_vec(), old: old.cloned(), new: new.cloned() });
}

fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) => false,
    }
}

/// What was found, by class and by path without its indices.
pub struct Tally<'a> {
    allowed: &'a [Class],
    verbose: bool,
    /// How often, in which files, and the first of them in words.
    found: BTreeMap<(Class, String), (usize, BTreeSet<String>, String)>,
}

impl<'a> Tally<'a> {
    /// Nothing yet.
    pub fn new(allowed: &'a [Class], verbose: bool) -> Self {
        Self { allowed, verbose, found: BTreeMap::new() }
    }

    /// Adds the differences of a vector.
    pub fn add(&mut self, (file, name): &(String, String), found: Vec<Difference>) {
        for difference in found {
            let words = in_words(&difference);
            if self.verbose {
                println!("{}: {file} {name:?} {words}", difference.class.name());
            }
            let place = general(&difference.path);
            let entry = self
                .found
                .entry((difference.class, place))
                .or_insert_with(|| (0, BTreeSet::new(), format!("{name:?} {words}")));
            entry.0 += 1;
            entry.1.insert(file.clone());
        }
    }

    /// Prints the table; whether there is something in it that is not allowed.
    pub fn report(&self, what: &str) -> bool {
        let mut failed = false;
        let mut sums: BTreeMap<Class, usize> = BTreeMap::new();
        for ((class, place), (count, files, first)) in &self.found {
            let bad = !self.allowed.contains(class);
            failed |= bad;
            *sums.entry(*class).or_default() += count;
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            let mark = if bad { "NOT ALLOWED" } else { "allowed" };
            println!("{mark:<12} {:<10} {count:>6}x {place} in {}", class.name(), files.join(", "));
            if bad {
                println!("             first: {first}");
            }
        }
        let sums: Vec<String> = sums.iter().map(|(class, count)| format!("{} {count}", class.name())).collect();
        println!("differences of {what}: {}", if sums.is_empty() { "none".into() } else { sums.join(", ") });
        failed
    }
}

/// The path with `*` for every index.
fn general(path: &[String]) -> String {
    let part = |part: &String| if part.parse::<usize>().is_ok() { "*".into() } else { part.clone() };
    path.iter().map(part).collect::<Vec<_>>().join("/")
}

fn in_words(difference: &Difference) -> String {
    const SHOWN_MAX: usize = 160;
    let mut text = difference.path.join("/");
    for (value, what) in [(&difference.old, "before"), (&difference.new, "after")] {
        let value = value.as_ref().map_or_else(|| "nothing".into(), Value::to_string);
        let short: String = value.chars().take(SHOWN_MAX).collect();
        let _ = write!(text, ", {what} {short}");
    }
    text
}
