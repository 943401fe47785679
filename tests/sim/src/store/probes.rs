//! Asking a store for what it must refuse, in batches that are dropped.

use super::FaultyStore;
use threadmesh_runtime::store::{
    Applied, ApplyError, Changes, Conflict, EffectLease, Epoch, Query, ReadSet, Row, RowIdentity, Seen, Write,
};

impl FaultyStore {
    /// The row with this id, as committed.
    pub fn row(&self, collection: &str, id: &str) -> Option<Row> {
        let answers = self.inner.read(&[point(collection, id)]).ok()?;
        answers.into_iter().next()?.rows.into_iter().next()
    }

    /// What the store would take of what contradicts this row as it is: writes that expect another revision, and decisions
    /// that read something else.
    pub fn probe(&self, collection: &str, id: &str) -> Vec<String> {
        let row = self.row(collection, id);
        let revision = row.as_ref().map_or(0, |row| row.revision);
        let expected = [revision.checked_sub(1), Some(revision + 1), Some(0).filter(|none| *none != revision)];
        let writes = expected.into_iter().flatten().map(|expected| {
            let write = Write {
                collection: collection.into(),
                id: id.into(),
                expected,
                body: Some("{}".into()),
                entries: Vec::new(),
            };
            let refused = |error: &_| *error == Conflict::Write { write: 0 };
            let what = format!("a write at revision {expected} over {revision}");
            self.takes(&ReadSet::default(), vec![write], Vec::new(), refused).then_some(what)
        });
        let reads = unlike(row.as_ref(), id).into_iter().map(|(what, found)| {
            // Another batch's word for what it read itself counts for nothing here.
            let epoch = Some(Epoch::of_new_batch());
            let seen = Seen { rows: found, more: false };
            let reads = ReadSet { epoch, reads: vec![(point(collection, id), seen)] };
            let refused = |error: &_| *error == Conflict::Read { query: 0 };
            let what = format!("a decision that read {what} of one at revision {revision}");
            self.takes(&reads, Vec::new(), Vec::new(), refused).then_some(what)
        });
        let taken = writes.chain(reads).flatten();
        taken.map(|what| format!("the store takes {what}: {collection}/{id}")).collect()
    }

    /// What the store would take from who holds an effect no longer, or not yet, that is leased by `lease`.
    pub fn probe_lease(&self, lease: EffectLease) -> Vec<String> {
        let other = |fence| EffectLease { fence, ..lease };
        let fences = [Some(lease.fence + 1), lease.fence.checked_sub(1), Some(0)];
        let mut taken = Vec::new();
        for wrong in fences.into_iter().flatten().map(other) {
            let refused = |error: &_| *error == Conflict::Lease { finished: 0 };
            let finished = self.takes(&ReadSet::default(), Vec::new(), vec![wrong], refused);
            // The lease is what it was, so that whoever holds it sees no difference.
            let released = self.inner.release_effect(wrong, i64::MAX, None) != Ok(false);
            let completed = self.inner.complete_effect(wrong) != Ok(false);
            if finished || released || completed {
                taken.push(format!(
                    "the store takes fence {} for effect {}, leased by {lease:?}",
                    wrong.fence, lease.id
                ));
            }
        }
        taken
    }

    /// Whether the store takes this, or refuses it for anything but what is wrong with it.
    fn takes(
        &self,
        reads: &ReadSet,
        writes: Vec<Write>,
        finished: Vec<EffectLease>,
        refused: impl Fn(&Conflict) -> bool,
    ) -> bool {
        let applied: Result<Applied, ApplyError> = match self.inner.begin() {
            Ok(mut batch) => {
                let time = batch.last_time().unwrap_or(0);
                batch.apply(reads, &Changes { time, writes, finished, ..Changes::default() })
            }
            Err(error) => Err(error.into()),
        };
        !matches!(applied, Err(ApplyError::Conflict(conflict)) if refused(&conflict))
    }
}

/// The one row with this id.
fn point(collection: &str, id: &str) -> Query {
    let (collection, id) = (collection.into(), id.into());
    Query { collection, index: String::new(), start: id, end: None, reverse: false, limit: 1, bytes: 0 }
}

/// What might be said to have been read where this is the row.
fn unlike(row: Option<&Row>, id: &str) -> Vec<(&'static str, Vec<RowIdentity>)> {
    match row.map(Row::identity) {
        Some(row) => {
            let (older, other) = (row.revision - 1, row.stamp + 1);
            vec![
                ("nothing", Vec::new()),
                ("an earlier revision", vec![RowIdentity { revision: older, ..row.clone() }]),
                ("a later revision", vec![RowIdentity { revision: row.revision + 1, ..row.clone() }]),
                ("one that was made later", vec![RowIdentity { stamp: other, ..row }]),
            ]
        }
        None => vec![("a row", vec![RowIdentity { id: id.into(), key: id.into(), revision: 1, stamp: 1 }])],
    }
}
