//! Every order of everything, in a small world: the real rules under `stateright`.
//!
//! Alice's `survey` has sent messages to Bob's `bridge`, which has two workers; two hosts share the store. Messages are
//! claimed, decided, prepared, begun, called, answered, lost, asked about and resolved; meanwhile the grant is revoked, the
//! receiver is rotated, its objective moves on, hosts end, and time passes up to and past every expiry. What the world is
//! bounded by: so many claims and attempts of a message, and three moments.

pub mod rows;

use crate::{
    cast,
    oracle::{attempts, text, unresolved},
    outside, time,
};
use rows::Rows;
use serde_json::{Value, json};
use stateright::{Model, Property};
use std::collections::BTreeSet;
use threadmesh_protocol::coordinator::{Principal, PrincipalKind};

/// The moments: at the start, when leases have ended and calls have settled, and when everything is past its time.
const MOMENTS: &[i64] = &[0, 61_000, 7_200_000];

/// A world to look through.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// How many messages there are: a steer, and a suggestion.
    pub messages: usize,
    /// How many workers the receiver has, and how many hosts there are; 1 or 2.
    pub pairs: usize,
    /// How often a message is claimed, and how often it is attempted.
    pub tries: usize,
    /// Whether quarantine has no exit: a fault that must be noticed.
    pub no_exit: bool,
}

/// A situation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    rows: Rows,
    moment: usize,
    /// Calls that wait in a host: host, attempt.
    waiting: BTreeSet<(usize, String)>,
    /// Attempts that took effect.
    happened: BTreeSet<String>,
    /// Something that must not be.
    fault: Option<String>,
}

