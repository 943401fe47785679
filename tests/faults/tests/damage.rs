//! Damage to the files of a store: it is noticed, and nothing is repaired or made again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tempfile::TempDir;
use threadmesh_faults::life::{COLLECTIONS, LENGTH, Life};
use threadmesh_faults::mesh::{self, Mesh};
use threadmesh_runtime::Core;
use threadmesh_runtime::store::Answer;

const PAGE: usize = 4096;

fn core() -> &'static Arc<dyn Core> {
    static CORE: OnceLock<Arc<dyn Core>> = OnceLock::new();
    CORE.get_or_init(mesh::core)
}

/// A folder in memory, if there is one.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.expect("a folder")
}

/// A life that was lived, and what its files hold.
struct Lived {
    life: Life,
    file: Vec<u8>,
    log: Vec<u8>,
    rows: Vec<Answer>,
}

/// Lives a life; its files as they are after closing, or (with `killed`) as a killed process leaves them.
fn live(killed: bool) -> Lived {
    let folder = folder();
    let db = folder.path().canonicalize().expect("a folder").join("mesh.db");
    let mesh = Mesh::on_disk(core(), &db, false, false).expect("it opens");
    let mut life = Life::new();
    for number in 0..LENGTH {
        let (_, value) = life.run(number, &mesh).expect("a step");
        life.answers.push(value);
    }
    let rows = mesh.visible(&COLLECTIONS).expect("it can be read");
    let read = |suffix: &str| fs::read(PathBuf::from(format!("{}{suffix}", db.display()))).unwrap_or_default();
    if killed {
        return Lived { life, file: read(""), log: read("-wal"), rows };
    }
    drop(mesh);
    Lived { life, file: read(""), log: read("-wal"), rows }
}

/// What came of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Came {
    /// The store is not opened.
    Unopened,
    /// Something is refused as damaged.
    Refused,
    /// Nothing is refused, but the check finds it.
    Checked,
    /// Everything is as it was: there was nothing in this place.
    Harmless,
    /// Something else is told than what was there.
    Silent,
}

/// Opens `file` and `log`, and looks at everything.
fn look(lived: &Lived, file: &[u8], log: &[u8]) -> Came {
    let folder = folder();
    let db = folder.path().canonicalize().expect("a folder").join("mesh.db");
    fs::write(&db, file).expect("a file");
    if !log.is_empty() {
        fs::write(db.with_file_name("mesh.db-wal"), log).expect("a log");
    }
    let mesh = match Mesh::on_disk(core(), &db, false, false) {
        Ok(mesh) => mesh,
        Err(fault) => {
            assert!(fault.code == "open:damaged" || fault.code == "host:record-damaged", "{fault:?}");
            assert!(fs::read(&db).expect("the file") == file, "a damaged file stays as it is");
            return Came::Unopened;
        }
    };
    let checked = mesh.check_file();
    let rows = mesh.visible(&COLLECTIONS);
    let (mut refused, mut wrong) = (rows.is_err(), false);
    for number in (0..LENGTH).filter(|number| Life::tells(*number, LENGTH)) {
        match lived.life.run(number, &mesh) {
            Ok((replayed, _)) => wrong |= !replayed,
            Err(fault) if fault.code.ends_with("record-damaged") => refused = true,
            // What is there is not what was written, and the rules say so.
            Err(_) => wrong = true,
        }
    }
    wrong |= rows.is_ok_and(|rows| rows != lived.rows);
    match (refused, checked.is_err(), wrong) {
        (true, ..) => Came::Refused,
        (false, true, _) => Came::Checked,
        (false, false, true) => Came::Silent,
        (false, false, false) => Came::Harmless,
    }
}

