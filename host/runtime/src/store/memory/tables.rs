//! The maps of a memory store, and reading through them and a batch's layer.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::layer::Layer;
use crate::store::{
    Answer, ApplyError, Conflict, Effect, EffectKind, EffectLease, Entry, LeasedEffect, Query, ReadSet, Row,
};

/// Collection and id.
pub(super) type RowKey = (String, String);

/// A row as kept.
#[derive(Debug, Clone)]
pub(super) struct StoredRow {
    pub revision: u32,
    pub stamp: u64,
    pub body: String,
    pub entries: Vec<Entry>,
}

/// A key of a row in an index. The empty index holds each row once, by its id: all reads go through this map.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EntryKey {
    pub collection: String,
    pub index: String,
    pub key: String,
    pub stamp: u64,
    pub id: String,
}

/// Numbers that only grow.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    pub last_time: i64,
    pub stamps: u64,
    pub audit: u64,
    pub effects: u64,
}

/// Everything that is committed.
#[derive(Debug, Clone, Default)]
pub(super) struct Tables {
    pub rows: BTreeMap<RowKey, StoredRow>,
    pub entries: BTreeMap<EntryKey, ()>,
    pub outbox: Outbox,
    pub counters: Counters,
    pub commits: u64,
}

/// What is committed, under what a batch has applied.
pub(super) struct View<'a> {
    pub base: &'a Tables,
    pub layer: Option<&'a Layer>,
}

impl View<'_> {
    /// The rows that `query` asks for.
    pub fn answer(&self, query: &Query) -> Answer {
        Answer::of(query, self.keys(query).into_iter().filter_map(|key| self.row(key)).collect())
    }

    /// Runs the queries of `reads` again and compares.
    pub fn validate(&self, reads: &ReadSet) -> Result<(), ApplyError> {
        for (number, (query, seen)) in reads.reads.iter().enumerate() {
            if self.answer(query).seen() != *seen {
                return Err(ApplyError::Conflict(Conflict::Read { query: number }));
            }
        }
        Ok(())
    }

    fn row(&self, key: EntryKey) -> Option<Row> {
        let row_key = (key.collection, key.id);
        let row = match self.layer.and_then(|layer| layer.rows.get(&row_key)) {
            Some(changed) => changed.as_ref()?,
            None => self.base.rows.get(&row_key)?,
        };
        Some(Row { id: row_key.1, key: key.key, revision: row.revision, body: row.body.clone(), stamp: row.stamp })
    }

    /// The keys of the range, up to one more than the query's limit.
    fn keys(&self, query: &Query) -> Vec<EntryKey> {
        let bound = |key: String| EntryKey {
            collection: query.collection.clone(),
            index: query.index.clone(),
            key,
            stamp: 0,
            id: String::new(),
        };
        // Nothing stands between a string and the same with a zero byte added.
        let end = query.end.clone().unwrap_or_else(|| format!("{}\0", query.start));
        if query.start >= end {
            return Vec::new();
        }
        let range = (Bound::Included(bound(query.start.clone())), Bound::Excluded(bound(end)));
        let limit = (query.limit as usize).saturating_add(1);
        let base = self.base.entries.range(range.clone()).map(|(key, ())| key);
        let Some(layer) = self.layer else {
            return if query.reverse {
                base.rev().take(limit).cloned().collect()
            } else {
                base.take(limit).cloned().collect()
            };
        };
        let changed = layer.entries.range(range).map(|(key, there)| (key, *there));
        if query.reverse {
            merge(base.rev(), changed.rev(), |a, b| a > b, limit)
        } else {
            merge(base, changed, |a, b| a < b, limit)
        }
    }
}

/// Up to `limit` keys of `base` as corrected by `changed` (true: there; false: not). Both are sorted as `before` says.
fn merge<'a>(
    base: impl Iterator<Item = &'a EntryKey>,
    changed: impl Iterator<Item = (&'a EntryKey, bool)>,
    before: impl Fn(&EntryKey, &EntryKey) -> bool,
    limit: usize,
) -> Vec<EntryKey> {
    let (mut base, mut changed) = (base.peekable(), changed.peekable());
    let mut keys = Vec::new();
    while keys.len() < limit {
        let key = match (base.peek(), changed.peek()) {
            (None, None) => break,
            (Some(key), None) => {
                let key = Some(*key);
                base.next();
                key
            }
            (Some(key), Some((correction, _))) if before(key, correction) => {
                let key = Some(*key);
                base.next();
                key
            }
            (other, Some((correction, there))) => {
                let key = there.then_some(*correction);
                if other == Some(correction) {
                    base.next();
                }
                changed.next();
                key
            }
        };
        keys.extend(key.cloned());
    }
    keys
}

/// The stored effects by id.
#[derive(Debug, Clone, Default)]
pub(super) struct Outbox {
    pub effects: BTreeMap<u64, Waiting>,
}

/// A stored effect.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub name: String,
    pub key: String,
    pub body: String,
    pub fence: u32,
    pub due: i64,
}

impl Outbox {
    /// See `Store::lease_effects`.
    pub fn lease(&mut self, now: i64, lease_ms: i64, limit: u32) -> Vec<LeasedEffect> {
        let lease_until = now.saturating_add(lease_ms);
        let mut due: Vec<_> = self.effects.iter().filter(|(_, w)| w.due <= now).map(|(id, w)| (w.due, *id)).collect();
        due.sort_unstable();
        due.truncate(limit as usize);
        let mut leased = Vec::with_capacity(due.len());
        for (_, id) in due {
            let Some(waiting) = self.effects.get_mut(&id) else { continue };
            waiting.fence += 1;
            waiting.due = lease_until;
            let effect = Effect {
                kind: EffectKind::Repeatable,
                name: waiting.name.clone(),
                key: waiting.key.clone(),
                body: waiting.body.clone(),
            };
            leased.push(LeasedEffect { lease: EffectLease { id, fence: waiting.fence }, effect, lease_until });
        }
        leased
    }

    /// See `Store::complete_effect`.
    pub fn complete(&mut self, lease: EffectLease) -> bool {
        let held = self.holds(lease);
        if held {
            self.effects.remove(&lease.id);
        }
        held
    }

    /// See `Store::release_effect`.
    pub fn release(&mut self, lease: EffectLease, retry_at: i64) -> bool {
        match self.effects.get_mut(&lease.id) {
            Some(waiting) if waiting.fence == lease.fence && lease.fence > 0 => {
                waiting.due = retry_at;
                true
            }
            _ => false,
        }
    }

    /// See `Store::advance_effects`.
    pub fn advance(&mut self, now: i64) {
        self.effects.values_mut().for_each(|waiting| waiting.due = waiting.due.min(now));
    }

    /// See `Store::next_effect_due`.
    pub fn next_due(&self) -> Option<i64> {
        self.effects.values().map(|waiting| waiting.due).min()
    }

    /// Whether `lease` is the latest lease of a stored effect.
    pub fn holds(&self, lease: EffectLease) -> bool {
        lease.fence > 0 && self.effects.get(&lease.id).is_some_and(|waiting| waiting.fence == lease.fence)
    }
}
