//! Steps that go on from the one before. That they say what `decide` says is asked of every call in these tests, in
//! [`World::attempt`].

use super::world::*;
use crate::Code;
use crate::kernel::{Answer, Found, Principal, Query, Request, Step, Stored};
use crate::operations::{Stepper, decide};
use alloc::{string::String, vec, vec::Vec};
use serde_json::json;

const NOW: f64 = START as f64;

fn entropy(digit: &str) -> String {
    digit.repeat(64)
}

/// A send, what its first step asks for, and what is found.
fn sending() -> (Request, Vec<Found>) {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    let params = message(world.now, &survey, &bridge, "msg_river-0001", "suggest");
    let request = world.request(&survey, "messages.send", params);
    let found = queries(decide(&request, &[], &[], NOW, &entropy("0"))).into_iter().map(|query| world.answer(query));
    let found = found.map(|Answer { rows, more, .. }| Found { rows, more }).collect();
    (request, found)
}

fn queries(step: Result<Step, crate::Error>) -> Vec<Query> {
    match step {
        Ok(Step::Needs { queries, .. }) => queries,
        other => panic!("needs nothing: {other:?}"),
    }
}

fn begin(stepper: &mut Stepper, request: &Request, entropy: String) {
    queries(stepper.decide(request.clone(), Vec::new(), Vec::new(), NOW, entropy));
}

#[test]
fn a_step_goes_on_once_and_only_where_it_was_kept() {
    let (request, found) = sending();
    let mut stepper = Stepper::new();
    assert_eq!(stepper.resume(&entropy("0"), found.clone(), Vec::new()), Ok(None), "nothing was decided");
    begin(&mut stepper, &request, entropy("0"));
    assert_eq!(stepper.resume(&entropy("1"), found.clone(), Vec::new()), Ok(None), "another operation's");
    begin(&mut stepper, &request, entropy("1"));
    assert_eq!(stepper.resume(&entropy("0"), found.clone(), Vec::new()), Ok(None), "another was decided since");
    let step = stepper.resume(&entropy("1"), found.clone(), Vec::new());
    assert!(matches!(step, Ok(Some(Step::Ready(_)))), "{step:?}");
    assert_eq!(stepper.resume(&entropy("1"), found, Vec::new()), Ok(None), "it was the last step");
}

#[test]
fn every_query_has_one_answer() {
    let (request, found) = sending();
    for short in [Vec::new(), found[1..].to_vec(), [found.clone(), found[..1].to_vec()].concat()] {
        let mut stepper = Stepper::new();
        begin(&mut stepper, &request, entropy("0"));
        let refused = stepper.resume(&entropy("0"), short, Vec::new()).expect_err("misuse by the host");
        assert_eq!(refused.code, Code::HostMisuse);
        assert_eq!(stepper.resume(&entropy("0"), found.clone(), Vec::new()), Ok(None), "nothing is kept any more");
    }
}

#[test]
fn what_is_too_large_is_not_kept() {
    let (request, _) = sending();
    let [query, ..] = &queries(decide(&request, &[], &[], NOW, &entropy("0")))[..] else { panic!("no query") };
    for (bytes, kept) in [(200 << 10, true), (300 << 10, false)] {
        // A row that is no answer to anything.
        let row = Stored { id: "a".into(), key: "a".into(), revision: 1, body: " ".repeat(bytes) };
        let answer = Answer { query: Query { start: "a".into(), ..query.clone() }, rows: vec![row], more: false };
        let mut stepper = Stepper::new();
        let asked = queries(stepper.decide(request.clone(), vec![answer], Vec::new(), NOW, entropy("0")));
        let found = vec![Found { rows: Vec::new(), more: false }; asked.len()];
        assert_eq!(stepper.resume(&entropy("0"), found, Vec::new()).unwrap().is_some(), kept, "{bytes}");
    }
}

/// A step that asks, and one that decides. A submission alone does not say whose message it is about.
#[test]
fn facts_are_brought_once_on_the_way_to_a_call() {
    let mut world = World::new();
    let (survey, bridge) = world.pair("peer");
    let mut call = |who: &Principal, operation: &str, params, steps| {
        let value = world.call(who, operation, params).ok();
        assert_eq!(world.steps, steps, "{operation}");
        value
    };
    for (id, at_once) in [("msg_river-0001", true), ("msg_river-0002", false)] {
        call(&survey, "messages.send", message(START, &survey, &bridge, id, "suggest"), 2);
        let params = with(named(&survey, id), json!({"expectedRevision": 0}));
        let claim = call(&bridge, "mailbox.claim", params.clone(), 2);
        let ack = with(params, json!({"claimToken": claim["claimToken"]}));
        if at_once {
            call(&bridge, "adapter.acceptAndBegin", ack, 2);
            continue;
        }
        call(&bridge, "mailbox.ack", with(ack, json!({"decision": "accepted"})), 2);
        let params = with(named(&survey, id), json!({"expectedRevision": 1}));
        let prepared = call(&bridge, "adapter.prepareSubmission", params, 2);
        let submission = &prepared["submission"]["submissionId"];
        call(&bridge, "adapter.beginSubmission", json!({"submissionId": submission, "expectedRevision": 1}), 3);
    }
}
