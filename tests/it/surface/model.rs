//! A small model of the world behind a server: who there is, what was sent, and at which revisions it stands. It is fed by
//! the answers, so that requests made from it are often ones that the rules take.

mod learn;

use super::documents;
use super::schema::Schemas;
use crate::differential::logs::Random;
use crate::program::world::time_from_now;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Tasks that have a token.
pub const TASKS: usize = 8;

/// Profiles of adapters: one submits, one shows messages to a model.
const PROFILES: [&str; 2] = ["pull", "reader"];

/// A call, and whose token goes with it.
#[derive(Clone, Debug)]
pub struct Made {
    /// The name of the token.
    pub who: String,
    /// The method.
    pub method: String,
    /// Its params.
    pub params: Value,
}

struct Message {
    envelope: Value,
    revision: u64,
    claim: Value,
    submission: Value,
    /// The answer that prepared an admission.
    admission: Value,
}

/// What is known.
pub struct Model {
    schemas: Schemas,
    methods: Vec<String>,
    /// Answers to task operations: the task as it stood.
    tasks: Vec<Value>,
    grants: Vec<Value>,
    messages: VecDeque<Message>,
    proposals: VecDeque<Value>,
    summaries: Vec<(Value, u64)>,
    keys: VecDeque<Value>,
    /// Read cursors stay small: streams are long, and what is at their beginning is as good as anything.
    made: u64,
    tag: String,
}

/// The reference to a task that has a token.
pub fn reference(task: usize) -> Value {
    json!({"taskId": format!("task-{task}"), "incarnationId": format!("inc_task-000{task}")})
}

fn name(task: &Value) -> String {
    task["taskId"].as_str().unwrap_or_default().to_owned()
}

/// What is chosen for one call, so that its params belong together.
struct Choice {
    message: Option<usize>,
    task: usize,
    grant: usize,
    loose: bool,
}

impl Model {
    /// A world in which nothing has happened. `tag` goes into every new id.
    pub fn new(tag: &str) -> Self {
        let schemas = Schemas::load();
        let mut methods = schemas.methods();
        // Also more grants than are revoked: without any, nothing else goes.
        for (method, more) in [
            ("messages.send", 8),
            ("mailbox.claim", 5),
            ("mailbox.ack", 4),
            ("messages.respond", 3),
            ("relationships.grant", 2),
        ] {
            methods.extend(std::iter::repeat_n(method.to_owned(), more));
        }
        Model {
            schemas,
            methods,
            tasks: Vec::new(),
            grants: Vec::new(),
            messages: VecDeque::new(),
            proposals: VecDeque::new(),
            summaries: Vec::new(),
            keys: VecDeque::new(),
            made: 0,
            tag: tag.to_owned(),
        }
    }

    /// The calls that begin a world: a profile, the tasks, and grants in a ring.
    pub fn beginning(&mut self, random: &mut Random) -> Vec<Made> {
        let mut calls: Vec<Made> = PROFILES.into_iter().map(|profile| self.declaration(profile)).collect();
        for task in 0..TASKS {
            let mut input = reference(task);
            (input["harness"], input["runtime"]) = ("test".into(), json!({"objectiveVersion": 1}));
            if task % 2 == 0 {
                input["adapterRef"] = json!({"kind": PROFILES[task / 2 % 2], "session": "one"});
            }
            let params = json!({"task": input, "idempotencyKey": self.fresh("idem")});
            calls.push(Made { who: "alice".into(), method: "tasks.register".into(), params });
        }
        for task in 0..TASKS {
            let (grant, relationship) = (self.fresh("grant"), self.fresh("rel"));
            let grant =
                documents::grant(&grant, &relationship, &reference(task), &reference((task + 1) % TASKS), random);
            let decision = json!({"decisionId": self.fresh("decision")});
            let params = json!({"grant": grant, "decision": decision, "idempotencyKey": self.fresh("idem")});
            calls.push(Made { who: "alice".into(), method: "relationships.grant".into(), params });
        }
        calls
    }

