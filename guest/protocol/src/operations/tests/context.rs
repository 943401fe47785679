//! What goes with a call and what a decision is about: neither depends on the other, or on anything that is stored.

use super::world::*;
use crate::kernel::{Decision, Fact, Request};
use alloc::{vec, vec::Vec};
use serde_json::json;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn decided(world: &mut World, request: &Request) -> Decision {
    match world.turn(request) {
        Turn::Done(decision) => decision,
        Turn::Wait(..) => panic!("{} waits", request.operation),
    }
}

/// Two worlds that differ in the context of one send differ in the row of the message and in nothing else.
#[test]
fn a_context_is_in_the_row_of_the_message_alone() {
    let mut plain = World::new();
    let (survey, bridge) = plain.pair("peer");
    let mut traced = plain.clone();
    let params = message(plain.now, &survey, &bridge, "msg_river-0001", "suggest");
    let request = plain.request(&survey, "messages.send", params.clone());
    let mut with = traced.request(&survey, "messages.send", params);
    with.context = vec![Fact { name: "traceparent".into(), value: PARENT.into() }];
    let (first, second) = (decided(&mut plain, &request), decided(&mut traced, &with));
    assert_eq!((&first.response, &first.audit, &first.topics), (&second.response, &second.audit, &second.topics));
    assert_eq!(first.facts, second.facts);
    let differ = first.writes.iter().zip(&second.writes).filter(|(one, other)| one != other);
    assert_eq!(differ.map(|(one, _)| one.collection.as_str()).collect::<Vec<_>>(), ["message"]);
    assert!(traced.holding(PARENT).iter().eq(["message"]));
    for world in [&mut plain, &mut traced] {
        world.accept(&survey, &bridge, "msg_river-0001");
        world.begin(&survey, &bridge, "msg_river-0001");
    }
    assert!(traced.holding(PARENT).iter().eq(["message"]), "whatever becomes of it");
}

#[test]
fn a_decision_says_what_it_is_about_and_never_content() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    let params = message(world.now, &survey, &bridge, "msg_river-0001", "suggest");
    let request = world.request(&survey, "messages.send", params);
    let told = decided(&mut world, &request).facts;
    let fact = |name: &str| told.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str());
    assert_eq!((fact("message"), fact("task")), (Some("msg_river-0001"), Some("survey")));
    assert!(fact("digest").unwrap().starts_with("sha256:"));
    assert!(fact("code").is_none());
    let missing = json!({"task": {"taskId": "nobody", "incarnationId": "inc_nobody-0001"}});
    let request = world.request(&user("alice"), "tasks.get", missing);
    let told = decided(&mut world, &request).facts;
    let pairs: Vec<_> = told.iter().map(|fact| (fact.name.as_str(), fact.value.as_str())).collect();
    assert!(pairs.contains(&("task", "nobody")) && pairs.contains(&("code", "not-visible")), "{pairs:?}");
    let content = "the content of a message";
    let mut params = message(world.now, &survey, &bridge, "msg_river-0002", "suggest");
    params["envelope"]["content"] = content.into();
    let request = world.request(&survey, "messages.send", params);
    let told = decided(&mut world, &request).facts;
    assert!(told.iter().all(|fact| !fact.value.contains(content)), "{told:?}");
}
