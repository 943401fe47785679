//! Random requests against a real server, over HTTP and line by line: half of them allowed by the OpenRPC document, half
//! broken. No server error, every line answered as JSON-RPC says, no trap, and memory that does not grow.
//!
//! The ordinary run is short, and its choices are always the same. A long one:
//! `THREADMESH_FUZZ_SECONDS=600 cargo test --test it surface -- --nocapture`; `THREADMESH_FUZZ_SEED` sets its seed. Memory
//! is judged where there is more than a minute: what is resident at the end against what was after the first minute.

mod breaking;
mod documents;
mod http;
mod lines;
mod model;
mod schema;
mod socket;
mod tally;

use crate::differential::logs::Random;
use crate::program::{Rig, Server};
use lines::Lines;
use model::{Model, TASKS};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tally::Tally;

/// When the server has all that it keeps.
const WARM: Duration = Duration::from_secs(60);

/// How long, and with which seed.
struct Plan {
    seed: u64,
    /// Rounds of each client where no time is set.
    rounds: usize,
    time: Option<Duration>,
    begun: Instant,
}

impl Plan {
    fn new(rounds: usize) -> Self {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let plan = Plan {
            seed: number("THREADMESH_FUZZ_SEED").unwrap_or(7),
            rounds,
            time: number("THREADMESH_FUZZ_SECONDS").map(Duration::from_secs),
            begun: Instant::now(),
        };
        println!("THREADMESH_FUZZ_SEED={}", plan.seed);
        plan
    }

    fn goes_on(&self, round: usize) -> bool {
        self.time.map_or(round < self.rounds, |time| self.begun.elapsed() < time)
    }

    /// The choices of one client.
    fn random(&self, client: u64) -> Random {
        Random::new(self.seed.wrapping_add(client << 32))
    }
}

/// A folder with a token for everybody.
struct Place {
    rig: Rig,
    tokens: BTreeMap<String, String>,
}

impl Place {
    fn new() -> Self {
        let rig = Rig::new();
        let mut tokens = BTreeMap::new();
        let mut make = |name: &str, more: &[&str]| {
            let made = rig.json(&[&["token", "create", name, "--db", "mesh.db"], more].concat());
            assert_eq!(made.0, 0, "{made:?}");
            let token = std::fs::read_to_string(rig.path("mesh.db.tokens").join(name)).expect("a token");
            tokens.insert(name.to_owned(), token.trim().to_owned());
        };
        make("operator", &["--kind", "operator"]);
        make("alice", &["--kind", "user"]);
        make("stranger", &["--kind", "user"]);
        for task in 0..TASKS {
            let (name, incarnation) = (format!("task-{task}"), format!("inc_task-000{task}"));
            let task = ["--kind", "task", "--id", &name, "--incarnation", &incarnation, "--owner", "user:alice"];
            make(&name, &task);
        }
        Place { rig, tokens }
    }

    /// Starts `threadmesh serve`, its standard error in a file.
    fn start(&self, options: &[&str], errors: &str, input: Stdio) -> Child {
        let mut command = self.rig.command(&[&["serve", "--db", "mesh.db"], options].concat());
        let errors = std::fs::File::create(self.rig.path(errors)).expect("a file");
        command.stdin(input).stdout(Stdio::piped()).stderr(errors).spawn().expect("the server starts")
    }

    /// What a server wrote on standard error.
    fn errors(&self, errors: &str) -> String {
        std::fs::read_to_string(self.rig.path(errors)).expect("a file")
    }

    /// Fails unless a server that has ended counted no trap, and left no replay file and no word of a panic.
    fn sound(&self, counted: &str, errors: &str) {
        let ended = counted.lines().rev().find(|line| line.contains("\"ended\"")).unwrap_or_default();
        let ended: Value = serde_json::from_str(ended).unwrap_or_else(|_| panic!("no counters: {counted:?}"));
        println!("  {ended}");
        assert_eq!(ended["ended"]["traps"], 0, "{ended}");
        assert!(ended["ended"]["requests"].as_u64() > Some(100), "{ended}");
        let replays = std::fs::read_dir(self.rig.path("mesh.db.replay")).map_or(0, Iterator::count);
        assert_eq!(replays, 0, "replay files");
        assert!(!self.errors(errors).contains("panicked"), "{}", self.errors(errors));
    }
}

/// What a process holds in memory, watched while it works.
struct Memory {
    status: PathBuf,
    warm: Option<u64>,
    last: Option<u64>,
}

impl Memory {
    fn of(child: &Child) -> Self {
        Memory { status: PathBuf::from(format!("/proc/{}/status", child.id())), warm: None, last: None }
    }