    fn declaration(&mut self, profile: &str) -> Made {
        let mut params = json!({
            "profile": profile, "digest": format!("sha256:{:064}", 1), "executor": "caller",
            "capabilities": documents::capabilities(profile), "deadlineMs": 1000, "settleMs": 0,
            "canQuery": false, "absentFinal": false, "idempotencyKey": self.fresh("idem"),
        });
        if profile == "reader" {
            params["contextAdmission"] = json!({"evidence": "mcp-session"});
        }
        Made { who: "operator".into(), method: "adapters.declare".into(), params }
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.made += 1;
        format!("{prefix}_{}-{:08}", self.tag, self.made)
    }

    /// A call that the schemas allow.
    pub fn call(&mut self, random: &mut Random) -> Made {
        let method = random.pick(&self.methods).clone();
        // Tasks that have a token keep their incarnation; the others come and go.
        let extra = self.tasks.iter().position(|task| name(task).contains("extra"));
        let choice = Choice {
            message: (!self.messages.is_empty()).then(|| random.below(self.messages.len())),
            task: match extra.filter(|_| method == "tasks.rotateIncarnation") {
                Some(extra) => extra,
                None => random.below(self.tasks.len().max(1)),
            },
            grant: random.below(self.grants.len().max(1)),
            loose: random.once_in(12),
        };
        let who = if choice.loose { self.anybody(random) } else { self.caller(&method, &choice) };
        let schemas = std::mem::replace(&mut self.schemas, Schemas::none());
        let mut pool =
            |member: &str, name: &str, random: &mut Random| self.known(&method, &choice, member, name, random);
        let mut params = schemas.params(&method, random, &mut pool);
        self.schemas = schemas;
        coherent(&mut params);
        Made { who, method, params }
    }

    fn anybody(&self, random: &mut Random) -> String {
        match random.below(TASKS + 3) {
            task if task < TASKS => format!("task-{task}"),
            other => ["alice", "operator", "stranger"][other - TASKS].to_owned(),
        }
    }

    /// Who may make such a call, most likely.
    fn caller(&self, method: &str, choice: &Choice) -> String {
        let grant = self.grants.get(choice.grant);
        let message = choice.message.map(|at| &self.messages[at].envelope);
        let end = |document: Option<&Value>, end: &str| document.map(|document| name(&document[end]));
        let found = match method {
            "adapters.declare" | "anchors.declare" | "maintenance.expireDue" | "maintenance.purgeContent" => {
                Some("operator".to_owned())
            }
            "messages.send" | "messages.sendBatch" | "relationships.propose" | "tasks.getSummary" => {
                end(grant, "source")
            }
            "tasks.publishSummary" | "relationships.consent" => end(grant, "target"),
            "relationships.withdrawProposal" => end(self.proposals.back(), "source"),
            "adapter.reconcileSubmission" => Some("operator".to_owned()),
            _ if method.starts_with("mailbox.listP") => self.tasks.get(choice.task).map(name),
            _ if method.starts_with("tasks.") || method.starts_with("relationships.") => None,
            _ => end(message, "target"),
        };
        // Tasks without a token act through their owner.
        found.filter(|name| !name.contains("extra")).unwrap_or_else(|| "alice".to_owned())
    }

    fn known(&mut self, method: &str, choice: &Choice, member: &str, kind: &str, random: &mut Random) -> Option<Value> {
        match kind {
            "idempotencyKey" => return Some(self.key(random)),
            "envelope" => return self.envelope(method, choice, random),
            "grantDraft" => return Some(self.grant(random)),
            "relationship-proposal" => return Some(self.proposal(choice, random)),
            "task-summary" => return self.summary(choice, random),
            "capabilities" => return Some(documents::capabilities(PROFILES[random.below(2)])),
            "adapterRef" => return Some(json!({"kind": random.pick(&PROFILES), "session": "one"})),
            "contextEvidence" => return Some(self.evidence(choice)),
            "interruption-result" => return self.interruption(choice, random),
            "setting" => return Some(json!({"value": "strict", "order": ["loose", "strict"]})),
            "taskInput" => return Some(self.input(method, choice)),
            "verification-attestation" if random.once_in(2) => return None,
            _ => {}
        }
        if member == "contextAdmission" {
            return Some(json!({"evidence": "mcp-session"}));
        }
        if choice.loose {
            return None;
        }
        self.member(method, choice, member, random)
    }

