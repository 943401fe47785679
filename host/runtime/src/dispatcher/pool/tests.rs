use super::*;
use std::sync::mpsc::{Receiver, Sender, channel};

const SOON: Duration = Duration::from_secs(20);

struct Item {
    key: String,
    allowance: Duration,
    block: Option<Receiver<()>>,
    lane: &'static str,
    source: &'static str,
    done: Sender<String>,
}

impl Job for Item {
    fn key(&self) -> &str {
        &self.key
    }
    fn allowance(&self, _now: Instant) -> Duration {
        self.allowance
    }
    fn lane(&self) -> &str {
        self.lane
    }
    fn source(&self) -> &str {
        self.source
    }
}

fn pool(workers: usize, spares: usize) -> (Pool<Item>, Receiver<String>) {
    let (tell, overdue) = channel();
    let tell = Mutex::new(tell);
    let work = Work {
        run: Box::new(|item: Item| {
            if let Some(block) = &item.block {
                let _ = block.recv();
            }
            assert!(item.key != "panics");
            let _ = item.done.send(item.key);
        }),
        overdue: Box::new(move |key| drop(tell.lock().unwrap().send(key.to_owned()))),
    };
    (Pool::start("test-pool", workers, spares, work).unwrap(), overdue)
}

fn item(key: &str, done: &Sender<String>) -> Item {
    Item { key: key.into(), allowance: SOON, block: None, lane: "", source: "", done: done.clone() }
}

#[test]
fn a_hanging_job_is_replaced_and_later_ends() {
    let (pool, overdue) = pool(1, 1);
    let (done, results) = channel();
    let (release, block) = channel();
    pool.push(Item { allowance: Duration::ZERO, block: Some(block), ..item("hangs", &done) }).ok().unwrap();
    assert_eq!(overdue.recv_timeout(SOON).unwrap(), "hangs");
    assert_eq!(pool.place("hangs"), Place::Overdue);
    pool.push(item("next", &done)).ok().unwrap();
    assert_eq!(results.recv_timeout(SOON).unwrap(), "next", "the spare worker takes over");
    release.send(()).unwrap();
    assert_eq!(results.recv_timeout(SOON).unwrap(), "hangs");
    assert!(pool.wait_idle(Instant::now() + SOON));
    assert_eq!(pool.place("hangs"), Place::Absent);
}

#[test]
fn spares_are_bounded() {
    let (pool, overdue) = pool(1, 0);
    let (done, results) = channel();
    let (release, block) = channel();
    pool.push(Item { allowance: Duration::ZERO, block: Some(block), ..item("hangs", &done) }).ok().unwrap();
    pool.push(item("waits", &done)).ok().unwrap();
    assert_eq!(overdue.recv_timeout(SOON).unwrap(), "hangs");
    assert_eq!(pool.place("waits"), Place::Present);
    assert_eq!(pool.load(), (1, 1, 1));
    assert!(!pool.wait_idle(Instant::now()));
    release.send(()).unwrap();
    assert_eq!(results.recv_timeout(SOON).unwrap(), "hangs");
    assert_eq!(results.recv_timeout(SOON).unwrap(), "waits");
}

#[test]
fn a_panic_neither_loses_the_worker_nor_the_key() {
    let (pool, _overdue) = pool(1, 0);
    let (done, results) = channel();
    pool.push(item("panics", &done)).ok().unwrap();
    pool.push(item("after", &done)).ok().unwrap();
    assert_eq!(results.recv_timeout(SOON).unwrap(), "after");
    assert!(pool.wait_idle(Instant::now() + SOON));
}

#[test]
fn a_closed_pool_finishes_its_queue_and_takes_no_more() {
    let (pool, _overdue) = pool(2, 0);
    let (done, results) = channel();
    for n in 0..20 {
        pool.push(item(&n.to_string(), &done)).ok().unwrap();
    }
    pool.close();
    assert!(pool.push(item("late", &done)).is_err());
    assert!(pool.wait_idle(Instant::now() + SOON));
    assert_eq!(results.try_iter().count(), 20);
}

/// The keys in the order in which one worker takes them.
fn order(items: Vec<Item>) -> Vec<String> {
    let (tell, told) = channel();
    let run = Box::new(move |item: Item| drop(tell.send(item.key)));
    let pool = Pool::by_hand("test-pool", Work { run, overdue: Box::new(|_| {}) });
    items.into_iter().for_each(|item| pool.push(item).ok().unwrap());
    while pool.run_one(Instant::now()) {}
    told.try_iter().collect()
}

#[test]
fn lanes_take_turns_and_a_lane_keeps_its_order() {
    let (done, _results) = channel();
    let of = |lane: &'static str, key: &str| Item { lane, ..item(key, &done) };
    let items = vec![of("a", "a1"), of("a", "a2"), of("a", "a3"), of("b", "b1"), of("", "x1"), of("b", "b2")];
    assert_eq!(order(items), ["a1", "b1", "x1", "a2", "b2", "a3"]);
    let plain = ["1", "2", "3"].map(|key| item(key, &done)).into_iter().collect();
    assert_eq!(order(plain), ["1", "2", "3"]);
}

#[test]
fn neither_a_lane_nor_a_source_has_more_than_half_of_the_workers() {
    let (pool, _overdue) = pool(4, 0);
    let (done, results) = channel();
    let mut releases = Vec::new();
    let mut slow = |key: &str, lane: &'static str, source: &'static str| {
        let (release, block) = channel();
        releases.push(release);
        Item { block: Some(block), lane, source, ..item(key, &done) }
    };
    // One pair floods; two of its looks run.
    for key in ["a1", "a2", "a3", "a4", "a5"] {
        pool.push(slow(key, "a", "one")).ok().unwrap();
    }
    let until = Instant::now() + SOON;
    while pool.load() != (3, 2, 0) {
        assert!(Instant::now() < until, "two of five run: {:?}", pool.load());
        std::thread::yield_now();
    }
    // Another pair is served meanwhile, but not from the source that is held.
    pool.push(Item { lane: "b", source: "one", ..item("waits", &done) }).ok().unwrap();
    for n in 0..10 {
        let (lane, source) = if n % 2 == 0 { ("b", "two") } else { ("c", "three") };
        pool.push(Item { lane, source, ..item(&n.to_string(), &done) }).ok().unwrap();
    }
    let mut seen: Vec<String> = (0..10).map(|_| results.recv_timeout(SOON).unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    assert_eq!(pool.load(), (4, 2, 0));
    // A closed pool still does what waits for its share.
    pool.close();
    for release in releases {
        release.send(()).expect("a worker waits");
    }
    assert!(pool.wait_idle(Instant::now() + SOON));
    assert_eq!(results.try_iter().count(), 6);
}
