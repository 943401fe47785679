//! Every order of everything, in a small world: the real rules under `stateright`.
//!
//! Alice's `survey` has sent messages to Bob's `bridge`, which has two workers; two hosts share the store. Messages are
//! claimed, decided, prepared, begun, called, answered, lost, asked about and resolved; meanwhile the grant is revoked, the
//! receiver is rotated, its objective moves on, hosts end, content is purged, and time passes up to and past every expiry.
//! What the world is bounded by: so many claims and attempts of a message, three moments or two, and one purge at a time.
//!
//! How two messages that share all of this are looked through is told in [`pair`].

pub mod pair;
pub mod rows;
mod set;
mod watch;

use crate::{
    cast,
    oracle::{attempts, text, unresolved},
    outside, time,
};
use rows::{Asked, Rows};
use serde_json::{Value, json};
use stateright::{Model, Property};
use std::{collections::BTreeSet, sync::Arc};
use threadmesh_protocol::kernel::{Principal, PrincipalKind};

/// The moments: at the start, when leases have ended and calls have settled, and when everything is past its time.
const MOMENTS: &[i64] = &[0, 61_000, 7_200_000];

/// A world to look through.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// How many messages there are: a steer, and a suggestion.
    pub messages: usize,
    /// How many workers the receiver has, and how many hosts there are; 1 or 2.
    pub pairs: usize,
    /// How often a message is claimed, and how often it is attempted; it is attempted at least once.
    pub tries: usize,
    /// What can happen that is about no message in particular; besides, a host can end.
    pub common: &'static [Action],
    /// In how many leaps time passes: 2, or 1 in which leases end, calls settle and everything expires.
    pub leaps: usize,
    /// A fault that must be noticed.
    pub planted: Option<Planted>,
}

/// A fault that the records are given on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// Quarantine has no exit.
    NoExit,
    /// A purge leaves in the life why a delivery failed.
    PurgeKeepsFailure,
    /// A purge leaves the envelope as it was.
    PurgeKeepsEnvelope,
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
    /// A policy removes the content of what is over.
    Purge,
    /// A host says that nothing is left of it.
    Scrub,
    /// Time passes.
    Wait,
}

/// All that can happen that is about no message in particular, beside the end of a host.
pub const COMMON: &[Action] =
    &[Action::Revoke, Action::Rotate, Action::MoveOn, Action::Expire, Action::Purge, Action::Scrub, Action::Wait];

