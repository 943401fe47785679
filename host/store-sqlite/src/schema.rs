//! The layout of the file: what is recorded about it, and how it came to be.

use rusqlite::Connection;
use threadmesh_runtime::store::StoreError;

use crate::counters::{Counters, Format};
use crate::error::InStore;

/// Marks a SQLite file as a store of ThreadMesh: "TMsh".
const APPLICATION_ID: i64 = 0x544d_7368;

/// One step of the layout. Its text never changes once it was released.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Migration {
    /// The layout that it leads to; counts up without gaps.
    pub version: i64,
    /// For people.
    pub name: &'static str,
    /// SQL, run in one transaction with the record of it.
    pub sql: &'static str,
}

/// All steps that this program knows. Layouts before the first one are refused.
pub(crate) const MIGRATIONS: &[Migration] =
    &[Migration { version: 3, name: "store", sql: include_str!("migrations/0003-store.sql") }];

/// The layout that `migrations` lead to.
pub(crate) fn newest(migrations: &[Migration]) -> i64 {
    migrations.last().map_or(0, |migration| migration.version)
}

/// The oldest layout of `migrations`: files of earlier ones are not taken over.
fn oldest(migrations: &[Migration]) -> i64 {
    migrations.first().map_or(0, |migration| migration.version)
}

/// What a file says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Made by something else; how that was seen.
    Foreign(&'static str),
    /// A store whose layout comes before those that this program knows.
    Older { layout: i64 },
    /// A store whose layout comes after those that this program knows.
    Newer { layout: i64 },
    /// A store of a layout that this program knows.
    Store(Counters),
}

/// Reads what the file says of itself, from one snapshot. Writes nothing.
pub(crate) fn inspect(conn: &Connection, migrations: &[Migration]) -> rusqlite::Result<Found> {
    let number = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0));
    if number("PRAGMA application_id")? != APPLICATION_ID {
        return Ok(Found::Foreign("its application id is another one"));
    }
    Ok(match number("PRAGMA user_version")? {
        ..1 => Found::Foreign("it does not say which layout it has"),
        layout if layout < oldest(migrations) => Found::Older { layout },
        layout if layout > newest(migrations) => Found::Newer { layout },
        _ => Found::Store(Counters::load(conn)?),
    })
}

/// Whether the recorded steps are those that this program knows, up to the file's layout. Layout and steps are read by one
/// statement, from one snapshot: somebody may be bringing the file up to date meanwhile.
pub(crate) fn check_history(conn: &Connection, migrations: &[Migration]) -> Result<(), StoreError> {
    let sql =
        "SELECT version, fingerprint, (SELECT user_version FROM pragma_user_version) FROM migrations ORDER BY version";
    let mut statement = conn.prepare(sql).in_store()?;
    let read = |row: &rusqlite::Row<'_>| Ok(((row.get(0)?, row.get(1)?), row.get(2)?));
    let rows: Vec<((i64, String), i64)> = statement.query_map([], read).and_then(Iterator::collect).in_store()?;
    let layout = rows.first().map_or(0, |(_, layout)| *layout);
    let known = migrations.iter().filter(|migration| migration.version <= layout);
    let known = known.map(|migration| (migration.version, fingerprint(migration.sql)));
    if !rows.is_empty() && known.eq(rows.into_iter().map(|(step, _)| step)) {
        return Ok(());
    }
    Err(StoreError::damaged("its layout was made by other steps than those that this program knows"))
}

/// Runs the steps that the file lacks, in one transaction. To be called at the head of the queue. Only a new file gets the
/// number `records`.
pub(crate) fn migrate(conn: &Connection, migrations: &[Migration], records: u32) -> Result<(), StoreError> {
    conn.execute_batch("BEGIN IMMEDIATE").in_store()?;
    let done = migrate_in_transaction(conn, migrations, records);
    let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = conn.execute_batch(end).in_store();
    done.and(ended)
}

fn migrate_in_transaction(conn: &Connection, migrations: &[Migration], records: u32) -> Result<(), StoreError> {
    // Another process may have been first.
    let layout: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0)).in_store()?;
    if layout > 0 {
        check_history(conn, migrations)?;
    }
    for migration in migrations.iter().filter(|migration| migration.version > layout) {
        conn.execute_batch(migration.sql).in_store()?;
        let record = (migration.version, migration.name, fingerprint(migration.sql));
        conn.execute("INSERT INTO migrations (version, name, fingerprint) VALUES (?1, ?2, ?3)", record).in_store()?;
    }
    let layout_now = newest(migrations);
    if layout == 0 {
        let format = Format { layout: layout_now, records: i64::from(records) };
        Counters::new(format).insert(conn).in_store()?;
    } else {
        let counters = Counters::load(conn).in_store()?;
        let format = Format { layout: layout_now, ..counters.format };
        Counters { format, ..counters }.save(conn).in_store()?;
    }
    conn.pragma_update(None, "application_id", APPLICATION_ID).in_store()?;
    conn.pragma_update(None, "user_version", layout_now).in_store()
}

/// FNV-1a of a step's text. It tells apart what this project wrote at different times, and is no protection.
fn fingerprint(sql: &str) -> String {
    let hash = sql
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}
