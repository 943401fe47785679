//! A life on a disk that fails at one place, and what must hold then.
//!
//! Whatever fails: a step is either refused, and then nothing of it is there (for this process, for others, after a kill,
//! after a power failure), or acknowledged, and then it is there after each of them; only of a step whose outcome was said
//! to be unknown it may be either. The program goes on, or says that the store must be opened again; after the fault the
//! life comes to its end.

use crate::life::{COLLECTIONS, LENGTH, Life};
use crate::mesh::{Fault, Mesh};
use crate::vfs::{Disk, Plan};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use threadmesh_runtime::Core;
use threadmesh_runtime::store::Answer;

/// How often a step or an opening is tried on a disk that is well.
const TRIES: usize = 3;

/// What a trial came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Whether the fault was met.
    pub met: bool,
    /// Steps that were refused.
    pub refused: usize,
    /// Steps whose outcome was said to be unknown.
    pub unknown: usize,
    /// Openings that were refused.
    pub unopened: usize,
}

impl std::ops::AddAssign for Seen {
    fn add_assign(&mut self, other: Self) {
        self.met |= other.met;
        self.refused += other.refused;
        self.unknown += other.unknown;
        self.unopened += other.unopened;
    }
}

/// A running trial.
struct Trial<'c> {
    core: &'c Arc<dyn Core>,
    root: TempDir,
    db: PathBuf,
    disk: Arc<Disk>,
    plan: Option<Plan>,
    beside: bool,
    life: Life,
    /// Whether the outcome of the next step is unknown.
    doubt: bool,
    /// How many copies were made.
    copies: usize,
    seen: Seen,
}

/// The process under trial, and another one that only looks.
struct Pair {
    own: Mesh,
    other: Mesh,
    /// What both saw after the last acknowledgement.
    known: Vec<Answer>,
}

/// Runs a life with the fault of `plan`, or without any. The error says what must not be.
pub fn run(core: &Arc<dyn Core>, plan: Option<Plan>) -> Result<(Seen, Arc<Disk>), String> {
    run_with(core, plan, false)
}

/// The same, with a thread that carries the log over beside the commits.
pub fn run_beside(core: &Arc<dyn Core>, plan: Option<Plan>) -> Result<(Seen, Arc<Disk>), String> {
    run_with(core, plan, true)
}

fn run_with(core: &Arc<dyn Core>, plan: Option<Plan>, beside: bool) -> Result<(Seen, Arc<Disk>), String> {
    let memory = Path::new("/dev/shm");
    let root = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.map_err(told("no folder"))?;
    let folder = root.path().canonicalize().map_err(told("no folder"))?.join("work");
    std::fs::create_dir(&folder).map_err(told("no folder"))?;
    let (disk, db) = (Disk::new(&folder, plan), folder.join("mesh.db"));
    let (life, seen) = (Life::new(), Seen::default());
    let mut trial = Trial { core, root, db, disk, plan, beside, life, doubt: false, copies: 0, seen };
    trial.live()?;
    trial.seen.met = trial.disk.fired() > 0;
    Ok((trial.seen, trial.disk))
}

fn told<E: Display>(what: &str) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}

fn typed(fault: &Fault, among: &[&str]) -> Result<(), String> {
    if among.contains(&&*fault.code) && !fault.detail.is_empty() {
        return Ok(());
    }
    Err(format!("an error of another kind: {fault:?}"))
}

