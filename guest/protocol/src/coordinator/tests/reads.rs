//! What the parties see of what happened.

use super::world::*;
use crate::Code;
use crate::coordinator::Principal;
use alloc::{string::ToString, vec::Vec};
use serde_json::{Value, json};

fn events(world: &mut World, who: &Principal, message: Value) -> Vec<Value> {
    world.call(who, "audit.list", message).ok().as_array().unwrap().clone()
}

fn submitted() -> (World, Principal, Principal) {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    world.send(&survey, &bridge, "msg_river-0001", "suggest");
    world.accept(&survey, &bridge, "msg_river-0001");
    world.begin(&survey, &bridge, "msg_river-0001");
    (world, survey, bridge)
}

#[test]
fn each_party_sees_its_part_of_the_events() {
    let (mut world, survey, bridge) = submitted();
    let message = named(&survey, "msg_river-0001");
    for reader in [&bridge, &policy("board"), &operator()] {
        let seen = events(&mut world, reader, message.clone());
        assert_eq!(seen.iter().map(|event| event["cursor"].as_i64().unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        assert!(seen[1]["detail"]["claimTokenDigest"].is_string());
        assert_eq!(seen[1]["actor"], json!({"kind": "task", "id": "bridge"}));
    }
    let seen = events(&mut world, &survey, message.clone());
    assert_eq!(seen.len(), 5);
    assert_eq!(seen[0]["detail"]["authority"], "grant");
    assert_eq!(seen[1]["detail"], json!({}));
    assert_eq!(seen[2]["detail"], json!({"decision": "accepted", "reasonCode": "accepted"}));
    let text = Value::from(seen).to_string();
    for hidden in ["claimTokenDigest", "adapterRefDigest", "adapterIdempotencyKeyDigest", "worker", "authn_"] {
        assert!(!text.contains(hidden), "{hidden} in {text}");
    }
    let page = with(message.clone(), json!({"afterCursor": 1, "limit": 2}));
    let page = events(&mut world, &bridge, page);
    assert_eq!(
        page.iter().map(|event| event["eventType"].clone()).collect::<Vec<_>>(),
        ["mailbox-claimed", "receiver-decided"]
    );
    let strangers = [user("bob"), task("alice", "tower"), task("bob", "bridge"), host()];
    for stranger in strangers {
        let foreign = world.call(&stranger, "audit.list", message.clone());
        let missing = world.call(&stranger, "audit.list", named(&survey, "msg_river-9999"));
        assert_eq!(foreign.value, missing.value);
        assert_eq!(foreign.code(), Code::NotVisible);
    }
}

#[test]
fn waiting_answers_at_once_where_there_is_something() {
    let (mut world, survey, bridge) = submitted();
    let params =
        |task: &Principal, after: i64| json!({"task": reference(task), "afterCursor": after, "timeoutMs": 1000});
    let seen = world.call(&survey, "tasks.wait", params(&survey, 0)).ok();
    let kinds: Vec<_> =
        seen["events"].as_array().unwrap().iter().map(|event| event["eventType"].as_str().unwrap()).collect();
    assert_eq!(kinds[..3], ["task-registered", "relationship-granted", "message-durably-received"]);
    assert_eq!(seen["events"][2]["messageId"], "msg_river-0001");
    assert_eq!(seen["timedOut"], false);
    assert!(!seen.to_string().contains("claimTokenDigest"));
    let own = world.call(&bridge, "tasks.wait", params(&bridge, 0)).ok();
    assert!(own.to_string().contains("claimTokenDigest"));
    world.call(&user("alice"), "tasks.wait", params(&survey, 0)).ok();
    for stranger in [user("bob"), bridge.clone(), task("bob", "survey")] {
        assert_eq!(world.call(&stranger, "tasks.wait", params(&survey, 0)).code(), Code::NotVisible);
    }
    let long = with(params(&survey, 0), json!({"timeoutMs": 55_001}));
    assert_eq!(world.call(&survey, "tasks.wait", long).code(), Code::ParamsInvalid);
}

#[test]
fn waiting_with_nothing_to_tell_ends_by_an_event_or_by_the_host() {
    let (mut world, survey, bridge) = submitted();
    let last = world.call(&bridge, "tasks.wait", json!({"task": reference(&bridge)})).ok()["nextCursor"].clone();
    let params = json!({"task": reference(&bridge), "afterCursor": last, "timeoutMs": 1000});
    let mut request = world.request(&bridge, "tasks.wait", params);
    let Turn::Wait(topics, until) = world.turn(&request) else { panic!("it does not wait") };
    assert_eq!((topics, until), ([party(&bridge).key(TENANT)].into(), world.now + 1000));
    world.now += 500;
    world.send(&survey, &bridge, "msg_river-0002", "suggest");
    let Turn::Done(decision) = world.turn(&request) else { panic!("it waits") };
    assert!(decision.response.contains("msg_river-0002"));

    let none = json!({"task": reference(&bridge), "afterCursor": 1000, "timeoutMs": 1000});
    request = world.request(&bridge, "tasks.wait", none.clone());
    assert!(matches!(world.turn(&request), Turn::Wait(..)));
    request.cursor = Some("timeout".into());
    let Turn::Done(decision) = world.turn(&request) else { panic!("it waits") };
    assert!(decision.response.contains("\"timedOut\":true"), "{}", decision.response);
    assert!(decision.response.contains("\"nextCursor\":1000"));
    let at_once = with(none, json!({"timeoutMs": 0}));
    assert_eq!(world.call(&bridge, "tasks.wait", at_once).ok()["timedOut"], true);
}

#[test]
fn a_page_of_mail_takes_two_rounds_and_no_boxes() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("supervisor");
    for index in 0..20 {
        world.send(&survey, &bridge, &alloc::format!("msg_river-{index:04}"), "suggest");
    }
    let mut list = |after: i64| {
        let params = json!({"receiver": reference(&bridge), "afterCursor": after, "limit": 10});
        world.call(&bridge, "mailbox.listPending", params)
    };
    let first = list(0);
    assert!(first.rows_read <= 10 + 10 + 3, "{} rows", first.rows_read);
    let first = first.ok();
    assert_eq!((first["items"].as_array().unwrap().len(), &first["nextCursor"]), (10, &json!(10)));
    assert_eq!(list(10).ok()["items"][9]["cursor"], 20);
    assert_eq!(list(20).ok()["nextCursor"], 20);
    assert_eq!(world.mailbox(&party(&bridge)).open, 20);
}
