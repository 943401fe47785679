//! What a process that was killed left to do.

use crate::program::world::{World, options};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};
use threadmesh_runtime::store::{Changes, Effect, EffectKind, ReadSet, Store};
use threadmesh_store_sqlite::SqliteStore;

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

/// Stores effects that no version knows, as a commit of a later one may have.
fn leave_what_nobody_knows(world: &World, keys: impl Iterator<Item = String>) {
    let store = SqliteStore::open(world.rig.path("mesh.db"), options()).expect("the store");
    let effect = |key| Effect { kind: EffectKind::Repeatable, name: "of.later".into(), key, body: "{}".into() };
    let mut batch = store.begin().expect("a turn");
    let changes = Changes { effects: keys.map(effect).collect(), ..Changes::default() };
    batch.apply(&ReadSet::default(), &changes).expect("it is taken");
    batch.commit().expect("it is durable");
}

/// What the doctor finds of what is left to do, and its exit code.
fn left_to_do(world: &World) -> (i32, Vec<Value>) {
    let (code, values) = world.rig.json(&["doctor", "--db", "mesh.db"]);
    let findings = values[0]["findings"].as_array().expect("findings").iter();
    (code, findings.filter(|finding| finding["about"] == "left to do").cloned().collect())
}

/// What nobody can do is reported, kept, and in nobody's way.
#[test]
fn what_cannot_be_done_is_reported_and_kept() {
    let world = World::new();
    leave_what_nobody_knows(&world, ["one".to_owned()].into_iter());
    let send = [&["send", "Use the cache.", "--db", "mesh.db", "--as", "planner"][..], World::ROUTE].concat();
    let sent = world.rig.run(&send);
    assert_eq!(sent.code, 0, "{}", sent.err);
    assert!(sent.err.contains("of.later (one)"), "it says nothing of it: {}", sent.err);
    let again = world.rig.run(&send);
    assert_eq!((again.code, again.err.contains("of.later")), (0, false), "it is put off: {}", again.err);
    // It is known also when its hour is over and nobody was there.
    let store = SqliteStore::open(world.rig.path("mesh.db"), options()).expect("the store");
    for _ in 0..2 {
        let (code, findings) = left_to_do(&world);
        assert_eq!((code, findings.len(), &findings[0]["level"]), (1, 1, &json!("bad")), "{findings:?}");
        let detail = findings[0]["detail"].as_str().expect("text");
        assert!(detail.starts_with("of.later (one) failed, the last time at try 1;"), "{detail}");
        assert!(detail.contains("it knows none of that name"), "{detail}");
        store.advance_effects(0).expect("it is due");
    }
}

/// Whoever does not read what a server writes keeps it from nothing.
#[test]
fn a_log_that_nobody_reads_holds_up_nobody() {
    const EFFECTS: usize = 700;
    let world = World::new();
    leave_what_nobody_knows(&world, (0..EFFECTS).map(|number| format!("{number:0200}")));
    let mut command = world.rig.command(&["serve", "--db", "mesh.db", "--stdio", "--as", "alice"]);
    let mut server =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let store = SqliteStore::open(world.rig.path("mesh.db"), options()).expect("the store");
    let until = Instant::now() + Duration::from_secs(60);
    while store.failed_effects(1).expect("an answer").1 < EFFECTS as u64 {
        assert!(Instant::now() < until, "it waits for whoever reads");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(server.stdin.take());
    let ended = loop {
        match server.try_wait().expect("an answer") {
            Some(status) => break status.success(),
            None if Instant::now() > until => break false,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let _ = server.kill();
    assert!(ended, "it does not end");
    let (_, findings) = left_to_do(&world);
    assert_eq!(findings.last().expect("findings")["detail"], "680 more could not be done");
}
