//! Stored effects in SQL.

use rusqlite::{Connection, params};
use threadmesh_runtime::store::{Effect, EffectKind, EffectLease, LeasedEffect};

use crate::query::unsigned;

/// Adds an effect that is due at `due`.
pub(crate) fn add(conn: &Connection, id: i64, due: i64, effect: &Effect) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT INTO outbox (id, due, fence, name, key, body) VALUES (?1, ?2, 0, ?3, ?4, ?5)")?
        .execute(params![id, due, effect.name, effect.key, effect.body])
        .map(|_| ())
}

/// Leases up to `limit` effects that are due at `now`, until `lease_until`.
pub(crate) fn lease(conn: &Connection, now: i64, lease_until: i64, limit: u32) -> rusqlite::Result<Vec<LeasedEffect>> {
    let sql = "SELECT id, fence, name, key, body FROM outbox WHERE due <= ?1 ORDER BY due, id LIMIT ?2";
    let make = |row: &rusqlite::Row<'_>| {
        let lease = EffectLease { id: unsigned(row, 0)?, fence: row.get::<_, u32>(1)?.saturating_add(1) };
        let (name, key, body) = (row.get(2)?, row.get(3)?, row.get(4)?);
        Ok(LeasedEffect { lease, effect: Effect { kind: EffectKind::Repeatable, name, key, body }, lease_until })
    };
    let leased: Vec<LeasedEffect> =
        conn.prepare_cached(sql)?.query_map((now, limit), make)?.collect::<Result<_, _>>()?;
    let mut update = conn.prepare_cached("UPDATE outbox SET due = ?2, fence = ?3 WHERE id = ?1")?;
    for one in &leased {
        update.execute(params![one.lease.id.cast_signed(), lease_until, one.lease.fence])?;
    }
    Ok(leased)
}

/// Whether `lease` is the latest one of a stored effect.
pub(crate) fn holds(conn: &Connection, lease: EffectLease) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT 1 FROM outbox WHERE id = ?1 AND fence = ?2 AND fence > 0")?
        .exists(params![lease.id.cast_signed(), lease.fence])
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
    conn.prepare_cached("UPDATE outbox SET due = ?3, failed = ?4 WHERE id = ?1 AND fence = ?2 AND fence > 0")?
        .execute(params![lease.id.cast_signed(), lease.fence, retry_at, failed])
        .map(|changed| changed > 0)
}

/// Lets no effect be due after `now`.
pub(crate) fn advance(conn: &Connection, now: i64) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE outbox SET due = ?1 WHERE due > ?1")?.execute([now]).map(|_| ())
}

/// When the next effect falls due.
pub(crate) fn next_due(conn: &Connection) -> rusqlite::Result<Option<i64>> {
    conn.prepare_cached("SELECT min(due) FROM outbox")?.query_row([], |row| row.get(0))
}
