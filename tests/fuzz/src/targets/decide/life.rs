//! A scenario performed step by step, with questions at every step.

use super::{Ended, STEPS_MAX, cast, misuse, rounds_with, sound};
use crate::{random::Random, store::Store};
use serde_json::{Map, Value as Other};
use std::collections::BTreeSet;
use threadmesh_protocol::{
    Code,
    kernel::{Answer, Decision, Effect, EffectKind, Principal, Request, Status, Step},
    operations::decide,
    time,
};

/// Pages of one continuation that are run.
const PAGES_MAX: usize = 64;
/// Decisions whose facts are damaged at the end.
const DAMAGED: usize = 4;
/// A tenant that no scenario has.
const ELSEWHERE: &str = "tenant-elsewhere-7";

/// A life of one store.
pub(super) struct Life<'s> {
    scenario: &'s Other,
    steps: &'s [Other],
    store: Store,
    now: i64,
    start: i64,
    kept: Map<String, Other>,
    /// The keys of all calls outside so far.
    called: BTreeSet<String>,
    seen: Vec<(Request, Vec<Answer>, i64)>,
    random: Random,
    accepted: bool,
}

impl<'s> Life<'s> {
    /// Nothing where it is no scenario.
    pub(super) fn new(scenario: &'s Other, data: &[u8]) -> Option<Self> {
        let start = time::parse(scenario["start"].as_str()?).ok().filter(|start| (0..1 << 52).contains(start))?;
        Some(Self {
            scenario,
            steps: scenario["steps"].as_array()?,
            store: Store::default(),
            now: start,
            start,
            kept: Map::new(),
            called: BTreeSet::new(),
            seen: Vec::new(),
            random: Random::of(data),
            accepted: false,
        })
    }

    /// Performs it; whether a step was accepted.
    pub(super) fn live(mut self) -> bool {
        for (number, step) in self.steps.iter().take(STEPS_MAX).enumerate() {
            // A host never decides at an earlier time than it committed at.
            let offset = step["at"].as_i64().unwrap_or(0).clamp(0, 1 << 40);
            self.now = self.now.max(self.start + offset);
            if let Some(request) = cast::request(self.scenario, step, &self.kept) {
                self.perform(request, step, &format!("{:064x}", number + 1));
            }
        }
        self.damage();
        self.accepted
    }

    /// One call, to its last page.
    fn perform(&mut self, request: Request, step: &Other, entropy: &str) {
        if self.random.chance(25) {
            self.elsewhere(&request, entropy);
        }
        let mut page = request.clone();
        for number in 0..PAGES_MAX {
            let ended = rounds_with(&page, &self.store, self.now, entropy);
            self.remember(&page, &ended);
            let decision = match ended.step {
                Ok(Step::Ready(decision)) => decision,
                Ok(Step::Wait { topics, until }) => {
                    assert!(page.cursor.is_none() && !topics.is_empty() && until >= self.now, "waits without an end");
                    page.cursor = Some("timeout".into());
                    continue;
                }
                Ok(Step::Needs { .. }) => unreachable!("the rounds end otherwise"),
                // Only a continuation that nobody gave out is misuse here: all rows are the rules' own.
                Err(error) => {
                    assert!(error.code == Code::HostMisuse && page.cursor.is_some(), "{error:?} for sound rows");
                    return;
                }
            };
            sound(&page, &decision, &self.store);
            self.commit(&page, &decision);
            if number == 0 {
                cast::keep(step, &decision.response, &mut self.kept);
                self.again(&request, &decision);
            }
            match decision.proceed {
                Some(cursor) => page.cursor = Some(cursor),
                None => return,
            }
        }
    }

    fn commit(&mut self, request: &Request, decision: &Decision) {
        self.store.commit(decision);
        self.accepted |= decision.status == Status::Accepted;
        for Effect { key, .. } in decision.effects.iter().filter(|effect| effect.kind == EffectKind::Call) {
            assert!(self.called.insert(key.clone()), "{} makes the call {key} a second time", request.operation);
        }
    }

    /// The same call once more, later and with other entropy, does nothing.
    fn again(&mut self, request: &Request, decision: &Decision) {
        let keyed = decision.response.contains("\"operationReplay\":");
        if decision.status != Status::Accepted || !keyed || request.cursor.is_some() || !self.random.chance(40) {
            return;
        }
        let ended = rounds_with(request, &self.store, self.now + 1, &format!("{:064x}", u64::MAX));
        let Some(again) = ended.decision() else { return };
        assert_ne!(again.status, Status::Accepted, "{} was done twice", request.operation);
        sound(request, again, &self.store);
    }

    /// Somebody of the same name in another tenant gets what he would get on an empty store.
    fn elsewhere(&self, request: &Request, entropy: &str) {
        let principal = request.principal.clone().map(|known| Principal { tenant: ELSEWHERE.into(), ..known });
        let request = Request { principal, ..request.clone() };
        let here = rounds_with(&request, &self.store, self.now, entropy);
        let empty = rounds_with(&request, &Store::default(), self.now, entropy);
        assert_eq!(here.step, empty.step, "{} sees another tenant", request.operation);
    }

    fn remember(&mut self, request: &Request, ended: &Ended) {
        let rows = ended.answers.iter().any(|answer| !answer.rows.is_empty());
        if rows && self.random.chance(30) && self.seen.len() < DAMAGED {
            self.seen.push((request.clone(), ended.answers.clone(), self.now));
        }
    }

    /// Rows that the rules never wrote, facts that no store gives, times and entropy that no host has: always an end.
    fn damage(&mut self) {
        for (request, mut answers, now) in std::mem::take(&mut self.seen) {
            let entropy = format!("{:064x}", 7);
            for bad in [f64::NAN, f64::INFINITY, -1.0, 0.5, 9_007_199_254_740_992.0] {
                let refused = decide(&request, &answers, &[], bad, &entropy).expect_err("such a time is misuse");
                assert_eq!(refused.code, Code::HostMisuse);
            }
            assert!(decide(&request, &answers, &[], now as f64, &entropy[1..]).is_err_and(|error| misuse(&error)));
            for _ in 0..4 {
                self.spoil(&mut answers);
                let step = decide(&request, &answers, &[], now as f64, &entropy);
                assert_eq!(step, decide(&request, &answers, &[], now as f64, &entropy));
                match step {
                    Err(error) => assert!(misuse(&error), "{error:?}"),
                    Ok(Step::Ready(decision)) => assert!(decision.response.starts_with('{')),
                    Ok(_) => {}
                }
            }
        }
    }

    fn spoil(&mut self, answers: &mut Vec<Answer>) {
        let random = &mut self.random;
        let number = random.below(answers.len());
        let Some(answer) = answers.get_mut(number) else { return };
        let place = random.below(answer.rows.len());
        match (random.below(8), answer.rows.get_mut(place)) {
            (0, _) => drop(answers.remove(number)),
            (1, Some(row)) => row.key.push('0'),
            (2, Some(row)) => row.revision = 0,
            (3, Some(row)) => row.body.truncate(0),
            (4, Some(_)) => answer.rows.truncate(place),
            (_, Some(row)) => {
                let spoiled = crate::mutate::mutate(row.body.as_bytes(), 0, random);
                row.body = String::from_utf8_lossy(&spoiled).into_owned();
            }
            (_, None) => answer.query.limit = 0,
        }
    }
}
