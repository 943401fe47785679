//! The records as Rust: one file of `guest/protocol/src/generated/records/` for each collection.

use super::super::{HEADER, Output, literal, pascal};
use super::{Collection, Kind, Member, Struct, Table};
use anyhow::Result;
use std::collections::BTreeSet;
use std::fmt::Write;

const FOLDER: &str = "guest/protocol/src/generated/records";

pub(super) fn outputs(table: &Table) -> Result<Vec<Output>> {
    let typed = || table.collections.iter().filter(|collection| collection.record.is_some());
    let mut index = format!("{HEADER}//! The stored records of `spec/records.json`: types, reader and writer.\n\n");
    for collection in typed() {
        writeln!(index, "pub(crate) mod {};", module(&collection.name))?;
    }
    index += "\nuse crate::json::record::{Damage, Reader, Writer};\nuse alloc::string::String;\n";
    for shared in &table.structs {
        structure(&mut index, shared)?;
    }
    let mut outputs = vec![(format!("{FOLDER}.rs"), index)];
    for collection in typed() {
        outputs.push((format!("{FOLDER}/{}.rs", module(&collection.name)), file(table, collection)?));
    }
    Ok(outputs)
}

/// `box` is a word of Rust.
fn module(name: &str) -> &str {
    if name == "box" { "boxes" } else { name }
}

fn file(table: &Table, collection: &Collection) -> Result<String> {
    let name = &collection.name;
    let record = collection.record.as_deref().unwrap_or_default();
    let mut out = format!("{HEADER}//! The collection `{name}`: {}.\n\n", collection.holds);
    let members = || collection.structs.iter().flat_map(|known| &known.members).chain(&collection.members);
    let has = |wanted: &dyn Fn(&Member) -> bool| members().any(wanted);
    let shared: BTreeSet<&str> = members()
        .filter(|member| member.kind == Kind::Struct)
        .filter_map(|member| member.of.as_deref())
        .filter(|of| table.structs.iter().any(|known| known.name == *of))
        .collect();
    if !shared.is_empty() {
        let names = shared.iter().copied().collect::<Vec<_>>().join(", ");
        let names = if shared.len() > 1 { format!("{{{names}}}") } else { names };
        writeln!(out, "use super::{names};")?;
    }
    if has(&|member| member.kind == Kind::Machine) {
        out += "use crate::generated::machines;\n";
    }
    out += "use crate::json::record::{self, Damage, Reader, Writer};\n";
    // The stored text is a string.
    out += if has(&|member| member.list) {
        "use alloc::{string::String, vec::Vec};\n"
    } else {
        "use alloc::string::String;\n"
    };
    writeln!(out, "\n/// The collection.\npub(crate) const COLLECTION: &str = {};", literal(name))?;
    let whole = Struct { name: record.into(), what: collection.what.clone().unwrap_or_default(), members: Vec::new() };
    definition(&mut out, &whole, &collection.members)?;
    writeln!(out, "\nimpl {record} {{")?;
    out += "    /// Reads the stored text.\n    pub(crate) fn parse(text: &str) -> Result<Self, Damage> {\n        record::parse(text, Self::take)\n    }\n\n";
    out += "    /// The stored text.\n    pub fn text(&self) -> String {\n        record::text(self, Self::put)\n    }\n\n";
    codec(&mut out, &collection.members)?;
    out += "}\n";
    for known in &collection.structs {
        structure(&mut out, known)?;
    }
    Ok(out)
}

/// A struct inside records.
fn structure(out: &mut String, known: &Struct) -> Result<()> {
    definition(out, known, &known.members)?;
    writeln!(out, "\nimpl {} {{", known.name)?;
    codec(out, &known.members)?;
    *out += "}\n";
    Ok(())
}

