//! MCP as harnesses speak it: the `rmcp` client against `threadmesh mcp` and against `/mcp`, and raw lines where the point
//! is what stands in them.

mod client;
mod frame;
mod http;
mod raw;
mod tools;

use crate::program::world::World;
use serde_json::{Value, json};

/// The world of the other tests, with a grant for answers, and a server.
pub fn world() -> World {
    let world = World::new();
    let grant = json!({
        "grant": {
            "specVersion": "0.0-draft",
            "grantId": "grant_test_0002",
            "grantVersion": 1,
            "relationshipId": "rel_plan_build",
            "relationshipType": "peer",
            "source": {"taskId": "build-1", "incarnationId": "inc_build_0001"},
            "target": {"taskId": "plan-1", "incarnationId": "inc_plan_0001"},
            "allowedIntents": ["notify", "suggest"],
            "allowedDeliveryModes": ["store-only", "checkpoint-offer"],
            "summaryVisibility": "none",
            "structuredGateResponses": false,
            "createdAt": "2026-01-01T00:00:00Z",
        },
        "decision": {"decisionId": "decision_test_0002"},
    });
    let granted = world.at("alice", &["call", "relationships.grant", &grant.to_string()]);
    assert_eq!(granted.0, 0, "{granted:?}");
    world
}

/// The arguments of a message from planner to builder.
pub fn to_builder(content: &str) -> Value {
    json!({
        "toTaskId": "build-1",
        "toIncarnationId": "inc_build_0001",
        "relationshipId": "rel_plan_build",
        "content": content,
    })
}
