//! JSON Schema → shapes. Keywords that are not understood are an error, so that nothing in a schema is silently dropped.

use super::super::ordered::Json;
use super::node::{Arena, Id, Member, Node};
use anyhow::{Context, Result, bail, ensure};
use std::{collections::BTreeMap, path::Path, path::PathBuf};

/// Keywords that describe, or that named rules stand for.
const PASSED_OVER: &[&str] = &["$schema", "$id", "$defs", "$comment", "title", "description", "allOf", "anyOf"];

/// The characters that an identifier never holds; see rule SH-9.
const INVISIBLE: &str = concat!(
    r"\u0000-\u001F<>\u007F-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u2028-\u202E",
    r"\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB",
    // Beyond the basic plane as they are: engines differ in how they escape those.
    "\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}"
);
/// White space (the Unicode property) that is not among them: what `\s` means differs from one engine to the next.
const WHITE: &str = r"\u0020\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000";
const BASE64URL: &str = "^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-][AQgw]|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048])?$";
const DIGEST: &str = "^sha256:[a-f0-9]{64}$";

/// Reads schema files and compiles them into one arena.
pub(super) struct Reader {
    root: PathBuf,
    files: BTreeMap<String, Json>,
    known: BTreeMap<String, Id>,
    pub(super) arena: Arena,
}

impl Reader {
    /// A reader of files under `root`; `files` are taken as given.
    pub(super) fn new(root: &Path, files: BTreeMap<String, Json>) -> Self {
        Self { root: root.to_owned(), files, known: BTreeMap::new(), arena: Arena::default() }
    }

    /// The shape of a whole file.
    pub(super) fn whole(&mut self, file: &str) -> Result<Id> {
        self.resolve(file, "")
    }

    /// The shapes of those definitions in `file` that are objects, by name.
    pub(super) fn definitions(&mut self, file: &str) -> Result<Vec<(String, Id)>> {
        let schema = self.load(file)?;
        let definitions = schema.get("$defs").map(Json::members).unwrap_or_default();
        let objects =
            definitions.iter().filter(|(_, schema)| schema.get("type").and_then(Json::text) == Some("object"));
        objects.map(|(name, _)| Ok((name.clone(), self.resolve(file, name)?))).collect()
    }

    fn load(&mut self, file: &str) -> Result<Json> {
        if !self.files.contains_key(file) {
            self.files.insert(file.to_owned(), Json::load(&self.root.join(file))?);
        }
        Ok(self.files[file].clone())
    }

    /// The definition `name` of `file`, or the whole file without a name.
    fn resolve(&mut self, file: &str, name: &str) -> Result<Id> {
        let key = format!("{file}#{name}");
        if let Some(&id) = self.known.get(&key) {
            return Ok(id);
        }
        let whole = self.load(file)?;
        let schema = match name {
            "" => &whole,
            name => whole.get("$defs").and_then(|all| all.get(name)).with_context(|| format!("no {key}"))?,
        };
        let id = self.schema(file, schema).with_context(|| format!("in {key}"))?;
        self.known.insert(key, id);
        Ok(id)
    }

