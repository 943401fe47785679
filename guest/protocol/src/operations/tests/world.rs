//! A store in memory and a host's loop, for tests of operations.
//!
//! [`World::call`] runs an operation to its end, continuations included, and checks on the way what every host may rely
//! on: at most three rounds, answers of the right shape, every row written once and at its revision, and audit streams without a gap. [`World::check`] compares the counters with what is stored.

use crate::delivery::life::Life;
use crate::digest::sha256_text;
use crate::kernel::{
    Answer, AuditRecord, Decision, Effect, Found, Principal, PrincipalKind, Query, Request, Status, Step, Stored,
    Write,
    boxes::Box,
    context::Given,
    decide::{Asked, Find, decide},
    keys::Names,
    records::Party,
};
use crate::operations::Stepper;
use crate::{Code, Error};
use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString},
    vec::Vec,
};
use serde_json::{Value, json};

/// 2026-06-01T08:00:00Z.
pub(crate) const START: i64 = 1_780_300_800_000;
/// The tenant of everybody.
pub(crate) const TENANT: &str = "default";

/// What came back.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// How it ended.
    pub status: Status,
    /// The operation's value, without the frame around it; the error object of a refusal.
    pub value: Value,
    /// Why it was refused.
    pub problem: Option<Error>,
    /// What the host is to do outside.
    pub effects: Vec<Effect>,
    /// How many commits it took.
    pub pages: usize,
    /// How many rows all its answers had.
    pub rows_read: usize,
}

impl Reply {
    /// The value of a call that must have gone well.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert!(self.problem.is_none(), "refused: {:?}", self.problem);
        self.value
    }

    /// The code of a call that must have been refused.
    #[track_caller]
    pub fn code(self) -> Code {
        match self.problem {
            Some(problem) => problem.code,
            None => panic!("accepted: {}", self.value),
        }
    }

    /// The rule by which a call must have been refused.
    #[track_caller]
    pub fn rule(self) -> String {
        let problem = self.problem.unwrap_or_else(|| panic!("accepted: {}", self.value));
        problem.detail.split(':').next().unwrap_or_default().to_owned()
    }
}

/// What one step loop came to.
#[derive(Debug)]
pub(crate) enum Turn {
    /// It is decided and committed.
    Done(Decision),
    /// It waits.
    Wait(Vec<String>, i64),
}

#[derive(Clone, Debug)]
struct Record {
    revision: u32,
    body: String,
    entries: Vec<(String, String)>,
}

/// Everything that is stored, and the clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    /// Milliseconds since the epoch.
    pub now: i64,
    /// Names the running host.
    pub instance: String,
    rows: BTreeMap<(String, String), Record>,
    index: BTreeSet<(String, String, String, String)>,
    streams: BTreeMap<String, i64>,
    /// The operations, where they are not those of the product.
    pub table: Option<Find>,
    /// How many steps the last operation, or its last page, took.
    pub steps: usize,
    calls: u64,
    read: usize,
}

impl World {
    /// An empty one at [`START`].
    pub fn new() -> Self {
        Self { now: START, instance: "host-1".into(), ..Self::default() }
    }

    /// Runs an operation to its end. The reply is that of the first commit, as a caller gets it.
    #[track_caller]
    pub fn call(&mut self, who: &Principal, operation: &str, params: Value) -> Reply {
        self.read = 0;
        let mut request = self.request(who, operation, params);
        let Turn::Done(decision) = self.turn(&request) else { panic!("{operation} waits") };
        let mut proceed = decision.proceed.clone();
        let mut pages = 1;
        while let Some(cursor) = proceed {
            request.cursor = Some(cursor);
            request.context.clear();
            let Turn::Done(next) = self.turn(&request) else { panic!("{operation} waits") };
            assert_ne!(next.status, Status::Refused, "a continuation is refused: {:?}", next.problem);
            proceed = next.proceed;
            pages += 1;
            assert!(pages < 1000, "{operation} does not end");
        }
        reply(operation, decision, pages, self.read)
    }

