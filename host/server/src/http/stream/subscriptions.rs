//! The subscriptions of one connection.

use std::collections::HashMap;
use tokio::task::AbortHandle;

/// Those that run, by number.
#[derive(Default)]
pub struct Subscriptions {
    running: HashMap<u64, AbortHandle>,
    last: u64,
}

impl Subscriptions {
    /// A number that none had.
    pub fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Takes note of what runs under a number. Those that have ended by themselves are forgotten: a client need never name
    /// them again.
    pub fn keep(&mut self, number: u64, handle: AbortHandle) {
        self.running.retain(|_, handle| !handle.is_finished());
        self.running.insert(number, handle);
    }

    /// Ends the subscription with this number; whether it ran.
    pub fn end(&mut self, number: u64) -> bool {
        self.running.remove(&number).is_some_and(|handle| {
            let ran = !handle.is_finished();
            handle.abort();
            ran
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::JoinSet;

    #[test]
    fn what_has_ended_takes_no_place() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut tasks, mut known) = (JoinSet::new(), Subscriptions::default());
            let lasting = known.number();
            known.keep(lasting, tasks.spawn(std::future::pending()));
            for number in 2..500 {
                assert_eq!(known.number(), number);
                known.keep(number, tasks.spawn(async {}));
                tasks.join_next().await.unwrap().unwrap();
                assert!(known.running.len() <= 3, "{}", known.running.len());
            }
            assert!(!known.end(499) && !known.end(77) && !known.end(1000));
            assert!(known.end(lasting) && !known.end(lasting));
            assert!(tasks.join_next().await.unwrap().unwrap_err().is_cancelled());
        });
    }
}