    /// What belongs at a member, by its name.
    fn member(&mut self, method: &str, choice: &Choice, member: &str, random: &mut Random) -> Option<Value> {
        let task = self.tasks.get(choice.task);
        let grant = self.grants.get(choice.grant);
        let message = choice.message.map(|at| &self.messages[at]);
        let reference = |task: &Value| json!({"taskId": task["taskId"], "incarnationId": task["incarnationId"]});
        match member {
            "senderIncarnationId" => message.map(|message| message.envelope["sender"]["incarnationId"].clone()),
            "messageId" => message.map(|message| message.envelope["messageId"].clone()),
            "admissionToken" => message.map(|message| message.admission[member].clone()).filter(Value::is_string),
            "claimToken" => message.map(|message| message.claim.clone()).filter(Value::is_string),
            "submissionId" => message.map(|message| message.submission.clone()).filter(Value::is_string),
            "expectedRevision" if method.starts_with("tasks.") => task.map(|task| task["revision"].clone()),
            "expectedRevision" => message.map(|message| message.revision.into()),
            "expectedGrantVersion" => grant.map(|grant| grant["grantVersion"].clone()),
            "grantId" => grant.map(|grant| grant["grantId"].clone()),
            "relationshipId" => grant.map(|grant| grant["relationshipId"].clone()),
            "task" if method == "tasks.getSummary" => grant.map(|grant| grant["target"].clone()),
            "previous" if task.is_some_and(|task| !name(task).contains("extra")) => None,
            "task" | "receiver" | "previous" => task.map(reference),
            "expectedPreviousVersion" => {
                let relationship = grant.map(|grant| &grant["relationshipId"]);
                let last = self.summaries.iter().find(|(known, _)| Some(known) == relationship);
                Some(last.map_or(Value::Null, |(_, version)| (*version).into()))
            }
            "proposalId" => self.proposals.back().map(|proposal| proposal["proposalId"].clone()),
            "source" if method.starts_with("relationships.") => {
                self.proposals.back().map(|proposal| proposal["source"].clone())
            }
            "owner" | "sourceOwner" | "targetOwner" if !random.once_in(12) => Some("user:alice".into()),
            "reasonCode" if random.once_in(2) => Some("other".into()),
            "timeoutMs" => Some(random.below(40).into()),
            "mute" => Some(random.once_in(12).into()),
            "objectiveVersion" => {
                task.map(|task| (task["runtime"]["objectiveVersion"].as_u64().unwrap_or(0) + 1).into())
            }
            "notBefore" => Some(time_from_now(200).into()),
            "before" => Some(time_from_now(-60_000).into()),
            "afterCursor" | "afterRevision" => Some(random.below(6).into()),
            _ => None,
        }
    }

    fn key(&mut self, random: &mut Random) -> Value {
        if random.once_in(25) && !self.keys.is_empty() {
            return self.keys[random.below(self.keys.len())].clone();
        }
        let key = Value::from(self.fresh("idem"));
        push(&mut self.keys, key.clone());
        key
    }

