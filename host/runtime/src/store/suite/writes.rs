//! What batches do and undo.

use super::Factory;
use super::help::*;
use crate::store::{
    ApplyError, AuditRecord, Changes, Conflict, Effect, EffectKind, ReadSet, Scrub, StoreError, audit_id,
};
use std::time::Duration;

pub(super) fn index_keys_are_replaced(factory: Factory<'_>) {
    let store = factory();
    commit(&*store, &writes(vec![put("c", "a", 0, "", &[("i", "k1"), ("i", "k2"), ("j", "x")])]));
    commit(&*store, &writes(vec![put("c", "a", 1, "", &[("i", "k2"), ("i", "k3"), ("l", "y")])]));
    let keys = |index: &str| {
        let rows = read(&*store, &range("c", index, "", "zz")).rows;
        assert!(rows.iter().all(|row| row.revision == 2), "old keys show the new row");
        rows.into_iter().map(|row| row.key).collect::<Vec<_>>()
    };
    assert_eq!(keys("i"), ["k2", "k3"]);
    assert_eq!(keys("j"), [""; 0]);
    assert_eq!(keys("l"), ["y"]);
    commit(&*store, &writes(vec![put("c", "a", 2, "", &[])]));
    assert_eq!(ids(&*store, &range("c", "i", "", "zz")), [""; 0]);
    assert_eq!(ids(&*store, &point("c", "a")), ["a"]);
}

pub(super) fn removal(factory: Factory<'_>) {
    let store = factory();
    commit(&*store, &writes(vec![put("c", "a", 0, "", &[("i", "k")]), put("c", "b", 0, "", &[("i", "k")])]));
    commit(&*store, &writes(vec![remove("c", "a", 1)]));
    assert_eq!(ids(&*store, &range("c", "", "", "zz")), ["b"]);
    assert_eq!(ids(&*store, &exact("c", "i", "k")), ["b"]);
    commit(&*store, &writes(vec![put("c", "a", 0, "again", &[("j", "k")])]));
    assert_eq!(one(&*store, &exact("c", "j", "k")), Some(("a".into(), "k".into(), 1, "again".into())));
    assert_eq!(ids(&*store, &exact("c", "i", "k")), ["b"], "nothing is left of the first row");
}

pub(super) fn scrub_leaves_what_stands(factory: Factory<'_>) {
    let store = factory();
    assert_eq!(store.scrub(Duration::from_secs(10)), Ok(Scrub::Clean), "a new store");
    commit(&*store, &writes(vec![put("c", "a", 0, "one", &[("i", "k")]), put("c", "b", 0, "two", &[])]));
    commit(&*store, &writes(vec![put("c", "a", 1, "three", &[("i", "k")]), remove("c", "b", 1)]));
    for _ in 0..2 {
        assert_eq!(store.scrub(Duration::from_secs(10)), Ok(Scrub::Clean));
        assert_eq!(one(&*store, &exact("c", "i", "k")), Some(("a".into(), "k".into(), 2, "three".into())));
        assert_eq!(ids(&*store, &range("c", "", "", "zz")), ["a"]);
    }
}

pub(super) fn expected_revisions(factory: Factory<'_>) {
    let store = factory();
    commit(&*store, &writes(vec![put("c", "a", 0, "one", &[])]));
    for wrong in [0, 2, 7] {
        let result = try_commit(&*store, &ReadSet::default(), &writes(vec![put("c", "a", wrong, "x", &[])]));
        assert_conflict(result, Conflict::Write { write: 0 });
    }
    for write in [put("c", "b", 1, "x", &[]), remove("c", "b", 1), remove("c", "a", 2)] {
        let result = try_commit(&*store, &ReadSet::default(), &writes(vec![put("c", "z", 0, "", &[]), write]));
        assert_conflict(result, Conflict::Write { write: 1 });
    }
    assert_eq!(ids(&*store, &range("c", "", "", "zz")), ["a"]);
    commit(&*store, &writes(vec![put("c", "a", 1, "two", &[])]));
    assert_eq!(one(&*store, &point("c", "a")), Some(("a".into(), "a".into(), 2, "two".into())));
}

