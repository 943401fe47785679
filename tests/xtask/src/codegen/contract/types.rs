//! Schemas → Rust types that take exactly the members that a schema names. Bounds and patterns are the core's to check.

use super::super::{HEADER, ordered::Json};
use super::catalogue::{Catalogue, Place};
use super::client::pascal;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Words that cannot name a member.
const RESERVED: &[&str] = &["type", "ref", "in", "match", "move", "use", "final", "self", "where"];

/// The types written so far, by name.
pub(super) struct Types {
    catalogue: Catalogue,
    written: BTreeMap<String, String>,
}

impl Types {
    /// None yet, of the schemas under `root`.
    pub(super) fn new(root: &Path) -> Self {
        Self { catalogue: Catalogue::new(root), written: BTreeMap::new() }
    }

    /// The type of a whole file, which is called `name`. `lenient`: a missing idempotency key is made later.
    pub(super) fn root(&mut self, file: &str, name: &str, lenient: bool) -> Result<String> {
        let schema = self.catalogue.schema(&(file.to_owned(), String::new()))?;
        let schema = described(schema, file);
        let found = self.named(file, &schema, name, lenient)?;
        if found != name {
            let told = doc(&schema, name);
            self.add(name, format!("/// {told}\npub type {name} = {found};\n"))?;
        }
        Ok(name.to_owned())
    }

    /// The text of the module.
    pub(super) fn text(&self) -> String {
        let mut out = String::from(HEADER);
        out += "//! What operations take and answer, after the schemas of `spec/schema/`. A member that a schema does not\n";
        out += "//! name is refused; an absent one is `None`.\n\nuse serde::{Deserialize, Serialize};\n";
        out += "use serde_json::{Map, Value};\n";
        for text in self.written.values() {
            out.push('\n');
            out += text;
        }
        out
    }

    /// The Rust type of `schema`; one of its own is called `name`.
    fn named(&mut self, file: &str, schema: &Json, name: &str, lenient: bool) -> Result<String> {
        if let Some(reference) = schema.get("$ref").and_then(Json::text) {
            return self.reference(&Catalogue::follow(file, reference));
        }
        if let Some(value) = schema.get("const") {
            return match value {
                Json::Text(word) => self.words(name, schema, std::slice::from_ref(&Json::from(word.as_str()))),
                Json::Bool(_) => Ok("bool".into()),
                other => bail!("const {} has no type", other.compact()),
            };
        }
        if let Some(branches) = schema.get("oneOf") {
            return self.maybe_null(file, branches.items(), name);
        }
        if let Some(words) = schema.get("enum") {
            return self.words(name, schema, words.items());
        }
        match schema.get("type") {
            None => Ok("Value".into()),
            Some(Json::Text(kind)) => self.typed(file, schema, kind, name, lenient),
            Some(kinds) => {
                let mut others = kinds.items().iter().filter_map(Json::text).filter(|kind| *kind != "null");
                let kind = others.next().context("a type beside null")?;
                ensure!(others.next().is_none(), "{name}: alternatives are null and one more");
                Ok(format!("Option<{}>", self.typed(file, schema, kind, name, lenient)?))
            }
        }
    }

    fn typed(&mut self, file: &str, schema: &Json, kind: &str, name: &str, lenient: bool) -> Result<String> {
        Ok(match kind {
            "string" => "String".into(),
            "integer" => "i64".into(),
            "boolean" => "bool".into(),
            "array" => {
                let items = schema.get("items").context("an array has items")?;
                format!("Vec<{}>", self.named(file, items, &format!("{name}Item"), false)?)
            }
            "object" if schema.get("properties").is_none() => "Map<String, Value>".into(),
            "object" => self.object(file, schema, name, lenient)?,
            other => bail!("{name}: type {other} is not known"),
        })
    }

    /// The type of the schema at `place`: named after it, where it is an object or a choice of words.
    fn reference(&mut self, place: &Place) -> Result<String> {
        let schema = self.catalogue.schema(place)?;
        let name = pascal(&self.catalogue.name(place)?);
        self.named(&place.0, &schema, &name, false)
    }

    fn maybe_null(&mut self, file: &str, branches: &[Json], name: &str) -> Result<String> {
        let null = |branch: &&Json| branch.get("type").and_then(Json::text) == Some("null");
        let others: Vec<&Json> = branches.iter().filter(|branch| !null(branch)).collect();
        let [one] = others[..] else { bail!("{name}: alternatives are null and one more") };
        ensure!(branches.len() == 2, "{name}: alternatives are null and one more");
        Ok(format!("Option<{}>", self.named(file, one, name, false)?))
    }