    fn envelope(&mut self, method: &str, choice: &Choice, random: &mut Random) -> Option<Value> {
        let id = self.fresh("msg");
        let grant = match method {
            "messages.forward" => {
                let at = &self.messages[choice.message?].envelope["target"];
                self.grants.iter().find(|grant| grant["source"] == *at)?.clone()
            }
            _ => self.grants.get(choice.grant)?.clone(),
        };
        let runtime = self.tasks.iter().find(|task| task["taskId"] == grant["target"]["taskId"]);
        let runtime = runtime.map_or(Value::Null, |task| task["runtime"].clone());
        let forwarded =
            (method == "messages.forward").then(|| self.messages[choice.message.unwrap_or(0)].envelope.clone());
        let parent = forwarded.as_ref().and_then(|original| original["messageId"].as_str());
        let mut envelope = documents::envelope(&id, &grant, &runtime, parent, random);
        if let Some(original) = forwarded {
            for member in [
                "content",
                "evidenceRefs",
                "messageType",
                "claimStatus",
                "expiresAt",
                "intent",
                "delivery",
                "freshness",
            ] {
                match original.get(member) {
                    Some(value) => envelope[member] = value.clone(),
                    None => drop(envelope.as_object_mut().and_then(|envelope| envelope.remove(member))),
                }
            }
        }
        Some(envelope)
    }

    fn grant(&mut self, random: &mut Random) -> Value {
        let (source, target) = (random.below(TASKS), random.below(TASKS - 1));
        let target = if target >= source { target + 1 } else { target };
        let (id, relationship) = (self.fresh("grant"), self.fresh("rel"));
        documents::grant(&id, &relationship, &reference(source), &reference(target), random)
    }

    fn proposal(&mut self, choice: &Choice, random: &mut Random) -> Value {
        let id = self.fresh("proposal");
        let source = self.grants.get(choice.grant).map_or_else(|| reference(0), |grant| grant["source"].clone());
        documents::proposal(&id, &source, &reference(random.below(TASKS)))
    }

    fn summary(&mut self, choice: &Choice, random: &mut Random) -> Option<Value> {
        let id = self.fresh("sum");
        let grant = self.grants.get(choice.grant)?;
        let last = self.summaries.iter().find(|(known, _)| *known == grant["relationshipId"]);
        Some(documents::summary(&id, last.map_or(1, |(_, version)| version + 1), grant, random))
    }

    fn interruption(&mut self, choice: &Choice, random: &mut Random) -> Option<Value> {
        let id = self.fresh("int");
        let envelope = &self.messages[choice.message?].envelope;
        let message = envelope["messageId"].as_str()?;
        Some(documents::interruption(&id, message, &envelope["target"], random))
    }

    /// That a rendering was shown, as the answer that prepared it wants it.
    fn evidence(&self, choice: &Choice) -> Value {
        let admission = choice.message.map_or(&Value::Null, |at| &self.messages[at].admission);
        let (digest, none) = (&admission["rendering"]["digest"], format!("sha256:{:064}", 3));
        json!({
            "kind": "mcp-session",
            "nonce": admission["nonce"].as_str().unwrap_or(&none),
            "renderingDigest": digest.as_str().unwrap_or(&none),
            "renderingBytes": admission["rendering"]["bytes"].as_u64().unwrap_or(1),
            "session": "one", "toolCallId": "call-1",
        })
    }

    fn input(&mut self, method: &str, choice: &Choice) -> Value {
        let incarnation = self.fresh("inc");
        let rotated = self.tasks.get(choice.task).filter(|_| method == "tasks.rotateIncarnation");
        let task = rotated.map_or_else(|| format!("extra-{}", self.made), name);
        json!({"taskId": task, "incarnationId": incarnation, "harness": "test"})
    }
}

/// Params that only go with some value of another one: the rules say more than the schemas here.
fn coherent(params: &mut Value) {
    let proven = params["verificationAttestations"].is_array();
    if params["outcome"].is_string() && proven != (params["outcome"] == "externally-verified") {
        params["outcome"] = if proven { "externally-verified" } else { "failed" }.into();
    }
    if params["decision"].is_string() && params["decision"] != "deferred" {
        params.as_object_mut().expect("params").remove("notBefore");
    }
}

/// Keeps the newest.
fn push<T>(items: &mut VecDeque<T>, item: T) {
    items.push_back(item);
    if items.len() > 48 {
        items.pop_front();
    }
}
