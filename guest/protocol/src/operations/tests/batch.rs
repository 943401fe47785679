//! Messages that are sent together, where other owners use the same ids.

use super::world::*;
use crate::kernel::Principal;
use alloc::format;
use serde_json::{Value, json};

const FIRST: &str = "msg_river-0001";
const SECOND: &str = "msg_river-0002";

/// A pair of tasks, of the same ids whoever owns them.
fn pair(world: &mut World, owner: &str) -> (Principal, Principal) {
    let (survey, bridge) = (task(owner, "survey"), task(owner, "bridge"));
    for task in [&survey, &bridge] {
        world.call(&user(owner), "tasks.register", registration(task)).ok();
    }
    world.call(&user(owner), "relationships.grant", grant(&survey, &bridge, "peer", 1)).ok();
    (survey, bridge)
}

/// A message, and one that answers it, sent together after `others` owners sent one of the same ids.
fn together(others: usize) -> Value {
    let mut world = World::new();
    for number in 0..others {
        let (survey, bridge) = pair(&mut world, &format!("owner-{number:02}"));
        world.send(&survey, &bridge, FIRST, "suggest");
    }
    let (survey, bridge) = pair(&mut world, "zoe");
    let envelope = |id: &str| message(START, &survey, &bridge, id, "suggest")["envelope"].clone();
    let answer = with(envelope(SECOND), json!({"causality": {"parentMessageId": FIRST}}));
    let sent = world.call(&survey, "messages.sendBatch", json!({"envelopes": [envelope(FIRST), answer]})).ok();
    assert_eq!(world.mailbox(&party(&bridge)).open, 2);
    assert_eq!(world.rows("life").len(), others + 2);
    world.check();
    sent["results"].clone()
}

/// What a message of a batch wrote stands in its place among the rows of others.
#[test]
fn a_message_sees_the_one_before_it_among_those_of_others() {
    for others in [0, 1, 3, 7, 8, 9] {
        let results = together(others);
        for result in results.as_array().unwrap() {
            assert_eq!(result["replay"], false, "among {others}: {results}");
        }
    }
}

/// However many use the same ids, a message and its answer are each sent in three rounds.
#[test]
fn others_cost_a_send_no_round() {
    let mut world = World::new();
    for number in 0..10 {
        let (survey, bridge) = pair(&mut world, &format!("owner-{number:02}"));
        world.send(&survey, &bridge, FIRST, "suggest");
    }
    let (survey, bridge) = pair(&mut world, "zoe");
    world.send(&survey, &bridge, FIRST, "suggest");
    let mut answer = message(START, &survey, &bridge, SECOND, "suggest");
    answer["envelope"]["causality"] = json!({"parentMessageId": FIRST});
    assert_eq!(world.call(&survey, "messages.send", answer).ok()["replay"], false);
    world.check();
}