    /// A request of `who`; an idempotency key is added where none is given and the operation takes one.
    pub fn request(&mut self, who: &Principal, operation: &str, mut params: Value) -> Request {
        self.calls += 1;
        let keyed = crate::operations::find(operation).is_some_and(|entry| entry.keyed());
        if keyed && params.get("idempotencyKey").is_none() {
            params["idempotencyKey"] = format!("idem_call-{:06}", self.calls).into();
        }
        Request {
            operation: operation.into(),
            principal: Some(who.clone()),
            params: params.to_string(),
            instance: self.instance.clone(),
            cursor: None,
            context: Vec::new(),
        }
    }

    /// Two registered tasks of alice's, the first related to the second as `kind`, and the profile of both.
    pub fn pair(&mut self, kind: &str) -> (Principal, Principal) {
        let (source, target) = (task("alice", "survey"), task("alice", "bridge"));
        for task in [&source, &target] {
            self.call(&user("alice"), "tasks.register", registration(task)).ok();
        }
        self.call(&user("alice"), "relationships.grant", grant(&source, &target, kind, 1)).ok();
        self.call(&operator(), "adapters.declare", profile("codex", "host")).ok();
        (source, target)
    }

    /// Sends a message of alice's survey to alice's bridge, or whoever they are.
    #[track_caller]
    pub fn send(&mut self, source: &Principal, target: &Principal, id: &str, intent: &str) {
        let params = message(self.now, source, target, id, intent);
        self.call(source, "messages.send", params).ok();
    }

    /// Claims and accepts a message.
    #[track_caller]
    pub fn accept(&mut self, source: &Principal, target: &Principal, id: &str) {
        let revision = self.life_of(source, id).revision;
        let params = with(named(source, id), json!({"expectedRevision": revision}));
        let claim = self.call(target, "mailbox.claim", params.clone()).ok();
        let ack = with(params, json!({"claimToken": claim["claimToken"], "decision": "accepted"}));
        self.call(target, "mailbox.ack", ack).ok();
    }

    /// Prepares and begins the submission of an accepted message; its submission id.
    #[track_caller]
    pub fn begin(&mut self, source: &Principal, target: &Principal, id: &str) -> String {
        let revision = self.life_of(source, id).revision;
        let params = with(named(source, id), json!({"expectedRevision": revision}));
        let prepared = self.call(target, "adapter.prepareSubmission", params).ok();
        let submission = prepared["submission"]["submissionId"].as_str().unwrap().to_owned();
        let params = json!({"submissionId": submission, "expectedRevision": revision});
        self.call(target, "adapter.beginSubmission", params).ok();
        submission
    }

    /// One step loop: facts, decision, commit.
    pub fn turn(&mut self, request: &Request) -> Turn {
        self.attempt(request).expect("no misuse")
    }

    /// The same, where the rules may find that a host cannot have answered so.
    pub fn attempt(&mut self, request: &Request) -> Result<Turn, Error> {
        self.calls += 1;
        let entropy = format!("{:064x}", self.calls);
        let table = self.table.unwrap_or(crate::operations::find);
        let now = self.now as f64;
        let asked = Asked { request, now, entropy: &entropy };
        let mut answers: Vec<Answer> = Vec::new();
        let mut stepper = Stepper::over(table);
        let mut step = stepper.decide(request.clone(), Vec::new(), Vec::new(), now, entropy.clone());
        for steps in 1..=4 {
            self.steps = steps;
            let anew = decide(table, asked, Given { answers: &answers, evaluated: &[] }).map(|(step, _)| step);
            assert_eq!(step, anew, "another step where nothing was kept");
            match step? {
                Step::Needs { queries, evaluations } => {
                    assert!(!queries.is_empty() || !evaluations.is_empty(), "nothing is needed");
                    let from = answers.len();
                    for query in queries {
                        assert!(answers.iter().all(|answer| answer.query != query), "asked again: {query:?}");
                        answers.push(self.answer(query));
                    }
                    let new = answers.iter().skip(from).cloned();
                    let found = new.map(|Answer { rows, more, .. }| Found { rows, more }).collect();
                    step = match stepper.resume(&entropy, found, Vec::new()) {
                        Ok(Some(step)) => Ok(step),
                        // It was too large to be kept.
                        Ok(None) => stepper.decide(request.clone(), answers.clone(), Vec::new(), now, entropy.clone()),
                        Err(error) => Err(error),
                    };
                }
                Step::Ready(decision) => {
                    self.commit(&decision);
                    return Ok(Turn::Done(decision));
                }
                Step::Wait { topics, until } => return Ok(Turn::Wait(topics, until)),
            }
        }
        panic!("{} needs more than three rounds", request.operation);
    }

