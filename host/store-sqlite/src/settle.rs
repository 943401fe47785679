//! Carrying changes over into the tables: rows in the order in which they were made, keys in the order of their index, so
//! that each page is changed once for all of them.
//!
//! A half of the journal is carried over in slices, a part of its changes with each commit. Which part comes next is a
//! number, so that whoever commits next goes on, in whatever process. Each change is made once. In between the tables hold a
//! part of the changes; whoever reads lays all of them over the tables, which gives the same whatever that part is. A key of
//! the tables leads to a row at each moment: rows that go do so last.

use std::sync::Arc;

use rusqlite::{CachedStatement, Connection, params};
use threadmesh_runtime::store::StoreError;

use crate::delta::{Delta, Fact, Mark, Record};
use crate::error::InStore;
use crate::keys::Key;
use crate::sum;

/// Makes the changes of `delta` in the tables, in which nothing is that it takes for new, and everything else that it
/// changes.
pub(crate) fn settle(conn: &Connection, delta: &Delta) -> Result<(), StoreError> {
    let mut tables = Tables::prepare(conn).in_store()?;
    delta.facts().into_iter().try_for_each(|(stamp, fact)| tables.row(stamp, fact))?;
    delta.all_records().try_for_each(|(position, record)| tables.record(position, record))?;
    delta.keys(false).marks().chain(delta.keys(true).marks()).try_for_each(|(key, mark)| tables.key(key, mark))
}

/// The changes of a half of the journal, on their way into the tables.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    /// All of them.
    pub delta: Arc<Delta>,
    /// The rows that are made or changed, in order.
    stamps: Vec<i64>,
    /// Those that go.
    gone: Vec<i64>,
    /// How many changes there are.
    count: i64,
}

/// How far a half is carried over.
#[derive(Debug, Clone, Default)]
pub(crate) struct At {
    /// The number of changes.
    pub done: i64,
    /// The last key, where that is known and not only how many they are.
    key: Option<(bool, i64, String, i64)>,
}

impl At {
    /// Behind so many changes.
    pub fn behind(done: i64) -> Self {
        Self { done, key: None }
    }
}

impl Carried {
    /// Nothing of `delta` is carried over yet.
    pub fn new(delta: Arc<Delta>) -> Self {
        let (mut stamps, mut gone) = (Vec::new(), Vec::new());
        for (stamp, fact) in delta.facts() {
            if fact.is_some() { stamps.push(stamp) } else { gone.push(stamp) }
        }
        let keys = delta.keys(false).count() + delta.keys(true).count();
        let count = (stamps.len() + delta.all_records().len() + keys + gone.len()) as i64;
        Self { delta, stamps, gone, count }
    }

    /// How many of the changes a commit takes over that fills `slots` of the `half` slots of the other half: so many that
    /// all are taken over when it is half full.
    pub fn slice(&self, slots: i64, half: i64) -> i64 {
        let parts = (half / 2).max(1);
        let taken = self.count.saturating_mul(slots.clamp(1, parts));
        (taken / parts).saturating_add(1)
    }

    /// Whether all changes are carried over.
    pub fn is_done(&self, at: &At) -> bool {
        at.done >= self.count
    }

    /// Carries over the next `most` changes, and says how far that leads.
    pub fn carry(&self, conn: &Connection, from: &At, most: i64) -> Result<At, StoreError> {
        let mut tables = Tables::prepare(conn).in_store()?;
        let mut at = from.clone();
        let end = from.done.saturating_add(most).min(self.count);
        let rows = self.stamps.len() as i64;
        while at.done < end.min(rows) {
            self.carry_row(&mut tables, self.stamps[at.done as usize])?;
            at.done += 1;
        }
        let records = rows + self.delta.all_records().len() as i64;
        if at.done < end.min(records) {
            let some = self.delta.all_records().skip((at.done - rows) as usize);
            for (position, record) in some.take((end.min(records) - at.done) as usize) {
                tables.record(position, record)?;
                at.done += 1;
            }
        }
        let last = self.count - self.gone.len() as i64;
        self.carry_keys(&mut tables, &mut at, records, end.min(last))?;
        while at.done < end {
            self.carry_row(&mut tables, self.gone[(at.done - last) as usize])?;
            at.done += 1;
        }
        Ok(at)
    }

