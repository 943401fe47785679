//! Queries as SQL. An entry without its row comes out as a null and is reported as damage.

use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params};
use threadmesh_runtime::store::{Query, Row, audit_id};

use crate::journal::damaged;
use crate::looked::Found;
use crate::names::Index;
use crate::sum;

/// A select of rows by their entries, with the given condition and order.
macro_rules! facts {
    ($condition:literal, $order:literal) => {
        concat!(
            "SELECT f.id, e.key, f.revision, f.stamp, f.name, f.keys, f.sum, f.body_sum, f.body",
            " FROM entries e LEFT JOIN facts f ON f.stamp = e.stamp WHERE e.name = ?1 AND ",
            $condition,
            " ORDER BY ",
            $order,
            " LIMIT ?3"
        )
    };
}

/// The same of audit records.
macro_rules! audit {
    ($condition:literal, $order:literal) => {
        concat!(
            "SELECT a.position, e.key, a.keys, a.sum, a.body",
            " FROM entries e LEFT JOIN audit a ON a.position = e.stamp WHERE e.name = ?1 AND ",
            $condition,
            " ORDER BY ",
            $order,
            " LIMIT ?3"
        )
    };
}

/// The four shapes of a query: one key or a range, forward or backward.
macro_rules! shapes {
    ($select:ident) => {
        [
            $select!("e.key = ?2", "e.stamp"),
            $select!("e.key = ?2", "e.stamp DESC"),
            $select!("e.key >= ?2 AND e.key < ?4", "e.key, e.stamp"),
            $select!("e.key >= ?2 AND e.key < ?4", "e.key DESC, e.stamp DESC"),
        ]
    };
}

const FACTS: [&str; 4] = shapes!(facts);
const AUDIT: [&str; 4] = shapes!(audit);

/// The rows that `query` finds in `index`, by the tables alone and up to another limit, or to the row that is `enough`.
pub(crate) fn rows(
    conn: &Connection,
    index: Index,
    query: &Query,
    limit: u32,
    mut enough: impl FnMut(&Row) -> bool,
) -> rusqlite::Result<Vec<Row>> {
    let shape = usize::from(query.reverse) + if query.end.is_some() { 2 } else { 0 };
    let selects = if index.audit { AUDIT } else { FACTS };
    let mut statement = conn.prepare_cached(selects[shape])?;
    let mut found = match &query.end {
        None => statement.query(params![index.number, query.start, limit])?,
        Some(end) => statement.query(params![index.number, query.start, limit, end])?,
    };
    let make = if index.audit { checked_record } else { checked };
    let mut made = Vec::new();
    while let Some(row) = found.next()? {
        let row = make(row)?;
        let last = enough(&row);
        made.push(row);
        if last {
            break;
        }
    }
    Ok(made)
}

/// The audit records at `positions` in the table, at most `limit` of them, or up to the one that is `enough`.
pub(crate) fn records(
    conn: &Connection,
    positions: Range<i64>,
    reverse: bool,
    limit: u32,
    mut enough: impl FnMut(&Row) -> bool,
) -> rusqlite::Result<Vec<Row>> {
    let sql = if reverse {
        "SELECT position, '', keys, sum, body FROM audit WHERE position >= ?1 AND position < ?2 ORDER BY position DESC LIMIT ?3"
    } else {
        "SELECT position, '', keys, sum, body FROM audit WHERE position >= ?1 AND position < ?2 ORDER BY position LIMIT ?3"
    };
    let mut statement = conn.prepare_cached(sql)?;
    let (mut found, mut made) = (statement.query((positions.start, positions.end, limit))?, Vec::new());
    while let Some(row) = found.next()? {
        let row = checked_record(row)?;
        let row = Row { key: row.id.clone(), ..row };
        let last = enough(&row);
        made.push(row);
        if last {
            break;
        }
    }
    Ok(made)
}

/// A row of one of the selects, if it is what was written.
pub(crate) fn checked(row: &SqlRow<'_>) -> rusqlite::Result<Row> {
    let made =
        Row { id: row.get(0)?, key: row.get(1)?, revision: row.get(2)?, stamp: unsigned(row, 3)?, body: row.get(8)? };
    let body_sum = row.get(7)?;
    let head =
        sum::of_head(made.stamp.cast_signed(), made.revision, row.get(4)?, &made.id, sum::blob(row, 5)?, body_sum);
    if head == row.get::<_, i64>(6)? && sum::of_body(&made.body) == body_sum { Ok(made) } else { Err(wrong_sum()) }
}

/// The same for an audit record.
pub(crate) fn checked_record(row: &SqlRow<'_>) -> rusqlite::Result<Row> {
    let (position, body): (i64, String) = (row.get(0)?, row.get(4)?);
    if sum::of_record(position, sum::blob(row, 2)?, &body) != row.get::<_, i64>(3)? {
        return Err(wrong_sum());
    }
    let stamp = position.cast_unsigned();
    Ok(Row { id: audit_id(stamp), key: row.get(1)?, revision: 1, body, stamp })
}

fn wrong_sum() -> rusqlite::Error {
    damaged("a row is not what was written")
}

/// What the selects begin with, before they are put together.
#[cfg(test)]
pub(crate) const PARTS: [&str; 2] = [
    "SELECT f.id, e.key, f.revision, f.stamp, f.name, f.keys, f.sum, f.body_sum, f.body",
    "SELECT a.position, e.key, a.keys, a.sum, a.body",
];

/// Every select that is put together from parts.
#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    FACTS.into_iter().chain(AUDIT)
}

/// Whether the tables and indexes have what the queries ask for.
pub(crate) fn fits(conn: &Connection) -> bool {
    let others = [
        "SELECT layout, records, last_time, commits, stamps, audit, effects, settled, slots, before, carried, sum FROM counters WHERE id = 1",
        "SELECT slot, chunk FROM journal WHERE slot = 0",
        "SELECT id, fence, name, key, body, failed, sum FROM outbox INDEXED BY outbox_due WHERE due = 0",
        "SELECT number FROM names WHERE collection = ?1 AND index_name = ?2",
    ];
    FACTS.iter().chain(&AUDIT).chain(&others).all(|sql| conn.prepare(sql).is_ok())
}

/// A number that the store only counts up. SQLite knows signed ones only.
pub(crate) fn unsigned(row: &SqlRow<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

/// A row as an update needs it.
#[derive(Debug)]
pub(crate) struct Current {
    pub stamp: i64,
    pub revision: u32,
    /// See [`crate::keys`].
    pub keys: Vec<u8>,
}

/// The row with `id` in the collection whose index without a name has the number `name`, by the tables alone.
pub(crate) fn by_id(conn: &Connection, name: i64, id: &str) -> rusqlite::Result<Option<Found>> {
    let make = |row: &SqlRow<'_>| Ok(Found { row: checked(row)?, keys: sum::blob(row, 5)?.to_vec() });
    conn.prepare_cached(FACTS[0])?.query_row(params![name, id, 1], make).optional()
}
