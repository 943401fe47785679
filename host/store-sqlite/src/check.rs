//! What the doctor asks of a whole file: is every row what was written, is it found under its keys, what was left undone?

use rusqlite::{Connection, Statement, params};
use threadmesh_runtime::store::Row;

use crate::delta::Delta;
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
    if let Some(finding) = check_rows(view)? {
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
    for position in view.coming().skip_while(|position| *position <= count) {
        last += 1;
        if position != last {
            return Ok(false);
        }
    }
    let counted: i64 = view.conn.query_row("SELECT audit FROM counters", [], |row| row.get(0))?;
    Ok(counted == last)
}

/// Reads all rows of the tables and looks for each of their keys; the first finding. Of what is being carried over a part may
/// be in the tables: as if all of it was.
fn check_rows(view: &View<'_>) -> rusqlite::Result<Option<&'static str>> {
    let nothing = Delta::default();
    let mut rows = Rows::new(view.conn, view.carried().unwrap_or(&nothing))?;
    let mut facts = view.conn.prepare("SELECT id, '', revision, stamp, name, keys, sum, body_sum, body FROM facts")?;
    let mut found = facts.query([])?;
    while let Some(row) = found.next()? {
        let changes = |one: &Row| rows.over.fact(one.stamp.cast_signed()).is_some();
        match query::checked(row) {
            Err(_) => rows.finding("a row is not what was written"),
            Ok(one) if changes(&one) => {}
            Ok(one) => rows.look(&one.id, one.stamp.cast_signed(), sum::blob(row, 5)?, Some(row.get(4)?))?,
        }
    }
    let mut audit = view.conn.prepare("SELECT position, '', keys, sum, body FROM audit")?;
    let mut found = audit.query([])?;
    while let Some(row) = found.next()? {
        let position = row.get(0)?;
        match query::checked_record(row) {
            Err(_) => rows.finding("a row is not what was written"),
            Ok(_) if rows.over.record(position).is_some() => {}
            Ok(_) => rows.look("", position, sum::blob(row, 2)?, None)?,
        }
    }
    for (stamp, fact) in rows.over.facts() {
        let Some(fact) = fact else { continue };
        if !fact.new && !rows.there.exists([stamp])? {
            rows.finding("a row is gone that was there");
        }
        rows.look(&fact.id, stamp, &fact.keys, Some(fact.name))?;
    }
    for (position, record) in rows.over.all_records() {
        rows.look("", position, &record.keys, None)?;
    }
    let entries = rows.entries(view.conn)?;
    Ok(rows.finding.or((entries != rows.count).then_some("a key leads to no row")))
}

/// What looking for the keys of all rows has found so far.
struct Rows<'v> {
    /// What is being carried over.
    over: &'v Delta,
    has: Statement<'v>,
    there: Statement<'v>,
    /// How many keys all rows have.
    count: i64,
    finding: Option<&'static str>,
}

impl<'v> Rows<'v> {
    fn new(conn: &'v Connection, over: &'v Delta) -> rusqlite::Result<Self> {
        let has = conn.prepare("SELECT 1 FROM entries WHERE name = ?1 AND key = ?2 AND stamp = ?3")?;
        let there = conn.prepare("SELECT 1 FROM facts WHERE stamp = ?1")?;
        Ok(Self { over, has, there, count: 0, finding: None })
    }

    fn finding(&mut self, what: &'static str) {
        self.finding = self.finding.or(Some(what));
    }

    /// Looks for the keys in `list` of one row, and for its id where it is found by one in the index `by_id`.
    fn look(&mut self, id: &str, stamp: i64, list: &[u8], by_id: Option<i64>) -> rusqlite::Result<()> {
        let Ok(mut keys) = keys::decode(list) else {
            self.finding("the list of a row's keys is malformed");
            return Ok(());
        };
        keys.extend(by_id.map(|name| (name, id)));
        for key in &keys {
            let mark = self.over.keys(by_id.is_none()).at(*key).iter().find(|mark| mark.stamp == stamp);
            let there = match mark {
                Some(mark) => mark.there,
                None => self.has.exists(params![key.0, key.1, stamp])?,
            };
            if !there {
                self.finding("a row is not found under one of its keys");
            }
        }
        self.count += keys.len() as i64;
        Ok(())
    }

    /// How many keys there are when all is carried over.
    fn entries(&mut self, conn: &Connection) -> rusqlite::Result<i64> {
        let mut entries: i64 = conn.query_row("SELECT count(*) FROM entries", [], |row| row.get(0))?;
        for ((name, key), mark) in self.over.keys(false).marks().chain(self.over.keys(true).marks()) {
            let there = self.has.exists(params![name, key, mark.stamp])?;
            entries += i64::from(mark.there) - i64::from(there);
        }
        Ok(entries)
    }
}
