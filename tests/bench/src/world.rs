//! Principals, documents and a host on a fresh SQLite file.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use threadmesh_runtime::wit::{Principal, PrincipalKind, Status};
use threadmesh_runtime::{Core, Host, Reply, WasmCore};
use threadmesh_store_sqlite::{Options, SqliteStore};

/// A sender and a receiver with a grant between them.
pub struct Pair {
    /// Who sends.
    pub sender: Principal,
    /// Who receives.
    pub receiver: Principal,
    relationship: String,
}

/// How stores are opened: as in production, but for what `THREADMESH_BENCH_STORE` says (`journal=2000,cache=16384`: pages
/// of a half of the journal, KiB of pages; `log`: pages that may wait; `beside=0`: commits carry the log over).
pub fn options() -> Options {
    let mut options = Options::default();
    for part in std::env::var("THREADMESH_BENCH_STORE").unwrap_or_default().split(',') {
        let Some((name, Ok(value))) = part.split_once('=').map(|(name, value)| (name, value.parse())) else { continue };
        match name {
            "journal" => options.journal_pages = value,
            "cache" => options.cache_kib = value,
            "log" => options.checkpoint_pages = value,
            "beside" => options.checkpoint_beside = value > 0,
            _ => {}
        }
    }
    options
}

/// A host on a new database in `directory`.
pub fn host(directory: &Path, options: Options) -> Result<Host> {
    let store = SqliteStore::open(directory.join("bench.db"), options)?;
    let core: Arc<dyn Core> = Arc::new(WasmCore::new()?);
    Ok(Host::builder(core, Arc::new(store)).instance("bench").build()?)
}

fn principal(kind: PrincipalKind, id: &str) -> Principal {
    Principal {
        tenant: "default".into(),
        kind,
        id: id.into(),
        incarnation: None,
        owner: None,
        worker: None,
        authentication: "authn_bench0".into(),
    }
}

/// The user that owns every task.
pub fn owner() -> Principal {
    principal(PrincipalKind::User, "bench")
}

/// The host itself.
pub fn host_principal() -> Principal {
    principal(PrincipalKind::Host, "bench")
}

fn task(id: &str) -> Principal {
    Principal {
        incarnation: Some(format!("inc_{id}-0001")),
        owner: Some("user:bench".into()),
        worker: Some("worker".into()),
        ..principal(PrincipalKind::Task, id)
    }
}

fn reference(task: &Principal) -> Value {
    json!({"taskId": task.id, "incarnationId": task.incarnation})
}

/// Runs an operation that must be accepted; the value of its answer.
pub fn done(host: &Host, who: &Principal, operation: &str, params: &Value) -> Result<Value> {
    let reply = host.call(Some(who), operation, &params.to_string())?;
    value(operation, &reply)
}

/// The value of an accepted answer.
pub fn value(operation: &str, reply: &Reply) -> Result<Value> {
    ensure!(reply.status == Status::Accepted, "{operation}: {}", reply.body);
    let body: Value = serde_json::from_str(&reply.body)?;
    Ok(body["value"]["value"].clone())
}

/// Declares the profile that receivers use.
pub fn declare(host: &Host) -> Result<()> {
    let features = json!({
        "relatedTaskDiscovery": "none", "taskIncarnation": true, "objectiveVersioning": false,
        "checkpointEvents": true, "idleWake": false, "modelTurnCancellation": false,
        "subprocessCancellation": false, "dispositionCallbacks": false, "typedInterruptionResults": false,
        "contextAdmission": "none", "provenanceRendering": "none", "structuredGateResponses": "none",
        "durableSubmissionIdempotency": "queryable-receipt",
    });
    let params = json!({
        "profile": "stub", "digest": format!("sha256:{}", "0".repeat(64)), "executor": "host",
        "capabilities": {
            "specVersion": "0.0-draft", "adapterName": "stub", "adapterVersion": "1",
            "intents": ["suggest"], "deliveryModes": ["checkpoint-offer"], "features": features,
        },
        "deadlineMs": 60000, "settleMs": 0, "canQuery": false, "absentFinal": false,
        "idempotencyKey": "idem_declare",
    });
    done(host, &host_principal(), "adapters.declare", &params).map(|_| ())
}

/// Registers pair `number` and grants its relationship.
pub fn pair(host: &Host, number: usize) -> Result<Pair> {
    let receiver = task(&format!("target-{number:06}"));
    register(host, &receiver)?;
    to(host, number, receiver)
}

/// So many senders with grants to one receiver.
pub fn to_one(host: &Host, senders: usize) -> Result<Vec<Pair>> {
    let receiver = task("target-shared");
    register(host, &receiver)?;
    (0..senders).map(|number| to(host, number, receiver.clone())).collect()
}

