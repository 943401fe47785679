//! The durable call belongs to nobody: one table of walks over attempts, for the life of a message and for a second holder,
//! and what only the second one has.

mod run;

use super::world::*;
use crate::delivery::life::COLLECTION as LIFE;
use crate::kernel::{Principal, operation::Entry};
use crate::registry;
use crate::submission::{begin, holder::Kind, list, receipt, resolve};
use alloc::{borrow::ToOwned, format, string::String, vec::Vec};
use serde_json::{Value, json};

const MESSAGE: &str = "msg_river-0001";
const HOLDERS: &[Kind] = &[registry::HOLDERS[0], run::KIND];

/// The table of operations, with both holders and with what moves the second one.
fn find(name: &str) -> Option<&'static Entry> {
    const RUNS: &[(&str, crate::kernel::operation::Run)] = &[
        ("adapter.beginSubmission", |cx| begin::begin(cx, HOLDERS)),
        ("adapter.getSubmission", |cx| list::get_submission(cx, HOLDERS)),
        ("adapter.listUnresolved", |cx| list::list_unresolved(cx, HOLDERS)),
        ("adapter.prepareSubmission", run::prepare),
        ("adapter.reconcileSubmission", |cx| resolve::reconcile(cx, HOLDERS)),
        ("adapter.recordQuery", |cx| resolve::record_query(cx, HOLDERS)),
        ("adapter.recordReceipt", |cx| receipt::record_receipt(cx, HOLDERS)),
        ("maintenance.expireDue", run::wait),
        ("maintenance.purgeContent", run::succeed),
    ];
    let known = crate::operations::find(name)?;
    let Some((_, run)) = RUNS.iter().find(|(known, _)| *known == name) else { return Some(known) };
    Some(alloc::boxed::Box::leak(alloc::boxed::Box::new(Entry { run: *run, ..*known })))
}

/// A holder under test: how its table of operations is, and who it listens to.
struct Subject {
    world: World,
    /// Its attempts, in order.
    submissions: Vec<String>,
    /// Establishes that nothing was submitted, and ends a quarantine.
    judge: Principal,
    /// Whether it is the message.
    message: bool,
}

impl Subject {
    fn new(message: bool, executor: &str) -> Self {
        let mut world = World::new();
        let (survey, bridge) = world.pair("peer");
        world
            .call(
                &operator(),
                "adapters.declare",
                with(profile("codex", executor), json!({"digest": digest(executor)})),
            )
            .ok();
        world.send(&survey, &bridge, MESSAGE, "suggest");
        world.accept(&survey, &bridge, MESSAGE);
        if !message {
            world.table = Some(find);
        }
        let judge = if message { operator() } else { user("alice") };
        Self { world, submissions: Vec::new(), judge, message }
    }

    fn who(&self, name: &str) -> Principal {
        match name {
            "host" | "other-host" => host(),
            "performer" => task("alice", "bridge"),
            "judge" => self.judge.clone(),
            "witness" if self.message => user("alice"),
            "witness" => operator(),
            _ => task("alice", "survey"),
        }
    }

    fn revision(&self) -> i64 {
        if self.message {
            return self.world.life(MESSAGE).revision;
        }
        let row = self.world.rows(run::COLLECTION).pop();
        row.map_or(1, |row| serde_json::from_str::<Value>(&row.body).unwrap()["revision"].as_i64().unwrap())
    }

