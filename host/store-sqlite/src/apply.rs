//! Applying a decision's changes to the layer of a batch: first everything is looked at, then everything is changed.
//!
//! Between the two nothing can change, since the transaction is exclusive. A conflict is thus found before the first
//! change, and there is nothing to take back; a failure after it ends the whole batch. Rows reach the file when the batch
//! is committed.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;
use threadmesh_runtime::store::{
    AUDIT, Applied, ApplyError, AuditRecord, Changes, Conflict, Entry, ReadSet, Seen, StoreError, Write,
};

use crate::counters::Counters;
use crate::delta::{Delta, Fact, Record};
use crate::error::InStore;
use crate::keys::{self, Key};
use crate::looked::Looked;
use crate::names::{Names, NewNames};
use crate::outbox;
use crate::query::Current;
use crate::recent::Recent;
use crate::view::View;

/// What applying works with.
pub(crate) struct Applier<'a> {
    pub conn: &'a Connection,
    pub names: &'a Names,
    pub new_names: &'a mut NewNames,
    pub counters: &'a mut Counters,
    pub recent: &'a Recent,
    pub layer: &'a mut Delta,
    pub looked: &'a Looked,
}

/// What to do with a row.
enum Plan {
    /// It is not there.
    Make,
    /// It is there.
    Change(Current),
    /// An earlier write of the same changes decides.
    LookAgain,
}