    pub(super) fn answer(&mut self, query: Query) -> Answer {
        let (collection, index) = (query.collection.clone(), query.index.clone());
        let inside = |key: &str| match &query.end {
            None => key == query.start,
            Some(end) => key >= query.start.as_str() && key < end.as_str(),
        };
        let mut found: Vec<(String, String)> = if index.is_empty() {
            let from = (collection.clone(), query.start.clone());
            let rows = self.rows.range(from..).take_while(|((of, _), _)| *of == collection);
            rows.take_while(|((_, id), _)| inside(id)).map(|((_, id), _)| (id.clone(), id.clone())).collect()
        } else {
            let from = (collection.clone(), index.clone(), query.start.clone(), String::new());
            let rows = self.index.range(from..).take_while(|(of, by, ..)| *of == collection && *by == index);
            rows.take_while(|(_, _, key, _)| inside(key)).map(|(_, _, key, id)| (key.clone(), id.clone())).collect()
        };
        if query.reverse {
            found.reverse();
        }
        let more = found.len() > query.limit as usize;
        found.truncate(query.limit as usize);
        self.read += found.len();
        let rows = found.into_iter().map(|(key, id)| {
            let record = &self.rows[&(collection.clone(), id.clone())];
            Stored { id, key, revision: record.revision, body: record.body.clone() }
        });
        Answer { rows: rows.collect(), query, more }
    }

    fn commit(&mut self, decision: &Decision) {
        let quiet = decision.writes.is_empty() && decision.audit.is_empty() && decision.effects.is_empty();
        assert!(decision.status == Status::Accepted || quiet, "a refusal or a replay writes: {decision:?}");
        let mut written = BTreeSet::new();
        for write in &decision.writes {
            assert!(written.insert((&write.collection, &write.id)), "written twice: {write:?}");
            self.write(write);
        }
        for record in &decision.audit {
            self.append(record, &decision.topics);
        }
    }

    fn write(&mut self, write: &Write) {
        let place = (write.collection.clone(), write.id.clone());
        let old = self.rows.remove(&place);
        let revision = old.as_ref().map_or(0, |record| record.revision);
        assert_eq!(revision, write.expected, "revision of {place:?}");
        for (index, key) in old.into_iter().flat_map(|record| record.entries) {
            self.index.remove(&(place.0.clone(), index, key, place.1.clone()));
        }
        let Some(body) = &write.body else { return };
        let parsed: Value = serde_json::from_str(body).expect("a stored record is JSON");
        assert!(parsed.is_object());
        let entries: Vec<_> = write.entries.iter().map(|entry| (entry.index.clone(), entry.key.clone())).collect();
        for (index, key) in &entries {
            let new = self.index.insert((place.0.clone(), index.clone(), key.clone(), place.1.clone()));
            assert!(new, "an index key stands twice in one row: {index} {key}");
        }
        self.rows.insert(place, Record { revision: revision + 1, body: body.clone(), entries });
    }

