//! Random logs: two stores get the same operations and must give the same answers.

use crate::store::{
    Answer, Applied, ApplyError, AuditRecord, Batch, Changes, Effect, EffectKind, EffectLease, Entry, Query, ReadSet,
    Row, Store, Write,
};

/// A small generator with a seed (splitmix64), the same on every machine.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound.max(1)
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    fn pick(&mut self, choices: &[&str]) -> String {
        choices[self.below(choices.len() as u64) as usize].to_owned()
    }
}

/// What a random log contained, so that a test can see that it was worth running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Applies that both stores took.
    pub applied: u64,
    /// Applies that both refused, with the same conflict.
    pub conflicts: u64,
    /// Batches committed.
    pub commits: u64,
    /// Batches dropped.
    pub rollbacks: u64,
    /// Rows found by queries.
    pub rows: u64,
    /// Effects leased.
    pub leases: u64,
}

const COLLECTIONS: &[&str] = &["a", "b", "task/x", "audit"];
const INDEXES: &[&str] = &["", "i", "j", "by time"];
const TEXTS: &[&str] = &["", "/", "a", "a/", "a/1", "a/2", "b", "é", "\u{ffff}", "\u{10000}", "%", "a\0"];

/// Does `steps` random operations on two empty stores and panics where they differ; the message names seed and step.
pub fn compare(a: &dyn Store, b: &dyn Store, seed: u64, steps: u64) -> Seen {
    let mut log = Log { random: Random::new(seed), seen: Seen::default(), leases: Vec::new() };
    for step in 0..steps {
        let place = format!("seed {seed}, step {step}");
        match log.random.below(10) {
            0..=5 => log.batch(a, b, &place),
            6 | 7 => {
                let query = log.query();
                let reads = std::slice::from_ref(&query);
                log.same_answers(&query, a.read(reads).expect(&place), b.read(reads).expect(&place), &place);
            }
            _ => log.outbox(a, b, &place),
        }
        assert_eq!(a.last_time(), b.last_time(), "{place}");
        assert_eq!(a.next_effect_due(), b.next_effect_due(), "{place}");
    }
    log.seen
}

struct Log {
    random: Random,
    seen: Seen,
    leases: Vec<EffectLease>,
}

impl Log {
    fn batch(&mut self, a: &dyn Store, b: &dyn Store, place: &str) {
        // Some read sets are older than their batch.
        let queries: Vec<Query> = (0..self.random.below(3)).map(|_| self.query()).collect();
        let mut old = (read_set(a, &queries, place), read_set(b, &queries, place));
        if self.random.one_in(3) {
            let changes = self.changes();
            let (mut one, mut other) = (a.begin().expect(place), b.begin().expect(place));
            self.apply(&mut *one, &mut *other, &Default::default(), &changes, place);
            self.end(one, other, place);
        }
        let (mut one, mut other) = (a.begin().expect(place), b.begin().expect(place));
        for _ in 0..1 + self.random.below(4) {
            let query = self.query();
            let (epoch_one, epoch_other) = (one.epoch(), other.epoch());
            let left = one.read(std::slice::from_ref(&query)).expect(place);
            let right = other.read(std::slice::from_ref(&query)).expect(place);
            if self.random.one_in(2) {
                old = (ReadSet::at(epoch_one), ReadSet::at(epoch_other));
                old.0.record(&query, &left[0]);
                old.1.record(&query, &right[0]);
            }
            self.same_answers(&query, left, right, place);
            let changes = self.changes();
            self.apply(&mut *one, &mut *other, &old, &changes, place);
        }
        self.end(one, other, place);
    }

    fn apply(
        &mut self,
        a: &mut dyn Batch,
        b: &mut dyn Batch,
        reads: &(ReadSet, ReadSet),
        changes: &Changes,
        place: &str,
    ) {
        let result: Result<Applied, ApplyError> = a.apply(&reads.0, changes);
        assert_eq!(result, b.apply(&reads.1, changes), "{place}: {changes:?}");
        assert_eq!(a.last_time(), b.last_time(), "{place}");
        match result {
            Ok(_) => self.seen.applied += 1,
            Err(ApplyError::Conflict(_)) => self.seen.conflicts += 1,
            Err(error) => panic!("{place}: {error}"),
        }
    }