pub(super) fn several_writes_of_one_row(factory: Factory<'_>) {
    let store = factory();
    let rows = vec![
        put("c", "a", 0, "1", &[("i", "k1")]),
        put("c", "a", 1, "2", &[("i", "k2")]),
        remove("c", "a", 2),
        put("c", "a", 0, "3", &[("i", "k3")]),
        put("c", "a", 1, "4", &[("i", "k3"), ("i", "k4")]),
    ];
    commit(&*store, &writes(rows));
    let rows = read(&*store, &range("c", "i", "", "zz")).rows;
    let seen: Vec<_> = rows.iter().map(|row| (&*row.key, row.revision, &*row.body)).collect();
    assert_eq!(seen, [("k3", 2, "4"), ("k4", 2, "4")]);
}

pub(super) fn failed_apply_leaves_nothing(factory: Factory<'_>) {
    let store = factory();
    commit(&*store, &writes(vec![put("c", "old", 0, "old", &[("i", "old")])]));
    let mut batch = begin(&*store);
    batch.apply(&ReadSet::default(), &writes(vec![put("c", "a", 0, "", &[("i", "a")])])).expect("first");
    let epoch = batch.epoch();
    let failing = Changes {
        time: 99,
        writes: vec![
            put("c", "old", 1, "new", &[("i", "new")]),
            put("n", "b", 0, "", &[("m", "b")]),
            remove("c", "a", 1),
            put("c", "a", 7, "", &[]),
        ],
        audit: vec![audit("lost", &[("i", "lost")])],
        effects: vec![effect("lost")],
        finished: vec![],
    };
    assert_conflict(batch.apply(&ReadSet::default(), &failing), Conflict::Write { write: 3 });
    assert_eq!(batch.epoch(), epoch, "nothing has changed for the batch");
    assert_eq!(batch.last_time(), Ok(1));
    assert_eq!(ids_of(&read_in(&mut *batch, &range("c", "i", "", "zz"))), ["a", "old"]);
    assert_eq!(ids_of(&read_in(&mut *batch, &range("n", "m", "", "zz"))), [""; 0]);
    // The same names and places again, now for good.
    let kept = Changes { audit: vec![audit("kept", &[])], ..writes(vec![put("n", "b", 0, "kept", &[("m", "b")])]) };
    assert_eq!(batch.apply(&ReadSet::default(), &kept).expect("third").audit, [1]);
    assert_ne!(batch.epoch(), epoch);
    batch.commit().expect("commit");
    assert_eq!(ids(&*store, &range("c", "i", "", "zz")), ["a", "old"]);
    assert_eq!(one(&*store, &point("c", "old")), Some(("old".into(), "old".into(), 1, "old".into())));
    assert_eq!(one(&*store, &exact("n", "m", "b")), Some(("b".into(), "b".into(), 1, "kept".into())));
    assert_eq!(one(&*store, &point("audit", &audit_id(1))).map(|row| row.3), Some("kept".into()));
    assert_eq!(store.next_effect_due(), Ok(None));
    assert_eq!(store.last_time(), Ok(1));
}

pub(super) fn dropping_rolls_back(factory: Factory<'_>) {
    let store = factory();
    let changes = Changes {
        time: 50,
        writes: vec![put("c", "a", 0, "x", &[("i", "k")])],
        audit: vec![audit("x", &[])],
        effects: vec![effect("x")],
        finished: vec![],
    };
    let mut batch = begin(&*store);
    batch.apply(&ReadSet::default(), &changes).expect("apply");
    assert_eq!(ids_of(&read_in(&mut *batch, &exact("c", "i", "k"))), ["a"], "a batch sees its own changes");
    assert_eq!(ids(&*store, &exact("c", "i", "k")), [""; 0], "nobody else does");
    drop(batch);
    assert_eq!(ids(&*store, &range("c", "", "", "zz")), [""; 0]);
    assert_eq!((store.last_time(), store.next_effect_due()), (Ok(0), Ok(None)));
    assert_eq!(commit(&*store, &changes).audit, [1], "the position was not used up");
    assert_eq!(store.last_time(), Ok(50));
    begin(&*store).commit().expect("an empty batch commits");
}

