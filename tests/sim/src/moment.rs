//! What a read would answer at one moment: decided over what is committed now, with nothing in between.

use threadmesh_runtime::{
    Core,
    store::{self, Store},
    wit,
};

/// How often an operation may ask for facts; one more than it does.
const ROUNDS: usize = 4;

/// The answer to `request` at `now`; nothing where it would wait, or is none that only reads.
pub(crate) fn answer(core: &dyn Core, store: &dyn Store, request: &wit::Request, now: i64) -> Option<String> {
    let mut session = core.session().ok()?;
    let (mut answers, mut evaluated) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        // Exact: far below 2^53.
        let step = session.decide(request, &answers, &evaluated, now as f64, &"0".repeat(64)).ok()?.ok()?;
        if let Some(decision) = step.decision {
            return decision.writes.is_empty().then_some(decision.response);
        }
        if step.queries.is_empty() && step.evaluations.is_empty() {
            return None;
        }
        evaluated.extend(step.evaluations.into_iter().map(wit::unavailable));
        let asked: Vec<store::Query> = step.queries.iter().map(query).collect();
        let found = store.read(&asked).ok()?;
        let answer = |(query, found): (_, store::Answer)| {
            let more = found.more;
            wit::Answer { query, rows: rows(found), more }
        };
        answers.extend(step.queries.into_iter().zip(found).map(answer));
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
