use super::*;
use std::sync::mpsc::{Receiver, Sender, channel};

const SOON: Duration = Duration::from_secs(20);

struct Item {
    key: String,
    allowance: Duration,
    block: Option<Receiver<()>>,
    done: Sender<String>,
}

impl Job for Item {
    fn key(&self) -> &str {
        &self.key
    }
    fn allowance(&self, _now: Instant) -> Duration {
        self.allowance
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
    Item { key: key.into(), allowance: SOON, block: None, done: done.clone() }
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
