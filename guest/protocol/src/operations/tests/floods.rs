//! Floods: budgets are counted by the authenticated principal, before anything is stored, and answered explicitly.

use super::world::*;
use crate::Code;
use crate::generated::limits;
use crate::kernel::Status;
use alloc::{format, vec::Vec};
use serde_json::{Value, json};

/// The message number `index` of a flood: another id, harness label and trace every time.
fn rotated(now: i64, index: i64, intent: &str) -> Value {
    let (survey, bridge) = (task("alice", "survey"), task("alice", "bridge"));
    let mut params = message(now, &survey, &bridge, &format!("msg_flood-{index:06}"), intent);
    params["envelope"]["sender"]["harness"] = format!("harness-{index}").into();
    params["envelope"]["causality"] = json!({"traceId": format!("trace-{index}")});
    params
}

#[test]
fn three_hundred_sends_in_ten_seconds_stay_inside_the_budgets() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("supervisor");
    let (mut taken, mut refused) = ([0_i64; 2], 0_i64);
    for index in 0..300 {
        world.now = START + index * 33;
        let urgent = index % 2 == 0;
        let mut sender = survey.clone();
        // Another worker and another credential are the same principal.
        (sender.worker, sender.authentication) = (Some(format!("worker-{index}")), format!("authn_{index:06}-session"));
        let params = rotated(world.now, index, if urgent { "steer" } else { "suggest" });
        let reply = world.call(&sender, "messages.send", params);
        match reply.status {
            Status::Accepted => taken[usize::from(urgent)] += 1,
            _ => {
                assert_eq!(reply.code(), Code::Backpressure);
                refused += 1;
            }
        }
    }
    assert_eq!(taken[1], limits::INTERRUPTIONS_MAX, "steers that came through");
    assert_eq!(taken[0] + taken[1] + refused, 300);
    assert_eq!(refused, 150 - limits::INTERRUPTIONS_MAX);
    assert_eq!(world.lives().len() as i64, taken[0] + taken[1], "what is refused is not stored");
    assert_eq!(world.mailbox(&party(&bridge)).open, taken[0] + taken[1]);
    assert_eq!(world.rows("budget").len(), 1, "one principal has one budget");
    world.check();
}

#[test]
fn a_flood_ends_at_the_rate_of_its_principal_however_it_is_sent() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    let mut sent = 0;
    let together = |world: &mut World, first: i64| {
        let envelopes: Vec<Value> =
            (first..first + 64).map(|index| rotated(world.now, index, "notify")["envelope"].clone()).collect();
        let reply = world.call(&survey, "messages.sendBatch", json!({ "envelopes": envelopes }));
        if reply.status == Status::Refused {
            assert_eq!(reply.code(), Code::Backpressure);
            return 0;
        }
        let results = reply.ok()["results"].as_array().unwrap().clone();
        let refused = results.iter().filter(|result| result["error"]["data"]["code"] == "backpressure").count();
        assert!(results.iter().all(|result| result.get("error").is_some() != result.get("disposition").is_some()));
        results.len() as i64 - refused as i64
    };
    for batch in 0..50 {
        world.now += 200;
        sent += together(&mut world, batch * 64);
    }
    assert_eq!(sent, limits::ROOT_RATE_MAX);
    assert_eq!(world.lives().len() as i64, sent);
    let one = rotated(world.now, 900_000, "suggest");
    assert_eq!(world.call(&survey, "messages.send", one.clone()).rule(), "BU-7");
    let rows = world.rows("replay").len();
    assert_eq!(together(&mut world, 800_000), 0);
    assert_eq!(world.rows("replay").len(), rows, "a refused batch is not remembered");
    world.now += limits::BUDGET_WINDOW_MS;
    world.call(&survey, "messages.send", with(one, json!({"idempotencyKey": "idem_later-0001"}))).ok();
    world.send(&survey, &bridge, "msg_later-0001", "suggest");
    world.check();
}
