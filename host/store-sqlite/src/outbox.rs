//! Stored effects in SQL.

use rusqlite::{Connection, OptionalExtension, Row, params};
use threadmesh_runtime::store::{Effect, EffectKind, EffectLease, LeasedEffect};

use crate::journal::damaged;
use crate::sum::Sum;

/// A row of the outbox.
#[derive(Debug)]
pub(crate) struct Stored {
    /// Given by the store.
    pub id: i64,
    /// When it falls due, or its lease ends; ms since the Unix epoch.
    pub due: i64,
    /// How often it was leased.
    pub fence: u32,
    /// What to do.
    pub name: String,
    /// What it is about.
    pub key: String,
    /// Its arguments.
    pub body: String,
    /// Why nobody could perform it as things were.
    pub failed: Option<String>,
}

impl Stored {
    /// A row of a select of all columns in the order of the table, if it is what was written.
    pub fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (id, due, fence) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (name, key, body, failed) = (row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?);
        let stored = Self { id, due, fence, name, key, body, failed };
        if stored.sum() == row.get::<_, i64>(7)? {
            return Ok(stored);
        }
        Err(damaged("a stored effect is not what was written"))
    }

    /// See [`crate::sum`].
    fn sum(&self) -> i64 {
        let Self { id, due, fence, name, key, body, failed } = self;
        let sum = Sum::new().number(*id).number(*due).number(i64::from(*fence));
        let sum = [name, key, body].into_iter().fold(sum, |sum, text| sum.bytes(text.as_bytes()));
        // A reason that is empty is one.
        failed.iter().fold(sum, |sum, text| sum.bytes(text.as_bytes())).value()
    }

    /// Writes what may change.
    fn save(&self, conn: &Connection) -> rusqlite::Result<()> {
        conn.prepare_cached("UPDATE outbox SET due = ?2, fence = ?3, failed = ?4, sum = ?5 WHERE id = ?1")?
            .execute(params![self.id, self.due, self.fence, self.failed, self.sum()])
            .map(|_| ())
    }
}

/// Adds an effect that is due at `due`.
pub(crate) fn add(conn: &Connection, id: i64, due: i64, effect: &Effect) -> rusqlite::Result<()> {
    let Effect { name, key, body, .. } = effect.clone();
    let new = Stored { id, due, fence: 0, name, key, body, failed: None };
    conn.prepare_cached("INSERT INTO outbox (id, due, fence, name, key, body, sum) VALUES (?1, ?2, 0, ?3, ?4, ?5, ?6)")?
        .execute(params![id, due, new.name, new.key, new.body, new.sum()])
        .map(|_| ())
}

/// Leases up to `limit` effects that are due at `now`, until `lease_until`.
pub(crate) fn lease(conn: &Connection, now: i64, lease_until: i64, limit: u32) -> rusqlite::Result<Vec<LeasedEffect>> {
    let sql =
        "SELECT id, due, fence, name, key, body, failed, sum FROM outbox WHERE due <= ?1 ORDER BY due, id LIMIT ?2";
    let due: Vec<Stored> =
        conn.prepare_cached(sql)?.query_map((now, limit), Stored::read)?.collect::<Result<_, _>>()?;
    let lease = |mut one: Stored| {
        one.due = lease_until;
        one.fence = one.fence.saturating_add(1);
        one.save(conn)?;
        let lease = EffectLease { id: one.id.cast_unsigned(), fence: one.fence };
        let effect = Effect { kind: EffectKind::Repeatable, name: one.name, key: one.key, body: one.body };
        Ok(LeasedEffect { lease, effect, lease_until })
    };
    due.into_iter().map(lease).collect()
}

/// Whether `lease` is the latest one of a stored effect.
pub(crate) fn holds(conn: &Connection, lease: EffectLease) -> rusqlite::Result<bool> {
    held(conn, lease).map(|held| held.is_some())
}

/// The effect of the latest lease, if that is `lease`.
fn held(conn: &Connection, lease: EffectLease) -> rusqlite::Result<Option<Stored>> {
    let sql =
        "SELECT id, due, fence, name, key, body, failed, sum FROM outbox WHERE id = ?1 AND fence = ?2 AND fence > 0";
    conn.prepare_cached(sql)?.query_row(params![lease.id.cast_signed(), lease.fence], Stored::read).optional()
}

/// Removes a leased effect; false where the lease is lost.
pub(crate) fn complete(conn: &Connection, lease: EffectLease) -> rusqlite::Result<bool> {
    conn.prepare_cached("DELETE FROM outbox WHERE id = ?1 AND fence = ?2 AND fence > 0")?
        .execute(params![lease.id.cast_signed(), lease.fence])
        .map(|removed| removed > 0)
}

/// Lets a leased effect be due at `retry_at`, and keeps why it failed; false where the lease is lost.
pub(crate) fn release(
    conn: &Connection,
    lease: EffectLease,
    retry_at: i64,
    failed: Option<&str>,
) -> rusqlite::Result<bool> {
    let Some(held) = held(conn, lease)? else { return Ok(false) };
    Stored { due: retry_at, failed: failed.map(str::to_owned), ..held }.save(conn)?;
    Ok(true)
}

/// Lets no effect be due after `now`.
pub(crate) fn advance(conn: &Connection, now: i64) -> rusqlite::Result<()> {
    let sql = "SELECT id, due, fence, name, key, body, failed, sum FROM outbox WHERE due > ?1";
    let late: Vec<Stored> = conn.prepare_cached(sql)?.query_map([now], Stored::read)?.collect::<Result<_, _>>()?;
    late.into_iter().try_for_each(|one| Stored { due: now, ..one }.save(conn))
}

/// When the next effect falls due.
pub(crate) fn next_due(conn: &Connection) -> rusqlite::Result<Option<i64>> {
    conn.prepare_cached("SELECT min(due) FROM outbox")?.query_row([], |row| row.get(0))
}
