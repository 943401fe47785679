//! The program on disks that fail for real: a small one that fills up, one that may not be written, and system calls that
//! fail. Needs root (`unshare`, `mount`) and `strace`; without them it says what it skips.

use crate::program::{Client, Server, world::World};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Tells a child of a test in which mounted folder it is to work.
const INSIDE: &str = "THREADMESH_IT_MOUNTED";
/// The exit code for a folder that cannot be mounted.
const NOT_MOUNTED: i32 = 77;

/// Runs `test` again with a file system of 6 MB to itself. False where this machine does not allow it.
fn on_a_small_disk(test: &str) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let script = format!("mount -t tmpfs -o size=6m,mode=0700 none \"$0\" || exit {NOT_MOUNTED}; exec \"$@\"");
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script]).arg(folder.path()).arg(std::env::current_exe().expect("this program"));
    command.args(["--exact", test, "--nocapture"]).env(INSIDE, folder.path()).env("TMPDIR", folder.path());
    let Ok(output) = command.output() else { return false };
    let told = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    println!("{told}");
    let mounted = output.status.success() || told.contains("running 1 test");
    assert!(!mounted || output.status.success(), "it failed inside");
    mounted
}

fn register(number: usize) -> Value {
    let task =
        json!({"taskId": format!("t-{number}"), "incarnationId": format!("inc_many_{number:04}"), "harness": "test"});
    json!({"task": task, "idempotencyKey": format!("idem_many_{number:04}")})
}

/// A server, and somebody who registers tasks through it.
struct Load {
    world: World,
    server: Option<Server>,
    client: Client,
    /// How many tasks were acknowledged.
    acknowledged: usize,
}

impl Load {
    fn new() -> Self {
        let world = World::new();
        let (server, client) = Self::start(&world);
        Load { world, server: Some(server), client, acknowledged: 0 }
    }

    fn start(world: &World) -> (Server, Client) {
        let server = world.serve();
        let client = Client::authenticated(&world.rig.path("mesh.db.run/socket"), &world.token("alice"));
        (server, client)
    }

    /// Registers until that is refused; the refusal.
    fn fill(&mut self) -> Value {
        for _ in 0..20_000 {
            let answer = self.client.call("tasks.register", register(self.acknowledged));
            if answer["error"].is_object() {
                return answer["error"]["data"].clone();
            }
            assert_eq!(answer["result"]["value"]["operationReplay"], false, "{answer}");
            self.acknowledged += 1;
        }
        panic!("the disk is not full");
    }

    /// Registers one more.
    fn add(&mut self) {
        let answer = self.client.call("tasks.register", register(self.acknowledged));
        assert_eq!(answer["result"]["value"]["operationReplay"], false, "{answer}");
        self.acknowledged += 1;
    }

    /// Everything that was acknowledged is there, and nothing else.
    fn check(&mut self) {
        for number in 0..self.acknowledged {
            let answer = self.client.call("tasks.register", register(number));
            assert_eq!(answer["result"]["value"]["operationReplay"], true, "{number}: {answer}");
        }
        let (code, values) = self.world.rig.json(&["doctor", "--db", "mesh.db"]);
        let findings = values[0]["findings"].as_array().expect("findings");
        let integrity = findings.iter().find(|finding| finding["about"] == "integrity").expect("a finding");
        assert_eq!(integrity["level"], "ok", "{integrity}");
        // A disk of this size never has the room that the doctor would like.
        let bad: Vec<_> = findings.iter().filter(|finding| finding["level"] == "bad").collect();
        assert!(bad.iter().all(|finding| finding["about"] == "room"), "{code}: {findings:?}");
    }
}

#[test]
fn a_small_disk_fills_up_and_is_emptied_again() {
    if std::env::var_os(INSIDE).is_none() {
        let done = on_a_small_disk("cli::disk::a_small_disk_fills_up_and_is_emptied_again");
        return if !done {
            println!("SKIPPED: no file system can be mounted here; 1 disk was not filled")
        };
    }
    let mut load = Load::new();
    let ballast = load.world.rig.write("ballast", vec![7; 3 << 20]);
    let refusal = load.fill();
    println!("{} tasks fit: {refusal}", load.acknowledged);
    assert_eq!((&refusal["code"], &refusal["retryable"]), (&json!("store-unavailable"), &json!(true)));
    let again = load.client.call("tasks.register", register(load.acknowledged));
    assert_eq!(again["error"]["data"]["code"], "store-unavailable", "still full: {again}");
    let first = load.client.call("tasks.register", register(0));
    assert_eq!(first["result"]["value"]["operationReplay"], true, "what is there can be asked for: {first}");

    fs::remove_file(&ballast).expect("the ballast goes");
    load.add();
    load.check();
    let refusal = load.fill();
    assert_eq!(refusal["code"], "store-unavailable", "{refusal}");
    // Killed on a full disk, and started on it again.
    fs::write(load.world.rig.path("rest"), vec![7; 6 << 20]).expect_err("the rest is filled as well");
    load.server.take().expect("a server").kill();
    let next = register(load.acknowledged).to_string();
    let (code, values) = load.world.at("alice", &["call", "tasks.register", &next]);
    println!("on a full disk: {code} {values:?}");
    assert!(code != 0 && !values[0]["error"]["detail"].as_str().unwrap_or_default().is_empty(), "{values:?}");
    fs::remove_file(load.world.rig.path("rest")).expect("there is room again");
    let (server, client) = Load::start(&load.world);
    (load.server, load.client) = (Some(server), client);
    load.check();
    println!("{} tasks in the end", load.acknowledged);
}

