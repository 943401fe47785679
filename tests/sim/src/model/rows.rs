//! The records of a small world, and the rules at work on them: every step is the real `decide`.
//!
//! What a record's past alone explains is left out of the state, so that two ways to the same situation end in the same
//! state: audit and replay rows, counters of events, times that nothing asks about, and revisions. Of a revision only
//! counts whether it is the one that somebody names: the current one is 1 where the attempt was prepared at it, else 2.

use crate::time;
use serde_json::Value;
use std::collections::BTreeMap;
use threadmesh_protocol::coordinator::{Answer, Decision, Principal, Query, Request, Status, Step, Stored, decide};

/// The collections that are part of the state.
const KEPT: &[&str] = &["grant", "life", "message", "profile", "task"];
/// Members of a life that only say when, or how often.
const FORGOTTEN: &[&str] = &["updated", "prepared", "started", "events", "queries"];

/// A stored row: its text and its index keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// The text.
    pub body: String,
    entries: Vec<(String, String)>,
}

/// All rows, by collection and id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rows(BTreeMap<(String, String), Row>);

impl Rows {
    /// Runs an operation of `who` on `host` at `now`. Nothing where it is refused; otherwise its calls.
    pub fn run(
        &mut self,
        host: &str,
        who: &Principal,
        operation: &str,
        params: &Value,
        now: i64,
    ) -> Option<Vec<String>> {
        self.run_if(host, who, operation, params, now, |_, _| true)
    }

    /// The same, where `passes` says of every row that changes, old and new, that it may.
    pub fn run_if(
        &mut self,
        host: &str,
        who: &Principal,
        operation: &str,
        params: &Value,
        now: i64,
        passes: impl Fn(&Value, &Value) -> bool,
    ) -> Option<Vec<String>> {
        let request = Request {
            operation: operation.into(),
            principal: Some(who.clone()),
            params: params.to_string(),
            instance: host.into(),
            cursor: None,
        };
        let decision = self.decide(&request, now)?;
        if decision.status != Status::Accepted {
            return None;
        }
        for write in &decision.writes {
            let key = (write.collection.clone(), write.id.clone());
            let text = |row: &Row| serde_json::from_str(&row.body).unwrap_or_default();
            let old = self.0.get(&key).map(text).unwrap_or_default();
            let new =
                write.body.as_deref().map(|body| serde_json::from_str(body).unwrap_or_default()).unwrap_or_default();
            if !passes(&old, &new) {
                return None;
            }
        }
        self.commit(&decision);
        Some(decision.effects.into_iter().map(|effect| effect.key).collect())
    }

    fn decide(&self, request: &Request, now: i64) -> Option<Decision> {
        let mut answers: Vec<Answer> = Vec::new();
        for _ in 0..4 {
            let step = decide(request, &answers, now as f64, &"0".repeat(64)).expect("the host keeps the contract");
            match step {
                Step::Needs(queries) => answers.extend(queries.into_iter().map(|query| self.answer(query))),
                Step::Ready(decision) => return Some(decision),
                Step::Wait { .. } => return None,
            }
        }
        None
    }

    fn answer(&self, query: Query) -> Answer {
        let inside = |key: &str| match &query.end {
            None => key == query.start,
            Some(end) => key >= query.start.as_str() && key < end.as_str(),
        };
        let mut rows = Vec::new();
        for ((collection, id), row) in self.0.iter().filter(|((collection, _), _)| *collection == query.collection) {
            let own = (String::new(), id.clone());
            let keys = std::iter::once(&own).chain(&row.entries);
            for (_, key) in keys.filter(|(index, key)| *index == query.index && inside(key)) {
                debug_assert_eq!(*collection, query.collection);
                rows.push(Stored { id: id.clone(), key: key.clone(), revision: 1, body: row.body.clone() });
            }
        }
        rows.sort_by(|left, right| left.key.cmp(&right.key));
        if query.reverse {
            rows.reverse();
        }
        rows.truncate(query.limit as usize);
        Answer { query, rows }
    }

    fn commit(&mut self, decision: &Decision) {
        for write in decision.writes.iter().filter(|write| KEPT.contains(&write.collection.as_str())) {
            let key = (write.collection.clone(), write.id.clone());
            let Some(body) = &write.body else {
                self.0.remove(&key);
                continue;
            };
            let body = match write.collection.as_str() {
                "life" => forget(body),
                "task" | "grant" => at_rest(body),
                _ => body.clone(),
            };
            let entries = write.entries.iter().map(|entry| (entry.index.clone(), entry.key.clone())).collect();
            self.0.insert(key, Row { body, entries });
        }
    }

    /// The content of all rows of a collection.
    pub fn all(&self, collection: &str) -> Vec<Value> {
        let rows = self.0.iter().filter(|((of, _), _)| of == collection);
        rows.map(|(_, row)| serde_json::from_str(&row.body).unwrap_or_default()).collect()
    }
}

/// A life without what is forgotten.
fn forget(body: &str) -> String {
    let mut life: Value = serde_json::from_str(body).unwrap_or_default();
    forget_in(&mut life);
    let prepared_at = life["attempt"]["dispositionRevision"].clone();
    let moved = !prepared_at.is_null() && prepared_at != life["revision"];
    life["revision"] = if moved { 2 } else { 1 }.into();
    if !prepared_at.is_null() {
        life["attempt"]["dispositionRevision"] = 1.into();
    }
    if life["claim"].is_object() && life["claim"]["state"] != "claimed" {
        // Of a claim that is over only the fence counts.
        (life["claim"]["until"], life["claim"]["worker"]) = (0.into(), "".into());
    }
    for past in life["past"].as_array_mut().into_iter().flatten() {
        past["dispositionRevision"] = 1.into();
    }
    life.to_string()
}

/// A task or a grant without the times at which it ended, and at the revision that it always has.
fn at_rest(body: &str) -> String {
    let mut row: Value = serde_json::from_str(body).unwrap_or_default();
    for (name, value) in [("revision", 1), ("retiredAt", time::START), ("revoked", time::START)] {
        if row.get(name).is_some_and(Value::is_number) {
            row[name] = value.into();
        }
    }
    if let Some(document) = row.get_mut("document").and_then(Value::as_object_mut) {
        document.remove("revokedAt");
    }
    row.to_string()
}

fn forget_in(value: &mut Value) {
    match value {
        Value::Object(members) => {
            // What somebody said is in the state that followed.
            members.remove("reconciliation");
            for (name, member) in members {
                if FORGOTTEN.contains(&name.as_str()) && member.is_number() {
                    *member = 0.into();
                } else {
                    forget_in(member);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(forget_in),
        _ => {}
    }
}
