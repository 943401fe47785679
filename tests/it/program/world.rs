//! A database with two tasks and a grant, made through the program.

use super::{Rig, Server};
use serde_json::{Value, json};

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
