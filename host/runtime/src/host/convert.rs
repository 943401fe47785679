//! Records of `wit/` to records of the store, moved and not copied; and a decision taken apart.

use super::{Job, Reply, follow};
use crate::store;
use crate::wit;

pub(super) fn query(query: wit::Query) -> store::Query {
    let wit::Query { collection, index, start, end, reverse, limit, bytes } = query;
    store::Query { collection, index, start, end, reverse, limit, bytes }
}

pub(super) fn asked(query: store::Query) -> wit::Query {
    let store::Query { collection, index, start, end, reverse, limit, bytes } = query;
    wit::Query { collection, index, start, end, reverse, limit, bytes }
}

pub(super) fn found(answer: store::Answer) -> wit::Found {
    let rows = answer.rows.into_iter().map(|row| wit::Stored {
        id: row.id,
        key: row.key,
        revision: row.revision,
        body: row.body,
    });
    wit::Found { rows: rows.collect(), more: answer.more }
}

/// What a decision leads to.
pub(super) struct Parts {
    /// To be committed.
    pub changes: store::Changes,
    /// To be answered after the commit.
    pub reply: Reply,
    /// Whether the operation goes on after the commit; the changes say how.
    pub goes_on: bool,
}

/// Takes the decision about `job` at `time` apart. What `job` finishes leaves the outbox with it, unless it is a refusal;
/// what the decision goes on with is stored with it.
pub(super) fn split(decision: wit::Decision, job: &Job, time: i64) -> Parts {
    let wit::Decision { status, response, problem, writes, effects, audit, topics, proceed, facts } = decision;
    let (calls, stored): (Vec<_>, Vec<_>) =
        effects.into_iter().partition(|effect| effect.kind == wit::EffectKind::Call);
    let left = proceed.map(|cursor| follow::left(&job.request, cursor));
    let goes_on = left.is_some();
    let changes = store::Changes {
        time,
        writes: writes.into_iter().map(write).collect(),
        audit: audit.into_iter().map(record).collect(),
        effects: stored.into_iter().map(effect).chain(left).collect(),
        finished: if status == wit::Status::Refused { Vec::new() } else { job.finished.clone() },
    };
    Parts { changes, reply: Reply { status, body: response, problem, calls, topics, facts }, goes_on }
}

fn write(write: wit::Write) -> store::Write {
    let wit::Write { collection, id, expected, body, entries } = write;
    store::Write { collection, id, expected, body, entries: entries.into_iter().map(entry).collect() }
}

fn record(record: wit::AuditRecord) -> store::AuditRecord {
    store::AuditRecord { body: record.body, entries: record.entries.into_iter().map(entry).collect() }
}

fn entry(entry: wit::Entry) -> store::Entry {
    store::Entry { index: entry.index, key: entry.key }
}

fn effect(effect: wit::Effect) -> store::Effect {
    let wit::Effect { kind: _, name, key, body } = effect;
    store::Effect { kind: store::EffectKind::Repeatable, name, key, body }
}