    fn words(&mut self, name: &str, schema: &Json, words: &[Json]) -> Result<String> {
        let only = words.len() == 1;
        let mut text = format!("/// {}\n", doc(schema, name));
        let default = if only { "Default, " } else { "" };
        writeln!(text, "#[derive(Clone, Copy, Debug, {default}PartialEq, Eq, Hash, Serialize, Deserialize)]")?;
        writeln!(text, "pub enum {name} {{")?;
        for word in words {
            let word = word.text().context("words are texts")?;
            let mut variant = pascal(word);
            if variant.starts_with(|first: char| first.is_ascii_digit()) {
                variant.insert(0, 'V');
            }
            let default = if only { "    #[default]\n" } else { "" };
            write!(text, "    /// `{word}`\n{default}    #[serde(rename = {word:?})]\n    {variant},\n")?;
        }
        text += "}\n";
        let words: Vec<String> = words.iter().filter_map(Json::text).map(|word| format!("{word:?}")).collect();
        write!(text, "\nimpl {name} {{\n    /// The words, in the order of the schema.\n")?;
        writeln!(text, "    pub const WORDS: &'static [&'static str] = &[{}];\n}}", words.join(", "))?;
        self.add(name, text)
    }

    fn object(&mut self, file: &str, schema: &Json, name: &str, lenient: bool) -> Result<String> {
        let required = schema.get("required").map(Json::items).unwrap_or_default();
        let mut text = format!("/// {}\n", doc(schema, name));
        let made = |item: &Json| lenient && item.text() == Some("idempotencyKey");
        let default = if required.iter().all(made) { "Default, " } else { "" };
        text += &format!("#[derive(Clone, Debug, {default}PartialEq, Serialize, Deserialize)]\n");
        text += "#[serde(deny_unknown_fields)]\n";
        writeln!(text, "pub struct {name} {{")?;
        let mut fields: Vec<Field> = Vec::new();
        for (member, property) in schema.get("properties").map(Json::members).unwrap_or_default() {
            let own = format!("{name}{}", pascal(member));
            let kind = self.named(file, property, &own, false)?;
            let made = lenient && member == "idempotencyKey";
            let needed = !made && required.iter().any(|item| item.text() == Some(member));
            let told = match (made, property.get("description").and_then(Json::text)) {
                (true, _) => "The idempotency key; one is made where there is none.".to_owned(),
                (false, Some(told)) => told.to_owned(),
                (false, None) => format!("`{member}`"),
            };
            writeln!(text, "    /// {told}")?;
            let (head, kind) = match (needed, kind.starts_with("Option<")) {
                (true, false) => (String::new(), kind),
                // What may be null must be there all the same.
                (true, true) => (", deserialize_with = \"crate::client::nullable\"".to_owned(), kind),
                (false, _) => {
                    (", default, skip_serializing_if = \"Option::is_none\"".to_owned(), format!("Option<{kind}>"))
                }
            };
            writeln!(text, "    #[serde(rename = {member:?}{head})]\n    pub {}: {kind},", snake(member))?;
            fields.push((snake(member), kind, needed));
        }
        text += "}\n";
        text += &constructor(name, &fields);
        self.add(name, text)
    }

    fn add(&mut self, name: &str, text: String) -> Result<String> {
        let known = self.written.entry(name.to_owned()).or_insert_with(|| text.clone());
        ensure!(*known == text, "{name} is the name of two types");
        Ok(name.to_owned())
    }
}

/// A member: its name, its type, and whether it must be there.
type Field = (String, String, bool);

/// `new`, which goes on compiling when there are more members that may be absent. Where all may be, there is `Default`.
fn constructor(name: &str, fields: &[Field]) -> String {
    if fields.iter().all(|(_, _, needed)| !needed) {
        return String::new();
    }
    let needed = || fields.iter().filter(|(_, _, needed)| *needed);
    let arguments: Vec<String> = needed().map(|(name, kind, _)| format!("{name}: {kind}")).collect();
    let many = if arguments.len() > 7 { "    #[allow(clippy::too_many_arguments)]\n" } else { "" };
    let members = fields.iter().map(|(name, _, needed)| if *needed { name.clone() } else { format!("{name}: None") });
    format!(
        "\nimpl {name} {{\n    /// With the members that must be there, and no others.\n{many}    #[must_use]\n    \
         pub fn new({}) -> Self {{\n        {name} {{ {} }}\n    }}\n}}\n",
        arguments.join(", "),
        members.collect::<Vec<_>>().join(", ")
    )
}

/// A schema of params says what it is where it says nothing of itself.
fn described(mut schema: Json, file: &str) -> Json {
    let name = file.rsplit('/').next().unwrap_or_default().trim_end_matches(".schema.json");
    if schema.get("description").is_none() {
        *schema.slot("description") = format!("What `{name}` takes.").into();
    }
    schema
}

fn doc(schema: &Json, name: &str) -> String {
    let told = schema.get("description").or_else(|| schema.get("title")).and_then(Json::text);
    told.map_or_else(|| format!("`{name}`"), str::to_owned)
}

/// A name in snake case; a reserved word gets an underscore.
pub(super) fn snake(name: &str) -> String {
    let mut out = String::new();
    for sign in name.chars() {
        match sign {
            '.' | '-' => out.push('_'),
            sign if sign.is_ascii_uppercase() => {
                out.push('_');
                out.push(sign.to_ascii_lowercase());
            }
            sign => out.push(sign),
        }
    }
    if RESERVED.contains(&out.as_str()) {
        out.push('_');
    }
    out
}