    fn end(&mut self, a: Box<dyn Batch + '_>, b: Box<dyn Batch + '_>, place: &str) {
        if self.random.one_in(4) {
            self.seen.rollbacks += 1;
        } else {
            self.seen.commits += 1;
            a.commit().expect(place);
            b.commit().expect(place);
        }
    }

    fn outbox(&mut self, a: &dyn Store, b: &dyn Store, place: &str) {
        let (now, lease_ms, limit) = (self.time(), self.random.below(500) as i64, self.random.below(4) as u32);
        match self.random.below(4) {
            0 if !self.leases.is_empty() => {
                let lease = self.a_lease();
                assert_eq!(a.complete_effect(lease), b.complete_effect(lease), "{place}");
            }
            1 if !self.leases.is_empty() => {
                let lease = self.a_lease();
                assert_eq!(a.release_effect(lease, now, None), b.release_effect(lease, now, None), "{place}");
            }
            _ => {
                let leased = a.lease_effects(now, lease_ms, limit).expect(place);
                assert_eq!(leased, b.lease_effects(now, lease_ms, limit).expect(place), "{place}");
                self.seen.leases += leased.len() as u64;
                self.leases.extend(leased.iter().map(|leased| leased.lease));
            }
        }
    }

    fn same_answers(&mut self, query: &Query, a: Vec<Answer>, b: Vec<Answer>, place: &str) {
        let plain = |answers: &[Answer]| -> Vec<(String, String, u32, String)> {
            let one = |row: &Row| (row.id.clone(), row.key.clone(), row.revision, row.body.clone());
            answers.iter().flat_map(|answer| answer.rows.iter().map(one)).collect()
        };
        assert_eq!(plain(&a), plain(&b), "{place}: {query:?}");
        self.seen.rows += a[0].rows.len() as u64;
    }

    fn query(&mut self) -> Query {
        let audit_id = crate::store::audit_id(self.random.below(40));
        let start = if self.random.one_in(4) { audit_id } else { self.random.pick(TEXTS) };
        let end =
            (!self.random.one_in(3)).then(|| self.random.pick(&["a0", "b", "~", "\u{10ffff}", "0000000000000020", ""]));
        Query {
            collection: self.random.pick(COLLECTIONS),
            index: self.random.pick(INDEXES),
            start,
            end,
            reverse: self.random.one_in(2),
            limit: self.random.below(8) as u32,
            bytes: if self.random.one_in(3) { self.random.below(40) as u32 } else { 0 },
        }
    }

    fn changes(&mut self) -> Changes {
        Changes {
            time: self.time(),
            writes: (0..self.random.below(5)).map(|_| self.write()).collect(),
            audit: (0..self.random.below(3))
                .map(|n| AuditRecord { body: n.to_string(), entries: self.entries() })
                .collect(),
            effects: (0..self.random.below(2)).map(|_| self.effect()).collect(),
            finished: if self.random.one_in(20) && !self.leases.is_empty() { vec![self.a_lease()] } else { vec![] },
        }
    }

    /// Small revisions and few ids, so that about half of the writes fit.
    fn write(&mut self) -> Write {
        let expected = self.random.below(3) as u32;
        let body = (expected == 0 || !self.random.one_in(2)).then(|| {
            let text = self.random.pick(TEXTS);
            if self.random.one_in(40) { text.repeat(20_000) } else { text }
        });
        let collection = self.random.pick(&COLLECTIONS[..3]);
        Write { collection, id: self.random.pick(TEXTS), expected, body, entries: self.entries() }
    }

    fn entries(&mut self) -> Vec<Entry> {
        (0..self.random.below(4))
            .map(|_| Entry { index: self.random.pick(&INDEXES[1..]), key: self.random.pick(TEXTS) })
            .collect()
    }

    fn effect(&mut self) -> Effect {
        let (name, key, body) = (self.random.pick(TEXTS), self.random.pick(TEXTS), self.random.pick(TEXTS));
        Effect { kind: EffectKind::Repeatable, name, key, body }
    }

    fn time(&mut self) -> i64 {
        self.random.below(10_000) as i64
    }

    fn a_lease(&mut self) -> EffectLease {
        self.leases[self.random.below(self.leases.len() as u64) as usize]
    }
}

fn read_set(store: &dyn Store, queries: &[Query], place: &str) -> ReadSet {
    let mut reads = ReadSet::default();
    for (query, answer) in queries.iter().zip(store.read(queries).expect(place)) {
        reads.record(query, &answer);
    }
    reads
}