/// Operations that show a message, or what is known of it, and change nothing.
const READS: &[&str] = &["inspector.snapshot", "mailbox.listPending", "messages.getDisposition"];

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

    fn life(&self, message: usize) -> Arc<Value> {
        let id = cast::message_id(message as u32);
        self.rows.all("life").into_iter().find(|life| life["messageId"] == id).unwrap_or_default()
    }

    /// Runs an operation, about one message or about all; whether anything came of it. Calls wait in the host.
    fn run(
        &mut self,
        world: World,
        own: Option<usize>,
        on: usize,
        who: &Principal,
        (operation, params): (&str, Value),
    ) -> bool {
        let before = self.rows.all("life");
        // A key for each situation that it is used in: what is asked for again is asked for anew.
        let tries = own.map_or(0, |message| attempts(&self.life(message)).count());
        let key = json!({"idempotencyKey": format!("idem_model-{tries:04}")});
        let params = if READS.contains(&operation) { params } else { merged(params, key) }.to_string();
        let own = own.map(|message| cast::message_id(message as u32));
        let asked = Asked { host: host(on), who, operation, params, now: self.now(), own };
        let ran = self.rows.run(&asked, world.planted);
        self.waiting.extend(ran.calls.iter().map(|call| (on, call.clone())));
        if let Some(fault) = watch::fault(world, self, operation, &before, &ran) {
            self.fault = Some(fault);
            return true;
        }
        ran.accepted
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
        let mut must_of = |world: World, who: &Principal, operation: &str, params: Value| {
            assert!(state.run(world, None, 0, who, (operation, params)), "{operation} sets the scene");
        };
        let mut must = |who: &Principal, operation: &str, params: Value| must_of(self, who, operation, params);
        for (task, owner) in [("survey", "alice"), ("bridge", "bob")] {
            let input = cast::input(&cast::task(task, 1, None), "steady");
            must(&principal(&cast::user(owner)), "tasks.register", json!({ "task": input }));
        }
        must(&principal(&cast::policy()), "relationships.grant", cast::grant(&cast, 0, "supervisor", 1, None));
        must(&principal(&cast::operator()), "adapters.declare", cast::declaration("steady", 1));
        for message in 0..self.messages {
            let envelope = envelope(message);
            let so_far = World { messages: message + 1, ..self };
            must_of(
                so_far,
                &principal(&cast::task("survey", 1, None)),
                "messages.send",
                json!({ "envelope": envelope }),
            );
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
                let mut say = |word| {
                    let asked = ("adapter.reconcileSubmission", reconciliation(&life, word));
                    state.run(self, Some(message), 0, &operator, asked)
                };
                if !(happened && say("confirmed-submitted")) {
                    say("confirmed-not-submitted");
                }
            }
        }
        let sweep = ("maintenance.expireDue", json!({"limit": 100}));
        state.run(self, None, 0, &principal(&cast::policy()), sweep);
        state.fault.is_none()
            && state.rows.all("life").iter().all(|life| {
                let ended = matches!(text(life, "delivery"), "adapter-submitted" | "failed" | "expired");
                ended && !unresolved(life) && life.get("pendingRelabel").is_none()
            })
    }

    /// Whether nobody is shown what was purged, whoever asks.
    pub fn keeps_quiet(self, state: &State) -> bool {
        let mut state = state.clone();
        let purged = |life: &Arc<Value>| life.get("purged").is_some();
        for life in state.rows.all("life").into_iter().filter(purged) {
            let name = json!({
                "messageId": life["messageId"], "senderIncarnationId": life["sender"]["incarnationId"],
            });
            let receiver = json!({"receiver": cast::reference(&cast::task("bridge", 1, None))});
            for who in [principal(&cast::user("bob")), principal(&cast::user("alice")), bridge(0)] {
                for operation in READS {
                    let params = if *operation == "mailbox.listPending" { &receiver } else { &name };
                    state.run(self, None, 0, &who, (operation, params.clone()));
                }
            }
        }
        state.fault.is_none()
    }

    fn of_message(self, state: &State, message: usize, actions: &mut Vec<Action>) {
        let life = state.life(message);
        if life.is_null() {
            return;
        }
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
        for (on, call) in state.waiting.iter().filter(|(_, call)| attempts(&life).any(|known| known["id"] == **call)) {
            let ends = [(true, true), (true, false), (false, true), (false, false)];
            actions.extend(ends.map(|(effect, told)| Action::Call(*on, call.clone(), effect, told)));
        }
    }

    fn act(self, state: &mut State, action: &Action) -> bool {
        let policy = principal(&cast::policy());
        match action {
            Action::Revoke => {
                let params = json!({"grantId": cast::grant_id(0, 1), "expectedGrantVersion": 1});
                state.run(self, None, 0, &policy, ("relationships.revoke", params))
            }
            Action::Rotate => {
                let (old, new) = (cast::task("bridge", 1, None), cast::task("bridge", 2, None));
                let revision = self.task(state)["revision"].clone();
                let params = json!({
                    "previous": cast::reference(&old), "next": cast::input(&new, "steady"), "expectedRevision": revision,
                });
                state.run(self, None, 0, &principal(&cast::user("bob")), ("tasks.rotateIncarnation", params))
            }
            Action::MoveOn => {
                let task = self.task(state);
                let params = json!({
                    "task": cast::reference(&cast::task("bridge", 1, None)), "runtime": {"objectiveVersion": 2},
                    "expectedRevision": task["revision"],
                });
                task["objectiveVersion"] == 1 && state.run(self, None, 0, &bridge(0), ("tasks.updateRuntime", params))
            }
            Action::Expire => state.run(self, None, 0, &policy, ("maintenance.expireDue", json!({"limit": 100}))),
            Action::Purge | Action::Scrub => self.purge(state, action),
            Action::Wait => {
                state.moment += if self.leaps == 1 { MOMENTS.len() - 1 } else { 1 };
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

    /// Content is removed up to the last moment's expiries, or up to the beginning, as the rules allow by now.
    fn purge(self, state: &mut State, action: &Action) -> bool {
        let pending = state.rows.all("purge").first().cloned();
        match (action, pending) {
            (Action::Purge, None) => {
                let last = state.moment + 1 == MOMENTS.len();
                let before = if last { state.now() } else { time::START };
                let params = json!({"before": threadmesh_protocol::time::format(before), "limit": 100});
                let policy = principal(&cast::policy());
                state.run(self, None, 0, &policy, ("maintenance.purgeContent", params))
            }
            (Action::Scrub, Some(purge)) => {
                let params = json!({"purgeId": purge["purgeId"], "result": "done"});
                state.run(self, None, 0, &principal(&cast::host()), ("maintenance.recordScrub", params))
            }
            _ => false,
        }
    }

    fn task(self, state: &State) -> Arc<Value> {
        let first = |task: &Arc<Value>| task["incarnationId"] == cast::incarnation("bridge", 1).as_str();
        state.rows.all("task").into_iter().find(first).unwrap_or_default()
    }

    /// A host makes a call that waits in it. It knows what its target told it, or nothing.
    fn call(self, state: &mut State, on: usize, call: &str, effect: bool, told: bool) -> bool {
        let life = state.rows.all("life").into_iter().find(|life| attempts(life).any(|attempt| attempt["id"] == call));
        let called = life.as_ref().and_then(|life| attempts(life).find(|attempt| attempt["id"] == call));
        let settles = called.and_then(|attempt| attempt["call"]["settleAt"].as_i64());
        // A call whose deadline has passed is not made any more, which its host knows.
        let effect = effect && settles.is_some_and(|end| state.now() < end);
        state.waiting.remove(&(on, call.to_owned()));
        if effect {
            state.happens(call);
        }
        let (true, Some(life)) = (told, life) else { return true };
        let base = json!({"submissionId": call, "evidenceRefs": ["host:1"]});
        let result = match effect {
            true => json!({"result": "found", "receipt": receipt(&life["attempt"])}),
            false => json!({"result": "not-submitted"}),
        };
        let own = (0..self.messages).find(|own| state.life(*own) == life);
        state.run(self, own, on, &principal(&cast::host()), ("adapter.recordQuery", merged(base, result)));
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
        asked.is_some_and(|(who, operation, params)| state.run(self, Some(message), on, &who, (operation, params)))
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
        Action::Fail(message) => {
            let reason = format!("no harness for {}", cast::secret(*message as u32));
            ("messages.failDelivery", merged(base, json!({ "failureReason": reason })))
        }
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
        let hosts: BTreeSet<usize> = state.waiting.iter().map(|(on, _)| *on).collect();
        actions.extend(hosts.into_iter().map(Action::Crash));
        actions.extend_from_slice(self.common);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = last.clone();
        (self.act(&mut next, &action) && next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("nothing happens that must not", |_, state: &State| state.fault.is_none()),
            Property::always("no stuck state", |world: &World, state: &State| world.has_exit(state)),
            Property::always("what is purged is not shown", |world: &World, state: &State| world.keeps_quiet(state)),
            Property::sometimes("an effect is recorded", |_, state: &State| {
                state.rows.all("life").iter().any(|life| life["outcome"] == "effect-observed")
            }),
            Property::sometimes("a call is left to people", |_, state: &State| {
                state.rows.all("life").iter().any(|life| text(&life["attempt"], "state") == "manual-reconciliation")
            }),
            Property::sometimes("content is purged", |_, state: &State| {
                state.rows.all("life").iter().any(|life| life["purged"]["done"].is_number())
            }),
        ]
    }
}
