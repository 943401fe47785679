//! The memory store passes the suite; the turn is fair.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;

#[test]
fn turn_is_given_in_order_of_arrival() {
    let turn = Turn::default();
    let order = std::sync::Mutex::new(Vec::new());
    let arrived = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let held = turn.take(Duration::from_secs(5)).unwrap();
        for number in 0..4 {
            while arrived.load(Ordering::SeqCst) < number {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(20));
            let (turn, order, arrived) = (&turn, &order, &arrived);
            scope.spawn(move || {
                arrived.fetch_add(1, Ordering::SeqCst);
                let _turn = turn.take(Duration::from_secs(5)).unwrap();
                order.lock().unwrap().push(number);
            });
        }
        std::thread::sleep(Duration::from_millis(50));
        drop(held);
    });
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3]);
}

#[test]
fn turn_gives_up_after_the_limit_and_lets_the_next_one_pass() {
    let turn = Turn::default();
    let held = turn.take(Duration::ZERO).unwrap();
    assert!(matches!(turn.take(Duration::from_millis(10)), Err(StoreError::Busy { waited_ms: 10.. })));
    drop(held);
    turn.take(Duration::ZERO).unwrap();
}

#[test]
fn memory_store_passes_the_suite() {
    suite::run(&|| Arc::new(MemoryStore::new()));
}

#[test]
fn memory_store_agrees_with_itself_over_random_logs() {
    for seed in 0..20 {
        let seen = suite::compare(&MemoryStore::new(), &MemoryStore::new(), seed, 300);
        assert!(seen.applied > 40 && seen.conflicts > 40 && seen.rows > 40 && seen.leases > 5, "seed {seed}: {seen:?}");
    }
}
