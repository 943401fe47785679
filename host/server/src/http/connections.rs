//! The connections that there are: when there is no room for another one, one that is idle makes it.
//!
//! Anybody can open a connection and say nothing. So a connection counts as little as it is worth: one on which no request
//! is under way gives way to a new one, first those that never showed a credential, and first to go are those of the peer
//! that has most.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// All connections of a server. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub struct Connections(Arc<Mutex<Live>>);

#[derive(Default)]
struct Live {
    next: u64,
    /// By age.
    all: std::collections::BTreeMap<u64, Known>,
}

struct Known {
    peer: IpAddr,
    state: Arc<State>,
}

/// What is under way on a connection.
#[derive(Default)]
pub struct State {
    busy: AtomicUsize,
    proved: AtomicBool,
    leave: Notify,
}

/// A connection's place; free again when it is dropped.
pub struct Connected {
    number: u64,
    live: Arc<Mutex<Live>>,
    state: Arc<State>,
}

/// A request that is under way, until its answer is out.
pub struct Busy(Arc<State>);

impl Connections {
    /// A place for a connection of `peer`, of which there are `max`; nothing where something is under way on all of them.
    pub fn enter(&self, peer: IpAddr, max: usize) -> Option<Connected> {
        let mut live = lock(&self.0);
        if live.all.len() >= max {
            let number = live.least()?;
            let gone = live.all.remove(&number)?;
            gone.state.leave.notify_one();
        }
        let (number, state) = (live.next, Arc::<State>::default());
        live.next += 1;
        live.all.insert(number, Known { peer, state: Arc::clone(&state) });
        Some(Connected { number, live: Arc::clone(&self.0), state })
    }
}

impl Live {
    /// The connection that is worth least, of those that are idle.
    fn least(&self) -> Option<u64> {
        let idle = || self.all.iter().filter(|(_, known)| known.state.busy.load(SeqCst) == 0);
        let mut of_peer: HashMap<IpAddr, usize> = HashMap::new();
        idle().for_each(|(_, known)| *of_peer.entry(known.peer).or_default() += 1);
        let worth = |(number, known): &(&u64, &Known)| {
            let count = of_peer.get(&known.peer).copied().unwrap_or(0);
            (known.state.proved.load(SeqCst), usize::MAX - count, **number)
        };
        idle().min_by_key(worth).map(|(number, _)| *number)
    }
}

impl Connected {
    /// What is under way on it.
    pub fn state(&self) -> Arc<State> {
        Arc::clone(&self.state)
    }

    /// Returns when it is to give way to another one.
    pub async fn gives_way(&self) {
        self.state.leave.notified().await;
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        lock(&self.live).all.remove(&self.number);
    }
}

impl State {
    /// A request is under way until what this returns is dropped.
    pub fn begin(self: &Arc<Self>) -> Busy {
        self.busy.fetch_add(1, SeqCst);
        Busy(Arc::clone(self))
    }

    /// A request of it had a credential that counts.
    pub fn prove(&self) {
        self.proved.store(true, SeqCst);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, SeqCst);
    }
}

fn lock(live: &Mutex<Live>) -> MutexGuard<'_, Live> {
    live.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, number])
    }

    fn numbers(connections: &Connections) -> Vec<u64> {
        lock(&connections.0).all.keys().copied().collect()
    }

    #[test]
    fn who_says_nothing_gives_way_and_who_is_being_answered_does_not() {
        let connections = Connections::default();
        let held: Vec<Connected> = (0..4).map(|_| connections.enter(peer(1), 4).expect("room")).collect();
        let busy = held[0].state().begin();
        held[1].state().prove();
        let newest = connections.enter(peer(1), 4).expect("one gives way");
        assert_eq!(numbers(&connections), [0, 1, 3, 4], "the oldest idle one without a credential");
        drop(newest);
        let rest: Vec<Busy> = held.iter().skip(1).map(|one| one.state().begin()).collect();
        let fourth = connections.enter(peer(1), 4).expect("there is room");
        let last = fourth.state().begin();
        assert!(connections.enter(peer(2), 4).is_none(), "all are being answered");
        drop((busy, rest, last));
        assert!(connections.enter(peer(2), 4).is_some());
    }

    #[test]
    fn the_peer_that_has_most_gives_way_first() {
        let connections = Connections::default();
        let held: Vec<Connected> =
            [2, 1, 1, 1].iter().map(|number| connections.enter(peer(*number), 4).expect("room")).collect();
        let _newest = connections.enter(peer(3), 4).expect("one gives way");
        assert_eq!(numbers(&connections), [0, 2, 3, 4]);
        drop(held);
        assert_eq!(numbers(&connections), [4]);
    }
}