    fn append(&mut self, record: &AuditRecord, topics: &[String]) {
        let body: Value = serde_json::from_str(&record.body).expect("an audit record is JSON");
        let canonical = crate::json::parse(&record.body).unwrap().canonical();
        assert_eq!(canonical, record.body, "an audit record is canonical");
        for stream in body["streams"].as_array().unwrap() {
            let name = stream["name"].as_str().unwrap();
            let sequence = self.streams.entry(name.into()).or_default();
            assert_eq!(stream["sequence"].as_i64(), Some(*sequence + 1), "a gap in {name}");
            *sequence += 1;
            assert!(topics.iter().any(|topic| topic == name), "a stream is no topic: {name}");
        }
        assert!(!record.entries.is_empty(), "an audit record is found nowhere");
        // Where it is found is what it says of itself.
        let numbers = |index: &str| -> Vec<i64> {
            let found = record.entries.iter().filter(|entry| entry.index == index);
            found.map(|entry| entry.key.rsplit('/').next().unwrap().parse().unwrap()).collect()
        };
        let told = body["streams"].as_array().unwrap().iter().map(|stream| stream["sequence"].as_i64().unwrap());
        assert_eq!(numbers("stream"), told.collect::<Vec<_>>());
        assert_eq!(numbers("message"), body["number"].as_i64().into_iter().collect::<Vec<_>>());
        let id = format!("{:08}", self.rows.keys().filter(|(collection, _)| collection == "audit").count());
        self.write(&Write {
            collection: "audit".into(),
            id,
            expected: 0,
            body: Some(record.body.clone()),
            entries: record.entries.clone(),
        });
    }

    /// All rows of a collection.
    pub fn rows(&self, collection: &str) -> Vec<Stored> {
        let rows = self.rows.iter().filter(|((of, _), _)| of == collection);
        rows.map(|((_, id), record)| Stored {
            id: id.clone(),
            key: id.clone(),
            revision: record.revision,
            body: record.body.clone(),
        })
        .collect()
    }

    /// Changes the only row of a collection behind the core's back.
    pub fn edit(&mut self, collection: &str, change: impl Fn(&mut Value)) {
        let mut found = self.rows.iter_mut().filter(|((of, _), _)| of == collection);
        let (_, record) = found.next().expect("a row");
        let mut body: Value = serde_json::from_str(&record.body).expect("a stored record is JSON");
        change(&mut body);
        // The members stay in the order in which the core writes them.
        let tree = crate::json::parse(&record.body).expect("JSON");
        let old = serde_json::from_str::<Value>(&record.body).expect("JSON");
        let mut w = crate::json::Writer::new();
        w.begin_object();
        for (name, value) in tree.root().members() {
            let same = body[name] == old[name];
            w.member_raw(name, &if same { value.raw().to_owned() } else { body[name].to_string() });
        }
        w.end_object();
        let text = w.finish();
        record.body = text;
        assert!(found.next().is_none(), "there is more than one row");
    }

    /// The keys of an index of a collection.
    pub fn index(&self, collection: &str, index: &str) -> Vec<String> {
        let keys = self.index.iter().filter(|(of, by, ..)| of == collection && by == index);
        keys.map(|(_, _, key, _)| key.clone()).collect()
    }

    /// All lives.
    pub fn lives(&self) -> Vec<Life> {
        self.rows("life").iter().map(|row| Life::read(row).expect("a life").record).collect()
    }

    /// The life of a message.
    #[track_caller]
    pub fn life(&self, message: &str) -> Life {
        self.lives().into_iter().find(|life| life.message == message).expect("the message is there")
    }

    /// The life of a message that `sender` sent.
    #[track_caller]
    pub fn life_of(&self, sender: &Principal, message: &str) -> Life {
        let sent = |life: &Life| life.message == message && life.sender == party(sender);
        self.lives().into_iter().find(sent).expect("the message is there")
    }

    /// The box of a party.
    pub fn mailbox(&self, party: &Party) -> Box {
        let id = party.key(TENANT);
        let row = self.rows("box").into_iter().find(|row| row.id == id);
        row.map(|row| Box::read(&row).unwrap().record).unwrap_or_default()
    }

    /// The collections of the rows that hold this text, each once.
    pub fn holding(&self, text: &str) -> BTreeSet<String> {
        let holds = self.rows.iter().filter(|(_, row)| row.body.contains(text));
        holds.map(|((collection, _), _)| collection.clone()).collect()
    }

