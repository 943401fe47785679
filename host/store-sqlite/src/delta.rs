//! Changes that are not in the tables: rows as they will be, and the keys that come and go.
//!
//! Two of them lie over the tables: what the journal holds, and over it what an open batch has applied.

mod keys;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::keys::Key;
pub(crate) use keys::{Keys, Mark};

/// A row as it will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    /// As in the table.
    pub revision: u32,
    /// The number of the collection's index without a name.
    pub name: i64,
    /// As in the table.
    pub id: String,
    /// See [`crate::keys`].
    pub keys: Vec<u8>,
    /// As in the table.
    pub body: String,
    /// Whether it is not to be seen below.
    pub new: bool,
}

/// An audit record that is added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// See [`crate::keys`].
    pub keys: Vec<u8>,
    /// As in the table.
    pub body: String,
}

/// The changes of one or more batches.
#[derive(Debug, Clone, Default)]
pub(crate) struct Delta {
    facts: HashMap<i64, Option<Fact>>,
    fact_keys: Keys,
    /// By position; those of a delta follow each other, and the last one below.
    audit: BTreeMap<i64, Record>,
    audit_keys: Keys,
}

impl Delta {
    /// What becomes of the row `stamp`: nothing where it stays as it is below, `Some(None)` where it goes.
    pub fn fact(&self, stamp: i64) -> Option<Option<&Fact>> {
        self.facts.get(&stamp).map(Option::as_ref)
    }

    /// All rows that change, in the order in which they were made.
    pub fn facts(&self) -> Vec<(i64, Option<&Fact>)> {
        let mut facts: Vec<_> = self.facts.iter().map(|(stamp, fact)| (*stamp, fact.as_ref())).collect();
        facts.sort_unstable_by_key(|(stamp, _)| *stamp);
        facts
    }

    /// The keys of audit records, or of all other rows.
    pub fn keys(&self, audit: bool) -> &Keys {
        if audit { &self.audit_keys } else { &self.fact_keys }
    }

    /// The audit record at `position`, if it is added here.
    pub fn record(&self, position: i64) -> Option<&Record> {
        self.audit.get(&position)
    }

    /// The audit records that are added at `positions`, in order.
    pub fn records(&self, positions: Range<i64>) -> impl DoubleEndedIterator<Item = (i64, &Record)> {
        let some = (positions.start < positions.end).then(|| self.audit.range(positions));
        some.into_iter().flatten().map(|(position, record)| (*position, record))
    }

    /// All audit records that are added, in order.
    pub fn all_records(&self) -> impl ExactSizeIterator<Item = (i64, &Record)> {
        self.audit.iter().map(|(position, record)| (*position, record))
    }

    /// Writes a row, whether it is there or not.
    pub fn put(&mut self, stamp: i64, fact: Fact) {
        let new = match self.facts.get(&stamp) {
            Some(Some(before)) => before.new,
            _ => fact.new,
        };
        self.facts.insert(stamp, Some(Fact { new, ..fact }));
    }

    /// Removes a row that is there. Its keys go by themselves.
    pub fn remove(&mut self, stamp: i64) {
        if matches!(self.facts.get(&stamp), Some(Some(fact)) if fact.new) {
            self.facts.remove(&stamp);
        } else {
            self.facts.insert(stamp, None);
        }
    }

    /// A key that is not there comes.
    pub fn add_key(&mut self, key: Key<'_>, stamp: i64) {
        self.fact_keys.mark(key, Mark { stamp, there: true });
    }

    /// A key that is there goes.
    pub fn remove_key(&mut self, key: Key<'_>, stamp: i64) {
        self.fact_keys.mark(key, Mark { stamp, there: false });
    }

    /// Adds an audit record with its keys, behind the last one.
    pub fn add_record<'k>(&mut self, position: i64, record: Record, keys: impl IntoIterator<Item = Key<'k>>) {
        keys.into_iter().for_each(|key| self.audit_keys.mark(key, Mark { stamp: position, there: true }));
        self.audit.insert(position, record);
    }

    /// How many rows and audit records change.
    pub fn len(&self) -> usize {
        self.facts.len() + self.audit.len()
    }

    /// Adds what lay over this one.
    pub fn absorb(&mut self, upper: Self) {
        for (stamp, fact) in upper.facts {
            match fact {
                Some(fact) => self.put(stamp, fact),
                None => self.remove(stamp),
            }
        }
        self.fact_keys.absorb(upper.fact_keys);
        self.audit.extend(upper.audit);
        self.audit_keys.absorb(upper.audit_keys);
    }
}
