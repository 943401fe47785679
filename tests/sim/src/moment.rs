//! What a read would answer at one moment: decided over what is committed now, with nothing in between.

use threadmesh_runtime::{
    Core, Rounds,
    store::{self, Store},
    wit,
};

/// How often an operation may ask for facts; one more than it does.
const ROUNDS: usize = 4;

/// The answer to `request` at `now`; nothing where it would wait, or is none that only reads.
pub(crate) fn answer(core: &dyn Core, store: &dyn Store, request: &wit::Request, now: i64) -> Option<String> {
    let mut session = core.session().ok()?;
    let entropy = "0".repeat(64);
    // Exact: far below 2^53.
    let mut rounds = Rounds::new(request, now as f64, &entropy, Vec::new());
    for _ in 0..ROUNDS {
        let step = rounds.step(session.as_mut()).ok()?.ok()?;
        if let Some(decision) = step.decision {
            return decision.writes.is_empty().then_some(decision.response);
        }
        if step.queries.is_empty() && step.evaluations.is_empty() {
            return None;
        }
        let asked: Vec<store::Query> = step.queries.iter().map(query).collect();
        let found = store.read(&asked).ok()?;
        let found = found.into_iter().map(|found| wit::Found { more: found.more, rows: rows(found) }).collect();
        rounds.bring(step.queries, found, step.evaluations.into_iter().map(wit::unavailable));
    }
    None
}

fn query(query: &wit::Query) -> store::Query {
    let wit::Query { collection, index, start, end, reverse, limit, bytes } = query.clone();
    store::Query { collection, index, start, end, reverse, limit, bytes }
}

fn rows(answer: store::Answer) -> Vec<wit::Stored> {
    let stored = |row: store::Row| wit::Stored { id: row.id, key: row.key, revision: row.revision, body: row.body };
    answer.rows.into_iter().map(stored).collect()
}