#[test]
fn a_disk_that_may_not_be_written() {
    if std::env::var_os(INSIDE).is_none() {
        let done = on_a_small_disk("cli::disk::a_disk_that_may_not_be_written");
        return if !done {
            println!("SKIPPED: no file system can be mounted here; 1 disk was not write-protected")
        };
    }
    let folder = std::env::var_os(INSIDE).expect("a folder");
    let mount = |how: &str| {
        let done = Command::new("mount").args(["-o", how]).arg(&folder).status().expect("mount runs");
        assert!(done.success(), "{how}");
    };
    let world = World::new();
    let params = register(0).to_string();
    assert_eq!(world.at("alice", &["call", "tasks.register", &params]).0, 0);
    let before = fs::read(world.rig.path("mesh.db")).expect("the database");
    mount("remount,ro");
    let next = register(1).to_string();
    for arguments in [&["call", "tasks.register", &next][..], &["call", "tasks.register", &params]] {
        let (code, values) = world.at("alice", arguments);
        println!("{code} {values:?}");
        let error = &values[0]["error"];
        assert!(code == 2 && error["code"] == "database-unusable" && error["detail"].is_string(), "{values:?}");
    }
    assert!(fs::read(world.rig.path("mesh.db")).expect("the database") == before);
    mount("remount,rw");
    let replayed = |params: &str| {
        let (code, values) = world.at("alice", &["call", "tasks.register", params]);
        assert_eq!(code, 0, "{values:?}");
        values[0]["result"]["value"]["operationReplay"].clone()
    };
    assert_eq!((replayed(&params), replayed(&next)), (json!(true), json!(false)));
}

/// Runs an operation on a new database, of which one system call fails. The code and the answer; nothing where there was
/// no such call, or no `strace`.
fn with_a_failing_call(world: &World, db: &str, call: &str) -> Option<(i32, Value)> {
    for name in ["tokens/alice", "tokens.json"] {
        let to = world.rig.path(&format!("{db}.{name}"));
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::copy(world.rig.path(&format!("mesh.db.{name}")), to).expect("a token");
    }
    let trace = world.rig.path("trace");
    let program = world.rig.command::<&str>(&[]);
    let mut command = Command::new("strace");
    command.args(["-f", "-o"]).arg(&trace).args(["-e", &format!("inject={call}")]).arg(program.get_program());
    command.args(["--json", "call", "--create", "--db", db, "--as", "alice", "tasks.register"]);
    command.arg(register(0).to_string()).current_dir(program.get_current_dir().expect("a folder"));
    command.env_clear().envs(program.get_envs().filter_map(|(name, value)| value.map(|value| (name, value))));
    let output = command.output().ok()?;
    let met = fs::read_to_string(&trace).is_ok_and(|trace| trace.contains("(INJECTED)"));
    let line = String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned).unwrap_or_default();
    let value = serde_json::from_str(&line).unwrap_or(Value::Null);
    met.then(|| (output.status.code().unwrap_or(-1), value))
}

#[test]
fn system_calls_that_fail() {
    if !Path::new("/usr/bin/strace").exists() {
        return println!("SKIPPED: there is no strace here; 40 system calls did not fail");
    }
    let world = World::new();
    let mut seen = std::collections::BTreeMap::<String, usize>::new();
    let syncs = (1..40).map(|number| format!("fsync,fdatasync:error=EIO:when={number}"));
    let full = (1..100).step_by(9).map(|number| format!("pwrite64:error=ENOSPC:when={number}"));
    let failing = (5..100).step_by(13).map(|number| format!("pwrite64:error=EIO:when={number}"));
    for (number, call) in syncs.chain(full).chain(failing).enumerate() {
        let db = format!("mesh-{number}.db");
        let Some((code, value)) = with_a_failing_call(&world, &db, &call) else { continue };
        let error = value["error"]["code"].as_str().unwrap_or("none");
        assert!(matches!(code, 0..=2) && !value.is_null(), "{call}: {code} {value}");
        let after = world.rig.json::<&str>(&[
            "call",
            "--create",
            "--db",
            &db,
            "--as",
            "alice",
            "tasks.register",
            &register(0).to_string(),
        ]);
        assert_eq!(after.0, 0, "{call}: {code} {value}, then {after:?}");
        let replayed = &after.1[0]["result"]["value"]["operationReplay"];
        match (code, error) {
            (0, _) => assert_eq!(replayed, &json!(true), "{call}: acknowledged, and not there"),
            (_, "store-outcome-unknown") => {}
            _ => assert_eq!(replayed, &json!(false), "{call}: {value}, and there"),
        }
        *seen.entry(format!("{}: {error}", call.split(':').take(2).collect::<Vec<_>>().join(" "))).or_default() += 1;
    }
    println!("{seen:#?}");
    assert!(seen.keys().any(|seen| seen.ends_with("store-outcome-unknown")) && seen.len() > 3, "{seen:?}");
}
