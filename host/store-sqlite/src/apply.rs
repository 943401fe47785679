//! Applying a decision's changes: first everything is looked at, then everything is written.
//!
//! Between the two nothing can change, since the transaction is exclusive. A conflict is thus found before the first
//! write, and there is nothing to take back; a failure of the driver after it ends the whole batch.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, params};
use threadmesh_runtime::store::{
    AUDIT, Applied, ApplyError, AuditRecord, Changes, Conflict, Entry, ReadSet, StoreError, Write, audit_id,
};

use crate::error::InStore;
use crate::keys::{self, Key};
use crate::names::{Names, NewNames};
use crate::outbox;
use crate::query::{self, Current};

/// The row of `counters`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counters {
    pub last_time: i64,
    pub stamps: i64,
    pub audit: i64,
    pub effects: i64,
}

impl Counters {
    /// Reads them.
    pub fn load(conn: &Connection) -> rusqlite::Result<Self> {
        conn.prepare_cached("SELECT last_time, stamps, audit, effects FROM counters WHERE id = 1")?
            .query_row([], |row| {
                Ok(Self { last_time: row.get(0)?, stamps: row.get(1)?, audit: row.get(2)?, effects: row.get(3)? })
            })
    }

    /// Writes them.
    pub fn save(&self, conn: &Connection) -> rusqlite::Result<()> {
        conn.prepare_cached("UPDATE counters SET last_time = ?1, stamps = ?2, audit = ?3, effects = ?4 WHERE id = 1")?
            .execute([self.last_time, self.stamps, self.audit, self.effects])
            .map(|_| ())
    }
}

/// What applying works with.
pub(crate) struct Applier<'a> {
    pub conn: &'a Connection,
    pub names: &'a Names,
    pub new_names: &'a mut NewNames,
    pub counters: &'a mut Counters,
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
        for (number, (query, identities)) in reads.reads.iter().enumerate() {
            let name = self.names.find_in(self.conn, self.new_names, &query.collection, &query.index).in_store()?;
            let now = match name {
                Some(name) => query::identities(self.conn, name, query).in_store()?,
                None => Vec::new(),
            };
            if now != *identities {
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
            Some(name) => query::current(self.conn, name, &write.id).in_store(),
            None => Ok(None),
        }
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
        let mut keys = self.numbered(collection, entries)?;
        let encoded = keys::encode(&mut keys);
        self.counters.stamps += 1;
        let stamp = self.counters.stamps;
        self.conn
            .prepare_cached("INSERT INTO facts (stamp, revision, name, id, keys, body) VALUES (?1, 1, ?2, ?3, ?4, ?5)")
            .and_then(|mut insert| insert.execute(params![stamp, name, id, encoded, body]))
            .in_store()?;
        self.add_key((name, id), stamp)?;
        keys.into_iter().try_for_each(|key| self.add_key(key, stamp))
    }

    fn change(&mut self, write: &Write, current: &Current, body: &str) -> Result<(), StoreError> {
        let old = keys::decode(&current.keys)?;
        let mut new = self.numbered(&write.collection, &write.entries)?;
        let encoded = keys::encode(&mut new);
        let stamp = current.stamp;
        keys::compare(&old, &new, |gone| self.remove_key(gone, stamp), |added| self.add_key(added, stamp))?;
        self.conn
            .prepare_cached("UPDATE facts SET revision = ?2, keys = ?3, body = ?4 WHERE stamp = ?1")
            .and_then(|mut update| update.execute(params![stamp, current.revision + 1, encoded, body]))
            .in_store()
            .map(|_| ())
    }

    fn remove(&mut self, write: &Write, current: &Current) -> Result<(), StoreError> {
        let name = self.number(&write.collection, "")?;
        self.remove_key((name, &write.id), current.stamp)?;
        keys::decode(&current.keys)?.into_iter().try_for_each(|key| self.remove_key(key, current.stamp))?;
        self.conn
            .prepare_cached("DELETE FROM facts WHERE stamp = ?1")
            .and_then(|mut delete| delete.execute([current.stamp]))
            .in_store()
            .map(|_| ())
    }

    fn add_audit(&mut self, record: &AuditRecord) -> Result<u64, StoreError> {
        self.counters.audit += 1;
        let position = self.counters.audit.cast_unsigned();
        self.make(AUDIT, &audit_id(position), &record.body, &record.entries)?;
        Ok(position)
    }

    fn number(&mut self, collection: &str, index: &str) -> Result<i64, StoreError> {
        self.names.find_or_make(self.conn, self.new_names, collection, index).in_store()
    }

    fn numbered<'e>(&mut self, collection: &str, entries: &'e [Entry]) -> Result<Vec<Key<'e>>, StoreError> {
        entries.iter().map(|entry| Ok((self.number(collection, &entry.index)?, entry.key.as_str()))).collect()
    }

    fn add_key(&self, (name, key): Key<'_>, stamp: i64) -> Result<(), StoreError> {
        self.conn
            .prepare_cached("INSERT INTO entries (name, key, stamp) VALUES (?1, ?2, ?3)")
            .and_then(|mut insert| insert.execute(params![name, key, stamp]))
            .in_store()
            .map(|_| ())
    }

    fn remove_key(&self, (name, key): Key<'_>, stamp: i64) -> Result<(), StoreError> {
        let removed = self
            .conn
            .prepare_cached("DELETE FROM entries WHERE name = ?1 AND key = ?2 AND stamp = ?3")
            .and_then(|mut delete| delete.execute(params![name, key, stamp]))
            .in_store()?;
        if removed == 1 { Ok(()) } else { Err(StoreError::damaged("a row is not found under one of its keys")) }
    }
}
