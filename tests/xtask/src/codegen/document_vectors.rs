//! The schemas and the example documents → one rejecting vector for every member and keyword.
//!
//! Each vector is an accepted example with one fault at one place. Since faults of the shape come before the rules of a
//! kind, the fault is the one that is reported, whatever else it upsets.

mod faults;
mod sample;

use super::Output;
use super::documents::Named;
use super::ordered::Json;
use super::schema::{self, Compiled, Id, Node};
use anyhow::{Context, Result, ensure};
use faults::{Fault, faults};
use std::collections::BTreeSet;
use std::{fs, path::Path};

const EXAMPLES: &str = "spec/schema/examples";

pub(super) fn generate(root: &Path) -> Result<Vec<Output>> {
    let compiled = schema::compile(root)?;
    let mut outputs = Vec::new();
    for (Named { name: kind, code }, shape) in &compiled.kinds {
        let mut walk = Walk::new(&compiled, kind, code);
        for (name, example) in examples(root, kind)? {
            walk.accepted(&format!("example {name}"), &example);
            walk.whole = example.clone();
            walk.value(*shape, &example, &[])?;
        }
        if kind == "jsonrpc-request" {
            for (method, shape) in compiled.params.iter().filter(|(method, _)| !method.internal) {
                walk.request(root, &method.name, *shape)?;
            }
        }
        walk.complete(*shape)?;
        outputs.push((format!("spec/conformance/documents/generated-{kind}.json"), file(&walk.lines)));
    }
    Ok(outputs)
}

/// The accepted examples of a kind, by name.
pub(super) fn examples(root: &Path, kind: &str) -> Result<Vec<(String, Json)>> {
    let folder = root.join(EXAMPLES).join(kind);
    let mut names: Vec<String> = fs::read_dir(&folder)
        .with_context(|| format!("examples of {kind}"))?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    names.sort();
    names
        .into_iter()
        .map(|name| Ok((name.trim_end_matches(".json").into(), Json::load(&folder.join(&name))?)))
        .collect()
}

/// One vector a line.
fn file(lines: &[String]) -> String {
    format!(
        "{{\n\"group\": \"documents\",\n\"generated\": \"by cargo xtask codegen from spec/schema/\",\n\"vectors\": [\n{}\n]\n}}\n",
        lines.join(",\n")
    )
}

/// A step of a path into a document.
#[derive(Clone, Debug)]
enum Step {
    Member(String),
    First,
}

fn pointer(path: &[Step]) -> String {
    let step = |step: &Step| match step {
        Step::Member(name) => format!("/{name}"),
        Step::First => "/0".to_owned(),
    };
    path.iter().map(step).collect()
}

fn at<'a>(mut value: &'a mut Json, path: &[Step]) -> &'a mut Json {
    for step in path {
        value = match (step, value) {
            (Step::Member(name), value) => value.slot(name),
            (Step::First, Json::List(items)) => &mut items[0],
            (Step::First, value) => value,
        };
    }
    value
}

struct Walk<'a> {
    compiled: &'a Compiled,
    kind: &'a str,
    /// The code of a fault.
    code: &'a str,
    /// The example that is changed.
    whole: Json,
    lines: Vec<String>,
    /// What has its vector: place and fault.
    done: BTreeSet<(String, String)>,
    /// Places that were reached.
    reached: BTreeSet<String>,
}

impl<'a> Walk<'a> {
    fn new(compiled: &'a Compiled, kind: &'a str, code: &'a str) -> Self {
        let (done, reached) = (BTreeSet::new(), BTreeSet::new());
        Self { compiled, kind, code, whole: Json::Null, lines: Vec::new(), done, reached }
    }

    fn accepted(&mut self, name: &str, document: &Json) {
        self.line(name, &[], document, "\"ok\":true");
    }

    fn rejected(&mut self, label: &str, path: &[Step], fault: &Fault) {
        let place = pointer(path);
        if !self.done.insert((place.clone(), fault.keyword.clone())) {
            return;
        }
        let mut changed = self.whole.clone();
        *at(&mut changed, path) = fault.value.clone();
        let expected = format!(
            "\"error\":{{\"code\":\"{}\",\"pointer\":{}}}",
            self.code,
            Json::from(format!("{place}{}", fault.below)).compact()
        );
        let keyword = fault.keyword.split(' ').next().unwrap_or_default();
        let name = if keyword == "required" { keyword } else { &fault.keyword };
        self.line(&format!("{label}{place}{}: {name}", fault.below), &[fault.rule], &changed, &expected);
    }

