//! What a process that was killed left to do.

use crate::program::world::World;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use threadmesh_runtime::store::{Changes, Effect, EffectKind, ReadSet, Store};
use threadmesh_store_sqlite::{Options, SqliteStore};

/// More than one commit relabels (`relabel_page`).
const MESSAGES: usize = 55;

/// Runs the program until it has committed, and kills it before it says anything.
fn killed_after_its_commit(world: &World, arguments: &[&str]) {
    let mut command = world.rig.command(arguments);
    command.env("THREADMESH_PAUSE", "after-commit").stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let said = BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    let paused = said.into_iter().any(|line| line == "paused after-commit");
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    assert!(paused, "it ended before it committed");
}

fn decision(world: &World, number: usize) -> Value {
    let (code, shown) = world.at("planner", &["show", &format!("msg_left_{number:05}")]);
    assert_eq!(code, 0, "{shown:?}");
    shown[0]["disposition"]["decision"].clone()
}

#[test]
fn the_next_process_goes_on_with_what_a_killed_one_left() {
    let world = World::new();
    for number in 0..MESSAGES {
        let id = format!("msg_left_{number:05}");
        let send = [&["send", "Use the cache."][..], World::ROUTE, &["--message-id", &id]].concat();
        assert_eq!(world.at("planner", &send).0, 0);
    }
    let rotate = json!({
        "previous": {"taskId": "build-1", "incarnationId": "inc_build_0001"}, "expectedRevision": 0,
        "next": {"taskId": "build-1", "incarnationId": "inc_build_0002", "harness": "test"},
        "idempotencyKey": "idem_rotate-left-0001",
    });
    let call = ["call", "tasks.rotateIncarnation", &rotate.to_string(), "--db", "mesh.db", "--as", "alice"];
    killed_after_its_commit(&world, &call);
    let (_, again) = world.at("alice", &call[..3]);
    assert_eq!(again[0]["result"]["value"]["operationReplay"], true, "it was done: {again:?}");
    let decisions: Vec<_> = [0, MESSAGES - 1].map(|number| decision(&world, number)).into();
    assert_eq!(json!(decisions), json!(["stale", "stale"]));
}

/// Stores an effect that no version knows, as a commit of a later one may have.
fn leave_what_nobody_knows(world: &World) {
    let store = SqliteStore::open(world.rig.path("mesh.db"), Options::default()).expect("the store");
    let effect = Effect { kind: EffectKind::Repeatable, name: "of.later".into(), key: "one".into(), body: "{}".into() };
    let mut batch = store.begin().expect("a turn");
    batch.apply(&ReadSet::default(), &Changes { effects: vec![effect], ..Changes::default() }).expect("it is taken");
    batch.commit().expect("it is durable");
}

/// What nobody can do is reported, kept, and in nobody's way.
#[test]
fn what_cannot_be_done_is_reported_and_kept() {
    let world = World::new();
    leave_what_nobody_knows(&world);
    let send = [&["send", "Use the cache.", "--db", "mesh.db", "--as", "planner"][..], World::ROUTE].concat();
    let sent = world.rig.run(&send);
    assert_eq!(sent.code, 0, "{}", sent.err);
    assert!(sent.err.contains("of.later (one)"), "it says nothing of it: {}", sent.err);
    let again = world.rig.run(&send);
    assert_eq!((again.code, again.err.contains("of.later")), (0, false), "it is put off: {}", again.err);
    let (code, values) = world.rig.json(&["doctor", "--db", "mesh.db"]);
    let findings = values[0]["findings"].as_array().expect("findings");
    let found = findings.iter().find(|finding| finding["about"] == "left to do").expect("a finding");
    assert_eq!((code, &found["level"]), (1, &json!("bad")), "{found}");
    assert!(found["detail"].as_str().expect("text").starts_with("of.later (one) is not done after 1 tries"), "{found}");
}
