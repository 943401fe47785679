//! What a batch has applied and not yet committed: corrections to the committed maps, with a way back for one apply.

use std::collections::{BTreeMap, BTreeSet};

use super::tables::{Counters, EntryKey, RowKey, StoredRow, Tables, Waiting};
use crate::store::{AUDIT, Applied, ApplyError, AuditRecord, Changes, Conflict, EffectLease, Entry, Write, audit_id};

/// The corrections of one batch.
#[derive(Debug)]
pub(super) struct Layer {
    /// A row as it will be; nothing where it will be gone.
    pub rows: BTreeMap<RowKey, Option<StoredRow>>,
    /// Whether a key will be there.
    pub entries: BTreeMap<EntryKey, bool>,
    pub counters: Counters,
    effects: BTreeMap<u64, Waiting>,
    finished: BTreeSet<u64>,
    undo: Vec<Undo>,
}

/// How to take back one correction.
#[derive(Debug)]
enum Undo {
    Row(RowKey, Option<Option<StoredRow>>),
    Entry(EntryKey, Option<bool>),
    Effect(u64),
    Finished(u64),
}

impl Layer {
    /// No corrections to `base`.
    pub fn over(base: &Tables) -> Self {
        Self {
            rows: BTreeMap::new(),
            entries: BTreeMap::new(),
            counters: base.counters,
            effects: BTreeMap::new(),
            finished: BTreeSet::new(),
            undo: Vec::new(),
        }
    }

    /// Applies `changes`: all of them, or none.
    pub fn apply(&mut self, base: &Tables, changes: &Changes) -> Result<Applied, ApplyError> {
        let counters = self.counters;
        self.undo.clear();
        let applied = self.apply_each(base, changes);
        if applied.is_err() {
            self.counters = counters;
            self.take_back();
        }
        applied
    }

    /// Makes the corrections in `base`.
    pub fn merge_into(self, base: &mut Tables) {
        for (key, row) in self.rows {
            match row {
                Some(row) => base.rows.insert(key, row),
                None => base.rows.remove(&key),
            };
        }
        for (key, there) in self.entries {
            if there {
                base.entries.insert(key, ());
            } else {
                base.entries.remove(&key);
            }
        }
        base.outbox.effects.extend(self.effects);
        for id in self.finished {
            base.outbox.effects.remove(&id);
        }
        base.counters = self.counters;
    }

    fn apply_each(&mut self, base: &Tables, changes: &Changes) -> Result<Applied, ApplyError> {
        for (number, write) in changes.writes.iter().enumerate() {
            if !self.write(base, write) {
                return Err(ApplyError::Conflict(Conflict::Write { write: number }));
            }
        }
        for (number, lease) in changes.finished.iter().enumerate() {
            if !self.finish(base, *lease) {
                return Err(ApplyError::Conflict(Conflict::Lease { finished: number }));
            }
        }
        for effect in &changes.effects {
            self.counters.effects += 1;
            let (name, key, body) = (effect.name.clone(), effect.key.clone(), effect.body.clone());
            self.effects.insert(self.counters.effects, Waiting { name, key, body, fence: 0, due: changes.time });
            self.undo.push(Undo::Effect(self.counters.effects));
        }
        self.counters.last_time = self.counters.last_time.max(changes.time);
        Ok(Applied { audit: changes.audit.iter().map(|record| self.add_audit(record)).collect() })
    }

    /// False where the row has another revision than expected.
    fn write(&mut self, base: &Tables, write: &Write) -> bool {
        let key = (write.collection.clone(), write.id.clone());
        let old = match self.rows.get(&key) {
            Some(changed) => changed.clone(),
            None => base.rows.get(&key).cloned(),
        };
        if old.as_ref().map_or(0, |row| row.revision) != write.expected {
            return false;
        }
        let stamp = match &old {
            Some(row) => row.stamp,
            None => {
                self.counters.stamps += 1;
                self.counters.stamps
            }
        };
        for entry in old.iter().flat_map(|row| &row.entries) {
            self.set_entry(&key, stamp, &entry.index, &entry.key, false);
        }
        let Some(body) = &write.body else {
            self.set_entry(&key, stamp, "", &write.id, false);
            self.set_row(key, None);
            return true;
        };
        self.put(
            key,
            StoredRow { revision: write.expected + 1, stamp, body: body.clone(), entries: write.entries.clone() },
        );
        true
    }

    fn finish(&mut self, base: &Tables, lease: EffectLease) -> bool {
        if !base.outbox.holds(lease) || !self.finished.insert(lease.id) {
            return false;
        }
        self.undo.push(Undo::Finished(lease.id));
        true
    }

    fn add_audit(&mut self, record: &AuditRecord) -> u64 {
        self.counters.audit += 1;
        self.counters.stamps += 1;
        let (body, entries) = (record.body.clone(), record.entries.clone());
        let row = StoredRow { revision: 1, stamp: self.counters.stamps, body, entries };
        self.put((AUDIT.to_owned(), audit_id(self.counters.audit)), row);
        self.counters.audit
    }

    fn put(&mut self, key: RowKey, row: StoredRow) {
        self.set_entry(&key, row.stamp, "", &key.1, true);
        for Entry { index, key: entry_key } in &row.entries {
            self.set_entry(&key, row.stamp, index, entry_key, true);
        }
        self.set_row(key, Some(row));
    }

    fn set_row(&mut self, key: RowKey, row: Option<StoredRow>) {
        let before = self.rows.insert(key.clone(), row);
        self.undo.push(Undo::Row(key, before));
    }

    fn set_entry(&mut self, row: &RowKey, stamp: u64, index: &str, key: &str, there: bool) {
        let entry = EntryKey {
            collection: row.0.clone(),
            index: index.to_owned(),
            key: key.to_owned(),
            stamp,
            id: row.1.clone(),
        };
        let before = self.entries.insert(entry.clone(), there);
        self.undo.push(Undo::Entry(entry, before));
    }

    fn take_back(&mut self) {
        while let Some(undo) = self.undo.pop() {
            match undo {
                Undo::Row(key, Some(row)) => drop(self.rows.insert(key, row)),
                Undo::Row(key, None) => drop(self.rows.remove(&key)),
                Undo::Entry(key, Some(there)) => drop(self.entries.insert(key, there)),
                Undo::Entry(key, None) => drop(self.entries.remove(&key)),
                Undo::Effect(id) => drop(self.effects.remove(&id)),
                Undo::Finished(id) => drop(self.finished.remove(&id)),
            }
        }
    }
}