impl Trial<'_> {
    fn live(&mut self) -> Result<(), String> {
        let mut pair = self.open()?;
        while self.life.answers.len() < LENGTH {
            pair = self.step(pair)?;
        }
        // Power off in the middle of everything, and again after all was closed.
        self.look("power failure at the end", false)?;
        drop(pair);
        self.look("power failure after closing", false)
    }

    /// Opens, also where that is refused at first.
    fn open(&mut self) -> Result<Pair, String> {
        for _ in 0..TRIES {
            match Mesh::on_disk_beside(self.core, &self.db, true, false, self.beside) {
                Ok(own) => {
                    let disk = Arc::clone(&self.disk);
                    return disk.aside(|| {
                        let other =
                            Mesh::on_disk(self.core, &self.db, true, true).map_err(|fault| format!("{fault:?}"))?;
                        let known = own.visible(&COLLECTIONS)?;
                        Ok(Pair { own, other, known })
                    });
                }
                Err(fault) => {
                    typed(&fault, &["open:io", "host:store-unavailable"])?;
                    self.seen.unopened += 1;
                    if self.life.answers.is_empty() && !self.doubt {
                        self.look("power failure while it is made", false)?;
                    }
                    if self.plan.is_some_and(|plan| plan.lasting) {
                        self.disk.mend();
                    }
                }
            }
        }
        Err("it does not open after the fault".into())
    }

    /// Runs the next step until it is acknowledged.
    fn step(&mut self, mut pair: Pair) -> Result<Pair, String> {
        let number = self.life.answers.len();
        for _ in 0..=TRIES {
            let fault = match self.life.run(number, &pair.own) {
                Ok((replayed, value)) => {
                    if replayed && !self.doubt {
                        return Err(format!("step {number} was done before it was acknowledged"));
                    }
                    self.doubt = false;
                    self.life.answers.push(value);
                    pair.known = self.disk.aside(|| pair.own.visible(&COLLECTIONS))?;
                    return Ok(pair);
                }
                Err(fault) => fault,
            };
            typed(&fault, &["host:store-unavailable", "host:store-outcome-unknown"])?;
            self.unchanged(&pair)?;
            if fault.code == "host:store-unavailable" {
                self.seen.refused += 1;
                self.look("power failure after a refusal", false)?;
                self.look("kill after a refusal", true)?;
                if self.seen.refused > 1 {
                    self.disk.mend();
                }
                continue;
            }
            self.seen.unknown += 1;
            self.doubt = true;
            self.look("power failure in doubt", false)?;
            self.look("kill in doubt", true)?;
            self.stays_broken(&pair)?;
            drop(pair);
            self.disk.mend();
            pair = self.open()?;
        }
        Err(format!("step {number} is not done after the fault"))
    }

    /// Nothing of what was not acknowledged can be seen, by anybody.
    fn unchanged(&self, pair: &Pair) -> Result<(), String> {
        self.disk.aside(|| {
            for (who, mesh) in [("the process", &pair.own), ("another process", &pair.other)] {
                if mesh.visible(&COLLECTIONS)? != pair.known {
                    return Err(format!("{who} sees something of step {}", self.life.answers.len()));
                }
            }
            Ok(())
        })
    }

    /// Without a new open nothing is acknowledged any more, though the disk is well again.
    fn stays_broken(&self, pair: &Pair) -> Result<(), String> {
        self.disk.aside(|| match self.life.run(self.life.answers.len(), &pair.own) {
            Err(fault) => typed(&fault, &["host:store-outcome-unknown"]),
            Ok(_) => Err("it goes on after a write that the disk did not confirm".into()),
        })
    }

    /// What somebody finds who starts from what is left now, on a disk that is well: every acknowledged step, not the one
    /// that was refused; and that the life can be lived to its end.
    fn look(&mut self, when: &str, cached: bool) -> Result<(), String> {
        self.copies += 1;
        let folder = self.root.path().join(format!("copy-{}", self.copies));
        std::fs::create_dir(&folder).map_err(told("no folder"))?;
        self.disk.copy(&folder, cached);
        let found = self.finish(&folder.join("mesh.db")).map_err(|error| format!("{when}: {error}"));
        std::fs::remove_dir_all(&folder).map_err(told("a folder stays"))?;
        found
    }

    fn finish(&self, db: &Path) -> Result<(), String> {
        let done = self.life.answers.len();
        let mesh =
            Mesh::on_disk(self.core, db, false, false).map_err(|fault| format!("it does not open: {fault:?}"))?;
        mesh.check_file()?;
        let mut life = self.life.clone();
        for number in 0..LENGTH {
            if number < done && !Life::tells(number, done + usize::from(self.doubt)) {
                continue;
            }
            let (replayed, value) = life.run(number, &mesh).map_err(|fault| format!("step {number}: {fault:?}"))?;
            match number {
                _ if number < done && !replayed => return Err(format!("step {number} is lost")),
                _ if number == done && replayed && !self.doubt => return Err(format!("step {number} is there")),
                _ if number > done && replayed => return Err(format!("step {number} was never tried, and is there")),
                _ => {}
            }
            if number >= done {
                life.answers.push(value);
            }
        }
        mesh.check_file()
    }
}