    /// The audit events of a message, in order.
    pub fn events(&self, message: &str) -> Vec<String> {
        let bodies = self.rows("audit").into_iter().map(|row| serde_json::from_str::<Value>(&row.body).unwrap());
        let of = bodies.filter(|body| body["subject"]["messageId"] == message);
        of.map(|body| body["eventType"].as_str().unwrap().to_string()).collect()
    }

    /// What must hold between rows, whatever happened.
    pub fn check(&self) {
        let lives = self.lives();
        for row in self.rows("box") {
            let open = Box::read(&row).unwrap().record.open;
            let stored = lives.iter().filter(|life| life.open() && life.receiver.key(TENANT) == row.id).count();
            assert_eq!(open, stored as i64, "open messages of {}", row.id);
        }
        for life in &lives {
            let id = Life::id(TENANT, &life.message, &life.sender);
            let stored = &self.rows[&("life".to_owned(), id)].entries;
            let entries: Vec<_> =
                life.entries(TENANT, &Names::default()).into_iter().map(|entry| (entry.index, entry.key)).collect();
            assert_eq!(*stored, entries, "index keys of {}", life.message);
        }
    }
}

fn reply(operation: &str, decision: Decision, pages: usize, rows_read: usize) -> Reply {
    let response: Value = serde_json::from_str(&decision.response).expect("a response is JSON");
    let keyed = crate::operations::find(operation).is_some_and(|entry| entry.keyed());
    let value = match decision.status {
        Status::Refused => response,
        _ if keyed => {
            assert_eq!(response["value"]["operationReplay"], decision.status == Status::Replayed);
            response["value"]["value"].clone()
        }
        _ => response["value"].clone(),
    };
    Reply { status: decision.status, value, problem: decision.problem, effects: decision.effects, pages, rows_read }
}

fn principal(kind: PrincipalKind, id: &str) -> Principal {
    Principal {
        tenant: TENANT.into(),
        kind,
        id: id.into(),
        incarnation: None,
        owner: None,
        worker: None,
        authentication: format!("authn_{id}-session"),
    }
}

/// A user.
pub(crate) fn user(id: &str) -> Principal {
    principal(PrincipalKind::User, id)
}

/// A policy.
pub(crate) fn policy(id: &str) -> Principal {
    principal(PrincipalKind::Policy, id)
}

/// The operator.
pub(crate) fn operator() -> Principal {
    principal(PrincipalKind::Operator, "operator")
}

/// The host.
pub(crate) fn host() -> Principal {
    principal(PrincipalKind::Host, "host-1")
}

/// The first incarnation of a user's task, as `inc_<task>-0001`.
pub(crate) fn task(owner: &str, id: &str) -> Principal {
    incarnation(owner, id, 1)
}

/// An incarnation of a user's task, as `inc_<task>-<number>`.
pub(crate) fn incarnation(owner: &str, id: &str, number: u32) -> Principal {
    Principal {
        incarnation: Some(incarnation_id(id, number)),
        owner: Some(format!("user:{owner}")),
        worker: Some("worker-1".into()),
        ..principal(PrincipalKind::Task, id)
    }
}

/// `inc_<task>-<number>`.
pub(crate) fn incarnation_id(task: &str, number: u32) -> String {
    format!("inc_{task}-{number:04}")
}

/// The party that a task principal is.
pub(crate) fn party(task: &Principal) -> Party {
    Party { task: task.id.clone(), incarnation: task.incarnation.clone().unwrap(), owner: task.owner.clone().unwrap() }
}

/// A TaskRef.
pub(crate) fn reference(task: &Principal) -> Value {
    json!({"taskId": task.id, "incarnationId": task.incarnation})
}

/// Params of `tasks.register` for a task principal.
pub(crate) fn registration(task: &Principal) -> Value {
    json!({"task": {
        "taskId": task.id, "incarnationId": task.incarnation, "harness": "codex",
        "adapterRef": {"kind": "codex", "session": format!("session-{}", task.id)},
        "runtime": {"runId": "run-1", "objectiveVersion": 1, "checkpoint": "start"},
    }})
}