    fn line(&mut self, name: &str, rules: &[&str], document: &Json, expected: &str) {
        let rules = Json::List(rules.iter().map(|&rule| rule.into()).collect()).compact();
        let (name, text) = (Json::from(name).compact(), Json::from(document.compact()).compact());
        self.lines.push(format!(
            "{{\"name\":{name},\"rules\":{rules},\"function\":\"check\",\"args\":{{\"kind\":\"{}\",\"text\":{text}}},{expected}}}",
            self.kind
        ));
    }

    /// The faults of `value` and of what is in it. Documents inside of a document have their own files: here only they
    /// themselves are missing, open or of another type.
    fn value(&mut self, shape: Id, value: &Json, path: &[Step]) -> Result<()> {
        let place = pointer(path);
        self.reached.insert(place.clone());
        let node = self.compiled.arena.get(shape);
        for fault in faults(self.compiled, node, value, &place)? {
            self.rejected("", path, &fault);
        }
        let nested = self.compiled.kinds.iter().any(|(_, kind)| *kind == shape) && !path.is_empty();
        if !nested {
            self.inside(node, value, path)?;
        }
        Ok(())
    }

    fn inside(&mut self, node: &Node, value: &Json, path: &[Step]) -> Result<()> {
        let below = |step: Step| path.iter().cloned().chain([step]).collect::<Vec<_>>();
        match node {
            Node::Object { members, .. } => {
                for member in members {
                    if let Some(inner) = value.get(&member.name) {
                        self.value(member.shape, inner, &below(Step::Member(member.name.clone())))?;
                    }
                }
            }
            Node::Array { item, .. } => {
                if let Some(first) = value.items().first() {
                    self.value(*item, first, &below(Step::First))?;
                }
            }
            Node::Tagged { tag, cases } => {
                let word = value.get(tag).and_then(Json::text);
                let case =
                    cases.iter().find(|(name, _)| Some(name.as_str()) == word).context("the tag of an example")?;
                self.case(case.1, tag, value, path)?;
            }
            Node::ByMember { name, with, without } => {
                let shape = if value.get(name).is_some() { *with } else { *without };
                self.case(shape, name, value, path)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The faults of one of several forms that an object can have, but those of the member that tells them apart.
    fn case(&mut self, shape: Id, mark: &str, value: &Json, path: &[Step]) -> Result<()> {
        let (node, place) = (self.compiled.arena.get(shape), pointer(path));
        for fault in faults(self.compiled, node, value, &place)? {
            if fault.below != format!("/{mark}") {
                self.rejected("", path, &fault);
            }
        }
        let Node::Object { members, .. } = node else { return Ok(()) };
        for member in members {
            let (inner, step) = (value.get(&member.name), Step::Member(member.name.clone()));
            let path: Vec<Step> = path.iter().cloned().chain([step]).collect();
            match inner {
                Some(_)
                    if member.name == mark && !matches!(self.compiled.arena.get(member.shape), Node::Object { .. }) =>
                {
                    self.reached.insert(pointer(&path));
                }
                Some(inner) => self.value(member.shape, inner, &path)?,
                None => {}
            }
        }
        Ok(())
    }

    /// A request of `method` with every member, and the faults of its params.
    fn request(&mut self, root: &Path, method: &str, shape: Id) -> Result<()> {
        let params = sample::of(root, self.compiled, shape)?;
        let mut whole = Json::Map(Vec::new());
        *whole.slot("jsonrpc") = "2.0".into();
        *whole.slot("id") = Json::Number("7".into());
        *whole.slot("method") = method.into();
        *whole.slot("params") = params.clone();
        self.accepted(&format!("{method} with every member"), &whole);
        self.whole = whole;
        let (done, path) = (std::mem::take(&mut self.done), [Step::Member("params".into())]);
        let first = self.lines.len();
        self.value(shape, &params, &path)?;
        for line in &mut self.lines[first..] {
            *line = line.replacen("{\"name\":\"", &format!("{{\"name\":\"{method} "), 1);
        }
        self.done = done;
        Ok(())
    }

    /// Fails where the examples leave out a member of the schema.
    fn complete(&self, root: Id) -> Result<()> {
        let mut open = vec![(root, String::new())];
        while let Some((shape, place)) = open.pop() {
            ensure!(self.reached.contains(&place), "no example of {} has {place}", self.kind);
            if !place.is_empty() && self.compiled.kinds.iter().any(|(_, kind)| *kind == shape) {
                continue;
            }
            match self.compiled.arena.get(shape) {
                Node::Object { members, .. } => {
                    open.extend(members.iter().map(|member| (member.shape, format!("{place}/{}", member.name))));
                }
                Node::Array { item, .. } => open.push((*item, format!("{place}/0"))),
                Node::Tagged { cases, .. } => open.extend(cases.iter().map(|(_, id)| (*id, place.clone()))),
                Node::ByMember { with, without, .. } => open.extend([(*with, place.clone()), (*without, place)]),
                _ => {}
            }
        }
        Ok(())
    }
}
