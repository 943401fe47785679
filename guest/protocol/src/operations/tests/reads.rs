//! What the parties see of what happened.

use super::world::*;
use crate::Code;
use crate::kernel::Principal;
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

/// The answer of a read that does not wait any more.
fn answered(world: &mut World, request: &crate::kernel::Request) -> Value {
    let Turn::Done(decision) = world.turn(request) else { panic!("it waits") };
    serde_json::from_str::<Value>(&decision.response).unwrap()["value"].clone()
}

#[test]
fn waiting_for_mail_ends_by_a_message_or_by_the_host() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    let params = json!({"receiver": reference(&bridge), "timeoutMs": 1000});
    let mut request = world.request(&bridge, "mailbox.listPending", params.clone());
    let Turn::Wait(topics, until) = world.turn(&request) else { panic!("it does not wait") };
    assert_eq!((topics, until), ([party(&bridge).key(TENANT)].into(), world.now + 1000));
    world.send(&survey, &bridge, "msg_river-0001", "suggest");
    assert_eq!(answered(&mut world, &request)["items"][0]["cursor"], 1);
    request = world.request(&bridge, "mailbox.listPending", with(params, json!({"afterCursor": 1})));
    assert!(matches!(world.turn(&request), Turn::Wait(..)), "what was seen before does not end it");
    request.cursor = Some("timeout".into());
    assert_eq!(answered(&mut world, &request), json!({"items": [], "nextCursor": 1, "hasMore": false}));
}

#[test]
fn a_full_page_without_anything_to_act_on_is_no_reason_to_wait() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    for number in 1..=20 {
        world.send(&survey, &bridge, &alloc::format!("msg_river-{number:04}"), "suggest");
    }
    world.now += 2 * 86_400_000 * 30;
    let params =
        |after: i64| json!({"receiver": reference(&bridge), "afterCursor": after, "limit": 2, "timeoutMs": 1000});
    let request = world.request(&bridge, "mailbox.listPending", params(0));
    let behind = json!({"items": [], "nextCursor": 16, "hasMore": true});
    assert_eq!(answered(&mut world, &request), behind, "there is more behind it");
    let request = world.request(&bridge, "mailbox.listPending", params(16));
    assert!(matches!(world.turn(&request), Turn::Wait(..)));
}

#[test]
fn waiting_for_a_message_ends_with_its_next_revision() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    world.send(&survey, &bridge, "msg_river-0001", "suggest");
    let message = named(&survey, "msg_river-0001");
    let patient = |after: i64| with(message.clone(), json!({"afterRevision": after, "timeoutMs": 1000}));
    let mut request = world.request(&survey, "messages.getDisposition", patient(0));
    let Turn::Wait(topics, until) = world.turn(&request) else { panic!("it does not wait") };
    assert_eq!((topics, until), ([party(&survey).key(TENANT), party(&bridge).key(TENANT)].into(), world.now + 1000));
    world.accept(&survey, &bridge, "msg_river-0001");
    let decided = answered(&mut world, &request);
    assert_eq!(decided["decision"], "accepted");
    request.cursor = Some("timeout".into());
    request.params = patient(decided["revision"].as_i64().unwrap()).to_string();
    assert_eq!(answered(&mut world, &request), decided);
    let any = with(message.clone(), json!({"timeoutMs": 1000}));
    assert_eq!(
        world.call(&survey, "messages.getDisposition", any).ok(),
        decided,
        "without a revision it does not wait"
    );
    let foreign = world.request(&user("bob"), "messages.getDisposition", patient(9));
    let Turn::Done(decision) = world.turn(&foreign) else { panic!("it waits for what it may not see") };
    assert!(
        decision.response.contains("not-visible") || decision.response.contains("may see"),
        "{}",
        decision.response
    );
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
    assert!(first.rows_read <= 20 + 10 + 3, "{} rows", first.rows_read);
    let first = first.ok();
    assert_eq!((first["items"].as_array().unwrap().len(), &first["nextCursor"]), (10, &json!(10)));
    assert_eq!(list(10).ok()["items"][9]["cursor"], 20);
    assert_eq!(list(20).ok()["nextCursor"], 20);
    assert_eq!(world.mailbox(&party(&bridge)).open, 20);
}

/// A hundred messages of a megabyte were one answer, and a trap.
#[test]
fn a_page_of_mail_ends_at_so_many_bytes() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    for number in 1..=14 {
        let mut params = message(world.now, &survey, &bridge, &alloc::format!("msg_large-{number:04}"), "suggest");
        params["envelope"]["content"] = "\u{1f40b}".repeat(20_000).into();
        world.call(&survey, "messages.send", params).ok();
    }
    let (mut after, mut pages) = (0, Vec::new());
    loop {
        let params = json!({"receiver": reference(&bridge), "afterCursor": after, "limit": 100});
        let page = world.call(&bridge, "mailbox.listPending", params).ok();
        let items = page["items"].as_array().unwrap();
        assert!(!items.is_empty() && page.to_string().len() < 1_200_000, "{} items", items.len());
        pages.push(items.len());
        if page["hasMore"] == false {
            break;
        }
        after = page["nextCursor"].as_i64().unwrap();
    }
    assert_eq!((pages.len(), pages.iter().sum::<usize>()), (2, 14), "{pages:?}");
}
