//! Records of `wit/` to records of the store, moved and not copied.

use crate::store;
use crate::wit;

pub(super) fn query(query: wit::Query) -> store::Query {
    let wit::Query { collection, index, start, end, reverse, limit } = query;
    store::Query { collection, index, start, end, reverse, limit }
}

pub(super) fn answer(query: store::Query, answer: store::Answer) -> wit::Answer {
    let store::Query { collection, index, start, end, reverse, limit } = query;
    let rows = answer.rows.into_iter().map(|row| wit::Stored {
        id: row.id,
        key: row.key,
        revision: row.revision,
        body: row.body,
    });
    wit::Answer { query: wit::Query { collection, index, start, end, reverse, limit }, rows: rows.collect() }
}

/// What a decision changes; its calls are not among it.
pub(super) fn changes(decision: &mut wit::Decision, time: i64) -> store::Changes {
    let writes = std::mem::take(&mut decision.writes).into_iter().map(|write| store::Write {
        collection: write.collection,
        id: write.id,
        expected: write.expected,
        body: write.body,
        entries: entries(write.entries),
    });
    let audit = std::mem::take(&mut decision.audit)
        .into_iter()
        .map(|record| store::AuditRecord { body: record.body, entries: entries(record.entries) });
    let (calls, stored) =
        std::mem::take(&mut decision.effects).into_iter().partition(|effect| effect.kind == wit::EffectKind::Call);
    decision.effects = calls;
    let effects = stored.into_iter().map(|effect: wit::Effect| store::Effect {
        kind: store::EffectKind::Repeatable,
        name: effect.name,
        key: effect.key,
        body: effect.body,
    });
    store::Changes {
        time,
        writes: writes.collect(),
        audit: audit.collect(),
        effects: effects.collect(),
        finished: Vec::new(),
    }
}

fn entries(entries: Vec<wit::Entry>) -> Vec<store::Entry> {
    entries.into_iter().map(|entry| store::Entry { index: entry.index, key: entry.key }).collect()
}
