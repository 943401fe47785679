//! The stored records: parsed when read, checked, and written as JSON text. Hosts never look inside.

use crate::json::{self, Tree, Value, Writer};
use crate::kernel::{
    fields::Fields,
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

/// Parses the body of a stored row.
pub(crate) fn parse(body: &str) -> Flow<Tree<'_>> {
    json::parse(body).map_err(|error| damaged(&error.detail))
}

/// A task incarnation and the scope that it is registered in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Party {
    /// Task id.
    pub task: String,
    /// Incarnation id.
    pub incarnation: String,
    /// `kind:id` of the owner.
    pub owner: String,
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

    pub(crate) fn read(value: Value<'_>) -> Flow<Self> {
        Ok(Self {
            task: value.text("taskId")?.into(),
            incarnation: value.text("incarnationId")?.into(),
            owner: value.text("owner")?.into(),
        })
    }

    pub(crate) fn put(&self, w: &mut Writer, name: &str) {
        w.key(name);
        w.begin_object();
        w.member_str("taskId", &self.task);
        w.member_str("incarnationId", &self.incarnation);
        w.member_str("owner", &self.owner);
        w.end_object();
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
