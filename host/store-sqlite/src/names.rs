//! The small numbers of collections and indexes. A number, once committed, never changes, so it is remembered.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use rusqlite::{Connection, OptionalExtension};
use threadmesh_runtime::store::AUDIT;

/// Collection, then index.
type Numbers = HashMap<String, HashMap<String, i64>>;

/// An index of a collection, as the tables know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Index {
    /// Its number; 0 for that of the audit by position, which has no entries.
    pub number: i64,
    /// Whether its entries lead to audit records.
    pub audit: bool,
}

impl Index {
    fn of(collection: &str, number: i64) -> Self {
        Self { number, audit: collection == AUDIT }
    }
}

/// The committed numbers that this store has met.
#[derive(Debug, Default)]
pub(crate) struct Names {
    known: RwLock<Numbers>,
}

/// Numbers that a batch has made and not yet committed.
#[derive(Debug, Default)]
pub(crate) struct NewNames {
    made: Numbers,
}

impl Names {
    /// An index; nothing where no row was ever in it. `conn` must see committed rows only.
    pub fn find(&self, conn: &Connection, collection: &str, index: &str) -> rusqlite::Result<Option<Index>> {
        let made = |number| Some(Index::of(collection, number));
        if collection == AUDIT && index.is_empty() {
            return Ok(made(0));
        }
        if let Some(number) = self.remembered(collection, index) {
            return Ok(made(number));
        }
        let number = stored(conn, collection, index)?;
        if let Some(number) = number {
            self.remember(collection, index, number);
        }
        Ok(number.and_then(made))
    }

    /// As [`Names::find`], for a batch that has made `new`.
    pub fn find_in(
        &self,
        conn: &Connection,
        new: &NewNames,
        collection: &str,
        index: &str,
    ) -> rusqlite::Result<Option<Index>> {
        match get(&new.made, collection, index) {
            Some(number) => Ok(Some(Index::of(collection, number))),
            None => self.find(conn, collection, index),
        }
    }

    /// The number of an index, made where it is missing.
    pub fn find_or_make(
        &self,
        conn: &Connection,
        new: &mut NewNames,
        collection: &str,
        index: &str,
    ) -> rusqlite::Result<i64> {
        if let Some(found) = self.find_in(conn, new, collection, index)? {
            return Ok(found.number);
        }
        conn.prepare_cached("INSERT INTO names (collection, index_name) VALUES (?1, ?2)")?
            .execute([collection, index])?;
        let number = conn.last_insert_rowid();
        put(&mut new.made, collection, index, number);
        Ok(number)
    }

    /// Remembers what a batch has made and committed.
    pub fn keep(&self, new: NewNames) {
        for (collection, indexes) in new.made {
            for (index, number) in indexes {
                self.remember(&collection, &index, number);
            }
        }
    }

    fn remembered(&self, collection: &str, index: &str) -> Option<i64> {
        get(&self.known.read().unwrap_or_else(PoisonError::into_inner), collection, index)
    }

    fn remember(&self, collection: &str, index: &str, number: i64) {
        put(&mut self.known.write().unwrap_or_else(PoisonError::into_inner), collection, index, number);
    }
}

fn stored(conn: &Connection, collection: &str, index: &str) -> rusqlite::Result<Option<i64>> {
    conn.prepare_cached("SELECT number FROM names WHERE collection = ?1 AND index_name = ?2")?
        .query_row([collection, index], |row| row.get(0))
        .optional()
}

fn get(numbers: &Numbers, collection: &str, index: &str) -> Option<i64> {
    numbers.get(collection)?.get(index).copied()
}

fn put(numbers: &mut Numbers, collection: &str, index: &str, number: i64) {
    numbers.entry(collection.to_owned()).or_default().insert(index.to_owned(), number);
}
