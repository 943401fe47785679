//! Random walks over all operations: whatever happens in whatever order, the records stay sound, no call is made twice,
//! and there is a way out of every state.

use super::world::*;
use crate::delivery::life::Life;
use crate::generated::machines::Submission;
use crate::kernel::{EffectKind, Principal, Status};
use crate::submission::attempt::Attempt;
use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};
use serde_json::{Value, json};

/// Where a walk is.
struct Walk {
    world: World,
    seed: u64,
    /// The current incarnation of each task.
    survey: u32,
    bridge: u32,
    version: i64,
    messages: u32,
    /// Every call to an adapter, by message.
    calls: BTreeMap<String, Vec<String>>,
    /// Purges whose store was not emptied yet.
    scrubs: Vec<String>,
    /// How often each operation was accepted.
    done: BTreeMap<String, u32>,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let mut world = World::new();
        let (survey, bridge) = (task("alice", "survey"), task("bob", "bridge"));
        world.call(&user("alice"), "tasks.register", registration(&survey)).ok();
        world.call(&user("bob"), "tasks.register", registration(&bridge)).ok();
        let executor = if seed.is_multiple_of(3) { "caller" } else { "host" };
        world.call(&operator(), "adapters.declare", admitting(executor)).ok();
        world.call(&policy("board"), "relationships.grant", grant(&survey, &bridge, "supervisor", 1)).ok();
        let tower = task("carol", "tower");
        world.call(&user("carol"), "tasks.register", registration(&tower)).ok();
        world.call(&policy("board"), "relationships.grant", grant(&bridge, &tower, "peer", 1)).ok();
        let (calls, scrubs, done) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        let seed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        Self { world, seed, survey: 1, bridge: 1, version: 1, messages: 0, calls, scrubs, done }
    }

    fn below(&mut self, most: usize) -> usize {
        // xorshift64: any walk can be repeated by its number.
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 33) as usize % most
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> Option<T> {
        if items.is_empty() { None } else { Some(items[self.below(items.len())].clone()) }
    }

    fn survey(&self) -> Principal {
        incarnation("alice", "survey", self.survey)
    }

    fn bridge(&self) -> Principal {
        incarnation("bob", "bridge", self.bridge)
    }

    /// The current receiver, sometimes another worker, its predecessor or somebody else.
    fn receiver(&mut self) -> Principal {
        let mut bridge = self.bridge();
        match self.below(12) {
            0 | 1 => bridge.worker = Some("worker-2".into()),
            2 if self.bridge > 1 => bridge = incarnation("bob", "bridge", self.bridge - 1),
            3 => bridge = self.survey(),
            _ => {}
        }
        bridge
    }

    /// Calls, sometimes twice with the same key, and looks at the effects.
    fn call(&mut self, who: &Principal, operation: &str, params: Value) {
        let key = format!("idem_walk-{:08}", self.below(1 << 30));
        let params = match operation {
            "mailbox.listPending" | "tasks.wait" | "audit.list" => params,
            _ => with(params, json!({ "idempotencyKey": key })),
        };
        let reply = self.world.call(who, operation, params.clone());
        if reply.status == Status::Accepted {
            *self.done.entry(operation.into()).or_default() += 1;
        }
        for effect in reply.effects {
            if effect.kind == EffectKind::Repeatable {
                self.scrubs.push(effect.key);
                continue;
            }
            let body: Value = serde_json::from_str(&effect.body).unwrap();
            let message = body["messageId"].as_str().unwrap().to_string();
            let life = self.world.life(&message);
            let absent = |state| matches!(state, Submission::ConfirmedNotSubmitted);
            let over = |attempt: &Attempt| absent(attempt.state) && !attempt.contested;
            assert!(life.past.iter().all(over), "a call beside an open one");
            let calls = self.calls.entry(message).or_default();
            assert!(!calls.contains(&effect.key), "called twice: {}", effect.key);
            calls.push(effect.key);
        }
        if self.below(6) == 0 && reply.status == Status::Accepted && params.get("idempotencyKey").is_some() {
            let again = self.world.call(who, operation, params);
            assert!(again.effects.is_empty(), "a replay calls");
            assert!(again.status != Status::Accepted, "{operation} is accepted twice under one key");
        }
    }

    fn life(&mut self) -> Option<Life> {
        let lives = self.world.lives();
        self.pick(&lives)
    }

    fn step(&mut self) {
        match self.below(19) {
            16 => self.report(),
            17 => self.tell(),
            18 => self.pass_on(),
            0..=2 => self.send(),
            3..=6 => self.handle(),
            7 | 8 => self.submit(),
            9..=11 => self.resolve(),
            12 => self.authority(),
            13 => self.task(),
            14 => {
                let who = self.pick(&[policy("board"), user("alice"), user("bob")]).unwrap();
                match self.below(3) {
                    0 => self.purge(),
                    _ => self.call(&who, "maintenance.expireDue", json!({"limit": 2})),
                }
            }
            _ => {
                let by = self.pick(&[10, 1000, 61_000, 40_000, 700_000]).unwrap();
                self.world.now += by;
                if self.below(4) == 0 {
                    self.world.instance = format!("host-{}", self.below(3));
                }
            }
        }
        if self.below(4) == 0 {
            self.admit();
        }
    }

    fn send(&mut self) {
        self.messages += 1;
        let (survey, bridge) = (self.survey(), self.bridge());
        let intent = self.pick(&["notify", "suggest", "suggest", "steer", "steer", "interrupt"]).unwrap();
        let mut params = message(self.world.now, &survey, &bridge, &format!("msg_walk-{:04}", self.messages), intent);
        if let Some(run) = params["envelope"].get_mut("freshness") {
            *run = json!({"expectedRunId": "run-1"});
        }
        self.call(&survey, "messages.send", params);
    }

    /// Who may say what became of a message, and some who may not.
    fn reporter(&mut self) -> Principal {
        let everybody = [host(), host(), self.bridge(), self.bridge(), self.survey(), user("bob"), policy("board")];
        self.pick(&everybody).unwrap()
    }

    fn report(&mut self) {
        let Some(life) = self.life() else { return };
        let who = self.reporter();
        let delivery = self.pick(&["durably-received", "receiver-notified", "checkpoint-offered"]).unwrap();
        let params =
            with(named(&incarnation_of(&life.sender), &life.message), json!({"expectedRevision": life.revision}));
        self.call(&who, "messages.recordDelivery", with(params, json!({ "delivery": delivery })));
    }

    fn tell(&mut self) {
        let accepted = |life: &Life| life.decision.was_accepted();
        let lives: Vec<Life> = self.world.lives().into_iter().filter(accepted).collect();
        let Some(life) = self.pick(&lives) else { return };
        let who = self.reporter();
        let params =
            with(named(&incarnation_of(&life.sender), &life.message), json!({"expectedRevision": life.revision}));
        if life.intent != "interrupt" || self.below(4) == 0 {
            let outcome = self.pick(&["effect-observed", "failed"]).unwrap();
            let told = json!({"outcome": outcome, "evidenceRefs": ["log:1"]});
            return self.call(&who, "messages.recordOutcome", with(params, told));
        }
        let (at, state) = ("2026-06-01T08:00:00Z", self.pick(&["requested", "not-running"]).unwrap());
        let none = json!({"enumeration": "unavailable", "targets": []});
        let result = json!({
            "specVersion": "0.0-draft", "interruptionId": "int_walk-0001", "messageId": life.message,
            "receiver": {"taskId": life.receiver.task, "incarnationId": life.receiver.incarnation}, "requestedAt": at,
            "updatedAt": at, "results": {
                "modelTurn": {"targetId": "turn-1", "state": state, "observedAt": at}, "toolCalls": none,
                "subprocesses": none,
            },
        });
        self.call(&who, "messages.recordInterruptionResult", with(params, json!({ "result": result })));
    }

    /// Bridge passes on to tower, and survey sends some more together.
    fn pass_on(&mut self) {
        let (survey, bridge) = (self.survey(), self.bridge());
        self.messages += 2;
        let names = [self.messages - 1, self.messages].map(|number| format!("msg_walk-{number:04}"));
        if self.below(2) == 0 {
            let now = self.world.now;
            let envelopes = names.map(|name| message(now, &survey, &bridge, &name, "suggest")["envelope"].clone());
            return self.call(&survey, "messages.sendBatch", json!({ "envelopes": envelopes }));
        }
        let Some(life) = self.life() else { return };
        let original = named(&incarnation_of(&life.sender), &life.message);
        let mut params = message(self.world.now, &bridge, &task("carol", "tower"), &names[0], "notify");
        let envelope = &mut params["envelope"];
        envelope["expiresAt"] = crate::time::format(life.expires).into();
        envelope["causality"] = json!({"parentMessageId": life.message});
        self.call(&bridge, "messages.forward", with(params, json!({ "original": original })));
    }

    fn handle(&mut self) {
        let Some(life) = self.life() else { return };
        let (survey, who) = (incarnation_of(&life.sender), self.receiver());
        let params = with(named(&survey, &life.message), json!({"expectedRevision": life.revision}));
        let words =
            ["accepted", "accepted", "accepted", "rejected", "deferred", "stale", "expired", "unsupported", "revoked"];
        let decision = self.pick(&words).unwrap();
        match self.below(6) {
            0 => self.call(&who, "messages.respond", with(params, json!({ "decision": decision }))),
            1 => self.call(&who, "messages.failDelivery", with(params, json!({"failureReason": "no harness"}))),
            2 => self.call(&who, "mailbox.listPending", json!({"receiver": reference(&who)})),
            _ => {
                self.call(&who, "mailbox.claim", params.clone());
                let token = self.world.life(&life.message).claim.map(|claim| claim.token).unwrap_or_default();
                if crate::digest::is_digest(&token) {
                    let decision = if matches!(decision, "rejected" | "deferred") { decision } else { "accepted" };
                    let ack = with(params, json!({"claimToken": token}));
                    match self.below(4) {
                        0 => self.call(&who, "adapter.acceptAndBegin", ack),
                        _ => self.call(&who, "mailbox.ack", with(ack, json!({ "decision": decision }))),
                    }
                }
            }
        }
    }

    fn submit(&mut self) {
        let accepted = |life: &Life| life.decision.name() == "accepted";
        let lives: Vec<Life> = self.world.lives().into_iter().filter(accepted).collect();
        let Some(life) = self.pick(&lives) else { return };
        let (survey, who) = (incarnation_of(&life.sender), self.receiver());
        let params = with(named(&survey, &life.message), json!({"expectedRevision": life.revision}));
        self.call(&who, "adapter.prepareSubmission", params);
        if let Some(attempt) = self.world.life(&life.message).attempt.filter(|_| self.below(3) > 0) {
            let params = json!({"submissionId": attempt.id, "expectedRevision": attempt.disposition_revision});
            self.call(&who, "adapter.beginSubmission", params);
        }
    }

    fn admit(&mut self) {
        let accepted = |life: &Life| life.decision.name() == "accepted" && life.intent == "suggest";
        let lives: Vec<Life> = self.world.lives().into_iter().filter(accepted).collect();
        let open: Vec<Life> = lives.iter().filter(|life| life.admission.is_some()).cloned().collect();
        let Some(life) = self.pick(if open.is_empty() { &lives } else { &open }) else { return };
        let (survey, who) = (incarnation_of(&life.sender), self.receiver());
        let params = with(named(&survey, &life.message), json!({"expectedRevision": life.revision}));
        let Some(admission) = life.admission else {
            let read = with(params.clone(), json!({"session": "mcp-1", "toolCallId": "call-1"}));
            return match self.below(3) {
                0 => self.call(&who, "adapter.admitContext", read),
                _ => self.call(&who, "adapter.prepareContextAdmission", params),
            };
        };
        let evidence = json!({
            "kind": "mcp-session", "nonce": admission.nonce, "renderingDigest": admission.digest,
            "renderingBytes": admission.bytes, "session": admission.session, "toolCallId": "call-1",
        });
        if self.below(2) == 0 {
            let confirm = json!({"admissionToken": admission.token, "evidence": evidence});
            return self.call(&who, "adapter.confirmContextAdmission", with(params, confirm));
        }
        let everybody = [self.bridge(), self.bridge(), operator(), self.survey(), user("bob"), policy("board")];
        let who = self.pick(&everybody).unwrap();
        let resolution = self.pick(&["confirmed-admitted", "confirmed-not-admitted", "corrupt-delivery"]).unwrap();
        let mut recovery = json!({ "resolution": resolution });
        if resolution == "confirmed-admitted" {
            recovery["evidence"] = evidence;
        }
        self.call(&who, "adapter.recoverContextAdmission", with(params, recovery));
    }

    /// Purges what is over, or says how emptying the store went.
    fn purge(&mut self) {
        let Some(purge) = self.scrubs.pop() else {
            let before = json!({"before": crate::time::format(self.world.now), "limit": 3});
            return self.call(&policy("board"), "maintenance.purgeContent", before);
        };
        if self.below(3) == 0 {
            let busy = json!({"purgeId": purge, "result": "busy", "reason": "log-held"});
            self.call(&host(), "maintenance.recordScrub", busy);
            return self.scrubs.push(purge);
        }
        self.call(&host(), "maintenance.recordScrub", json!({"purgeId": purge, "result": "done"}));
    }

    fn resolve(&mut self) {
        let tried = |life: &Life| life.attempt.is_some();
        let lives: Vec<Life> = self.world.lives().into_iter().filter(tried).collect();
        let Some(life) = self.pick(&lives) else { return };
        let attempts: Vec<_> = life.attempt.iter().chain(&life.past).map(|attempt| attempt.id.clone()).collect();
        let id = self.pick(&attempts).unwrap();
        let everybody = [host(), operator(), self.bridge(), self.survey(), user("bob"), user("alice"), policy("board")];
        let who = self.pick(&everybody).unwrap();
        let receipt = json!({"adapterOperationId": "turn-1", "acceptedAt": "2026-06-01T08:00:01Z"});
        let base = json!({"submissionId": id});
        let revised = with(base.clone(), json!({"expectedRevision": life.revision}));
        match self.below(3) {
            0 => self.call(&who, "adapter.recordReceipt", with(revised, json!({ "receipt": receipt }))),
            1 => {
                let words = ["confirmed-submitted", "confirmed-not-submitted", "manual-required"];
                let resolution = self.pick(&words).unwrap();
                let mut how = json!({"resolution": resolution, "evidenceRefs": ["log:1"]});
                if resolution == "confirmed-submitted" {
                    how["receipt"] = receipt;
                }
                self.call(&who, "adapter.reconcileSubmission", with(revised, json!({ "reconciliation": how })));
            }
            _ => {
                let words = ["found", "absent-final", "absent-now", "unanswerable", "not-submitted"];
                let result = self.pick(&words).unwrap();
                let mut query = with(base, json!({"result": result, "evidenceRefs": ["log:1"]}));
                if result == "found" {
                    query["receipt"] = receipt;
                }
                self.call(&host(), "adapter.recordQuery", query);
            }
        }
    }

    fn authority(&mut self) {
        let (survey, bridge) = (self.survey(), self.bridge());
        if self.below(2) == 0 {
            self.version += 1;
            let kind = self.pick(&["supervisor", "supervisor", "peer"]).unwrap();
            self.call(&policy("board"), "relationships.grant", grant(&survey, &bridge, kind, self.version));
        } else {
            let who = self.pick(&[policy("board"), user("bob"), user("alice")]).unwrap();
            let version = self.version;
            let grant = json!({"grantId": format!("grant_survey-bridge-{version}"), "expectedGrantVersion": version});
            self.call(&who, "relationships.revoke", grant);
        }
    }

    fn task(&mut self) {
        let (old, bridge) = if self.below(2) == 0 { (self.survey(), false) } else { (self.bridge(), true) };
        let owner = user(if bridge { "bob" } else { "alice" });
        let get = self.world.call(&owner, "tasks.get", json!({"task": reference(&old)})).ok();
        let revised = json!({"task": reference(&old), "expectedRevision": get["revision"]});
        match self.below(5) {
            0 => {
                let number = if bridge { &mut self.bridge } else { &mut self.survey };
                *number += 1;
                let next = incarnation(&owner.id, &old.id, *number);
                let mut params = json!({"previous": reference(&old), "expectedRevision": get["revision"]});
                params["next"] = registration(&next)["task"].clone();
                self.call(&owner, "tasks.rotateIncarnation", params);
            }
            1 | 2 => {
                let run = format!("run-{}", 1 + self.below(2));
                self.call(&old, "tasks.updateRuntime", with(revised, json!({"runtime": {"runId": run}})));
            }
            3 => {
                let session = format!("session-{}", self.below(9));
                let reference = json!({"kind": "codex", "session": session});
                self.call(&old, "tasks.attach", with(revised, json!({ "adapterRef": reference })));
            }
            _ => {
                let digest = crate::digest::sha256_text(&[self.below(9) as u8]);
                let hosted = if self.below(3) == 0 { "caller" } else { "host" };
                let declared = with(admitting(hosted), json!({ "digest": digest }));
                self.call(&operator(), "adapters.declare", declared);
            }
        }
    }

    /// Ends everything: time passes, the operator says what became of the attempts, a policy sweeps.
    fn end(&mut self) {
        self.world.now += 40_000_000;
        for life in self.world.lives() {
            let Some(attempt) = life.attempt.as_ref().filter(|attempt| attempt.unresolved()) else { continue };
            let params = json!({"submissionId": attempt.id, "expectedRevision": life.revision,
                "reconciliation": {"resolution": "confirmed-not-submitted", "evidenceRefs": ["log:1"]}});
            self.world.call(&operator(), "adapter.reconcileSubmission", params).ok();
        }
        for life in self.world.lives().into_iter().filter(|life| life.admission.is_some()) {
            let named = named(&incarnation_of(&life.sender), &life.message);
            let params = json!({"expectedRevision": life.revision, "resolution": "confirmed-not-admitted"});
            self.world.call(&operator(), "adapter.recoverContextAdmission", with(named, params)).ok();
        }
        self.world.call(&policy("board"), "maintenance.expireDue", json!({"limit": 1000})).ok();
        for life in self.world.lives() {
            assert!(life.delivery.terminal() && !life.unresolved(), "stuck: {life:?}");
            assert!(life.pending_relabel.is_none(), "a label waits for nothing: {life:?}");
        }
        let before = json!({"before": crate::time::format(self.world.now)});
        while self.world.call(&policy("board"), "maintenance.purgeContent", before.clone()).ok()["hasMore"] == true {}
        let told = |text: &str| text.contains("pier") || text.contains("flooded");
        assert!(self.world.rows("message").iter().all(|row| !told(&row.body)), "a purge leaves content");
        self.world.check();
        assert!(self.world.rows("audit").iter().all(|row| !row.body.contains("pier") && !row.body.contains("flooded")));
    }
}

