//! An event whose truth the host looks at outside, from end to end: a real server, a real service with a file of its own,
//! and somebody who waits for the state.

use crate::program::{Client, Server, world::World};
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};
use threadmesh_services::Deployments;

const SUBJECT: &str = "deployment.endpoint";
const TRAJECTORY: &str = "project:migration";

/// Two threads of alice's, a capability between them, and a check of the subject at a service of our own.
struct Scene {
    world: World,
    service: Deployments,
    _server: Server,
}

impl Scene {
    fn new() -> Self {
        let world = World::new();
        let service = Deployments::start(&world.rig.path("deployments.db"), "127.0.0.1:0").expect("a service");
        let section = "[resolver.deployments]\nkind = \"http\"\nproducers = [\"deployer\"]\n";
        let file = world.rig.write("profiles.toml", format!("{section}origin = {:?}\n", service.origin()));
        fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("a mode");
        let server = world.rig.serve(&["--db", "mesh.db", "--profiles", "profiles.toml"]);
        let scene = Scene { world, service, _server: server };
        scene.set_up();
        scene
    }

    fn client(&self, name: &str) -> Client {
        Client::authenticated(&self.world.rig.path("mesh.db.run/socket"), &self.world.token(name))
    }

    fn set_up(&self) {
        let mut alice = self.client("alice");
        let mut revision = Value::Null;
        for (thread, incarnation) in [("plan-1", "inc_plan_0001"), ("build-1", "inc_build_0001")] {
            let thread = json!({
                "threadId": thread, "incarnationId": incarnation, "agentId": format!("agent-{thread}"), "role": "worker",
                "continuationId": format!("{thread}-04"), "reception": "standing",
            });
            revision = value(&mut alice, "threads.register", json!({"thread": thread}))["revision"].clone();
        }
        let check = json!({
            "subject": SUBJECT, "resolver": "deployments", "address": "/deployments/web",
            "answer": "/state/endpoint", "payload": "/value",
        });
        let change = json!({"threadId": "build-1", "expectedRevision": revision, "change": {"checks": [check]}});
        value(&mut alice, "threads.configure", change);
        let capability = json!({
            "capability": "send_message_to_thread", "source_thread": "plan-1", "target_thread": "build-1",
            "allowed_event_types": ["STATE_UPDATE"],
            "max_authority": {"may_inform": true, "may_request_action": true, "may_authorize_execution": false},
        });
        value(&mut alice, "capabilities.grant", json!({"capability": capability}));
    }

    /// Sends what the planner says of the endpoint.
    fn says(&self, event: &str, endpoint: &str, supersedes: Option<&str>) -> Value {
        let mut event = json!({
            "schema_version": "cross-thread-event/v0.1", "event_id": event, "trajectory_id": TRAJECTORY,
            "continuation_id": "plan-1-04", "target": {"thread_id": "build-1"},
            "source": {"thread_id": "plan-1", "agent_id": "agent-plan-1", "role": "worker"},
            "event_type": "STATE_UPDATE", "subject": SUBJECT, "payload": {"value": endpoint},
            "evidence_refs": ["tool-event:health-check-883"], "verification_status": "VERIFIED",
            "authority": {"may_inform": true, "may_request_action": true, "may_authorize_execution": false},
        });
        if let Some(supersedes) = supersedes {
            event["supersedes_event_id"] = supersedes.into();
        }
        value(&mut self.client("planner"), "events.send", json!({"event": event}))
    }

    /// The event once somebody judged its evidence.
    fn judged(&self, event: &str) -> Value {
        let mut builder = self.client("builder");
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let seen = value(&mut builder, "events.get", json!({"sourceThread": "plan-1", "eventId": event}));
            if seen["checked"].is_string() {
                return seen;
            }
            assert!(Instant::now() < until, "it stays {seen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The result of an operation that must be accepted. Its key is new each time.
fn value(client: &mut Client, method: &str, mut params: Value) -> Value {
    static KEYS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    if !method.ends_with(".get") && !method.ends_with(".wait") {
        let key = KEYS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        params["idempotencyKey"] = format!("idem_evidence_{key:04}").into();
    }
    let answer = client.call(method, params);
    let whole = &answer["result"]["value"];
    // What has a key says beside its value whether it was a replay.
    let value = if whole["operationReplay"].is_boolean() { &whole["value"] } else { whole };
    assert!(value.is_object(), "{method}: {answer}");
    value.clone()
}

#[test]
fn what_a_service_confirms_becomes_state_and_releases_who_waits() {
    let scene = Scene::new();
    let live = "https://new-endpoint.example";
    let state = json!({"status": "live", "endpoint": live}).to_string();
    assert_eq!(scene.service.put("web", "r7", &state).expect("the service answers"), 201);
    let waiter = std::thread::spawn({
        let mut builder = scene.client("builder");
        move || {
            let until = json!({"pointer": "/value", "equals": live});
            let thread = json!({"threadId": "build-1", "trajectoryId": TRAJECTORY, "subject": SUBJECT});
            let mut params = thread;
            params["until"] = until;
            params["timeoutMs"] = 50_000.into();
            builder.call("state.wait", params)
        }
    });
    scene.says("evt-1", live, None);
    let seen = scene.judged("evt-1");
    assert_eq!(
        (&seen["verification"], &seen["uptake"], &seen["checked"]),
        (&json!("verified"), &json!("applied"), &json!("independent")),
        "{seen}"
    );
    let released = waiter.join().expect("the waiter ends");
    assert!(released.to_string().contains("released"), "{released}");

    // What the service does not say, nobody takes for true, and it takes nothing back.
    scene.says("evt-2", "https://elsewhere.example", Some("evt-1"));
    assert_eq!(scene.judged("evt-2")["verification"], "contradicted");
    let state = json!({"threadId": "build-1", "trajectoryId": TRAJECTORY, "subject": SUBJECT});
    let state = value(&mut scene.client("builder"), "state.get", state);
    assert_eq!((&state["eventId"], &state["payload"]["value"]), (&json!("evt-1"), &json!(live)), "{state}");
}

#[test]
fn what_is_not_there_is_no_evidence() {
    let scene = Scene::new();
    scene.says("evt-1", "https://new-endpoint.example", None);
    let seen = scene.judged("evt-1");
    assert_eq!((&seen["verification"], &seen["uptake"]), (&json!("insufficient"), &json!("none")), "{seen}");
    assert_eq!(seen["checked"], "unresolved", "{seen}");
}
