//! The records of a small world, and the rules at work on them: every step is the real `decide`.
//!
//! What a record's past alone explains is left out of the state, so that two ways to the same situation end in the same
//! state: audit and replay rows, counters of events and of interruptions, times that nothing asks about, revisions, who
//! made a call that is over, the claim of a message that is decided, and a purge that is done. Of a revision only counts
//! whether it is the one that somebody names: the current one is 1 where the attempt was prepared at it, else 2.

use super::Planted;
use crate::{cast::MARK, oracle::text, time};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    hash::{Hash, Hasher},
    sync::{Arc, LazyLock},
};
use threadmesh_protocol::{
    kernel::{Answer, Decision, EffectKind, Principal, Query, Request, Status, Step, Stored},
    operations::decide,
};
use xtask::codegen::records;

/// The collections that are part of the state.
const KEPT: &[&str] = &["box", "grant", "life", "message", "profile", "purge", "task"];
/// The collections whose rows belong to one message each, or name some.
const OWNED: &[&str] = &["evidence", "life", "message", "purge"];
/// Members of a life that only say when, or how often.
const FORGOTTEN: &[&str] = &["updated", "prepared", "started", "events", "queries"];

/// A stored row: its text and its index keys.
#[derive(Clone, Debug)]
struct Row {
    body: String,
    entries: Vec<(String, String)>,
    /// What the text says.
    value: Arc<Value>,
}

/// All rows, by collection and id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rows(BTreeMap<(String, String), Arc<Row>>);

/// Somebody asks for an operation.
pub struct Asked<'a> {
    /// On which host.
    pub host: &'a str,
    /// Who.
    pub who: &'a Principal,
    /// Its name.
    pub operation: &'a str,
    /// Its params.
    pub params: String,
    /// When.
    pub now: i64,
    /// The only message that it may look at, where it is about one.
    pub own: Option<String>,
}

/// What came of it.
#[derive(Default)]
pub struct Ran {
    /// Whether it was accepted, and is committed.
    pub accepted: bool,
    /// Calls that its host is to make.
    pub calls: Vec<String>,
    /// The answer.
    pub told: String,
    /// A row outside the state, or an audit record, holds content.
    pub aside: Option<String>,
    /// It looked at what is another message's.
    pub strayed: Option<String>,
}

impl Row {
    /// With its members in the order in which the core writes them.
    fn new(collection: &str, body: &str, entries: Vec<(String, String)>) -> Arc<Self> {
        static ORDER: LazyLock<records::Rows> =
            LazyLock::new(|| records::Rows::load(&xtask::root()).expect("spec/records.json"));
        let value = Arc::new(read(body));
        Arc::new(Self { body: ORDER.text(collection, &value), entries, value })
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.body == other.body && self.entries == other.entries
    }
}

impl Eq for Row {}

impl Hash for Row {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.body, &self.entries).hash(state);
    }
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

impl Rows {
    /// Runs an operation, with a fault where one is planted.
    pub fn run(&mut self, asked: &Asked<'_>, planted: Option<Planted>) -> Ran {
        let request = Request {
            operation: asked.operation.into(),
            principal: Some(asked.who.clone()),
            params: asked.params.clone(),
            instance: asked.host.into(),
            cursor: None,
            context: Vec::new(),
        };
        let mut ran = Ran::default();
        let Some(mut decision) = self.decide(&request, asked, &mut ran) else { return ran };
        ran.told.clone_from(&decision.response);
        if decision.status != Status::Accepted {
            return ran;
        }
        if planted.is_some_and(|fault| !self.spoil(fault, &mut decision)) {
            return ran;
        }
        let own = |collection: &str| matches!(collection, "life" | "message");
        let others = decision.writes.iter().filter(|write| !own(&write.collection)).filter_map(|w| w.body.as_ref());
        let mut aside = others.chain(decision.audit.iter().map(|record| &record.body));
        ran.aside = aside.find(|text| text.contains(MARK)).cloned();
        self.commit(&decision);
        let calls = decision.effects.into_iter().filter(|effect| effect.kind == EffectKind::Call);
        ran.calls = calls.map(|effect| effect.key).collect();
        ran.accepted = true;
        ran
    }

    fn decide(&self, request: &Request, asked: &Asked<'_>, ran: &mut Ran) -> Option<Decision> {
        let mut answers: Vec<Answer> = Vec::new();
        for _ in 0..4 {
            let step = decide(request, &answers, &[], asked.now as f64, &"0".repeat(64));
            match step.expect("the host keeps the contract") {
                Step::Needs { queries, .. } => {
                    let strays = |query: &&Query| asked.own.as_deref().is_some_and(|own| strays(query, own));
                    if let Some(query) = queries.iter().find(strays) {
                        ran.strayed = Some(format!("{} of one message asks for {query:?}", asked.operation));
                    }
                    answers.extend(queries.into_iter().map(|query| self.answer(query)));
                }
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
        let more = rows.len() > query.limit as usize;
        rows.truncate(query.limit as usize);
        Answer { query, rows, more }
    }

    /// Lets a planted fault at the writes of a decision; whether they are committed at all.
    fn spoil(&self, fault: Planted, decision: &mut Decision) -> bool {
        for write in &mut decision.writes {
            let known = self.0.get(&(write.collection.clone(), write.id.clone()));
            let (Some(known), Some(body)) = (known, &mut write.body) else { continue };
            let (old, mut new) = (Arc::clone(&known.value), read(body));
            match (fault, write.collection.as_str()) {
                (Planted::NoExit, "life") => {
                    let quarantined = text(&old["attempt"], "state") == "manual-reconciliation";
                    if quarantined && old["attempt"] != new["attempt"] {
                        return false;
                    }
                }
                (Planted::PurgeKeepsFailure, "life") if old["failure"].is_string() => {
                    new["failure"] = old["failure"].clone();
                    *body = new.to_string();
                }
                (Planted::PurgeKeepsEnvelope, "message") => {
                    new["envelope"] = old["envelope"].clone();
                    *body = new.to_string();
                }
                _ => {}
            }
        }
        true
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
                "box" => counted(body),
                "purge" => match pending(body) {
                    Some(body) => body,
                    None => {
                        self.0.remove(&key);
                        continue;
                    }
                },
                _ => body.clone(),
            };
            let entries = write.entries.iter().map(|entry| (entry.index.clone(), entry.key.clone())).collect();
            let row = Row::new(&key.0, &body, entries);
            self.0.insert(key, row);
        }
    }