/// A profile that can do everything, and gives evidence of what it shows.
fn admitting(executor: &str) -> Value {
    let mut declared = with(profile("codex", executor), json!({"contextAdmission": {"evidence": "mcp-session"}}));
    declared["capabilities"]["features"]["contextAdmission"] = "native".into();
    declared
}

fn incarnation_of(party: &crate::kernel::records::Party) -> Principal {
    Principal { incarnation: Some(party.incarnation.clone()), ..task("alice", &party.task) }
}

#[test]
fn every_walk_ends_well() {
    let mut done = BTreeMap::<String, u32>::new();
    for seed in 0..90 {
        let mut walk = Walk::new(seed);
        for _ in 0..80 {
            walk.step();
            walk.world.check();
        }
        walk.end();
        for (operation, count) in walk.done {
            *done.entry(operation).or_default() += count;
        }
    }
    // A walk that never gets anywhere shows nothing.
    for operation in [
        "adapter.acceptAndBegin",
        "adapter.admitContext",
        "adapter.confirmContextAdmission",
        "adapter.prepareContextAdmission",
        "adapter.recoverContextAdmission",
        "adapter.beginSubmission",
        "adapter.recordQuery",
        "adapter.recordReceipt",
        "adapter.reconcileSubmission",
        "mailbox.ack",
        "maintenance.expireDue",
        "maintenance.purgeContent",
        "maintenance.recordScrub",
        "messages.failDelivery",
        "messages.forward",
        "messages.recordDelivery",
        "messages.recordInterruptionResult",
        "messages.recordOutcome",
        "messages.respond",
        "messages.sendBatch",
        "relationships.revoke",
        "tasks.rotateIncarnation",
        "tasks.updateRuntime",
    ] {
        assert!(done.get(operation).is_some_and(|count| *count >= 5), "{operation}: {done:?}");
    }
}