    /// In KiB; nothing on systems that do not say.
    fn resident(&self) -> Option<u64> {
        let text = std::fs::read_to_string(&self.status).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    fn look(&mut self, plan: &Plan) {
        if self.warm.is_none() && plan.begun.elapsed() >= WARM {
            self.warm = self.resident();
        }
    }

    fn look_last(&mut self) {
        self.last = self.resident();
    }

    fn judge(&self, what: &str) {
        let (warm, end) = (self.warm, self.last);
        println!("  {what}: resident {warm:?} KiB after a minute, {end:?} KiB at the end");
        if let (Some(warm), Some(end)) = (warm, end) {
            assert!(end * 10 <= warm * 11, "{what} grew from {warm} KiB to {end} KiB");
        }
    }
}

/// Ends a server that has a socket; what it counted.
fn end(child: Child, mut output: BufReader<ChildStdout>) -> String {
    let server = Server::of(child);
    server.ask_to_end();
    let mut said = String::new();
    output.read_to_string(&mut said).expect("text");
    assert_eq!(server.wait(), 0);
    said
}

/// Starts a server that says where it serves.
fn serving(place: &Place, options: &[&str]) -> (Child, BufReader<ChildStdout>, Value) {
    let mut child = place.start(&[options, &["--json"]].concat(), "serve.log", Stdio::null());
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    output.read_line(&mut line).expect("the server speaks");
    let said = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
    (child, output, said)
}

#[test]
fn http_stands_whatever_is_asked() {
    let (plan, place, tally) = (Plan::new(500), Place::new(), Tally::default());
    let (child, output, said) = serving(&place, &["--create", "--listen", "127.0.0.1:0"]);
    let address = said["listening"].as_str().expect("a URL").trim_start_matches("http://").to_owned();
    let mut memory = Memory::of(&child);
    let model = Mutex::new(Model::new("web"));
    let client = || http::Web::new(&address, &place.tokens, &model, &tally);
    let beginning = model.lock().expect("it is free").beginning(&mut plan.random(0));
    let mut first = client();
    beginning.iter().for_each(|made| first.call(made));
    std::thread::scope(|scope| {
        let (plan, client) = (&plan, &client);
        let work = move |number: u64| {
            let (mut web, mut random, mut round) = (client(), plan.random(number), 0);
            while plan.goes_on(round) {
                web.round(&mut random);
                round += 1;
            }
        };
        let others: Vec<_> = (1..3).map(|number| scope.spawn(move || work(number))).collect();
        while !others.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            memory.look(plan);
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    memory.look_last();
    let counted = end(child, output);
    memory.judge("serve --listen");
    place.sound(&counted, "serve.log");
    tally.judge("HTTP");
}

#[test]
fn lines_are_answered_whatever_is_asked() {
    let (plan, place, tally) = (Plan::new(150), Place::new(), Tally::default());
    let (child, output, said) = serving(&place, &["--create"]);
    let socket = place.rig.path("").join(said["serving"].as_str().expect("a path"));
    let mut piped = place.start(&["--stdio", "--as", "alice"], "stdio.log", Stdio::piped());
    let (input, answers) = (piped.stdin.take().expect("a pipe"), piped.stdout.take().expect("a pipe"));
    let mut memories = [Memory::of(&child), Memory::of(&piped)];
    let model = Mutex::new(Model::new("lines"));
    let beginning = model.lock().expect("it is free").beginning(&mut plan.random(0));
    let connect = |who: &str| Lines::connect(&socket, who, &place.tokens[who]);
    let mut operator = connect("operator");
    let mut alice = Lines::new(input, answers, "alice");
    for made in &beginning {
        (if made.who == "alice" { &mut alice } else { &mut operator }).call(made, &model, &tally);
    }
    std::thread::scope(|scope| {
        let (plan, model, tally, place, connect, socket) = (&plan, &model, &tally, &place, &connect, &socket);
        let over_pipe = scope.spawn(move || {
            let (mut random, mut round) = (plan.random(1), 0);
            while plan.goes_on(round) {
                alice.round(&mut random, model, tally);
                round += 1;
            }
            alice
        });
        let over_socket = scope.spawn(move || {
            let (mut random, mut round) = (plan.random(2), 0);
            let mut all: Vec<Lines> = (0..TASKS).map(|task| connect(&format!("task-{task}"))).collect();
            all.push(operator);
            while plan.goes_on(round) {
                let at = random.below(all.len());
                all[at].round(&mut random, model, tally);
                if random.once_in(20) {
                    lines::ends(socket, &place.tokens["alice"], &mut random, tally);
                }
                round += 1;
            }
        });
        while !over_socket.is_finished() || !over_pipe.is_finished() {
            memories.iter_mut().for_each(|memory| memory.look(plan));
            std::thread::sleep(Duration::from_millis(100));
        }
        memories.iter_mut().for_each(Memory::look_last);
        // Its input ends here, and so does the server at the other end.
        drop(over_pipe.join());
    });
    assert!(piped.wait().expect("it ends").success());
    let counted = end(child, output);
    memories[0].judge("serve");
    memories[1].judge("serve --stdio");
    place.sound(&counted, "serve.log");
    place.sound(&place.errors("stdio.log"), "stdio.log");
    tally.judge("Lines");
}
