//! Starts workers, listens to them, and kills them.

use crate::lines::{Line, Try, Unresolved};
use crate::mesh::Opening;
use crate::random::Random;
use crate::rival::Event;
use crate::worker::Orders;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Never reached by a working program, even on a machine that is busy with much else.
pub const SOON: Duration = Duration::from_secs(120);

/// A message of a writer.
#[derive(Clone, Debug)]
pub struct Life {
    /// The sender.
    pub task: String,
    /// The message.
    pub message: String,
    /// How long each operation took, in microseconds.
    pub waits: Vec<u64>,
}

/// What one worker told.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// The name of its instance.
    pub instance: String,
    /// Its process.
    pub pid: u32,
    /// How it was killed: the pause point, or `at random`; nothing if it ended by itself.
    pub killed: Option<String>,
    /// What was unresolved when it opened the file; nothing if it did not come so far.
    pub unresolved: Option<Vec<Unresolved>>,
    /// Operations that it tried.
    pub tries: BTreeMap<u64, Try>,
    /// What was answered.
    pub acks: BTreeMap<u64, (bool, Value)>,
    /// What was refused.
    pub faults: BTreeMap<u64, String>,
    /// Attempt and kind of the dispatcher's acknowledged records.
    pub recorded: Vec<(String, String)>,
    /// Notes of its dispatcher.
    pub notes: Vec<String>,
    /// Calls, queries and unresolved attempts at its end.
    pub done: Option<(u64, u64, usize)>,
    /// What a writer's messages took, one operation after the other, in microseconds.
    pub lives: Vec<Life>,
    /// What a rival did.
    pub events: Vec<Event>,
    /// What it wrote on standard error.
    pub errors: String,
}

impl Told {
    fn take(&mut self, line: Line) {
        match line {
            Line::Open { unresolved } => self.unresolved = Some(unresolved),
            Line::Try(attempt) => {
                self.tries.insert(attempt.number, attempt);
            }
            Line::Ack { number, replayed, value } => {
                self.acks.insert(number, (replayed, value));
            }
            Line::Fault { number, code, detail } => {
                self.faults.insert(number, format!("{code}: {detail}"));
            }
            Line::Recorded { submission, what } => self.recorded.push((submission, what)),
            Line::Note { event, submission, detail } => self.notes.push(format!("{event} {submission} {detail}")),
            Line::Done { calls, queries, unresolved } => self.done = Some((calls, queries, unresolved)),
            Line::Life { task, message, waits } => self.lives.push(Life { task, message, waits }),
            Line::Happened(event) => self.events.push(event),
            Line::Loaded | Line::Ready | Line::Round { .. } => {}
        }
    }

    /// What was tried and never answered.
    pub fn unanswered(&self) -> Vec<Try> {
        let open = |number: &u64| !self.acks.contains_key(number) && !self.faults.contains_key(number);
        self.tries.iter().filter(|(number, _)| open(number)).map(|(_, attempt)| attempt.clone()).collect()
    }
}

/// A line of a process, or of its standard error.
enum Heard {
    Line(Line),
    Error(String),
}

/// How a worker came up.
enum Start {
    Ready,
    Paused,
    /// It ended, or took too long.
    Neither,
}

fn is_pause(text: &str) -> bool {
    text.starts_with("paused ")
}

/// A process of the test program.
pub struct Process {
    child: Child,
    heard: Receiver<Heard>,
    /// What it told so far.
    pub told: Told,
}

