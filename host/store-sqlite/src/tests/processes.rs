//! Many processes on one file. A child is this test program again, with one test named and its task in the environment.
//!
//! How long the writers write is bounded to a few seconds here; `STORE_SQLITE_SECONDS` makes it longer.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::Mode;
use threadmesh_runtime::store::{Query, ReadSet, Store};

use super::{addition, all, commit, files, ids, open, place, row};

/// What a child of `task` is told; nothing in the parent.
pub(super) fn in_child(task: &str) -> Option<String> {
    let told = std::env::var("STORE_SQLITE_CHILD").ok()?;
    let (name, rest) = told.split_once('=')?;
    (name == task).then(|| rest.to_owned())
}

/// Makes the test program run `test` alone.
pub(super) fn child_arguments(test: &str) -> [String; 4] {
    ["--exact".into(), test.into(), "--nocapture".into(), "--test-threads=1".into()]
}

fn child(test: &str, task: &str, told: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(child_arguments(&format!("tests::processes::{test}")))
        .env("STORE_SQLITE_CHILD", format!("{task}={told}"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The lines that a child wrote behind "@@".
fn finish(child: Child) -> Vec<String> {
    let done = child.wait_with_output().unwrap();
    let output = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{output}\n{}", String::from_utf8_lossy(&done.stderr));
    output.lines().filter_map(|line| line.split_once("@@").map(|(_, said)| said.to_owned())).collect()
}

#[test]
fn files_are_private_whatever_the_umask() {
    if let Some(told) = in_child("umask") {
        let (umask, path) = told.split_once('=').unwrap();
        rustix::process::umask(Mode::from_bits_truncate(umask.parse().unwrap()));
        let store = open(Path::new(path));
        commit(&store, &addition("a", "x")).unwrap();
        let directory = Path::new(path).parent().unwrap();
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            println!("@@{:?} {:o}", entry.file_name(), entry.metadata().unwrap().permissions().mode() & 0o7777);
        }
        return;
    }
    for umask in [0o000, 0o022, 0o277, 0o777] {
        let (_directory, path) = place();
        let told = format!("{umask}={}", path.display());
        let said = finish(child("files_are_private_whatever_the_umask", "umask", &told));
        assert_eq!(said.len(), 4, "file, log, index of the log, lock: {said:?}");
        assert!(said.iter().all(|line| line.ends_with(" 600")), "umask {umask:o}: {said:?}");
    }
}

#[test]
fn twenty_open_a_new_file_at_once() {
    if let Some(told) = in_child("open") {
        let (number, path) = told.split_once('=').unwrap();
        wait_for_start();
        let began = Instant::now();
        let store = open(Path::new(path));
        let opened = began.elapsed();
        for turn in 0..5 {
            commit(&store, &addition(&format!("{number}/{turn}"), "x")).unwrap();
        }
        drop(store);
        // Closing and opening, while others do the same.
        commit(&open(Path::new(path)), &addition(&format!("{number}/again"), "x")).unwrap();
        println!("@@{}", opened.as_micros());
        return;
    }
    for round in 0..2 {
        let (_directory, path) = place();
        let mut children: Vec<Child> = (0..20)
            .map(|number| child("twenty_open_a_new_file_at_once", "open", &format!("{number}={}", path.display())))
            .collect();
        start(&mut children);
        let mut opened: Vec<u64> = children.into_iter().map(|child| finish(child)[0].parse().unwrap()).collect();
        opened.sort_unstable();
        println!("round {round}: opened within {} to {} µs", opened[0], opened[19]);
        let store = open(&path);
        assert_eq!((ids(&store, "c").len(), ids(&store, "audit").len()), (120, 120));
        store.check().unwrap();
    }
}

#[test]
fn ten_write_to_one_mailbox() {
    if let Some(told) = in_child("write") {
        let (number, rest) = told.split_once('=').unwrap();
        let (seconds, path) = rest.split_once('=').unwrap();
        wait_for_start();
        return write_for(Path::new(path), number, Duration::from_secs(seconds.parse().unwrap()));
    }
    let seconds = std::env::var("STORE_SQLITE_SECONDS").unwrap_or_else(|_| "3".into());
    let (_directory, path) = place();
    let told = |number: usize| format!("{number}={seconds}={}", path.display());
    let mut children: Vec<Child> =
        (0..10).map(|number| child("ten_write_to_one_mailbox", "write", &told(number))).collect();
    start(&mut children);
    let (mut counts, mut waits) = (Vec::new(), Vec::new());
    for child in children {
        let said = finish(child);
        let own: Vec<u64> = said[0].split(' ').map(|wait| wait.parse().unwrap()).collect();
        counts.push(own.len());
        waits.extend(own);
    }
    waits.sort_unstable();
    let at = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize] as f64 / 1000.0;
    println!(
        "{} commits by 10 processes in {seconds} s; wait p50 {} ms, p99 {} ms, p99.9 {} ms, max {} ms; commits of each: {counts:?}",
        waits.len(),
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    );
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(*least * 4 > *most, "somebody starves: {counts:?}");
    let store = open(&path);
    let positions = ids(&store, "audit");
    assert_eq!(positions.len(), waits.len(), "everything acknowledged is there, once");
    assert_eq!(positions.last(), Some(&format!("{:016}", waits.len())), "and the positions are dense");
    let counter = store.read(&[point("counter")]).unwrap().remove(0).rows.remove(0);
    assert_eq!((counter.revision as usize, counter.body), (waits.len(), waits.len().to_string()));
    store.check().unwrap();
}

/// One message and one increment of a shared counter per commit; says how long each commit took, in microseconds.
fn write_for(path: &Path, number: &str, time: Duration) {
    let store = open(path);
    let began = Instant::now();
    let mut waits = Vec::new();
    while began.elapsed() < time {
        let turn = Instant::now();
        let mut batch = store.begin().unwrap();
        let mut reads = ReadSet::at(batch.epoch());
        let answer = batch.read(&[point("counter")]).unwrap().remove(0);
        reads.record(&point("counter"), &answer);
        let revision = answer.rows.first().map_or(0, |row| row.revision);
        let mut changes = addition(&format!("{number}/{:08}", waits.len()), &"x".repeat(400));
        changes.writes.push(row("counter", revision, &(revision + 1).to_string()));
        batch.apply(&reads, &changes).unwrap();
        batch.commit().unwrap();
        waits.push(turn.elapsed().as_micros().to_string());
    }
    println!("@@{}", waits.join(" "));
}

/// A child that is killed in the middle: what it said was committed is there.
#[test]
fn what_a_killed_process_acknowledged_is_there() {
    if let Some(path) = in_child("killed") {
        let store = open(Path::new(&path));
        for number in ids(&store, "c").len().. {
            commit(&store, &addition(&format!("{number:06}"), &"x".repeat(number % 3000))).unwrap();
            println!("@@{number:06}");
        }
    }
    let (_directory, path) = place();
    let mut acknowledged = BTreeSet::new();
    for round in 0..8 {
        let mut child = child("what_a_killed_process_acknowledged_is_there", "killed", path.to_str().unwrap());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for line in lines.by_ref().map_while(Result::ok).filter(|line| line.contains("@@")).take(20 + round * 7) {
            acknowledged.insert(line.split_once("@@").unwrap().1.to_owned());
        }
        child.kill().unwrap();
        for line in lines
            .map_while(Result::ok)
            .filter(|line| line.ends_with(|c: char| c.is_ascii_digit()) && line.contains("@@"))
        {
            acknowledged.insert(line.split_once("@@").unwrap().1.to_owned());
        }
        child.wait().unwrap();
        let store = open(&path);
        let found: BTreeSet<_> = ids(&store, "c").into_iter().collect();
        assert!(acknowledged.is_subset(&found), "round {round}");
        assert!(found.len() <= acknowledged.len() + round + 1, "at most one in flight per kill");
        assert_eq!(ids(&store, "audit").len(), found.len());
        store.check().unwrap();
    }
    assert!(files(path.parent().unwrap()).contains_key("store.db"));
}

/// Processes that die while others write: those others see no error, and nothing that anybody acknowledged is lost.
#[test]
fn others_go_on_when_one_is_killed() {
    if let Some(told) = in_child("victim") {
        let (number, path) = told.split_once('=').unwrap();
        let store = open(Path::new(path));
        for turn in 0.. {
            let id = format!("{number}/{turn:06}");
            commit(&store, &addition(&id, &"x".repeat(turn % 5000))).unwrap();
            println!("@@{id}@");
        }
    }
    let (_directory, path) = place();
    let victim = |number: usize| {
        let mut child =
            child("others_go_on_when_one_is_killed", "victim", &format!("{number}={}", path.to_str().unwrap()));
        let output = BufReader::new(child.stdout.take().unwrap());
        let said = std::thread::spawn(move || output.lines().map_while(Result::ok).collect::<Vec<_>>());
        (child, said)
    };
    let mut running: Vec<_> = (0..4).map(victim).collect();
    let mut said = Vec::new();
    for number in 4..28 {
        std::thread::sleep(Duration::from_millis(60));
        let (mut child, output) = running.remove(number % 4);
        assert!(child.try_wait().unwrap().is_none(), "a child ended by itself: {:?}", child.wait_with_output());
        child.kill().unwrap();
        child.wait().unwrap();
        said.extend(output.join().unwrap());
        running.push(victim(number));
    }
    for (mut child, output) in running {
        child.kill().unwrap();
        child.wait().unwrap();
        said.extend(output.join().unwrap());
    }
    let whole = |line: String| Some(line.split_once("@@")?.1.strip_suffix('@')?.to_owned());
    let acknowledged: BTreeSet<String> = said.into_iter().filter_map(whole).collect();
    let store = open(&path);
    let found: BTreeSet<_> = ids(&store, "c").into_iter().collect();
    println!("{} acknowledged, {} found after 28 kills", acknowledged.len(), found.len());
    assert!(acknowledged.len() > 28, "they did get to write");
    assert!(acknowledged.is_subset(&found));
    assert!(found.len() <= acknowledged.len() + 28, "at most one in flight per kill");
    assert_eq!(ids(&store, "audit").len(), found.len());
    store.check().unwrap();
}

fn point(id: &str) -> Query {
    Query { start: id.into(), end: None, ..all("c") }
}

/// Children wait for the end of their input, so that all begin at once.
fn wait_for_start() {
    let _ = std::io::stdin().lines().count();
}

fn start(children: &mut [Child]) {
    // All of them are up and waiting by then; one that is not begins a little later.
    std::thread::sleep(Duration::from_millis(300));
    for child in children {
        child.stdin = None;
    }
}