    /// Takes a step; the state of the attempt then, or the rule that refuses it.
    fn step(&mut self, step: &Step) -> String {
        let revision = self.revision();
        let who = self.who(step.who);
        self.world.instance = if step.who == "other-host" { "host-2" } else { "host-1" }.to_owned();
        let id = self.submissions.get(step.attempt).cloned().unwrap_or_default();
        let receipt = |n: &str| json!({"adapterOperationId": n, "acceptedAt": "2026-06-01T08:00:01Z"});
        let (method, params) = match step.what {
            ["prepare"] => (
                "adapter.prepareSubmission",
                with(named(&task("alice", "survey"), MESSAGE_OF_INTENT), json!({"expectedRevision": revision})),
            ),
            ["begin"] => ("adapter.beginSubmission", json!({"submissionId": id, "expectedRevision": revision})),
            ["receipt", text] => (
                "adapter.recordReceipt",
                json!({"submissionId": id, "expectedRevision": revision, "receipt": receipt(text)}),
            ),
            ["query", "found"] => (
                "adapter.recordQuery",
                json!({"submissionId": id, "result": "found", "receipt": receipt("turn-1"), "evidenceRefs": ["log:1"]}),
            ),
            ["query", result] => {
                ("adapter.recordQuery", json!({"submissionId": id, "result": result, "evidenceRefs": ["log:1"]}))
            }
            ["ruling", "confirmed-submitted"] => (
                "adapter.reconcileSubmission",
                json!({"submissionId": id, "expectedRevision": revision, "reconciliation": {"resolution": "confirmed-submitted", "evidenceRefs": ["case:1"], "receipt": receipt("turn-1")}}),
            ),
            ["ruling", resolution] => (
                "adapter.reconcileSubmission",
                json!({"submissionId": id, "expectedRevision": revision, "reconciliation": {"resolution": resolution, "evidenceRefs": ["case:1"]}}),
            ),
            ["get"] => ("adapter.getSubmission", json!({"submissionId": id})),
            ["wait", ms] => {
                self.world.now += ms.parse::<i64>().unwrap();
                return "".into();
            }
            _ => panic!("no such step"),
        };
        let reply = self.world.call(&who, method, params);
        if let Some(problem) = reply.problem {
            return problem.detail.split(':').next().unwrap_or_default().to_owned();
        }
        let shown = &reply.value["submission"];
        if step.what == ["prepare"] {
            self.submissions.push(shown["submissionId"].as_str().unwrap().to_owned());
        }
        let more = if reply.value["contradiction"] == true { " contradicted" } else { "" };
        format!("{}{more}", shown["state"].as_str().unwrap())
    }
}

/// The message id that both holders take for their first intent.
const MESSAGE_OF_INTENT: &str = "msg_river-0001";

fn digest(text: &str) -> String {
    crate::digest::sha256_text(text.as_bytes())
}

/// Somebody does something with an attempt, by its place among those that were prepared; what comes of it.
struct Step {
    who: &'static str,
    what: &'static [&'static str],
    attempt: usize,
    then: &'static str,
}

