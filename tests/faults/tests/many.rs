//! Many processes on one database.
//!
//! `THREADMESH_WRITE_SECONDS` is how long they write.

use serde_json::json;
use std::path::Path;
use std::time::Duration;
use threadmesh_faults::campaign::{Process, SOON, Told};
use threadmesh_faults::lines::Line;
use threadmesh_faults::mesh::{Mesh, Opening, core};
use threadmesh_faults::script;
use threadmesh_faults::writer::Orders;

const PROGRAM: &str = env!("CARGO_BIN_EXE_threadmesh-faults");
const TARGET: &str = "mailbox";

/// Starts so many processes, lets all open the database at the same moment, and waits for their ends.
fn run(db: &Path, processes: u64, millis: u64) -> Vec<Told> {
    let start = |writer| {
        let opening = Opening::plain(db, &format!("host-{writer}"));
        let orders = Orders { opening, writer, target: TARGET.into(), millis };
        Process::start(Path::new(PROGRAM), "writer", &serde_json::to_string(&orders).expect("JSON"), None)
    };
    let mut all: Vec<Process> = (0..processes).map(start).collect();
    for process in &mut all {
        assert!(process.listen(SOON, |line| matches!(line, Line::Loaded)), "{}", process.told.errors);
    }
    all.iter_mut().for_each(Process::go);
    all.into_iter().map(Process::finish).collect()
}

#[test]
fn twenty_processes_open_a_new_database_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = folder.path().join("mesh.db");
    let told = run(&db, 20, 0);
    assert!(told.iter().all(|one| one.unresolved.is_some() && one.errors.is_empty()), "{told:?}");
    let mesh = Mesh::open(core(), &Opening::plain(&db, "checker")).expect("it opens");
    mesh.check_file().expect("it is sound");
    for writer in 0..20 {
        let again =
            mesh.call(&script::user(), "tasks.register", &script::register(&format!("writer{writer}-0"), "final"));
        assert!(again.expect("it was registered").replayed, "writer {writer}");
    }
}

#[test]
fn ten_processes_write_to_one_mailbox() {
    let seconds = std::env::var("THREADMESH_WRITE_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let folder = tempfile::tempdir().expect("a folder");
    let db = folder.path().join("mesh.db");
    let told = run(&db, 10, seconds * 1_000);
    let counts: Vec<usize> = told.iter().map(|one| one.lives.iter().map(|life| life.waits.len()).sum()).collect();
    let (least, most) = (counts.iter().min().expect("ten"), counts.iter().max().expect("ten"));
    let mut waits: Vec<u64> = told.iter().flat_map(|one| &one.lives).flat_map(|life| life.waits.clone()).collect();
    waits.sort_unstable();
    let at = |share: usize| Duration::from_micros(waits[(waits.len() - 1) * share / 1_000]);
    println!(
        "10 processes, {seconds} s: {} operations, per process {least} to {most}; wait p50 {:?}, p99 {:?}, max {:?}",
        waits.len(),
        at(500),
        at(990),
        at(1_000)
    );
    assert!(*least > 0 && least * 10 >= *most, "somebody starves: {counts:?}");
    nothing_is_lost(&db, &told);
}

fn nothing_is_lost(db: &Path, told: &[Told]) {
    let mesh = Mesh::open(core(), &Opening::plain(db, "checker")).expect("it opens");
    mesh.check_file().expect("it is sound");
    for life in told.iter().flat_map(|one| &one.lives) {
        let named = json!({"senderIncarnationId": script::incarnation(&life.task), "messageId": life.message});
        let read = mesh.call(&script::task(TARGET), "messages.getDisposition", &named).expect("it is there");
        assert_eq!(read.value["decision"], "accepted", "{life:?}");
    }
}