fn definition(out: &mut String, known: &Struct, members: &[Member]) -> Result<()> {
    let usual = members.iter().all(|member| {
        let made = !matches!(member.kind, Kind::Machine | Kind::Struct | Kind::Document);
        made || member.optional || member.list
    });
    let more = if usual { ", Default" } else { "" };
    writeln!(
        out,
        "\n/// {}\n#[derive(Clone, Debug, PartialEq, Eq{more})]\npub(crate) struct {} {{",
        known.what, known.name
    )?;
    for member in members {
        writeln!(out, "    /// {}\n    pub {}: {},", member.what, member.field(), kind(member))?;
    }
    *out += "}\n";
    Ok(())
}

fn kind(member: &Member) -> String {
    let of = member.of.as_deref().unwrap_or_default();
    let one = match member.kind {
        Kind::Text | Kind::Document => "String".into(),
        Kind::Integer => "i64".into(),
        Kind::Flag => "bool".into(),
        Kind::Machine => format!("machines::{}", pascal(of)),
        Kind::Struct => of.to_owned(),
    };
    match (member.list, member.optional) {
        (true, _) => format!("Vec<{one}>"),
        (_, true) => format!("Option<{one}>"),
        _ => one,
    }
}

/// `take` and `put`: the members in the order of the table.
fn codec(out: &mut String, members: &[Member]) -> Result<()> {
    *out += "    pub(crate) fn take(from: &mut Reader<'_>) -> Result<Self, Damage> {\n        Ok(Self {\n";
    for member in members {
        writeln!(out, "            {}: {},", member.field(), take(member))?;
    }
    *out += "        })\n    }\n\n    pub(crate) fn put(&self, to: &mut Writer) {\n";
    for member in members {
        writeln!(out, "        {};", put(member))?;
    }
    *out += "    }\n";
    Ok(())
}

/// What stands before the value.
fn name(member: &Member) -> String {
    literal(&format!(",\"{}\":", member.name))
}

fn take(member: &Member) -> String {
    let (name, of) = (name(member), member.of.as_deref().unwrap_or_default());
    let maybe = if member.optional { "maybe_" } else { "" };
    match member.kind {
        Kind::Text if member.list => format!("from.texts({name})?"),
        Kind::Text => format!("from.{maybe}text({name})?"),
        Kind::Integer => format!("from.{maybe}integer({name})?"),
        Kind::Flag => format!("from.{maybe}flag({name})?"),
        Kind::Document => format!("from.{maybe}document({name})?"),
        Kind::Machine => format!("from.word({name}, machines::{}::parse)?", pascal(of)),
        Kind::Struct if member.flat => format!("{of}::take(from)?"),
        Kind::Struct if member.list => format!("from.objects({name}, {of}::take)?"),
        Kind::Struct => format!("from.{maybe}object({name}, {of}::take)?"),
    }
}

fn put(member: &Member) -> String {
    let (name, of, field) = (name(member), member.of.as_deref().unwrap_or_default(), member.field());
    match (member.kind, member.optional) {
        (Kind::Text, _) if member.list => format!("to.texts({name}, &self.{field})"),
        (Kind::Text, false) => format!("to.text({name}, &self.{field})"),
        (Kind::Text, true) => format!("to.maybe_text({name}, self.{field}.as_deref())"),
        (Kind::Document, false) => format!("to.document({name}, &self.{field})"),
        (Kind::Document, true) => format!("to.maybe_document({name}, self.{field}.as_deref())"),
        (Kind::Integer, false) => format!("to.integer({name}, self.{field})"),
        (Kind::Integer, true) => format!("to.maybe_integer({name}, self.{field})"),
        (Kind::Flag, false) => format!("to.flag({name}, self.{field})"),
        (Kind::Flag, true) => format!("to.maybe_flag({name}, self.{field})"),
        (Kind::Machine, _) => format!("to.word({name}, self.{field}.name())"),
        (Kind::Struct, _) if member.flat => format!("self.{field}.put(to)"),
        (Kind::Struct, _) if member.list => format!("to.objects({name}, &self.{field}, {of}::put)"),
        (Kind::Struct, false) => format!("to.object({name}, &self.{field}, {of}::put)"),
        (Kind::Struct, true) => format!("to.maybe_object({name}, self.{field}.as_ref(), {of}::put)"),
    }
}