impl Process {
    /// Starts `threadmesh-faults ROLE ORDERS`.
    pub fn start(program: &Path, role: &str, orders: &str, pause: Option<&str>) -> Self {
        let mut command = Command::new(program);
        command.args([role, orders]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        match pause {
            Some(pause) => command.env("THREADMESH_PAUSE", pause),
            None => command.env_remove("THREADMESH_PAUSE"),
        };
        let mut child = command.spawn().expect("the program starts");
        let (tell, heard) = channel();
        let (lines, errors) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
        let told = Told { pid: child.id(), ..Told::default() };
        let also = tell.clone();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(lines);
            let mut line = String::new();
            // A last line without an end was cut off by the kill: it was never told.
            while lines.read_line(&mut line).is_ok_and(|length| length > 0) && line.ends_with('\n') {
                let parsed = serde_json::from_str(&line).expect("a line of the protocol");
                let _ = tell.send(Heard::Line(parsed));
                line.clear();
            }
        });
        std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                let _ = also.send(Heard::Error(line));
            }
        });
        Self { child, heard, told }
    }

    /// Lets a writer go.
    pub fn go(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Writes a line to its standard input.
    pub fn tell(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("it still listens");
        writeln!(input, "{line}").and_then(|()| input.flush()).expect("it hears");
    }

    /// Listens until `enough` of a line, the end of the process, or the end of the time. Whether it was enough.
    pub fn listen(&mut self, patience: Duration, mut enough: impl FnMut(&Line) -> bool) -> bool {
        self.hear(patience, |heard| matches!(heard, Heard::Line(line) if enough(line)))
    }

    /// Listens until the process says on standard error that it holds at a pause point.
    pub fn listen_for_pause(&mut self, patience: Duration) -> bool {
        self.hear(patience, |heard| matches!(heard, Heard::Error(text) if is_pause(text)))
    }

    fn listen_for_start(&mut self) -> Start {
        let mut start = Start::Neither;
        self.hear(SOON, |heard| {
            start = match heard {
                Heard::Line(Line::Ready) => Start::Ready,
                Heard::Error(text) if is_pause(text) => Start::Paused,
                _ => return false,
            };
            true
        });
        start
    }

    fn hear(&mut self, patience: Duration, mut enough: impl FnMut(&Heard) -> bool) -> bool {
        let until = Instant::now() + patience;
        while let Ok(heard) = self.heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
            let found = enough(&heard);
            match heard {
                Heard::Line(line) => self.told.take(line),
                Heard::Error(text) => {
                    self.told.errors.push_str(&text);
                    self.told.errors.push('\n');
                }
            }
            if found {
                return true;
            }
        }
        false
    }

    /// SIGKILL, and everything that was told before.
    pub fn kill(mut self, how: &str) -> Told {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
        self.listen(SOON, |_| false);
        self.told.killed = Some(how.to_owned());
        std::mem::take(&mut self.told)
    }

    /// Waits for the end, and everything that was told. It must end well.
    pub fn finish(mut self) -> Told {
        drop(self.child.stdin.take());
        self.listen(SOON * 5, |_| false);
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "a process failed ({status}):\n{}", self.told.errors);
        std::mem::take(&mut self.told)
    }
}

/// A test that fails leaves nobody behind.
impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A database, a ledger, and the workers so far.
pub struct Campaign {
    /// Where everything lies.
    pub folder: PathBuf,
    /// What each worker told.
    pub told: Vec<Told>,
    /// How long a call may take, in milliseconds.
    deadline_ms: u64,
    program: PathBuf,
    seed: u64,
    lossy: bool,
    leaks: bool,
    synchronous: &'static str,
}

impl Campaign {
    /// An empty one in `folder`.
    pub fn new(folder: &Path, program: &str, seed: u64, lossy: bool, synchronous: &'static str) -> Self {
        let campaign = Self {
            folder: folder.to_owned(),
            told: Vec::new(),
            deadline_ms: 3_000,
            program: program.into(),
            seed,
            lossy,
            leaks: false,
            synchronous,
        };
        campaign.write_profiles();
        campaign
    }

    /// The same, with another time for calls, in milliseconds.
    #[must_use]
    pub fn with_deadline(self, deadline_ms: u64) -> Self {
        let campaign = Self { deadline_ms, ..self };
        campaign.write_profiles();
        campaign
    }

    /// The same, where some unsynced writes are not lost, but torn or out of order.
    #[must_use]
    pub fn leaking(self) -> Self {
        Self { leaks: true, ..self }
    }

