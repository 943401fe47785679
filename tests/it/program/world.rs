//! A database with two tasks and a grant, made through the program.

use super::{Rig, Server};
use serde_json::{Value, json};
use threadmesh_native::NativeCore;
use threadmesh_runtime::Core;
use threadmesh_store_sqlite::{Options, Records};

/// `planner` may send to `builder`; `alice` owns both; `stranger` is a task of mallory's.
pub struct World {
    /// Where it lies: `mesh.db`.
    pub rig: Rig,
}

impl World {
    /// The options of a message from planner to builder.
    pub const ROUTE: &[&str] =
        &["--to", "build-1@inc_build_0001", "--relationship", "rel_plan_build", "--reason", "for a test"];

    /// Makes it.
    pub fn new() -> Self {
        let world = World { rig: Rig::new() };
        for (name, more) in [
            ("operator", &["--kind", "operator"][..]),
            ("alice", &["--kind", "user"]),
            (
                "planner",
                &["--kind", "task", "--id", "plan-1", "--incarnation", "inc_plan_0001", "--owner", "user:alice"],
            ),
            (
                "builder",
                &["--kind", "task", "--id", "build-1", "--incarnation", "inc_build_0001", "--owner", "user:alice"],
            ),
            (
                "stranger",
                &["--kind", "task", "--id", "odd-1", "--incarnation", "inc_odd_00001", "--owner", "user:mallory"],
            ),
        ] {
            let made = world.rig.json(&[&["token", "create", name, "--db", "mesh.db"], more].concat());
            assert_eq!(made.0, 0, "{made:?}");
        }
        for task in [
            json!({"taskId": "plan-1", "incarnationId": "inc_plan_0001", "harness": "test"}),
            json!({"taskId": "build-1", "incarnationId": "inc_build_0001", "harness": "test", "runtime": {"objectiveVersion": 3}}),
        ] {
            let params = json!({"task": task}).to_string();
            let registered = world.at("alice", &["call", "--create", "tasks.register", &params]);
            assert_eq!(registered.0, 0, "{registered:?}");
        }
        let granted = world.at("alice", &["call", "relationships.grant", &grant().to_string()]);
        assert_eq!(granted.0, 0, "{granted:?}");
        world
    }

    /// Runs a command on the database as `name`, with JSON output.
    pub fn at(&self, name: &str, arguments: &[&str]) -> (i32, Vec<Value>) {
        self.rig.json(&[arguments, &["--db", "mesh.db", "--as", name]].concat())
    }

    /// The token of `name`.
    pub fn token(&self, name: &str) -> String {
        let path = self.rig.path("mesh.db.tokens").join(name);
        std::fs::read_to_string(path).expect("a token").trim().to_owned()
    }

    /// A server on the database, at its usual socket.
    pub fn serve(&self) -> Server {
        self.rig.serve(&["--db", "mesh.db"])
    }
}

/// The params of the grant from planner to builder.
pub fn grant() -> Value {
    json!({
        "grant": {
            "specVersion": "0.0-draft",
            "grantId": "grant_test_0001",
            "grantVersion": 1,
            "relationshipId": "rel_plan_build",
            "relationshipType": "supervisor",
            "source": {"taskId": "plan-1", "incarnationId": "inc_plan_0001"},
            "target": {"taskId": "build-1", "incarnationId": "inc_build_0001"},
            "allowedIntents": ["notify", "suggest", "steer"],
            "allowedDeliveryModes": ["store-only", "checkpoint-offer", "active-steer"],
            "summaryVisibility": "none",
            "structuredGateResponses": false,
            "createdAt": "2026-01-01T00:00:00Z",
        },
        "decision": {"decisionId": "decision_test_0001"},
    })
}

/// A time from now, as in documents.
pub fn time_from_now(offset_ms: i64) -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
    let ms = i64::try_from(since.as_millis()).expect("a time") + offset_ms;
    let (days, rest) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    // Days since 0000-03-01: years end with the leap day.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day + 2) / 153;
    let (date, month) = (day - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", rest % 1_000)
}

/// The params of a suggestion from one task to another, written now.
pub fn suggestion(sender: &Value, target: &Value, relationship: &str, id: &str) -> Value {
    let mut sender = sender.clone();
    sender["actorType"] = "agent".into();
    sender["harness"] = "test".into();
    json!({
        "envelope": {
            "specVersion": "0.0-draft", "messageId": id, "messageType": "suggestion", "intent": "suggest",
            "claimStatus": "sender-asserted", "sender": sender, "target": target, "relationshipId": relationship,
            "content": "Use the cache.", "reason": "It is warm.",
            "delivery": {"requestedMode": "store-only", "requiresDisposition": true},
            "createdAt": time_from_now(0), "expiresAt": time_from_now(3_600_000),
        },
        "idempotencyKey": format!("idem_{id}"),
    })
}

/// A reference to a task of this world, as `plan-1` or `build-1`.
pub fn reference(task: &str) -> Value {
    json!({"taskId": task, "incarnationId": format!("inc_{}_0001", task.trim_end_matches("-1"))})
}

/// How a database is opened for the records of this build's component, as the program opens it.
pub fn options() -> Options {
    let said = NativeCore.session().and_then(|mut session| session.describe()).expect("the rules say what they are");
    let said: Value = serde_json::from_str(&said).expect("JSON");
    let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok()).expect("a number");
    let reads = said["records"]["reads"].as_array().expect("numbers").iter().map(number).collect();
    Options { records: Records { writes: number(&said["records"]["writes"]), reads }, ..Options::default() }
}
