//! What the doctor asks of a whole file: is every row what was written, is it found under its keys, what was left undone?

use rusqlite::{Connection, params};
use threadmesh_runtime::store::Row;

use crate::outbox::Stored;
use crate::view::View;
use crate::{keys, query, sum};

/// A stored effect that nobody could perform as things were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedEffect {
    /// What to do.
    pub name: String,
    /// What it is about.
    pub about: String,
    /// How often it was leased.
    pub tries: u32,
    /// When it is tried again, in milliseconds since the Unix epoch.
    pub due: i64,
    /// Why it could not be done.
    pub failed: String,
}

/// See [`crate::SqliteStore::failed_effects`].
pub(crate) fn failed_effects(conn: &Connection, limit: u32) -> rusqlite::Result<(Vec<FailedEffect>, u64)> {
    let make = |row: &rusqlite::Row<'_>| {
        let Stored { name, key: about, fence: tries, due, failed, .. } = Stored::read(row)?;
        Ok(FailedEffect { name, about, tries, due, failed: failed.unwrap_or_default() })
    };
    let sql = "SELECT id, due, fence, name, key, body, failed, sum FROM outbox WHERE failed IS NOT NULL ORDER BY due, id LIMIT ?1";
    let found = conn.prepare(sql)?.query_map([limit], make)?.collect::<Result<_, _>>()?;
    let count = "SELECT count(*) FROM outbox WHERE failed IS NOT NULL";
    Ok((found, conn.query_row(count, [], |row| query::unsigned(row, 0))?))
}

/// What the layout demands and SQLite does not check.
pub(crate) fn inner_check(view: &View<'_>) -> rusqlite::Result<Option<String>> {
    let demands = [
        (
            "two rows have the same id",
            "SELECT 1 FROM names n JOIN entries e ON e.name = n.number WHERE n.index_name = ''
             GROUP BY e.name, e.key HAVING count(*) > 1",
        ),
        ("a counter is behind", "SELECT 1 FROM counters WHERE stamps < (SELECT coalesce(max(stamp), 0) FROM facts)"),
    ];
    for (finding, sql) in demands {
        if view.conn.prepare(sql)?.exists([])? {
            return Ok(Some(finding.to_owned()));
        }
    }
    if !outbox_is_sound(view.conn)? {
        return Ok(Some("a stored effect is not what was written".to_owned()));
    }
    if let Some(finding) = check_rows(view.conn)? {
        return Ok(Some(finding.to_owned()));
    }
    if let Some(key) = view.stray_key() {
        return Ok(Some(format!("the key {key} in the journal leads to a row that is gone")));
    }
    Ok((!audit_is_dense(view)?).then(|| "the audit has a gap".to_owned()))
}

fn outbox_is_sound(conn: &Connection) -> rusqlite::Result<bool> {
    let mut statement = conn.prepare("SELECT id, due, fence, name, key, body, failed, sum FROM outbox")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if Stored::read(row).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether table and journal together have every position up to the last one that was counted.
fn audit_is_dense(view: &View<'_>) -> rusqlite::Result<bool> {
    let (mut last, count): (i64, i64) =
        view.conn.query_row("SELECT coalesce(max(position), 0), count(*) FROM audit", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    // Positions begin at 1 and are unique.
    if count != last {
        return Ok(false);
    }
    for position in view.coming() {
        last += 1;
        if position != last {
            return Ok(false);
        }
    }
    let counted: i64 = view.conn.query_row("SELECT audit FROM counters", [], |row| row.get(0))?;
    Ok(counted == last)
}

/// Reads all rows of the tables and looks for each of their keys; the first finding.
fn check_rows(conn: &Connection) -> rusqlite::Result<Option<&'static str>> {
    let (mut count, mut finding) = (0, None);
    let mut has = conn.prepare("SELECT 1 FROM entries WHERE name = ?1 AND key = ?2 AND stamp = ?3")?;
    // Reads one row's keys, by id where it has one.
    let mut look = |found: rusqlite::Result<Row>, list: &[u8], by_id: Option<i64>| -> rusqlite::Result<()> {
        let Ok(Row { id, stamp, .. }) = found else {
            finding = finding.or(Some("a row is not what was written"));
            return Ok(());
        };
        let Ok(mut keys) = keys::decode(list) else {
            finding = finding.or(Some("the list of a row's keys is malformed"));
            return Ok(());
        };
        keys.extend(by_id.map(|name| (name, id.as_str())));
        for (name, key) in &keys {
            if !has.exists(params![name, key, stamp.cast_signed()])? {
                finding = finding.or(Some("a row is not found under one of its keys"));
            }
        }
        count += keys.len() as i64;
        Ok(())
    };
    let mut facts = conn.prepare("SELECT id, '', revision, stamp, name, keys, sum, body_sum, body FROM facts")?;
    let mut rows = facts.query([])?;
    while let Some(row) = rows.next()? {
        look(query::checked(row), sum::blob(row, 5)?, Some(row.get(4)?))?;
    }
    let mut audit = conn.prepare("SELECT position, '', keys, sum, body FROM audit")?;
    let mut rows = audit.query([])?;
    while let Some(row) = rows.next()? {
        look(query::checked_record(row), sum::blob(row, 2)?, None)?;
    }
    let entries: i64 = conn.query_row("SELECT count(*) FROM entries", [], |row| row.get(0))?;
    Ok(finding.or((entries != count).then_some("a key leads to no row")))
}
