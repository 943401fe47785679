//! Scenarios against a session of the core and a store, without a host around them: no threads, no clock, no retries.

use super::{Call, Reply, Target};
use crate::{
    CoreError, Rounds, Session, driver,
    store::{self, Changes, ReadSet, Store},
    wit::{self, Decision, Effect, EffectKind, Entry, Found, Query, Request, Status, Step, StepKind, Stored},
};
use serde_json::{Value, json};

/// How often one operation may ask for facts; `rounds_max` of `spec/limits.json`.
const ROUNDS_MAX: usize = 3;
/// How many commits one operation may take; more means that it never ends.
const COMMITS_MAX: usize = 10_000;

/// A session and the store that it decides over. Reads and commits are not interleaved with anything.
pub struct Local<'a> {
    session: &'a mut dyn Session,
    store: &'a dyn Store,
    log: Option<&'a mut Vec<Value>>,
    fault: Option<CoreError>,
}

impl<'a> Local<'a> {
    /// Over `store`, which should be fresh.
    pub fn new(session: &'a mut dyn Session, store: &'a dyn Store) -> Self {
        Self { session, store, log: None, fault: None }
    }

    /// Also keeps every decision as JSON, with everything that it commits.
    pub fn logging(self, log: &'a mut Vec<Value>) -> Self {
        Self { log: Some(log), ..self }
    }

    /// Why the core gave no answer, if that is what ended the scenario: the session is of no more use.
    pub fn fault(&mut self) -> Option<CoreError> {
        self.fault.take()
    }

    fn told(&mut self, error: CoreError) -> String {
        let text = error.to_string();
        self.fault = Some(error);
        text
    }

    /// Decides one commit of an operation.
    fn decide(&mut self, request: &Request, call: &Call<'_>) -> Result<Decided, String> {
        let evaluated = driver::evaluated_from(call.evaluated)?;
        let mut rounds = Rounds::new(request, call.now as f64, &call.entropy, evaluated);
        for _ in 0..=ROUNDS_MAX {
            let step = rounds.step(self.session).map_err(|error| self.told(error))?;
            let step = step.map_err(|error| format!("the core refused the host: {error:?}"))?;
            let Step { kind, queries, evaluations, decision, waiting } = step;
            match (kind, decision, waiting) {
                (StepKind::Needs, None, None) => {
                    let found = self.read(&queries)?;
                    rounds.bring(queries, found, evaluations.into_iter().map(wit::unavailable));
                }
                (StepKind::Ready, Some(decision), None) => return Ok(Decided::Ready(Box::new(decision))),
                (StepKind::Wait, None, Some(_)) => return Ok(Decided::Wait),
                _ => return Err("a step of an unknown form".into()),
            }
        }
        Err(format!("more than {ROUNDS_MAX} rounds"))
    }

    fn read(&self, queries: &[Query]) -> Result<Vec<Found>, String> {
        let asked: Vec<store::Query> = queries.iter().map(query).collect();
        let found = self.store.read(&asked).map_err(|error| error.to_string())?;
        Ok(found.into_iter().map(self::found).collect())
    }

    fn commit(&self, decision: &Decision, now: i64) -> Result<(), String> {
        let changes = Changes {
            time: now,
            writes: decision.writes.iter().map(write).collect(),
            audit: decision.audit.iter().map(|record| audit(&record.body, &record.entries)).collect(),
            effects: decision
                .effects
                .iter()
                .filter(|effect| effect.kind == EffectKind::Repeatable)
                .map(effect)
                .collect(),
            finished: Vec::new(),
        };
        let mut batch = self.store.begin().map_err(|error| error.to_string())?;
        batch.apply(&ReadSet::default(), &changes).map_err(|error| error.to_string())?;
        batch.commit().map_err(|error| error.to_string())
    }
}

enum Decided {
    Ready(Box<Decision>),
    Wait,
}

impl Target for Local<'_> {
    fn start(&mut self, text: &str) -> Result<i64, String> {
        let time = self.session.parse_time(text).map_err(|error| self.told(error))?;
        Ok(time.map_err(|error| format!("the start: {error:?}"))? as i64)
    }

    fn call(&mut self, call: &Call<'_>) -> Result<Option<Reply>, String> {
        let mut request = request(call)?;
        let (mut reply, mut waited) = (None, false);
        for _ in 0..COMMITS_MAX {
            let decision = match self.decide(&request, call)? {
                Decided::Ready(decision) => *decision,
                // Nobody else is there to end the wait: its time comes at once.
                Decided::Wait if !waited => {
                    (request.cursor, waited) = (Some("timeout".into()), true);
                    continue;
                }
                Decided::Wait => return Err("waits again after its time".into()),
            };
            self.commit(&decision, call.now)?;
            if let Some(log) = &mut self.log {
                log.push(driver::decision_json(&decision));
            }
            let refused = decision.status == Status::Refused;
            let effects: Value = decision.effects.iter().map(shown).collect();
            reply.get_or_insert(Reply {
                response: if refused { Err(decision.response) } else { Ok(decision.response) },
                effects: Some(effects),
            });
            match decision.proceed {
                None => return Ok(reply),
                // A continuation belongs to no trace.
                cursor => (request.cursor, request.context) = (cursor, Vec::new()),
            }
        }
        Err("the operation goes on and on".into())
    }
}

/// The call as the core takes it.
pub(super) fn request(call: &Call<'_>) -> Result<Request, String> {
    let request = json!({
        "operation": call.method, "principal": call.principal, "params": call.params, "instance": call.instance,
        "context": call.context,
    });
    driver::request_from(&request)
}

/// An effect with its arguments as JSON, for comparing.
fn shown(effect: &Effect) -> Value {
    let body: Value = serde_json::from_str(&effect.body).unwrap_or_else(|_| effect.body.clone().into());
    let kind = if effect.kind == EffectKind::Call { "call" } else { "repeatable" };
    json!({ "kind": kind, "name": effect.name, "key": effect.key, "body": body })
}

fn query(query: &Query) -> store::Query {
    let Query { collection, index, start, end, reverse, limit, bytes } = query.clone();
    store::Query { collection, index, start, end, reverse, limit, bytes }
}

fn found(answer: store::Answer) -> Found {
    let row = |row: store::Row| Stored { id: row.id, key: row.key, revision: row.revision, body: row.body };
    Found { rows: answer.rows.into_iter().map(row).collect(), more: answer.more }
}

fn entries(entries: &[Entry]) -> Vec<store::Entry> {
    entries.iter().map(|entry| store::Entry { index: entry.index.clone(), key: entry.key.clone() }).collect()
}

fn write(write: &crate::wit::Write) -> store::Write {
    store::Write {
        collection: write.collection.clone(),
        id: write.id.clone(),
        expected: write.expected,
        body: write.body.clone(),
        entries: entries(&write.entries),
    }
}

fn audit(body: &str, keys: &[Entry]) -> store::AuditRecord {
    store::AuditRecord { body: body.to_owned(), entries: entries(keys) }
}

fn effect(effect: &Effect) -> store::Effect {
    let Effect { kind: _, name, key, body } = effect.clone();
    store::Effect { kind: store::EffectKind::Repeatable, name, key, body }
}
