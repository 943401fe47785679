//! Files of a database that are gone, cut, doubled or of another form: what the doctor says, and what a server says.

use crate::program::StdioServer;
use crate::program::world::{World, options};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use threadmesh_runtime::store::Store;
use threadmesh_store_sqlite::SqliteStore;

/// A world whose database was left by a process that was killed: with a log, and commits that only the log has.
fn left_by_a_kill() -> World {
    let world = World::new();
    let mut server = StdioServer::start(&world.rig, &["--db", "mesh.db", "--as", "alice"]);
    server.send(register(1).as_bytes());
    assert!(server.answer()["result"].is_object());
    server.kill();
    assert!(world.rig.path("mesh.db-wal").metadata().expect("a log").len() > 0);
    world
}

fn register(number: u32) -> String {
    let task =
        json!({"taskId": format!("t-{number}"), "incarnationId": format!("inc_astray_{number:04}"), "harness": "test"});
    let params = json!({"task": task, "idempotencyKey": format!("idem_astray_{number:04}")});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tasks.register", "params": params}).to_string()
}

/// What the doctor says of the database.
fn database(world: &World) -> (i32, Value) {
    let (code, values) = world.rig.json(&["doctor", "--db", "mesh.db"]);
    let findings = values[0]["findings"].as_array().expect("findings");
    (code, findings.iter().find(|finding| finding["about"] == "database").expect("a finding").clone())
}

#[test]
fn the_doctor_names_what_became_of_a_database() {
    type Harm = fn(&Path);
    let states: [(&str, Harm, &str, &str); 6] = [
        ("nothing", |_| {}, "opens", ""),
        ("log removed", |db| fs::remove_file(log(db)).expect("gone"), "commits are missing", "bring its log"),
        ("log cut", |db| cut(&log(db)), "commits are missing", "bring its log"),
        ("hard link", |db| fs::hard_link(db, db.with_file_name("b.db")).expect("linked"), "2 names", "-samefile"),
        ("newer layout", |db| layout(db, 99), "layout 99, and this program knows", "newer threadmesh"),
        ("older layout", |db| layout(db, 2), "layout 2, and this program knows", "the program that made it"),
    ];
    for (state, harm, said, next) in states {
        let world = left_by_a_kill();
        let db = world.rig.path("mesh.db");
        harm(&db);
        let (code, finding) = database(&world);
        let text = |member: &str| finding[member].as_str().expect("text").to_owned();
        println!("{state:13} {code} {:6} {} / {}", text("level"), text("detail"), text("next"));
        assert!(text("detail").contains(said) && text("next").contains(next), "{state}: {finding}");
        assert_eq!(code, if state == "nothing" { 0 } else { 2 }, "{state}");
        // Opening says the same.
        let opened = SqliteStore::open(&db, options()).map(|store| store.last_time().is_ok());
        assert_eq!(opened.map_err(|error| error.to_string()), if code == 0 { Ok(true) } else { Err(text("detail")) });
    }
}

fn log(db: &Path) -> PathBuf {
    db.with_file_name("mesh.db-wal")
}

fn cut(file: &Path) {
    let opened = fs::File::options().write(true).open(file).expect("a file");
    opened.set_len(opened.metadata().expect("a length").len() / 2).expect("cut");
}

/// Lets the header of a database without a log say that it has this layout.
fn layout(db: &Path, layout: u32) {
    drop(SqliteStore::open(db, options()).expect("the log is carried over"));
    let opened = fs::File::options().write(true).open(db).expect("a file");
    opened.write_all_at(&layout.to_be_bytes(), 60).expect("written");
}

/// A server whose log is removed refuses, says why once, and loses nothing.
#[test]
fn a_server_says_why_it_refuses() {
    let world = World::new();
    let mut server = StdioServer::start(&world.rig, &["--db", "mesh.db", "--as", "alice"]);
    let mut ask = |number| {
        server.send(register(number).as_bytes());
        server.answer()
    };
    assert!(ask(1)["result"].is_object());
    fs::remove_file(log(&world.rig.path("mesh.db"))).expect("gone");
    for number in 2..6 {
        let refused = ask(number);
        assert_eq!(refused["error"]["data"]["code"], "store-unavailable", "{refused}");
    }
    let said = server.finish_and_tell();
    let lines: Vec<Value> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let told: Vec<&Value> = lines.iter().filter(|line| line["event"] == "refused").collect();
    let [line] = told[..] else { panic!("{said}") };
    assert_eq!((&line["cause"], &line["code"]), (&json!("stopped"), &json!("store-unavailable")));
    let text = |member: &str| line[member].as_str().expect("text");
    assert!(text("detail").contains("its log was removed while it was open"), "{line}");
    assert!(text("next").contains("threadmesh doctor"), "{line}");
    let (code, finding) = database(&world);
    assert_eq!(code, 0, "what was acknowledged was saved: {finding}");
    let get = |number: u32| {
        let task = json!({"taskId": format!("t-{number}"), "incarnationId": format!("inc_astray_{number:04}")});
        world.at("alice", &["call", "tasks.get", &json!({"task": task}).to_string()]).0
    };
    assert_eq!((get(1), get(2)), (0, 1));
}
