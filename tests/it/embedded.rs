//! A host in this process, with tasks of a few owners.

use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};
use threadmesh_native::NativeCore;
use threadmesh_runtime::host::Clock;
use threadmesh_runtime::store::Store;
use threadmesh_runtime::wit::{Operation, Principal, PrincipalKind, Status};
use threadmesh_runtime::{Core, Host};

/// Whether an operation never writes, and so takes no idempotency key.
pub fn read_only(method: &str) -> bool {
    static READS: LazyLock<Vec<Operation>> =
        LazyLock::new(|| NativeCore.session().and_then(|mut session| session.operations()).expect("the operations"));
    READS.iter().any(|operation| operation.name == method && operation.read_only)
}

/// 2026-05-04T08:00:00Z, always.
struct Still;

impl Clock for Still {
    fn wall_ms(&self) -> i64 {
        1_777_881_600_000
    }

    fn steady_ms(&self) -> i64 {
        0
    }
}

/// A host on a store of one's own.
pub struct Mesh {
    host: Host,
    calls: usize,
}

/// Somebody who is no task.
pub fn principal(kind: PrincipalKind, id: &str) -> Principal {
    Principal {
        tenant: "default".into(),
        kind,
        id: id.into(),
        incarnation: None,
        owner: None,
        worker: None,
        authentication: "authn_embedded".into(),
    }
}

fn task(owner: &str, id: &str) -> Principal {
    Principal {
        incarnation: Some(format!("inc_{id}-0001")),
        owner: Some(format!("user:{owner}")),
        ..principal(PrincipalKind::Task, id)
    }
}

/// How params name a task.
pub fn reference(task: &Principal) -> Value {
    json!({"taskId": task.id, "incarnationId": task.incarnation})
}

/// The message `message` of the pair `number`, as params name it.
pub fn message(number: usize, message: usize) -> Value {
    json!({
        "senderIncarnationId": format!("inc_source-{number}-0001"),
        "messageId": format!("msg_pair-{number:04}-{message:06}"),
    })
}

/// The params of a grant between the tasks of the pair `number`.
pub fn grant(number: usize, ends: &(Principal, Principal)) -> Value {
    let draft = json!({
        "specVersion": "0.0-draft", "grantId": format!("grant_pair-{number:04}"), "grantVersion": 1,
        "relationshipId": format!("rel_pair-{number:04}"), "relationshipType": "peer",
        "source": reference(&ends.0), "target": reference(&ends.1), "allowedIntents": ["suggest"],
        "allowedDeliveryModes": ["checkpoint-offer"], "summaryVisibility": "none",
        "structuredGateResponses": false, "createdAt": "2026-01-01T00:00:00Z",
    });
    json!({"grant": draft, "decision": {"decisionId": "decision_embedded"}})
}

impl Mesh {
    /// On `store`, with the rules linked in and a clock that stands still.
    pub fn over(store: Arc<dyn Store>) -> Self {
        let host = Host::builder(Arc::new(NativeCore), store).clock(Still).build().expect("a host");
        Self { host, calls: 0 }
    }

    /// The host itself.
    pub fn host(&self) -> Host {
        self.host.clone()
    }

    /// The value of a call that must not be refused. A keyed operation without a key gets one of its own.
    pub fn call(&mut self, who: &Principal, method: &str, mut params: Value) -> Value {
        self.calls += 1;
        if !read_only(method) && params.get("idempotencyKey").is_none() {
            params["idempotencyKey"] = format!("idem_call-{:06}", self.calls).into();
        }
        let reply = self.host.call(Some(who), method, &params.to_string()).expect("an answer");
        assert_ne!(reply.status, Status::Refused, "{method}: {}", reply.body);
        let answer: Value = serde_json::from_str(&reply.body).expect("JSON");
        answer["value"].clone()
    }

    /// Two tasks of `owner` with a grant between them.
    pub fn pair(&mut self, owner: &str, number: usize) -> (Principal, Principal) {
        let ends = (task(owner, &format!("source-{number}")), task(owner, &format!("target-{number}")));
        let user = principal(PrincipalKind::User, owner);
        for task in [&ends.0, &ends.1] {
            let input = json!({
                "taskId": task.id, "incarnationId": task.incarnation, "harness": "test",
                "adapterRef": {"kind": "loop", "session": "session-1"},
            });
            self.call(&user, "tasks.register", json!({"task": input}));
        }
        self.call(&user, "relationships.grant", grant(number, &ends));
        ends
    }

    /// The first of the pair `number` sends a suggestion, to live for a day.
    pub fn send(&mut self, ends: &(Principal, Principal), number: usize, message: usize) {
        let envelope = json!({
            "specVersion": "0.0-draft", "messageId": format!("msg_pair-{number:04}-{message:06}"),
            "messageType": "suggestion", "intent": "suggest", "claimStatus": "unverified",
            "sender": {"taskId": ends.0.id, "incarnationId": ends.0.incarnation, "actorType": "agent", "harness": "test"},
            "target": reference(&ends.1), "relationshipId": format!("rel_pair-{number:04}"),
            "content": "Use the shared cache.", "reason": "It saves an hour.",
            "delivery": {"requestedMode": "checkpoint-offer", "requiresDisposition": true},
            "createdAt": "2026-05-04T08:00:00Z", "expiresAt": "2026-05-05T08:00:00Z",
        });
        self.call(&ends.0, "messages.send", json!({"envelope": envelope}));
    }
}
