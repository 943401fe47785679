//! Carrying changes over into the tables: rows in the order in which they were made, keys in the order of their index, so
//! that each page is changed once for all of them.

use rusqlite::{CachedStatement, Connection, params};
use threadmesh_runtime::store::StoreError;

use crate::delta::{Delta, Fact, Record};
use crate::error::InStore;
use crate::sum;

/// Makes the changes of `delta` in the tables, in which nothing is that it takes for new, and everything else that it
/// changes.
pub(crate) fn settle(conn: &Connection, delta: &Delta) -> Result<(), StoreError> {
    let mut rows = Rows::prepare(conn).in_store()?;
    for (stamp, fact) in delta.facts() {
        rows.write(stamp, fact).in_store().and_then(once("a row is gone that was there"))?;
    }
    let mut keep =
        conn.prepare_cached("INSERT INTO audit (position, keys, sum, body) VALUES (?1, ?2, ?3, ?4)").in_store()?;
    for (position, Record { keys, body }) in delta.all_records() {
        keep.execute(params![position, keys, sum::of_record(position, keys, body), body]).in_store()?;
    }
    let mut add = conn.prepare_cached("INSERT INTO entries (name, key, stamp) VALUES (?1, ?2, ?3)").in_store()?;
    let mut remove =
        conn.prepare_cached("DELETE FROM entries WHERE name = ?1 AND key = ?2 AND stamp = ?3").in_store()?;
    for ((name, key), mark) in delta.keys(false).marks().chain(delta.keys(true).marks()) {
        let statement = if mark.there { &mut add } else { &mut remove };
        let done = statement.execute(params![name, key, mark.stamp]).in_store();
        done.and_then(once("a row is not found under one of its keys"))?;
    }
    Ok(())
}

/// The statements that write rows.
struct Rows<'c> {
    make: CachedStatement<'c>,
    change: CachedStatement<'c>,
    remove: CachedStatement<'c>,
}

impl<'c> Rows<'c> {
    fn prepare(conn: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            make: conn.prepare_cached(
                "INSERT INTO facts (stamp, revision, name, id, keys, sum, body_sum, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?,
            change: conn.prepare_cached("UPDATE facts SET revision = ?2, keys = ?3, sum = ?4, body_sum = ?5, body = ?6 WHERE stamp = ?1")?,
            remove: conn.prepare_cached("DELETE FROM facts WHERE stamp = ?1")?,
        })
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
}

/// Takes any other number of changed rows than one for damage.
fn once(otherwise: &'static str) -> impl Fn(usize) -> Result<(), StoreError> {
    move |changed| if changed == 1 { Ok(()) } else { Err(StoreError::damaged(otherwise)) }
}
