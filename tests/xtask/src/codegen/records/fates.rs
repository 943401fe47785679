//! What a purge makes of every member of every row.

use super::{Collection, FATES, FILE, Kind, Member, Struct, Table};
use anyhow::{Context, Result, ensure};
use std::path::Path;

/// A row of the table of retention.
#[derive(Clone, Debug)]
pub struct Fate {
    /// The collection.
    pub collection: String,
    /// Names from the row down, with points between them; `*` for any one, `**` for all that follow.
    pub path: String,
    /// `kept`, `removed`, `digest`, `tombstone` or `ends`.
    pub becomes: String,
    /// More about it.
    pub note: String,
    /// The member of `spec/records.json` that says so: several paths may lead to one.
    pub member: String,
}

/// All of them, the special before the general. Error: `spec/records.json` is faulty, or leaves a member out.
pub fn fates(root: &Path) -> Result<Vec<Fate>> {
    let table = Table::load(root)?;
    let mut all = Vec::new();
    for collection in &table.collections {
        let mut walk = Walk { table: &table, collection, found: Vec::new() };
        walk.members("", &collection.name, &collection.members)?;
        if let Some(becomes) = &collection.purge {
            let (path, note) = ("**".to_owned(), collection.note.as_deref());
            walk.add(path, becomes, note, &collection.name)?;
        }
        all.append(&mut walk.found);
    }
    Ok(all)
}

struct Walk<'a> {
    table: &'a Table,
    collection: &'a Collection,
    found: Vec<Fate>,
}

impl<'a> Walk<'a> {
    fn add(&mut self, path: String, becomes: &str, note: Option<&str>, member: &str) -> Result<()> {
        ensure!(FATES.contains(&becomes), "{FILE}: {member} becomes {becomes}?");
        let (becomes, note) = (becomes.to_owned(), note.unwrap_or_default().to_owned());
        let (collection, member) = (self.collection.name.clone(), member.to_owned());
        self.found.push(Fate { collection, path, becomes, note, member });
        Ok(())
    }

    fn members(&mut self, at: &str, holder: &str, members: &[Member]) -> Result<()> {
        for member in members {
            self.member(at, holder, member)?;
        }
        Ok(())
    }

    fn member(&mut self, at: &str, holder: &str, member: &Member) -> Result<()> {
        let name = format!("{holder}.{}", member.name);
        let list = if member.list { ".*" } else { "" };
        let path = if member.flat { at.to_owned() } else { format!("{at}{}{list}", member.name) };
        for inside in &member.inside {
            let inner = format!("{name}.{}", inside.path);
            self.add(format!("{path}.{}", inside.path), &inside.purge, inside.note.as_deref(), &inner)?;
        }
        match (&member.purge, member.kind) {
            (Some(becomes), Kind::Struct) if member.flat => {
                let of = self.of(member)?;
                for part in &of.members {
                    self.add(format!("{at}{}", part.name), becomes, member.note.as_deref(), &name)?;
                }
                Ok(())
            }
            (Some(becomes), Kind::Struct | Kind::Document) => {
                self.add(format!("{path}.**"), becomes, member.note.as_deref(), &name)
            }
            (Some(becomes), _) => self.add(path, becomes, member.note.as_deref(), &name),
            // The collection says what becomes of the rest.
            (None, _) if self.collection.purge.is_some() => Ok(()),
            (None, Kind::Struct) => {
                let of = self.of(member)?;
                let below = if member.flat { path } else { format!("{path}.") };
                self.members(&below, &of.name, &of.members)
            }
            (None, _) => {
                ensure!(!member.inside.is_empty(), "{FILE}: what becomes of {name}?");
                Ok(())
            }
        }
    }

    fn of(&self, member: &Member) -> Result<&'a Struct> {
        let of = member.of.as_deref().unwrap_or_default();
        self.table.find(self.collection, of).context("a struct that is known")
    }
}