impl Applier<'_> {
    /// Runs the queries of `reads` again and compares.
    pub fn validate(&self, reads: &ReadSet) -> Result<(), ApplyError> {
        for (number, (query, seen)) in reads.reads.iter().enumerate() {
            let name = self.names.find_in(self.conn, self.new_names, &query.collection, &query.index).in_store()?;
            let now = match name {
                Some(index) => self.through(|view| view.answer(index, query)).in_store()?.seen(),
                None => Seen::default(),
            };
            if now != *seen {
                return Err(ApplyError::Conflict(Conflict::Read { query: number }));
            }
        }
        Ok(())
    }

    /// Checks expected revisions and leases, and writes `changes`.
    pub fn apply(&mut self, changes: &Changes) -> Result<Applied, ApplyError> {
        let plans = self.plan(&changes.writes)?;
        self.check_leases(changes)?;
        for (write, plan) in changes.writes.iter().zip(plans) {
            self.write(write, plan)?;
        }
        for lease in &changes.finished {
            outbox::complete(self.conn, *lease).in_store()?;
        }
        for effect in &changes.effects {
            self.counters.effects += 1;
            outbox::add(self.conn, self.counters.effects, changes.time, effect).in_store()?;
        }
        self.counters.last_time = self.counters.last_time.max(changes.time);
        let audit = changes.audit.iter().map(|record| self.add_audit(record)).collect::<Result<_, _>>()?;
        Ok(Applied { audit })
    }

    fn plan(&self, writes: &[Write]) -> Result<Vec<Plan>, ApplyError> {
        let mut revisions: HashMap<(&str, &str), u32> = HashMap::with_capacity(writes.len());
        let mut plans = Vec::with_capacity(writes.len());
        for (number, write) in writes.iter().enumerate() {
            let row = (write.collection.as_str(), write.id.as_str());
            let (revision, plan) = match revisions.get(&row) {
                Some(revision) => (*revision, Plan::LookAgain),
                None => match self.current(write)? {
                    Some(current) => (current.revision, Plan::Change(current)),
                    None => (0, Plan::Make),
                },
            };
            if revision != write.expected {
                return Err(ApplyError::Conflict(Conflict::Write { write: number }));
            }
            revisions.insert(row, if write.body.is_some() { revision.saturating_add(1) } else { 0 });
            plans.push(plan);
        }
        Ok(plans)
    }

    fn check_leases(&self, changes: &Changes) -> Result<(), ApplyError> {
        let mut seen = HashSet::new();
        for (number, lease) in changes.finished.iter().enumerate() {
            if !seen.insert(lease.id) || !outbox::holds(self.conn, *lease).in_store()? {
                return Err(ApplyError::Conflict(Conflict::Lease { finished: number }));
            }
        }
        Ok(())
    }

    fn current(&self, write: &Write) -> Result<Option<Current>, StoreError> {
        match self.names.find_in(self.conn, self.new_names, &write.collection, "").in_store()? {
            Some(index) => self.through(|view| view.current(index.number, &write.id)).in_store(),
            None => Ok(None),
        }
    }

    fn through<T>(&self, what: impl FnOnce(&View<'_>) -> T) -> T {
        self.recent.through(self.conn, self.layer, self.looked, what)
    }

    fn write(&mut self, write: &Write, plan: Plan) -> Result<(), StoreError> {
        let current = match plan {
            Plan::Make => None,
            Plan::Change(current) => Some(current),
            Plan::LookAgain => self.current(write)?,
        };
        match (current, &write.body) {
            (None, Some(body)) => self.make(&write.collection, &write.id, body, &write.entries),
            (Some(current), Some(body)) => self.change(write, &current, body),
            (Some(current), None) => self.remove(write, &current),
            // Planned against a revision above 0.
            (None, None) => Err(StoreError::damaged("a row is gone that was there")),
        }
    }

    fn make(&mut self, collection: &str, id: &str, body: &str, entries: &[Entry]) -> Result<(), StoreError> {
        let name = self.number(collection, "")?;
        let mut own = self.numbered(collection, entries)?;
        let keys = keys::encode(&mut own);
        self.counters.stamps += 1;
        let stamp = self.counters.stamps;
        self.layer.add_key((name, id), stamp);
        own.into_iter().for_each(|key| self.layer.add_key(key, stamp));
        let (id, body) = (id.to_owned(), body.to_owned());
        self.layer.put(stamp, Fact { revision: 1, name, id, keys, body, new: true });
        Ok(())
    }

    fn change(&mut self, write: &Write, current: &Current, body: &str) -> Result<(), StoreError> {
        let name = self.number(&write.collection, "")?;
        let mut new = self.numbered(&write.collection, &write.entries)?;
        let keys = keys::encode(&mut new);
        let stamp = current.stamp;
        if keys != current.keys {
            let changes = keys::compare(&keys::decode(&current.keys)?, &new);
            changes.gone.into_iter().for_each(|key| self.layer.remove_key(key, stamp));
            changes.added.into_iter().for_each(|key| self.layer.add_key(key, stamp));
        }
        let (id, body, revision) = (write.id.clone(), body.to_owned(), current.revision + 1);
        self.layer.put(stamp, Fact { revision, name, id, keys, body, new: false });
        Ok(())
    }

    fn remove(&mut self, write: &Write, current: &Current) -> Result<(), StoreError> {
        let name = self.number(&write.collection, "")?;
        self.layer.remove_key((name, &write.id), current.stamp);
        keys::decode(&current.keys)?.into_iter().for_each(|key| self.layer.remove_key(key, current.stamp));
        self.layer.remove(current.stamp);
        Ok(())
    }

    fn add_audit(&mut self, record: &AuditRecord) -> Result<u64, StoreError> {
        let mut own = self.numbered(AUDIT, &record.entries)?;
        let keys = keys::encode(&mut own);
        self.counters.audit += 1;
        let position = self.counters.audit;
        self.layer.add_record(position, Record { keys, body: record.body.clone() }, own);
        Ok(position.cast_unsigned())
    }

    fn number(&mut self, collection: &str, index: &str) -> Result<i64, StoreError> {
        self.names.find_or_make(self.conn, self.new_names, collection, index).in_store()
    }

    fn numbered<'e>(&mut self, collection: &str, entries: &'e [Entry]) -> Result<Vec<Key<'e>>, StoreError> {
        entries.iter().map(|entry| Ok((self.number(collection, &entry.index)?, entry.key.as_str()))).collect()
    }
}