    /// The content of all rows of a collection.
    pub fn all(&self, collection: &str) -> Vec<Arc<Value>> {
        let rows = self.0.iter().filter(|((of, _), _)| of == collection);
        rows.map(|(_, row)| Arc::clone(&row.value)).collect()
    }

    /// The texts of all rows of a collection, with their ids.
    pub fn texts(&self, collection: &str) -> impl Iterator<Item = (&str, &str)> {
        let rows = self.0.iter().filter(move |((of, _), _)| of == collection);
        rows.map(|((_, id), row)| (id.as_str(), row.body.as_str()))
    }

    /// Those rows, by collection and id, of which `belongs` is true.
    pub fn part(&self, belongs: impl Fn(&str, &str) -> bool) -> Self {
        let rows = self.0.iter().filter(|((collection, id), _)| belongs(collection, id));
        Self(rows.map(|(key, row)| (key.clone(), Arc::clone(row))).collect())
    }

    /// Adds the rows of another message. A box counts what either counts; `start` is what both have counted from.
    pub fn add(&mut self, other: &Self, start: &Self) {
        for (key, row) in &other.0 {
            let mut row = Arc::clone(row);
            if let Some(known) = self.0.get(key).filter(|_| key.0 == "box") {
                let open = |row: &Row| row.value["open"].as_i64().unwrap_or(0);
                let from = start.0.get(key).map_or(0, |row| open(row));
                let mut body = Value::clone(&row.value);
                body["open"] = (open(known) + open(&row) - from).into();
                row = Row::new(&key.0, &body.to_string(), row.entries.clone());
            }
            self.0.insert(key.clone(), row);
        }
    }
}

/// Whether a query may bring rows of another message than `own`. Rows are found by its id, or by the id of an attempt,
/// which is a digest over it.
fn strays(query: &Query, own: &str) -> bool {
    OWNED.contains(&query.collection.as_str()) && query.index != "submission" && !query.start.contains(own)
}

/// A box without its stream, and without the budget that only sending asks for.
fn counted(body: &str) -> String {
    let mut row: Value = read(body);
    for name in ["window", "interruptions", "sequence"] {
        row[name] = 0.into();
    }
    if let Some(members) = row.as_object_mut() {
        members.remove("active");
    }
    row.to_string()
}

/// A purge that waits for the host; one that is done changes nothing any more.
fn pending(body: &str) -> Option<String> {
    let mut row: Value = read(body);
    if row.get("done").is_some() {
        return None;
    }
    for name in ["messages", "tasks", "proposals", "summaries"] {
        row[name] = Value::Array(Vec::new());
    }
    (row["requested"], row["cutoff"]) = (time::START.into(), time::START.into());
    Some(row.to_string())
}

/// A life without what is forgotten.
fn forget(body: &str) -> String {
    let mut life: Value = read(body);
    forget_in(&mut life);
    let prepared_at = life["attempt"]["dispositionRevision"].clone();
    // Only a prepared attempt is bound to the revision that it was prepared at.
    let moved = life["attempt"]["state"] == "prepared" && prepared_at != life["revision"];
    life["revision"] = if moved { 2 } else { 1 }.into();
    if !prepared_at.is_null() {
        life["attempt"]["dispositionRevision"] = 1.into();
        call_over(&mut life["attempt"]);
    }
    let ended = matches!(life["delivery"].as_str(), Some("adapter-submitted" | "failed" | "expired"));
    let open = matches!(life["decision"].as_str(), Some("pending" | "deferred")) && !ended;
    if life["claim"].is_object() && life["claim"]["state"] != "claimed" {
        // Of a claim that is over only the fence counts, and that only while there can be another.
        (life["claim"]["until"], life["claim"]["worker"]) = (0.into(), "".into());
        if let Some(members) = life.as_object_mut().filter(|_| !open) {
            members.remove("claim");
        }
    }
    for past in life["past"].as_array_mut().into_iter().flatten() {
        past["dispositionRevision"] = 1.into();
        call_over(past);
    }
    if life["purged"]["done"].is_number() {
        (life["purged"]["done"], life["purged"]["purge"]) = (time::START.into(), "purge_done".into());
    }
    life.to_string()
}

/// Who made a call, and when it settles, counts only while nobody knows what became of it.
fn call_over(attempt: &mut Value) {
    if attempt["call"].is_object() && attempt["state"] != "outcome-unknown" {
        let call = &mut attempt["call"];
        (call["instance"], call["settleAt"], call["leaseUntil"]) = ("".into(), 0.into(), 0.into());
    }
}

/// A task or a grant without the times at which it ended, and at the revision that it always has.
fn at_rest(body: &str) -> String {
    let mut row: Value = read(body);
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
