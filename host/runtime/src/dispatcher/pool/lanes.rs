//! The line of a pool. Jobs of different lanes take turns, and neither a lane nor a source may have more than its share of
//! the workers, so that nobody waits for what another one's slow source does. A job without a lane and a source has only the
//! order in which it came.

use super::Job;
use std::collections::{HashMap, VecDeque};

/// The jobs that wait.
pub(super) struct Lanes<J> {
    waiting: HashMap<String, VecDeque<J>>,
    /// Every lane with jobs, the next one in turn first.
    turns: VecDeque<String>,
    /// How many jobs of a lane, and of a source, run.
    busy: HashMap<Group, usize>,
    /// The most of them.
    share: usize,
    count: usize,
}

/// What has a share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Group {
    /// Jobs of one lane.
    Lane(String),
    /// Jobs that look at one source.
    Source(String),
}

impl<J: Job> Lanes<J> {
    /// An empty line, where a group may have `share` workers.
    pub fn new(share: usize) -> Self {
        let (waiting, turns, busy) = (HashMap::new(), VecDeque::new(), HashMap::new());
        Self { waiting, turns, busy, share: share.max(1), count: 0 }
    }

    /// How many jobs wait.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Lets a job wait.
    pub fn push(&mut self, job: J) {
        let lane = job.lane().to_owned();
        let waiting = self.waiting.entry(lane.clone()).or_default();
        if waiting.is_empty() {
            self.turns.push_back(lane);
        }
        waiting.push_back(job);
        self.count += 1;
    }

    /// The next job that may run, with its groups, which count as busy until [`Lanes::ended`].
    pub fn pop(&mut self) -> Option<(J, Vec<Group>)> {
        for turn in 0..self.turns.len() {
            let lane = self.turns.get(turn)?.clone();
            let Some(at) = self.first_free(&lane) else { continue };
            let waiting = self.waiting.get_mut(&lane)?;
            let job = waiting.remove(at)?;
            self.count -= 1;
            self.turns.remove(turn);
            if waiting.is_empty() {
                self.waiting.remove(&lane);
            } else {
                self.turns.push_back(lane);
            }
            let groups = groups(&job);
            for group in &groups {
                *self.busy.entry(group.clone()).or_default() += 1;
            }
            return Some((job, groups));
        }
        None
    }

    /// A job of these groups has ended.
    pub fn ended(&mut self, groups: &[Group]) {
        for group in groups {
            if let Some(busy) = self.busy.get_mut(group) {
                *busy -= 1;
                if *busy == 0 {
                    self.busy.remove(group);
                }
            }
        }
    }

    /// Where in a lane the first job is that may run.
    fn first_free(&self, lane: &str) -> Option<usize> {
        let free = |group: &Group| self.busy.get(group).is_none_or(|busy| *busy < self.share);
        self.waiting.get(lane)?.iter().position(|job| groups(job).iter().all(free))
    }
}

fn groups<J: Job>(job: &J) -> Vec<Group> {
    let lane = Some(job.lane()).filter(|lane| !lane.is_empty()).map(|lane| Group::Lane(lane.to_owned()));
    let source = Some(job.source()).filter(|source| !source.is_empty()).map(|source| Group::Source(source.to_owned()));
    lane.into_iter().chain(source).collect()
}