    fn carry_row(&self, tables: &mut Tables<'_>, stamp: i64) -> Result<(), StoreError> {
        let fact = self.delta.fact(stamp).ok_or_else(|| StoreError::damaged("a change is gone"))?;
        tables.row(stamp, fact)
    }

    /// The same for keys, in front of which there are `others`.
    fn carry_keys(&self, tables: &mut Tables<'_>, at: &mut At, others: i64, end: i64) -> Result<(), StoreError> {
        let facts = others + self.delta.keys(false).count() as i64;
        for (audit, first, last) in [(false, others, end.min(facts)), (true, facts, end)] {
            if at.done >= last {
                continue;
            }
            let keys = self.delta.keys(audit);
            let left = (last - at.done) as usize;
            let done: Vec<(Key<'_>, Mark)> = match &at.key {
                Some((kind, name, key, stamp)) if *kind == audit => {
                    keys.behind((*name, key), *stamp).take(left).collect()
                }
                _ => keys.marks().skip((at.done - first) as usize).take(left).collect(),
            };
            for (key, mark) in &done {
                tables.key(*key, *mark)?;
            }
            at.done += done.len() as i64;
            at.key = done.last().map(|((name, key), mark)| (audit, *name, (*key).to_owned(), mark.stamp));
        }
        Ok(())
    }
}

/// The statements that write rows and keys.
struct Tables<'c> {
    make: CachedStatement<'c>,
    change: CachedStatement<'c>,
    remove: CachedStatement<'c>,
    keep: CachedStatement<'c>,
    add_key: CachedStatement<'c>,
    remove_key: CachedStatement<'c>,
}

impl<'c> Tables<'c> {
    fn prepare(conn: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            make: conn.prepare_cached(
                "INSERT INTO facts (stamp, revision, name, id, keys, sum, body_sum, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?,
            change: conn.prepare_cached("UPDATE facts SET revision = ?2, keys = ?3, sum = ?4, body_sum = ?5, body = ?6 WHERE stamp = ?1")?,
            remove: conn.prepare_cached("DELETE FROM facts WHERE stamp = ?1")?,
            keep: conn.prepare_cached("INSERT INTO audit (position, keys, sum, body) VALUES (?1, ?2, ?3, ?4)")?,
            add_key: conn.prepare_cached("INSERT INTO entries (name, key, stamp) VALUES (?1, ?2, ?3)")?,
            remove_key: conn.prepare_cached("DELETE FROM entries WHERE name = ?1 AND key = ?2 AND stamp = ?3")?,
        })
    }

    fn row(&mut self, stamp: i64, fact: Option<&Fact>) -> Result<(), StoreError> {
        self.write(stamp, fact).in_store().and_then(once("a row is gone that was there"))
    }

    fn write(&mut self, stamp: i64, fact: Option<&Fact>) -> rusqlite::Result<usize> {
        let Some(fact) = fact else { return self.remove.execute([stamp]) };
        let Fact { revision, name, id, keys, body, new } = fact;
        let body_sum = sum::of_body(body);
        let sum = sum::of_head(stamp, *revision, *name, id, keys, body_sum);
        if *new {
            self.make.execute(params![stamp, revision, name, id, keys, sum, body_sum, body])
        } else {
            self.change.execute(params![stamp, revision, keys, sum, body_sum, body])
        }
    }

    fn record(&mut self, position: i64, Record { keys, body }: &Record) -> Result<(), StoreError> {
        let sum = sum::of_record(position, keys, body);
        self.keep.execute(params![position, keys, sum, body]).in_store().map(|_| ())
    }

    fn key(&mut self, (name, key): Key<'_>, mark: Mark) -> Result<(), StoreError> {
        let statement = if mark.there { &mut self.add_key } else { &mut self.remove_key };
        let done = statement.execute(params![name, key, mark.stamp]).in_store();
        done.and_then(once("a row is not found under one of its keys"))
    }
}

/// Takes any other number of changed rows than one for damage.
fn once(otherwise: &'static str) -> impl Fn(usize) -> Result<(), StoreError> {
    move |changed| if changed == 1 { Ok(()) } else { Err(StoreError::damaged(otherwise)) }
}