/// A kind of damage, by name.
type Damage = (&'static str, fn(&mut [u8], usize));

const DAMAGES: [Damage; 4] = [
    ("inverted", |page, _| page.iter_mut().for_each(|byte| *byte ^= 0xff)),
    ("zeroed", |page, _| page.fill(0)),
    ("half inverted", |page, _| page[PAGE / 2..].iter_mut().for_each(|byte| *byte ^= 0xff)),
    ("one bit", |page, at| page[at] ^= 1),
];

#[test]
fn every_damaged_page_is_noticed() {
    let lived = live(false);
    assert!(lived.log.is_empty());
    let mut all: BTreeMap<(&str, Came), Vec<String>> = BTreeMap::new();
    for page in 0..lived.file.len() / PAGE {
        for (name, damage) in DAMAGES {
            let places: Vec<usize> =
                if name == "one bit" { (0..6).map(|place| 37 + place * 701 + page).collect() } else { vec![0] };
            for place in places {
                let mut file = lived.file.clone();
                damage(&mut file[page * PAGE..][..PAGE], place % PAGE);
                let came = look(&lived, &file, &[]);
                all.entry((name, came)).or_default().push(format!("{page}:{place}"));
            }
        }
    }
    for ((name, came), places) in &all {
        println!("{name}: {} are {came:?}: {places:?}", places.len());
    }
    let silent = all.iter().filter(|((_, came), _)| *came == Came::Silent);
    assert!(silent.clone().count() == 0, "{:?}", silent.collect::<Vec<_>>());
    let loud = |wanted: Came| all.keys().any(|(name, came)| *name == "one bit" && *came == wanted);
    assert!(loud(Came::Refused) && loud(Came::Checked), "each way of noticing is needed");
}

/// How many steps are there, of a life of which the log was damaged. Steps are lost from the end only, and the rest can be
/// lived.
fn resume(lived: &Lived, log: &[u8]) -> Result<usize, String> {
    let folder = folder();
    let db = folder.path().canonicalize().expect("a folder").join("mesh.db");
    fs::write(&db, &lived.file).expect("a file");
    fs::write(db.with_file_name("mesh.db-wal"), log).expect("a log");
    let mesh = Mesh::on_disk(core(), &db, false, false).map_err(|fault| {
        assert_eq!(fault.code, "open:damaged", "{fault:?}");
        let log_stays = fs::read(db.with_file_name("mesh.db-wal")).expect("the log") == log;
        assert!(log_stays && fs::read(&db).expect("the file") == lived.file, "damaged files stay as they are");
        fault.detail
    })?;
    mesh.check_file().expect("what is left is sound");
    let (mut life, mut there) = (Life { answers: Vec::new(), ..lived.life.clone() }, LENGTH);
    for number in 0..LENGTH {
        let done = |_| (true, lived.life.answers[number].clone());
        let (replayed, value) = match life.run(number, &mesh) {
            // Emptying the log again says nothing.
            Ok((_, value)) if there == LENGTH && value.get("clean").is_some() => (true, value),
            // A claim whose message was decided on is nobody's.
            Err(fault) if there == LENGTH && !Life::tells(number, LENGTH) => done(fault),
            other => other.unwrap_or_else(|fault| panic!("step {number}: {fault:?}")),
        };
        assert!(!replayed || there == LENGTH, "step {number} is there, and step {there} is not");
        if !replayed && there == LENGTH {
            there = number;
        }
        life.answers.push(value);
    }
    mesh.check_file().expect("it is sound");
    Ok(there)
}

#[test]
fn a_log_that_is_cut_loses_its_end_only() {
    let lived = live(true);
    let frames = (lived.log.len() - 32) / (PAGE + 24);
    println!("{frames} frames");
    let boundaries = (0..=frames).map(|frame| 32 + frame * (PAGE + 24));
    let mut last = 0;
    for cut in [0, 16].into_iter().chain(boundaries.flat_map(|at| [at, at + 1, at + 12, at + 24, at + 2_000])) {
        let there = resume(&lived, &lived.log[..cut.min(lived.log.len())]).expect("a torn end is no damage");
        assert!(there >= last, "a longer log has more");
        last = there;
    }
    assert_eq!(last, LENGTH, "a whole log has everything");
}

#[test]
fn damage_in_front_of_a_commit_is_loud() {
    let lived = live(true);
    let frames = (lived.log.len() - 32) / (PAGE + 24);
    let last = *commits(&lived.log).iter().rev().nth(1).expect("more than one commit");
    let (mut loud, mut end) = (0, 0);
    for frame in 0..frames {
        for at in [0, 5, 9, 17, 24, 2_000, PAGE + 23] {
            let mut log = lived.log.clone();
            log[32 + frame * (PAGE + 24) + at] ^= 0x10;
            match resume(&lived, &log) {
                Err(_) => loud += 1,
                // Of what belongs to the last commit, or tells where it begins, nobody can say that it was there.
                Ok(_) => {
                    assert!(frame >= last, "damage in frame {frame} of {frames} is taken for the end");
                    end += 1;
                }
            }
        }
    }
    println!("{loud} damages are loud, {end} are taken for the end of the log");
    assert!(loud > end);
}

/// The frames that end commits.
fn commits(log: &[u8]) -> Vec<usize> {
    let frames = log[32..].chunks_exact(PAGE + 24).enumerate();
    frames.filter(|(_, frame)| frame[4..8] != [0; 4]).map(|(number, _)| number).collect()
}