const fn step(who: &'static str, what: &'static [&'static str], attempt: usize, then: &'static str) -> Step {
    Step { who, what, attempt, then }
}

const UNKNOWN: &str = "outcome-unknown";
const RECORDED: &str = "receipt-recorded";
const ABSENT: &str = "confirmed-not-submitted";
const MANUAL: &str = "manual-reconciliation";
const PREPARE: Step = step("performer", &["prepare"], 0, "prepared");
const BEGIN: Step = step("performer", &["begin"], 0, UNKNOWN);
const AGAIN: Step = step("performer", &["begin"], 1, UNKNOWN);
const SETTLE: Step = step("", &["wait", "60000"], 0, "");

/// What the vectors of attempts walk through, of receipts, queries, rulings, settle bounds and leases: by executor.
const WALKS: &[(&str, &str, &[Step])] = &[
    (
        "a receipt, once and again",
        "host",
        &[
            PREPARE,
            step("host", &["receipt", "turn-1"], 0, "SU-8"),
            BEGIN,
            BEGIN,
            step("host", &["receipt", "turn-1"], 0, RECORDED),
            step("host", &["receipt", "turn-1"], 0, RECORDED),
            step("host", &["receipt", "turn-2"], 0, "SU-7"),
            step("onlooker", &["get"], 0, RECORDED),
        ],
    ),
    (
        "nobody else judges before it is settled and the lease is over",
        "host",
        &[
            PREPARE,
            BEGIN,
            step("witness", &["receipt", "turn-1"], 0, "SU-6"),
            step("other-host", &["receipt", "turn-1"], 0, "SU-6"),
            step("performer", &["receipt", "turn-1"], 0, "SU-6"),
            step("judge", &["ruling", "confirmed-not-submitted"], 0, "SU-6"),
            step("other-host", &["query", "absent-now"], 0, "SU-6"),
            step("", &["wait", "29999"], 0, ""),
            step("witness", &["receipt", "turn-1"], 0, "SU-6"),
            step("", &["wait", "30000"], 0, ""),
            step("witness", &["receipt", "turn-1"], 0, RECORDED),
        ],
    ),
    (
        "the performer of its own call owns it",
        "caller",
        &[
            PREPARE,
            BEGIN,
            step("host", &["receipt", "turn-1"], 0, "SU-6"),
            step("performer", &["receipt", "turn-1"], 0, RECORDED),
        ],
    ),
    (
        "queries: absent for now says nothing, a final absence ends it",
        "host",
        &[
            PREPARE,
            BEGIN,
            step("host", &["query", "absent-final"], 0, "SU-6"),
            SETTLE,
            step("other-host", &["query", "absent-now"], 0, UNKNOWN),
            step("other-host", &["query", "absent-now"], 0, UNKNOWN),
            step("other-host", &["query", "not-submitted"], 0, "SU-12"),
            step("other-host", &["query", "absent-final"], 0, ABSENT),
        ],
    ),
    ("a query finds it", "host", &[PREPARE, BEGIN, SETTLE, step("other-host", &["query", "found"], 0, RECORDED)]),
    (
        "the host that never called says so at once",
        "host",
        &[
            PREPARE,
            BEGIN,
            step("other-host", &["query", "not-submitted"], 0, "SU-12"),
            step("host", &["query", "not-submitted"], 0, ABSENT),
        ],
    ),
    (
        "what cannot be answered is left to people, and only the judge ends that",
        "host",
        &[
            PREPARE,
            BEGIN,
            SETTLE,
            step("host", &["query", "unanswerable"], 0, MANUAL),
            step("host", &["query", "absent-final"], 0, "SU-9"),
            step("host", &["receipt", "turn-1"], 0, "SU-9"),
            step("witness", &["ruling", "confirmed-submitted"], 0, "SU-9"),
            step("witness", &["ruling", "confirmed-not-submitted"], 0, "SU-12"),
            step("judge", &["ruling", "confirmed-submitted"], 0, RECORDED),
        ],
    ),
    (
        "a ruling, and a receipt that contradicts it",
        "host",
        &[
            PREPARE,
            BEGIN,
            SETTLE,
            step("witness", &["ruling", "confirmed-not-submitted"], 0, "SU-12"),
            step("judge", &["ruling", "confirmed-not-submitted"], 0, ABSENT),
            step("judge", &["ruling", "manual-required"], 0, "SU-13"),
            step("host", &["receipt", "turn-1"], 0, "manual-reconciliation contradicted"),
            step("judge", &["ruling", "confirmed-not-submitted"], 0, ABSENT),
        ],
    ),
    (
        "a late receipt of an earlier attempt counts when the newer one did not happen",
        "host",
        &[
            PREPARE,
            BEGIN,
            step("host", &["query", "not-submitted"], 0, ABSENT),
            PREPARE,
            AGAIN,
            step("host", &["receipt", "turn-1"], 0, "confirmed-not-submitted contradicted"),
            step("host", &["query", "not-submitted"], 1, ABSENT),
            step("performer", &["begin"], 1, "SU-5"),
            step("onlooker", &["get"], 0, MANUAL),
            step("judge", &["ruling", "confirmed-submitted"], 0, RECORDED),
        ],
    ),
    (
        "nobody but the performer begins",
        "host",
        &[PREPARE, step("host", &["begin"], 0, "there is nothing here that you may see"), BEGIN],
    ),
];

#[test]
fn a_message_and_a_run_carry_attempts_alike() {
    for (name, executor, steps) in WALKS {
        for message in [true, false] {
            let mut subject = Subject::new(message, executor);
            for (place, step) in steps.iter().enumerate() {
                assert_eq!(subject.step(step), step.then, "{name}, step {place}, message: {message}");
            }
            subject.world.check();
        }
    }
}

/// The two intents of a run, both begun: their submissions.
fn both_begun(subject: &mut Subject) -> (Vec<String>, Vec<Value>) {
    let bridge = task("alice", "bridge");
    let (mut ids, mut effects) = (Vec::new(), Vec::new());
    for message in ["msg_river-0000", "msg_river-0001"] {
        let params = with(named(&task("alice", "survey"), message), json!({"expectedRevision": 1}));
        let prepared = subject.world.call(&bridge, "adapter.prepareSubmission", params).ok();
        let id = prepared["submission"]["submissionId"].as_str().unwrap().to_owned();
        let begin = json!({"submissionId": id, "expectedRevision": 1});
        let reply = subject.world.call(&bridge, "adapter.beginSubmission", begin);
        effects.push(serde_json::from_str(&reply.effects[0].body).unwrap());
        ids.push(id);
    }
    (ids, effects)
}

fn receipt_of(id: &str, revision: i64) -> Value {
    let receipt = json!({"adapterOperationId": "turn-1", "acceptedAt": "2026-06-01T08:00:01Z"});
    json!({"submissionId": id, "expectedRevision": revision, "receipt": receipt})
}

#[test]
fn two_intents_of_one_row_are_unresolved_at_once_and_what_waits_waits_for_both() {
    let mut subject = Subject::new(false, "host");
    let (ids, _) = both_begun(&mut subject);
    let listed = subject.world.call(&host(), "adapter.listUnresolved", json!({})).ok();
    let mut found: Vec<&str> =
        listed["items"].as_array().unwrap().iter().map(|item| item["submissionId"].as_str().unwrap()).collect();
    found.sort_unstable();
    let mut expected: Vec<&str> = ids.iter().map(String::as_str).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
    subject.world.call(&user("alice"), "maintenance.expireDue", json!({})).ok();
    let first = subject.world.call(&host(), "adapter.recordReceipt", receipt_of(&ids[0], 1)).ok();
    assert_eq!((&first["released"], &first["submission"]["state"]), (&json!(0), &json!(RECORDED)));
    let second = subject.world.call(&host(), "adapter.recordReceipt", receipt_of(&ids[1], 2)).ok();
    assert_eq!((&second["released"], &second["submission"]["state"]), (&json!(1), &json!(RECORDED)));
    let listed = subject.world.call(&host(), "adapter.listUnresolved", json!({})).ok();
    assert_eq!(listed["items"], json!([]));
}

#[test]
fn a_scope_outlives_the_keys_of_attempts() {
    let mut subject = Subject::new(false, "host");
    let (ids, effects) = both_begun(&mut subject);
    assert_ne!(effects[0]["scope"], effects[1]["scope"]);
    assert_ne!(effects[0]["scope"], effects[0]["adapterIdempotencyKey"]);
    assert_eq!(effects[0]["holder"]["kind"], "run");
    assert_eq!(effects[0]["payload"], json!({"kind": "action", "text": "{\"intent\":0}", "digest": "sha256:0"}));
    let absent = json!({"submissionId": ids[0], "result": "not-submitted", "evidenceRefs": ["log:1"]});
    subject.world.call(&host(), "adapter.recordQuery", absent).ok();
    let bridge = task("alice", "bridge");
    let params = with(named(&task("alice", "survey"), "msg_river-0000"), json!({"expectedRevision": 1}));
    let prepared = subject.world.call(&bridge, "adapter.prepareSubmission", params).ok();
    let begin = json!({"submissionId": prepared["submission"]["submissionId"], "expectedRevision": 1});
    let again: Value =
        serde_json::from_str(&subject.world.call(&bridge, "adapter.beginSubmission", begin).effects[0].body).unwrap();
    assert_eq!(again["scope"], effects[0]["scope"]);
    assert_ne!(again["adapterIdempotencyKey"], effects[0]["adapterIdempotencyKey"]);
}

#[test]
fn a_receipt_finds_the_row_that_took_the_attempt_over() {
    let mut subject = Subject::new(false, "host");
    let (ids, _) = both_begun(&mut subject);
    let before = json!({"before": crate::time::format(subject.world.now)});
    subject.world.call(&user("alice"), "maintenance.purgeContent", before).ok();
    assert_eq!(subject.world.rows(run::COLLECTION).len(), 2);
    subject.world.call(&host(), "adapter.recordReceipt", receipt_of(&ids[0], 1)).ok();
    let rows = subject.world.rows(run::COLLECTION);
    assert_eq!(rows[0].body.matches("sub_").count(), 0, "the old row carries none");
    assert!(rows[1].body.contains("\"receipt-recorded\"") && rows[1].body.contains("\"outcome-unknown\""));
    let listed = subject.world.call(&host(), "adapter.listUnresolved", json!({})).ok();
    assert_eq!(listed["items"][0]["submissionId"], ids[1].as_str());
}

#[test]
fn both_kinds_of_holders_stand_in_one_list() {
    let mut subject = Subject::new(true, "host");
    let bridge = task("alice", "bridge");
    let id = subject.world.begin(&task("alice", "survey"), &bridge, MESSAGE);
    assert_eq!(subject.world.index(LIFE, "unresolved").len(), 1);
    subject.world.table = Some(find);
    subject.world.now += 1;
    let (ids, _) = both_begun(&mut subject);
    let mut seen = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let params = if cursor.is_null() { json!({"limit": 1}) } else { json!({"limit": 1, "cursor": cursor}) };
        let page = subject.world.call(&host(), "adapter.listUnresolved", params).ok();
        let items = page["items"].as_array().unwrap();
        seen.extend(items.iter().map(|item| item["submissionId"].as_str().unwrap().to_owned()));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen[0], id, "the longest settled first");
    seen.sort_unstable();
    let mut all: Vec<String> = ids.into_iter().chain([id]).collect();
    all.sort_unstable();
    assert_eq!(seen, all);
}