pub(super) fn audit_positions_are_dense(factory: Factory<'_>) {
    let store = factory();
    let records = |from: u32, to: u32| -> Vec<AuditRecord> {
        (from..to).map(|n| audit(&format!("body {n}"), &[("by", if n % 2 == 0 { "even" } else { "odd" })])).collect()
    };
    let some = |audit| Changes { audit, ..Changes::default() };
    assert_eq!(commit(&*store, &some(records(1, 4))).audit, [1, 2, 3]);
    let mut batch = begin(&*store);
    assert_eq!(batch.apply(&ReadSet::default(), &some(records(4, 6))).expect("apply").audit, [4, 5]);
    let refused = Changes { writes: vec![put("c", "a", 3, "", &[])], ..some(records(6, 9)) };
    assert_conflict(batch.apply(&ReadSet::default(), &refused), Conflict::Write { write: 0 });
    assert_eq!(batch.apply(&ReadSet::default(), &some(records(6, 7))).expect("apply").audit, [6]);
    drop(batch);
    let mut batch = begin(&*store);
    assert_eq!(batch.apply(&ReadSet::default(), &some(records(4, 5))).expect("apply").audit, [4]);
    assert_eq!(batch.apply(&ReadSet::default(), &some(records(5, 12))).expect("apply").audit, [5, 6, 7, 8, 9, 10, 11]);
    batch.commit().expect("commit");
    let rows = read(&*store, &range("audit", "", "", "zz")).rows;
    let seen: Vec<_> = rows.iter().map(|row| (row.id.clone(), row.revision, row.body.clone())).collect();
    let wanted: Vec<_> = (1..12).map(|n| (format!("{n:016}"), 1, format!("body {n}"))).collect();
    assert_eq!(seen, wanted);
    assert_eq!(ids(&*store, &exact("audit", "by", "even")), [2, 4, 6, 8, 10].map(audit_id));
}

pub(super) fn time_never_goes_back(factory: Factory<'_>) {
    let store = factory();
    let at = |time| Changes { time, audit: vec![audit("x", &[])], ..Changes::default() };
    commit(&*store, &at(1_000));
    commit(&*store, &at(10));
    assert_eq!(store.last_time(), Ok(1_000));
    let mut batch = begin(&*store);
    assert_eq!(batch.last_time(), Ok(1_000));
    batch.apply(&ReadSet::default(), &at(2_000)).expect("apply");
    assert_eq!((batch.last_time(), store.last_time()), (Ok(2_000), Ok(1_000)));
    batch.apply(&ReadSet::default(), &Changes { time: 9_000, ..Changes::default() }).expect("apply");
    assert_eq!(batch.last_time(), Ok(2_000), "changes that hold nothing move nothing");
    batch.commit().expect("commit");
    let greatest = (1_i64 << 53) - 1;
    commit(&*store, &at(greatest));
    assert_eq!(store.last_time(), Ok(greatest));
}

pub(super) fn changes_are_counted(factory: Factory<'_>) {
    let store = factory();
    let before = store.changes().expect("changes");
    assert_eq!(store.changes(), Ok(before), "nothing happened");
    commit(&*store, &writes(vec![put("c", "a", 0, "", &[])]));
    let after = store.changes().expect("changes");
    assert_ne!(before, after);
    drop(begin(&*store));
    begin(&*store).commit().expect("commit");
    read(&*store, &point("c", "a"));
    assert_eq!(store.changes(), Ok(after), "only commits count");
}

pub(super) fn misuse_is_refused(factory: Factory<'_>) {
    let store = factory();
    let call = Effect { kind: EffectKind::Call, ..effect("x") };
    let wrong = [
        writes(vec![put("audit", "x", 0, "", &[])]),
        writes(vec![put("c", "a", 0, "", &[("", "k")])]),
        Changes { audit: vec![audit("x", &[("", "k")])], ..Changes::default() },
        writes(vec![put("c", "a", u32::MAX, "", &[])]),
        writes(vec![remove("c", "a", 0)]),
        Changes { effects: vec![call], ..Changes::default() },
        Changes { time: -1, ..writes(vec![put("c", "a", 0, "", &[])]) },
    ];
    let mut batch = begin(&*store);
    for changes in wrong {
        let result = batch.apply(&ReadSet::default(), &changes);
        assert!(matches!(result, Err(ApplyError::Store(StoreError::Misuse { .. }))), "{changes:?}: {result:?}");
    }
    batch.apply(&ReadSet::default(), &writes(vec![put("c", "a", 0, "", &[])])).expect("the batch stays usable");
    batch.commit().expect("commit");
    assert_eq!(ids(&*store, &range("c", "", "", "zz")), ["a"]);
}