/// Registers sender `number` and grants its relationship to `receiver`.
fn to(host: &Host, number: usize, receiver: Principal) -> Result<Pair> {
    let sender = task(&format!("source-{number:06}"));
    register(host, &sender)?;
    let relationship = format!("rel_pair-{number:06}");
    let params = json!({
        "grant": {
            "specVersion": "0.0-draft", "grantId": format!("grant_pair-{number:06}"), "grantVersion": 1,
            "relationshipId": relationship, "relationshipType": "peer",
            "source": reference(&sender), "target": reference(&receiver),
            "allowedIntents": ["suggest"], "allowedDeliveryModes": ["checkpoint-offer"],
            "summaryVisibility": "none", "structuredGateResponses": false, "createdAt": "2026-01-01T00:00:00Z",
        },
        "decision": {"decisionId": "decision_00001"},
        "idempotencyKey": format!("idem_grant-{number:06}"),
    });
    done(host, &owner(), "relationships.grant", &params)?;
    Ok(Pair { sender, receiver, relationship })
}

fn register(host: &Host, task: &Principal) -> Result<()> {
    let params = json!({
        "task": {"taskId": task.id, "incarnationId": task.incarnation, "harness": "bench",
            "adapterRef": {"kind": "stub"}},
        "idempotencyKey": format!("idem_register-{}", task.id),
    });
    done(host, &owner(), "tasks.register", &params).map(|_| ())
}

/// A pair that is registered nowhere.
pub fn sample() -> Pair {
    Pair { sender: task("source-1"), receiver: task("target-1"), relationship: "rel_pair-1".into() }
}

impl Pair {
    /// Params of a send with 400 bytes of content.
    pub fn message(&self, now: &str, expires: &str, number: usize) -> String {
        json!({
            "envelope": {
                "specVersion": "0.0-draft", "messageId": format!("msg_{}-{number:08}", self.sender.id),
                "messageType": "suggestion", "intent": "suggest", "claimStatus": "sender-asserted",
                "sender": {"taskId": self.sender.id, "incarnationId": self.sender.incarnation,
                    "actorType": "agent", "harness": "bench"},
                "target": reference(&self.receiver), "relationshipId": self.relationship,
                "content": "x".repeat(400), "reason": "a measurement",
                "delivery": {"requestedMode": "checkpoint-offer", "requiresDisposition": true},
                "createdAt": now, "expiresAt": expires,
            },
            "idempotencyKey": format!("idem_send-{}-{number:08}", self.sender.id),
        })
        .to_string()
    }

    fn named(&self, number: usize, what: &str) -> Value {
        json!({
            "senderIncarnationId": self.sender.incarnation,
            "messageId": format!("msg_{}-{number:08}", self.sender.id),
            "expectedRevision": 0,
            "idempotencyKey": format!("idem_{what}-{}-{number:08}", self.sender.id),
        })
    }

    /// Claims message `number`; the token.
    pub fn claim(&self, host: &Host, number: usize) -> Result<String> {
        let claimed = done(host, &self.receiver, "mailbox.claim", &self.named(number, "claim"))?;
        Ok(claimed["claimToken"].as_str().context("a token")?.to_owned())
    }

    /// Accepts the claimed message.
    pub fn ack(&self, host: &Host, number: usize, token: &str) -> Result<()> {
        let mut params = self.named(number, "ack");
        params["claimToken"] = token.into();
        params["decision"] = "accepted".into();
        done(host, &self.receiver, "mailbox.ack", &params).map(|_| ())
    }

    /// Asks once how the sender's messages are.
    pub fn wait(&self, host: &Host) -> Result<()> {
        done(host, &self.sender, "tasks.wait", &json!({"task": reference(&self.sender)})).map(|_| ())
    }

    /// The first page of the receiver's mailbox.
    pub fn list(&self, host: &Host) -> Result<()> {
        done(host, &self.receiver, "mailbox.listPending", &json!({"receiver": reference(&self.receiver)})).map(|_| ())
    }

    /// Accepts, prepares and begins in one commit; the submission.
    pub fn begin(&self, host: &Host, number: usize, token: &str) -> Result<String> {
        let mut params = self.named(number, "begin");
        params["claimToken"] = token.into();
        let reply = host.call(Some(&self.receiver), "adapter.acceptAndBegin", &params.to_string())?;
        ensure!(reply.calls.len() == 1, "one call: {}", reply.body);
        let begun = value("adapter.acceptAndBegin", &reply)?;
        Ok(begun["submission"]["submissionId"].as_str().context("a submission")?.to_owned())
    }

    /// Records the stub's receipt.
    pub fn receipt(&self, host: &Host, submission: &str) -> Result<()> {
        let params = json!({
            "submissionId": submission, "expectedRevision": 1,
            "receipt": {"adapterOperationId": format!("operation-{submission}"),
                "acceptedAt": "2026-01-01T00:00:00Z", "evidenceRefs": ["stub:receipt"]},
            "idempotencyKey": format!("idem_receipt-{submission}"),
        });
        done(host, &host_principal(), "adapter.recordReceipt", &params).map(|_| ())
    }
}
