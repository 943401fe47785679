//! The stored records: what they are, how they are read and written is generated from `spec/records.json`; what they can
//! do, and under which keys they are found, stands here. Hosts never look inside.

pub(crate) use crate::generated::records::{NamedTask, Party};

use crate::json::record::Damage;
use crate::json::{self, Tree, Writer};
use crate::kernel::{
    Stored,
    flow::{Flow, damaged},
    keys::key,
};
use alloc::string::String;

/// What stands in place of a text that was removed.
pub(crate) const TOMBSTONE: &str = "Removed by retention policy.";

/// A record together with the revision of its row.
#[derive(Clone, Debug)]
pub(crate) struct Row<T> {
    /// The row's id.
    pub id: String,
    /// The row's revision: what a write must expect.
    pub revision: u32,
    /// The record.
    pub record: T,
}

impl<T> Row<T> {
    /// A stored row whose text `parse` reads.
    pub fn read(row: &Stored, parse: fn(&str) -> Result<T, Damage>) -> Flow<Self> {
        let record = parse(&row.body).map_err(|damage| damaged(damage.member()))?;
        Ok(Self { id: row.id.clone(), revision: row.revision, record })
    }
}

/// Parses a document that stands in a stored row.
pub(crate) fn parse(body: &str) -> Flow<Tree<'_>> {
    json::parse(body).map_err(|error| damaged(&error.detail))
}

impl Party {
    /// The key of the task's rows: the incarnation stands first, since every reference to a task carries it.
    pub fn key(&self, tenant: &str) -> String {
        key(&[tenant, &self.incarnation, &self.task, &self.owner])
    }

    /// Whether a TaskRef names this party.
    pub fn is(&self, task: &str, incarnation: &str) -> bool {
        self.task == task && self.incarnation == incarnation
    }

    /// The wire form: without the owner.
    pub fn put_ref(&self, w: &mut Writer, name: &str) {
        w.key(name);
        w.begin_object();
        w.member_str("taskId", &self.task);
        w.member_str("incarnationId", &self.incarnation);
        w.end_object();
    }
}

/// Writes a member where there is a value.
pub(crate) fn put_text(w: &mut Writer, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        w.member_str(name, value);
    }
}

/// Writes a number where there is one.
pub(crate) fn put_int(w: &mut Writer, name: &str, value: Option<i64>) {
    if let Some(value) = value {
        w.member_int(name, value);
    }
}

/// Writes raw JSON where there is some.
pub(crate) fn put_raw(w: &mut Writer, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        w.member_raw(name, value);
    }
}