/// `relationshipId` of a pair.
pub(crate) fn relationship(source: &Principal, target: &Principal) -> String {
    format!("rel_{}-{}", source.id, target.id)
}

/// Params of `relationships.grant` for everything that the relationship type may allow.
pub(crate) fn grant(source: &Principal, target: &Principal, kind: &str, version: i64) -> Value {
    let urgent = matches!(kind, "supervisor" | "parent");
    let intents =
        if urgent { json!(["notify", "suggest", "steer", "interrupt"]) } else { json!(["notify", "suggest"]) };
    let modes = if urgent {
        json!(["store-only", "side-channel", "checkpoint-offer", "active-steer", "interrupt-request"])
    } else {
        json!(["store-only", "side-channel", "checkpoint-offer"])
    };
    json!({
        "grant": {
            "specVersion": "0.0-draft",
            "grantId": format!("grant_{}-{}-{version}", source.id, target.id),
            "grantVersion": version,
            "relationshipId": relationship(source, target),
            "relationshipType": kind,
            "source": reference(source),
            "target": reference(target),
            "allowedIntents": intents,
            "allowedDeliveryModes": modes,
            "summaryVisibility": "none",
            "structuredGateResponses": false,
            "createdAt": "2026-01-01T00:00:00Z",
        },
        "decision": {"decisionId": "decision_00001"},
    })
}

/// Params of `adapters.declare` for a profile that can do everything.
pub(crate) fn profile(name: &str, executor: &str) -> Value {
    json!({
        "profile": name,
        "digest": sha256_text(name.as_bytes()),
        "executor": executor,
        "capabilities": {
            "specVersion": "0.0-draft", "adapterName": name, "adapterVersion": "1.0.0",
            "intents": ["notify", "suggest", "steer", "interrupt"],
            "deliveryModes": ["store-only", "side-channel", "checkpoint-offer", "active-steer", "interrupt-request"],
            "features": {
                "relatedTaskDiscovery": "none", "taskIncarnation": true, "objectiveVersioning": true,
                "checkpointEvents": true, "idleWake": false, "modelTurnCancellation": true,
                "subprocessCancellation": false, "dispositionCallbacks": false, "typedInterruptionResults": true,
                "contextAdmission": "none", "provenanceRendering": "model-visible",
                "structuredGateResponses": "none", "durableSubmissionIdempotency": "queryable-receipt",
            },
        },
        "deadlineMs": 10_000, "settleMs": 20_000, "canQuery": true, "absentFinal": true,
    })
}

/// Params of `messages.send`, alive for ten minutes.
pub(crate) fn message(now: i64, source: &Principal, target: &Principal, id: &str, intent: &str) -> Value {
    let mode = match intent {
        "notify" => "side-channel",
        "suggest" => "checkpoint-offer",
        "steer" => "active-steer",
        _ => "interrupt-request",
    };
    let mut envelope = json!({
        "specVersion": "0.0-draft", "messageId": id, "messageType": "suggestion", "intent": intent,
        "claimStatus": "sender-asserted",
        "sender": {"taskId": source.id, "incarnationId": source.incarnation, "actorType": "agent", "harness": "codex"},
        "target": reference(target), "relationshipId": relationship(source, target),
        "content": "Use the northern pier.", "reason": "The southern one is flooded.",
        "delivery": {"requestedMode": mode, "requiresDisposition": true},
        "createdAt": crate::time::format(now), "expiresAt": crate::time::format(now + 600_000),
    });
    if matches!(intent, "steer" | "interrupt") {
        envelope["freshness"] = json!({"expectedRunId": "run-1", "expectedObjectiveVersion": 1});
    }
    json!({ "envelope": envelope })
}

/// The name of a message, as the operations on it take it.
pub(crate) fn named(sender: &Principal, message: &str) -> Value {
    json!({"senderIncarnationId": sender.incarnation, "messageId": message})
}

/// `base` with the members of `more`.
pub(crate) fn with(mut base: Value, more: Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        base[name] = value.clone();
    }
    base
}
