//! Group commit: concurrent callers share one transaction and one wait for the disk (settled point 41).
//!
//! Whoever comes while nobody leads, leads: he begins a batch, decides his own request and those of all who have queued
//! up meanwhile, commits once, and only then lets the answers out. Then the next in the queue leads, so that nobody
//! works for others for longer than one batch. A caller who is alone takes no detour.

use super::wait::lock;
use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, PoisonError},
};

/// What waits in line: jobs `J`, each to be answered with an `A`.
pub(super) struct Group<J, A: Lost> {
    state: Mutex<State<J, A>>,
}

struct State<J, A> {
    queue: VecDeque<Arc<Ticket<J, A>>>,
    led: bool,
}

/// A job in line.
struct Ticket<J, A> {
    place: Mutex<Place<J, A>>,
    wake: Condvar,
}

enum Place<J, A> {
    Queued(J),
    Taken,
    Leads(J),
    Answered(A),
}

/// What a caller has to do now.
pub(super) enum Turn<'g, J, A: Lost> {
    /// Lead a batch, beginning with this job of his own.
    Lead(J, Leadership<'g, J, A>),
    /// Nothing: somebody else did it.
    Done(A),
}

impl<J, A: Lost> Group<J, A> {
    /// Nobody leads, nobody waits.
    pub fn new() -> Self {
        Self { state: Mutex::new(State { queue: VecDeque::new(), led: false }) }
    }

    /// Enters with a job: returns when there is something to do or an answer.
    pub fn enter(&self, job: J) -> Turn<'_, J, A> {
        let ticket = {
            let mut state = lock(&self.state);
            if !state.led {
                state.led = true;
                return Turn::Lead(job, Leadership::of(self));
            }
            let ticket = Arc::new(Ticket { place: Mutex::new(Place::Queued(job)), wake: Condvar::new() });
            state.queue.push_back(Arc::clone(&ticket));
            ticket
        };
        let mut place = lock(&ticket.place);
        loop {
            match std::mem::replace(&mut *place, Place::Taken) {
                Place::Answered(answer) => return Turn::Done(answer),
                Place::Leads(job) => return Turn::Lead(job, Leadership::of(self)),
                waiting => *place = waiting,
            }
            place = ticket.wake.wait(place).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// How many are in line.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        lock(&self.state).queue.len()
    }
}

impl<J, A> Ticket<J, A> {
    fn put(&self, place: Place<J, A>) {
        *lock(&self.place) = place;
        self.wake.notify_one();
    }

    fn take(&self) -> Option<J> {
        match std::mem::replace(&mut *lock(&self.place), Place::Taken) {
            Place::Queued(job) => Some(job),
            _ => None,
        }
    }
}

/// Answers that a group can make up where the leader is lost.
pub(super) trait Lost {
    /// The leader is lost; it is unknown how far he came.
    fn lost() -> Self;
}

/// The right to work for the group, and the duty to answer all whose jobs were taken. Dropped without
/// [`Leadership::finish`] (a panic), it tells them that the leader is lost.
pub(super) struct Leadership<'g, J, A: Lost> {
    group: &'g Group<J, A>,
    taken: Vec<Arc<Ticket<J, A>>>,
    leads: bool,
}

impl<'g, J, A: Lost> Leadership<'g, J, A> {
    fn of(group: &'g Group<J, A>) -> Self {
        Self { group, taken: Vec::new(), leads: true }
    }

    /// The next job in line, if there is one.
    pub fn next(&mut self) -> Option<J> {
        let ticket = lock(&self.group.state).queue.pop_front()?;
        let job = ticket.take();
        self.taken.push(ticket);
        job
    }

    /// Hands the lead over, then gives `answers` to those whose jobs were taken, in the order of [`Leadership::next`].
    pub fn finish(mut self, answers: impl Iterator<Item = A>) {
        // The new leader is at work already while the others wake up.
        self.hand_over();
        for (ticket, answer) in self.taken.drain(..).zip(answers) {
            ticket.put(Place::Answered(answer));
        }
    }

    fn hand_over(&mut self) {
        if !std::mem::take(&mut self.leads) {
            return;
        }
        let next = {
            let mut state = lock(&self.group.state);
            let next = state.queue.pop_front();
            state.led = next.is_some();
            next
        };
        if let Some(ticket) = next
            && let Some(job) = ticket.take()
        {
            ticket.put(Place::Leads(job));
        }
    }
}

impl<J, A: Lost> Drop for Leadership<'_, J, A> {
    fn drop(&mut self) {
        self.hand_over();
        for ticket in self.taken.drain(..) {
            ticket.put(Place::Answered(A::lost()));
        }
    }
}