    fn write_profiles(&self) {
        let path = self.profiles();
        fs::write(&path, self.profile_text()).expect("the profile file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("its mode");
    }

    fn profiles(&self) -> PathBuf {
        self.folder.join("profiles.toml")
    }

    /// The ledger under three profiles.
    fn profile_text(&self) -> String {
        let one = |name: &str, answer: &str, more: &str| {
            let (program, folder, deadline) = (&self.program, &self.folder, self.deadline_ms);
            format!(
                "[profile.{name}]\nkind = \"command\"\nprogram = {program:?}\n\
                 args = [\"ledger\", {folder:?}, \"{answer}\"]\ndeadline_ms = {deadline}\ngrace_ms = 0\nsettle_ms = 3000\n{more}\n"
            )
        };
        let query = |name: &str, attempts: u32| {
            format!("[profile.{name}.query]\nbackoff_ms = 500\nbackoff_ms_max = 1000\nattempts_max = {attempts}\n")
        };
        [
            one("final", "absent-final", "can_query = true\nabsent_final = true"),
            query("final", 1_000),
            one("now", "absent-now", "can_query = true"),
            query("now", 3),
            one("mute", "", ""),
        ]
        .concat()
    }

    /// The database.
    pub fn db(&self) -> PathBuf {
        self.folder.join("mesh.db")
    }

    /// Orders for the next worker.
    pub fn orders(&self) -> Orders {
        let run = self.told.len() as u64;
        Orders {
            opening: Opening {
                db: self.db(),
                lossy: self.lossy,
                // Sometimes everything is lost, sometimes a part.
                leak: if self.leaks { 30 * (run % 4) } else { 0 },
                synchronous: self.synchronous.into(),
                instance: format!("host-{}-{run}", self.seed),
            },
            profiles: self.profiles(),
            seed: self.seed,
            run,
            threads: 4,
            messages: None,
            retries: self.told.last().map(Told::unanswered).unwrap_or_default(),
            settle_ms: 0,
        }
    }

    /// Starts a worker.
    pub fn start(&self, orders: &Orders, pause: Option<&str>) -> Process {
        let text = serde_json::to_string(orders).expect("orders are JSON");
        let mut process = Process::start(&self.program, "worker", &text, pause);
        process.told.instance = orders.opening.instance.clone();
        process
    }

    /// One worker, killed at a point that chance picks.
    pub fn kill_one(&mut self) {
        let mut random = Random::new(self.seed, 1_000_000 + self.told.len() as u64);
        let pause = pause(&mut random);
        let mut process = self.start(&self.orders(), pause.as_deref());
        let pauses = pause.is_some();
        if random.below(10) == 0 && !pauses {
            std::thread::sleep(Duration::from_millis(random.below(400)));
            return self.told.push(process.kill("while starting"));
        }
        // A point may be passed before the load begins.
        let reached = match process.listen_for_start() {
            Start::Paused => true,
            Start::Ready if pauses => process.listen_for_pause(Duration::from_secs(10)),
            Start::Ready | Start::Neither => false,
        };
        if !pauses {
            std::thread::sleep(Duration::from_millis(random.below(900)));
        }
        let how = pause.filter(|_| reached);
        let told = process.kill(how.as_deref().map_or("at random", |pause| pause.split(':').next().unwrap_or(pause)));
        self.told.push(told);
    }

    /// One worker, killed when so many operations were acknowledged.
    pub fn kill_after(&mut self, acks: usize) {
        let mut process = self.start(&self.orders(), None);
        let mut seen = 0;
        process.listen(SOON, |line| {
            seen += usize::from(matches!(line, Line::Ack { .. }));
            seen >= acks
        });
        let told = process.kill("after acknowledgements");
        self.told.push(told);
    }

    /// A last worker without a load, which ends when every attempt is resolved.
    pub fn settle(&mut self) {
        let orders = Orders { threads: 0, settle_ms: 90_000, ..self.orders() };
        let told = self.start(&orders, None).finish();
        self.told.push(told);
    }
}

/// The pause point of a worker, for two of three.
fn pause(random: &mut Random) -> Option<String> {
    let most =
        [("after-commit-before-call", 5), ("after-call-before-record", 5), ("after-commit", 60), ("before-commit", 60)];
    let place = match random.below(12) {
        0..=2 => most[0],
        3 | 4 => most[1],
        5 | 6 => most[2],
        7 => most[3],
        _ => return None,
    };
    Some(format!("{}:{}", place.0, 1 + random.below(place.1)))
}
