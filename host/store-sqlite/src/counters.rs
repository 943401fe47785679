//! The row that every snapshot and every batch begins with: numbers that only grow, and what the file is made for.

use rusqlite::Connection;

use crate::error::OtherFormat;
use crate::journal::{Place, damaged};
use crate::sum::Sum;

/// What a file is made for. A store works with the one that it opened, and stops where it meets another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// Of the tables.
    pub layout: i64,
    /// Of the texts and keys in them.
    pub records: i64,
}

/// The row of `counters`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counters {
    pub format: Format,
    pub last_time: i64,
    pub commits: i64,
    pub stamps: i64,
    pub audit: i64,
    pub effects: i64,
    pub place: Place,
}

impl Counters {
    /// Those of a new store.
    pub fn new(format: Format) -> Self {
        let place = Place::default();
        Self { format, last_time: 0, commits: 0, stamps: 0, audit: 0, effects: 0, place }
    }

    /// Reads them.
    pub fn load(conn: &Connection) -> rusqlite::Result<Self> {
        let sql = "SELECT layout, records, last_time, commits, stamps, audit, effects, settled, slots, before, carried, sum FROM counters WHERE id = 1";
        conn.prepare_cached(sql)?.query_row([], |row| {
            let format = Format { layout: row.get(0)?, records: row.get(1)? };
            let (last_time, commits, stamps) = (row.get(2)?, row.get(3)?, row.get(4)?);
            let (audit, effects) = (row.get(5)?, row.get(6)?);
            let place = Place { settled: row.get(7)?, slots: row.get(8)?, before: row.get(9)?, carried: row.get(10)? };
            let counters = Self { format, last_time, commits, stamps, audit, effects, place };
            if counters.sum() == row.get::<_, i64>(11)? {
                return Ok(counters);
            }
            Err(damaged("the counters are not what was written"))
        })
    }

    /// Reads them in a store that has opened a file of `format`: an error where it is another one by now.
    pub fn load_as(conn: &Connection, format: Format) -> rusqlite::Result<Self> {
        let counters = Self::load(conn)?;
        if counters.format == format {
            return Ok(counters);
        }
        Err(OtherFormat { opened: format, found: counters.format }.into())
    }

    /// See [`crate::sum`].
    fn sum(&self) -> i64 {
        self.numbers().into_iter().fold(Sum::new(), Sum::number).value()
    }

    /// In the order of the columns.
    fn numbers(&self) -> [i64; 11] {
        let Self { format, last_time, commits, stamps, audit, effects, place } = *self;
        let Place { settled, slots, before, carried } = place;
        let Format { layout, records } = format;
        [layout, records, last_time, commits, stamps, audit, effects, settled, slots, before, carried]
    }

    /// Writes them over what is there.
    pub fn save(&self, conn: &Connection) -> rusqlite::Result<()> {
        let sql = "UPDATE counters SET layout = ?1, records = ?2, last_time = ?3, commits = ?4, stamps = ?5, audit = ?6, effects = ?7,
             settled = ?8, slots = ?9, before = ?10, carried = ?11, sum = ?12 WHERE id = 1";
        self.write(conn, sql)
    }

    /// Writes them into a new file.
    pub fn insert(&self, conn: &Connection) -> rusqlite::Result<()> {
        let sql =
            "INSERT INTO counters (layout, records, last_time, commits, stamps, audit, effects, settled, slots, before,
             carried, sum, id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 1)";
        self.write(conn, sql)
    }

    fn write(&self, conn: &Connection, sql: &str) -> rusqlite::Result<()> {
        let numbers = self.numbers().into_iter().chain([self.sum()]);
        conn.prepare_cached(sql)?.execute(rusqlite::params_from_iter(numbers)).map(|_| ())
    }
}