/// What can happen. Messages, workers and hosts are numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A worker claims a message.
    Claim(usize, usize),
    /// A worker decides under its claim.
    Ack(usize, usize, &'static str),
    /// A message is decided without a claim.
    Respond(usize, &'static str),
    /// The receiver gives up.
    Fail(usize),
    /// A submission is prepared.
    Prepare(usize),
    /// It begins, on a host.
    Begin(usize, usize),
    /// A waiting call is made: does it take effect, and does its host record what it learns?
    Call(usize, String, bool, bool),
    /// A host ends, and with it the calls that wait in it.
    Crash(usize),
    /// A host records what a target answers about a message's attempt.
    Ask(usize, &'static str),
    /// The receiver says that it has a receipt.
    Receipt(usize),
    /// A receipt turns up for an attempt that was taken for absent.
    Late(usize),
    /// The owner leaves an attempt to the operator.
    Leave(usize),
    /// The operator says what he sees.
    Resolve(usize),
    /// The grant is withdrawn.
    Revoke,
    /// The receiver is rotated.
    Rotate,
    /// The receiver's objective moves on.
    MoveOn,
    /// A policy sweeps.
    Expire,
    /// Time passes.
    Wait,
}

fn principal(of: &threadmesh_runtime::wit::Principal) -> Principal {
    use threadmesh_runtime::wit::PrincipalKind as Kind;
    let kind = match of.kind {
        Kind::User => PrincipalKind::User,
        Kind::Policy => PrincipalKind::Policy,
        Kind::Task => PrincipalKind::Task,
        Kind::Operator => PrincipalKind::Operator,
        Kind::Host => PrincipalKind::Host,
    };
    Principal {
        tenant: of.tenant.clone(),
        kind,
        id: of.id.clone(),
        incarnation: of.incarnation.clone(),
        owner: of.owner.clone(),
        worker: of.worker.clone(),
        authentication: of.authentication.clone(),
    }
}

fn bridge(worker: usize) -> Principal {
    principal(&cast::task("bridge", 1, Some(["worker-1", "worker-2"][worker])))
}

fn host(number: usize) -> &'static str {
    ["host-1", "host-2"][number]
}

fn merged(mut left: Value, right: Value) -> Value {
    if let (Value::Object(left), Value::Object(right)) = (&mut left, right) {
        left.extend(right);
    }
    left
}

impl State {
    fn now(&self) -> i64 {
        time::START + MOMENTS[self.moment]
    }

    fn life(&self, message: usize) -> Value {
        let id = cast::message_id(message as u32);
        self.rows.all("life").into_iter().find(|life| life["messageId"] == id).unwrap_or_default()
    }

    /// Runs an operation; whether it was accepted. Calls wait in the host.
    fn run(&mut self, world: World, on: usize, who: &Principal, operation: &str, params: Value) -> bool {
        let before: Vec<Value> = self.rows.all("life");
        // A key for each situation that it is used in: what is asked for again is asked for anew.
        let tries: usize = before.iter().map(|life| attempts(life).count()).sum();
        let params = merged(params, json!({"idempotencyKey": format!("idem_model-{tries:04}")}));
        let now = self.now();
        let passes = |old: &Value, new: &Value| {
            let leaves = text(&old["attempt"], "state") == "manual-reconciliation" && old["attempt"] != new["attempt"];
            !(world.no_exit && leaves)
        };
        let Some(calls) = self.rows.run_if(host(on), who, operation, &params, now, passes) else { return false };
        self.waiting.extend(calls.into_iter().map(|call| (on, call)));
        for (old, new) in before.iter().zip(self.rows.all("life")) {
            let same = ["delivery", "decision", "outcome"].iter().all(|name| old[*name] == new[*name]);
            if unresolved(old) && unresolved(&new) && !same {
                self.fault = Some(format!("{operation} relabels {new} while its call is unknown"));
            }
        }
        true
    }

    fn happens(&mut self, submission: &str) {
        self.happened.insert(submission.to_owned());
        for life in self.rows.all("life") {
            let effects = attempts(&life).filter(|attempt| self.happened.contains(text(attempt, "id"))).count();
            if effects > 1 {
                self.fault = Some(format!("two effects of {life}"));
            }
        }
    }

    /// Whether the attempt took effect, or still may.
    fn open(&self, attempt: &Value) -> bool {
        self.waiting.iter().any(|(_, id)| *id == text(attempt, "id"))
    }
}

fn named(life: &Value) -> Value {
    json!({
        "messageId": life["messageId"], "senderIncarnationId": life["sender"]["incarnationId"],
        "expectedRevision": life["revision"],
    })
}

fn receipt(attempt: &Value) -> Value {
    json!(outside::receipt(text(attempt, "key")))
}

fn reconciliation(life: &Value, resolution: &str) -> Value {
    let attempt = &life["attempt"];
    let mut how = json!({"resolution": resolution, "evidenceRefs": ["log:1"]});
    if resolution == "confirmed-submitted" {
        how["receipt"] = receipt(attempt);
    }
    json!({"submissionId": attempt["id"], "expectedRevision": life["revision"], "reconciliation": how})
}

impl World {
    fn start(self) -> State {
        let mut state = State {
            rows: Rows::default(),
            moment: 0,
            waiting: BTreeSet::new(),
            happened: BTreeSet::new(),
            fault: None,
        };
        let cast = cast::Cast::default();
        let mut must = |who: &Principal, operation: &str, params: Value| {
            assert!(state.run(self, 0, who, operation, params), "{operation} sets the scene");
        };
        for (task, owner) in [("survey", "alice"), ("bridge", "bob")] {
            let input = cast::input(&cast::task(task, 1, None), "steady");
            must(&principal(&cast::user(owner)), "tasks.register", json!({ "task": input }));
        }
        must(&principal(&cast::policy()), "relationships.grant", cast::grant(&cast, 0, "supervisor", 1, None));
        must(&principal(&cast::operator()), "adapters.declare", cast::declaration("steady", 1));
        for message in 0..self.messages {
            let envelope = envelope(message);
            must(&principal(&cast::task("survey", 1, None)), "messages.send", json!({ "envelope": envelope }));
        }
        state
    }

    /// Whether everything can still be brought to its end: by the operator, by a policy, and by time.
    pub fn has_exit(self, state: &State) -> bool {
        let mut state = state.clone();
        (state.moment, state.waiting) = (MOMENTS.len() - 1, BTreeSet::new());
        for message in 0..self.messages {
            for _ in 0..3 {
                let life = state.life(message);
                if !unresolved(&life) {
                    break;
                }
                let happened = state.happened.contains(text(&life["attempt"], "id"));
                let operator = principal(&cast::operator());
                let mut say =
                    |word| state.run(self, 0, &operator, "adapter.reconcileSubmission", reconciliation(&life, word));
                if !(happened && say("confirmed-submitted")) {
                    say("confirmed-not-submitted");
                }
            }
        }
        state.run(self, 0, &principal(&cast::policy()), "maintenance.expireDue", json!({"limit": 100}));
        state.rows.all("life").iter().all(|life| {
            let ended = matches!(text(life, "delivery"), "adapter-submitted" | "failed" | "expired");
            ended && !unresolved(life) && life.get("pendingRelabel").is_none()
        })
    }

    fn of_message(self, state: &State, message: usize, actions: &mut Vec<Action>) {
        let life = state.life(message);
        let fence = life["claim"]["fence"].as_i64().unwrap_or(0);
        let count = attempts(&life).count();
        let submission = text(&life["attempt"], "state").to_owned();
        let open = matches!(text(&life, "decision"), "pending" | "deferred");
        for worker in 0..self.pairs {
            if open && fence < self.tries as i64 {
                actions.push(Action::Claim(message, worker));
            }
            if life["claim"]["state"] == "claimed" {
                let words = ["accepted", "deferred"];
                actions.extend(words.map(|word| Action::Ack(message, worker, word)));
            }
            if submission == "prepared" {
                actions.push(Action::Begin(message, worker));
            }
        }
        let words = if open { &["accepted", "deferred", "expired"][..] } else { &[] };
        actions.extend(words.iter().map(|word| Action::Respond(message, word)));
        actions.extend([Action::Respond(message, "revoked"), Action::Fail(message)]);
        if life["decision"] == "accepted"
            && (count == 0 || (submission == "confirmed-not-submitted" && count < self.tries))
        {
            actions.push(Action::Prepare(message));
        }
        if submission == "outcome-unknown" {
            let words = ["found", "absent-final", "absent-now", "unanswerable"];
            actions.extend(words.map(|word| Action::Ask(message, word)));
            actions.extend([Action::Receipt(message), Action::Leave(message)]);
        }
        if matches!(submission.as_str(), "outcome-unknown" | "manual-reconciliation") {
            actions.push(Action::Resolve(message));
        }
        if attempts(&life).any(|attempt| text(attempt, "state") == "confirmed-not-submitted") {
            actions.push(Action::Late(message));
        }
    }

    fn act(self, state: &mut State, action: &Action) -> bool {
        let policy = principal(&cast::policy());
        match action {
            Action::Revoke => {
                let params = json!({"grantId": cast::grant_id(0, 1), "expectedGrantVersion": 1});
                state.run(self, 0, &policy, "relationships.revoke", params)
            }
            Action::Rotate => {
                let (old, new) = (cast::task("bridge", 1, None), cast::task("bridge", 2, None));
                let revision = self.task(state)["revision"].clone();
                let params = json!({
                    "previous": cast::reference(&old), "next": cast::input(&new, "steady"), "expectedRevision": revision,
                });
                state.run(self, 0, &principal(&cast::user("bob")), "tasks.rotateIncarnation", params)
            }
            Action::MoveOn => {
                let task = self.task(state);
                let params = json!({
                    "task": cast::reference(&cast::task("bridge", 1, None)), "runtime": {"objectiveVersion": 2},
                    "expectedRevision": task["revision"],
                });
                task["objectiveVersion"] == 1 && state.run(self, 0, &bridge(0), "tasks.updateRuntime", params)
            }
            Action::Expire => state.run(self, 0, &policy, "maintenance.expireDue", json!({"limit": 100})),
            Action::Wait => {
                state.moment += 1;
                state.moment < MOMENTS.len()
            }
            Action::Crash(gone) => {
                let before = state.waiting.len();
                state.waiting.retain(|(on, _)| on != gone);
                state.waiting.len() != before
            }
            Action::Call(on, call, effect, told) => self.call(state, *on, call, *effect, *told),
            _ => self.handle(state, action),
        }
    }

    fn task(self, state: &State) -> Value {
        let first = |task: &Value| task["incarnationId"] == cast::incarnation("bridge", 1).as_str();
        state.rows.all("task").into_iter().find(first).unwrap_or_default()
    }

    /// A host makes a call that waits in it. It knows what its target told it, or nothing.
    fn call(self, state: &mut State, on: usize, call: &str, effect: bool, told: bool) -> bool {
        // A call whose deadline has passed is not made any more, which its host knows.
        let effect = effect && state.moment == 0;
        state.waiting.remove(&(on, call.to_owned()));
        if effect {
            state.happens(call);
        }
        let life = state.rows.all("life").into_iter().find(|life| attempts(life).any(|attempt| attempt["id"] == call));
        let (true, Some(life)) = (told, life) else { return true };
        let base = json!({"submissionId": call, "evidenceRefs": ["host:1"]});
        let result = match effect {
            true => json!({"result": "found", "receipt": receipt(&life["attempt"])}),
            false => json!({"result": "not-submitted"}),
        };
        state.run(self, on, &principal(&cast::host()), "adapter.recordQuery", merged(base, result));
        true
    }

    fn handle(self, state: &mut State, action: &Action) -> bool {
        let (message, on, who) = match *action {
            Action::Claim(message, worker) | Action::Ack(message, worker, _) => (message, worker, bridge(worker)),
            Action::Begin(message, on) => (message, on, bridge(0)),
            Action::Respond(message, _)
            | Action::Fail(message)
            | Action::Prepare(message)
            | Action::Ask(message, _)
            | Action::Receipt(message)
            | Action::Late(message)
            | Action::Leave(message)
            | Action::Resolve(message) => (message, 0, bridge(0)),
            _ => return false,
        };
        let life = state.life(message);
        let asked = match action {
            Action::Ask(..) | Action::Receipt(_) | Action::Late(_) | Action::Leave(_) | Action::Resolve(_) => {
                said(state, &life, action)
            }
            _ => done(&life, action).map(|(operation, params)| (who, operation, params)),
        };
        asked.is_some_and(|(who, operation, params)| state.run(self, on, &who, operation, params))
    }
}

/// What the receiver asks for on the way to the call.
fn done(life: &Value, action: &Action) -> Option<(&'static str, Value)> {
    let (base, attempt) = (named(life), &life["attempt"]);
    Some(match action {
        Action::Claim(..) => ("mailbox.claim", base),
        Action::Ack(_, _, word) => {
            let more = json!({"claimToken": life["claim"]["token"], "decision": word});
            ("mailbox.ack", merged(base, more))
        }
        Action::Respond(_, word) => ("messages.respond", merged(base, json!({ "decision": word }))),
        Action::Fail(_) => ("messages.failDelivery", merged(base, json!({"failureReason": "no harness"}))),
        Action::Prepare(_) => ("adapter.prepareSubmission", base),
        Action::Begin(..) => {
            let params = json!({"submissionId": attempt["id"], "expectedRevision": attempt["dispositionRevision"]});
            ("adapter.beginSubmission", params)
        }
        _ => return None,
    })
}

/// What somebody says became of the call, where it is so.
fn said(state: &State, life: &Value, action: &Action) -> Option<(Principal, &'static str, Value)> {
    let attempt = &life["attempt"];
    let happened = state.happened.contains(text(attempt, "id"));
    let open = state.open(attempt);
    let received = |attempt: &Value| json!({"submissionId": attempt["id"], "expectedRevision": life["revision"], "receipt": receipt(attempt)});
    Some(match action {
        Action::Ask(_, word) => {
            // The target says what is so, and no call is on its way whose absence it calls final.
            let so = match *word {
                "found" => happened,
                "absent-final" => !happened && !open,
                _ => true,
            };
            let mut params = json!({"submissionId": attempt["id"], "evidenceRefs": ["query:1"], "result": word});
            if *word == "found" {
                params["receipt"] = receipt(attempt);
            }
            return so.then(|| (principal(&cast::host()), "adapter.recordQuery", params));
        }
        Action::Receipt(_) => (bridge(0), "adapter.recordReceipt", received(attempt)),
        Action::Late(_) => {
            let absent = attempts(life).find(|attempt| text(attempt, "state") == "confirmed-not-submitted")?;
            (principal(&cast::operator()), "adapter.recordReceipt", received(absent))
        }
        Action::Leave(_) => {
            let params = reconciliation(life, "manual-required");
            (principal(&cast::user("bob")), "adapter.reconcileSubmission", params)
        }
        _ => {
            let word = if happened { "confirmed-submitted" } else { "confirmed-not-submitted" };
            let params = reconciliation(life, word);
            return (!open).then(|| (principal(&cast::operator()), "adapter.reconcileSubmission", params));
        }
    })
}

/// Message 0 steers, message 1 suggests; both live for ten minutes.
fn envelope(message: usize) -> Value {
    let intent = ["steer", "suggest"][message % 2];
    let (from, to) = (cast::task("survey", 1, None), cast::task("bridge", 1, None));
    let rfc = threadmesh_protocol::time::format;
    let mut envelope = json!({
        "specVersion": "0.0-draft", "messageType": "suggestion", "intent": intent, "claimStatus": "sender-asserted",
        "messageId": cast::message_id(message as u32), "content": cast::secret(message as u32), "reason": "modelled",
        "sender": {"taskId": from.id, "incarnationId": from.incarnation, "actorType": "agent", "harness": "codex"},
        "target": cast::reference(&to), "relationshipId": cast::relationship(0),
        "delivery": {"requestedMode": cast::mode(intent), "requiresDisposition": true},
        "createdAt": rfc(time::START), "expiresAt": rfc(time::START + 600_000),
    });
    if intent == "steer" {
        envelope["freshness"] = json!({"expectedObjectiveVersion": 1});
    }
    envelope
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![self.start()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        (0..self.messages).for_each(|message| self.of_message(state, message, actions));
        for (on, call) in &state.waiting {
            let ends = [(true, true), (true, false), (false, true), (false, false)];
            actions.extend(ends.map(|(effect, told)| Action::Call(*on, call.clone(), effect, told)));
            actions.push(Action::Crash(*on));
        }
        actions.extend([Action::Revoke, Action::Rotate, Action::MoveOn, Action::Expire, Action::Wait]);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = last.clone();
        (self.act(&mut next, &action) && next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("nothing happens that must not", |_, state: &State| state.fault.is_none()),
            Property::always("no stuck state", |world: &World, state: &State| world.has_exit(state)),
            Property::sometimes("an effect is recorded", |_, state: &State| {
                state.rows.all("life").iter().any(|life| life["outcome"] == "effect-observed")
            }),
            Property::sometimes("a call is left to people", |_, state: &State| {
                state.rows.all("life").iter().any(|life| text(&life["attempt"], "state") == "manual-reconciliation")
            }),
        ]
    }
}