    fn reference(&mut self, file: &str, reference: &str) -> Result<Id> {
        let (path, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let mut target: Vec<&str> = file.split('/').collect();
        if !path.is_empty() {
            target.pop();
            for part in path.split('/') {
                if part == ".." {
                    let _ = target.pop();
                } else {
                    target.push(part);
                }
            }
        }
        let name = fragment.strip_prefix("/$defs/").unwrap_or(fragment);
        ensure!(!name.contains('/'), "reference {reference} is not to a definition");
        self.resolve(&target.join("/"), name)
    }

    fn schema(&mut self, file: &str, schema: &Json) -> Result<Id> {
        if let Some(reference) = schema.get("$ref") {
            let told = ["$ref", "$schema", "$id", "$comment", "title", "description"];
            ensure!(schema.members().iter().all(|(keyword, _)| told.contains(&keyword.as_str())), "$ref stands alone");
            return self.reference(file, reference.text().context("$ref is a text")?);
        }
        let node = self.node(file, schema)?;
        Ok(self.arena.id(node))
    }

    fn node(&mut self, file: &str, schema: &Json) -> Result<Node> {
        if let Some(value) = schema.get("const") {
            known(schema, &["const"])?;
            return match value {
                Json::Text(text) => Ok(Node::ConstText(text.clone())),
                Json::Bool(value) => Ok(Node::ConstBool(*value)),
                _ => bail!("const of this type is not compiled"),
            };
        }
        if let Some(branches) = schema.get("oneOf") {
            known(schema, &["oneOf"])?;
            return self.one_of(file, branches.items());
        }
        match schema.get("type") {
            None => known(schema, &[]).map(|()| Node::Any),
            Some(Json::Text(kind)) => self.typed(file, schema, kind),
            Some(kinds) => {
                let mut alternatives = Vec::new();
                for kind in kinds.items() {
                    let mut one = schema.clone();
                    *one.slot("type") = kind.clone();
                    if kind.text() != Some("integer") {
                        one.remove("minimum");
                    }
                    if kind.text() != Some("string") {
                        one.remove("format");
                        one.remove("pattern");
                    }
                    alternatives.push(self.schema(file, &one)?);
                }
                Ok(Node::ByType(alternatives))
            }
        }
    }

    fn typed(&mut self, file: &str, schema: &Json, kind: &str) -> Result<Node> {
        match kind {
            "null" => known(schema, &["type"]).map(|()| Node::Null),
            "boolean" => known(schema, &["type"]).map(|()| Node::Boolean),
            "integer" => {
                known(schema, &["type", "minimum", "maximum"])?;
                Ok(Node::Integer { min: number(schema, "minimum")?, max: number(schema, "maximum")? })
            }
            "string" => text(schema),
            "array" => {
                known(schema, &["type", "items", "minItems", "maxItems", "uniqueItems"])?;
                let item = self.schema(file, schema.get("items").context("items")?)?;
                let unique = schema.get("uniqueItems") == Some(&Json::Bool(true));
                let min = number(schema, "minItems")?.unwrap_or(0);
                let max = number(schema, "maxItems")?;
                ensure!(
                    !unique || max.is_some_and(|max: u16| max <= 64),
                    "unique items are few: every pair is compared"
                );
                Ok(Node::Array { item, min, max, unique })
            }
            "object" => self.object(file, schema),
            other => bail!("type {other} is not compiled"),
        }
    }

    fn object(&mut self, file: &str, schema: &Json) -> Result<Node> {
        let min = number(schema, "minProperties")?.unwrap_or(0);
        let Some(properties) = schema.get("properties") else {
            known(schema, &["type", "minProperties", "maxProperties"])?;
            return Ok(Node::Open { min, max: number(schema, "maxProperties")? });
        };
        known(schema, &["type", "additionalProperties", "required", "properties", "minProperties"])?;
        ensure!(schema.get("additionalProperties") == Some(&Json::Bool(false)), "every object is closed");
        let required = schema.get("required").map(Json::items).unwrap_or_default();
        let mut members = Vec::new();
        for (name, property) in properties.members() {
            let shape = self.schema(file, property).with_context(|| format!("in member {name}"))?;
            let required = required.iter().any(|item| item.text() == Some(name));
            members.push(Member { name: name.clone(), shape, required });
        }
        ensure!(
            required.iter().all(|item| members.iter().any(|member| Some(member.name.as_str()) == item.text())),
            "a required member is not among the properties"
        );
        Ok(Node::Object { members, min })
    }

    fn one_of(&mut self, file: &str, branches: &[Json]) -> Result<Node> {
        let ids: Vec<Id> = branches.iter().map(|branch| self.schema(file, branch)).collect::<Result<_>>()?;
        if let Some(tagged) = self.tagged(&ids) {
            return Ok(tagged);
        }
        if ids.iter().any(|&id| *self.arena.get(id) == Node::Null) {
            return Ok(Node::ByType(ids));
        }
        let [first, second] = ids[..] else { bail!("oneOf of this form is not compiled") };
        let names = |id| match self.arena.get(id) {
            Node::Object { members, .. } => {
                members.iter().filter(|member| member.required).map(|m| m.name.clone()).collect()
            }
            _ => Vec::new(),
        };
        let others = names(first);
        let name = names(second).into_iter().find(|name| !others.contains(name)).context("oneOf has no mark")?;
        Ok(Node::ByMember { name, with: second, without: first })
    }

    /// The first member that is required in every branch and has other texts in each.
    fn tagged(&self, ids: &[Id]) -> Option<Node> {
        let Node::Object { members, .. } = self.arena.get(*ids.first()?) else { return None };
        members.iter().find_map(|member| {
            let mut cases = Vec::new();
            for &id in ids {
                let Node::Object { members, .. } = self.arena.get(id) else { return None };
                let tag = members.iter().find(|other| other.name == member.name && other.required)?;
                match self.arena.get(tag.shape) {
                    Node::ConstText(text) => cases.push((text.clone(), id)),
                    Node::Enum(texts) => cases.extend(texts.iter().map(|text| (text.clone(), id))),
                    _ => return None,
                }
            }
            let distinct = cases
                .iter()
                .enumerate()
                .all(|(index, (text, _))| cases[..index].iter().all(|(other, _)| other != text));
            distinct.then(|| Node::Tagged { tag: member.name.clone(), cases })
        })
    }
}

/// Fails where `schema` has a keyword that is neither among `keywords` nor passed over.
fn known(schema: &Json, keywords: &[&str]) -> Result<()> {
    for (keyword, _) in schema.members() {
        ensure!(keywords.contains(&keyword.as_str()) || PASSED_OVER.contains(&keyword.as_str()), "keyword {keyword}");
    }
    Ok(())
}

fn number<T: TryFrom<i64>>(schema: &Json, keyword: &str) -> Result<Option<T>> {
    let Some(value) = schema.get(keyword) else { return Ok(None) };
    let value = value.int().and_then(|value| T::try_from(value).ok());
    value.map(Some).with_context(|| format!("{keyword} is out of range"))
}

fn text(schema: &Json) -> Result<Node> {
    known(schema, &["type", "enum", "format", "pattern", "minLength", "maxLength"])?;
    if let Some(words) = schema.get("enum") {
        let words: Option<Vec<String>> = words.items().iter().map(|word| word.text().map(str::to_owned)).collect();
        return words.map(Node::Enum).context("enum of texts only");
    }
    if let Some(format) = schema.get("format") {
        ensure!(format.text() == Some("date-time"), "format is not compiled");
        return Ok(Node::DateTime);
    }
    let (min, max) = (number(schema, "minLength")?.unwrap_or(0), number(schema, "maxLength")?);
    let Some(pattern) = schema.get("pattern").and_then(Json::text) else { return Ok(Node::Text { min, max }) };
    let edge = format!("[^{WHITE}{INVISIBLE}]");
    let safe = format!("{edge}(?:[^{INVISIBLE}]*{edge})?");
    match (pattern, max) {
        (pattern, Some(max)) if min > 0 && pattern == format!("^{safe}$") => Ok(Node::Identifier { min, max }),
        (pattern, Some(max)) if min == 0 && pattern == format!("^(?:{safe})?$") => Ok(Node::Identifier { min, max }),
        (BASE64URL, Some(max)) => Ok(Node::Base64url { min, max }),
        (DIGEST, None) => Ok(Node::Digest),
        (pattern, None) => prefixed(pattern).with_context(|| format!("pattern {pattern} is not compiled")),
        _ => bail!("pattern {pattern} with these lengths is not compiled"),
    }
}

/// `^prefix[A-Za-z0-9][A-Za-z0-9._:-]{min,max}$` or `^prefix[a-z0-9_]+$`.
fn prefixed(pattern: &str) -> Option<Node> {
    let body = pattern.strip_prefix('^')?.strip_suffix('$')?;
    if let Some(prefix) = body.strip_suffix("[a-z0-9_]+") {
        return Some(Node::Code { prefix: prefix.to_owned() });
    }
    let (prefix, counts) = body.split_once("[A-Za-z0-9][A-Za-z0-9._:-]{")?;
    let (min, max) = counts.strip_suffix('}')?.split_once(',')?;
    Some(Node::Prefixed { prefix: prefix.to_owned(), min: min.parse().ok()?, max: max.parse().ok()? })
}
