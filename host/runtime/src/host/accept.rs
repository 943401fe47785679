//! Accepting a clock that is behind: the operator says that the later committed time was wrong (settled point 29).
//!
//! What was accepted is a row of the host's own, so that other processes and later starts know it too.

use super::{HostError, Inner, decider::misuse};
use crate::{
    store::{Answer, ApplyError, AuditRecord, Changes, Entry, Query, ReadSet, StoreError, Write},
    wit::{Principal, PrincipalKind},
};
use serde_json::{Value, json};

/// Brings facts, from wherever they are.
type Read<'r> = &'r mut dyn FnMut(&[Query]) -> Result<Vec<Answer>, StoreError>;

const COLLECTION: &str = "host";
const ID: &str = "clock";

impl Inner {
    /// Learns what was accepted, by whatever process.
    pub(super) fn load_acceptance(&self, read: Read<'_>) -> Result<(), StoreError> {
        let (_, accepted) = acceptance(read)?;
        if let Some((until, at)) = accepted {
            self.watch.accept(until, at);
        }
        Ok(())
    }

    /// See [`super::Host::accept_clock`].
    pub(super) fn accept_clock(&self, principal: &Principal) -> Result<bool, HostError> {
        if principal.kind != PrincipalKind::Operator {
            return Err(misuse("only an operator may accept the clock"));
        }
        if let Some(problem) = self.core.session()?.check_principal(principal)? {
            return Err(HostError::Misuse(problem));
        }
        let mut batch = self.store.begin()?;
        let last = batch.last_time()?;
        let now = self.watch.wall_ms();
        if now >= last || now < 0 {
            return Ok(false);
        }
        let at = batch.epoch();
        let (revision, _) = acceptance(&mut |queries| batch.read(queries))?;
        batch.apply(&ReadSet::at(at), &self.changes(principal, revision, last, now)).map_err(|error| match error {
            ApplyError::Store(error) => error.into(),
            ApplyError::Conflict(conflict) => misuse(conflict.to_string()),
        })?;
        batch.commit()?;
        self.watch.accept(last, now);
        // What was stored by the clock that was ahead would be due only when this one gets there.
        self.store.advance_effects(now)?;
        Ok(true)
    }

    fn changes(&self, principal: &Principal, expected: u32, last: i64, now: i64) -> Changes {
        let row = json!({ "acceptedUntil": last, "at": now });
        let audit = json!({
            "eventType": "clock-accepted",
            "acceptedUntil": last,
            "at": now,
            "operator": principal.id,
            "authentication": principal.authentication,
            "instance": self.instance,
        });
        let entries = vec![Entry { index: COLLECTION.into(), key: ID.into() }];
        let (collection, id, body) = (COLLECTION.into(), ID.into(), Some(row.to_string()));
        Changes {
            time: now,
            writes: vec![Write { collection, id, expected, body, entries: Vec::new() }],
            audit: vec![AuditRecord { body: audit.to_string(), entries }],
            ..Changes::default()
        }
    }
}

/// The row's revision (0: there is none), and what it says: the time that was accepted as wrong, and when.
fn acceptance(read: Read<'_>) -> Result<(u32, Option<(i64, i64)>), StoreError> {
    let (collection, index, start) = (COLLECTION.into(), String::new(), ID.into());
    let query = Query { collection, index, start, end: None, reverse: false, limit: 1, bytes: 0 };
    let answers = read(&[query])?;
    let Some(row) = answers.first().and_then(|answer| answer.rows.first()) else { return Ok((0, None)) };
    let body: Value = serde_json::from_str(&row.body).unwrap_or_default();
    let number = |name: &str| body[name].as_i64();
    Ok((row.revision, number("acceptedUntil").zip(number("at"))))
}
