//! A process among few that do different things to one mailbox, and that tells when it did what and what it was told.

use crate::lines::{Line, say};
use crate::mesh::{self, Mesh, Opening};
use crate::random::Random;
use crate::script;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use threadmesh_runtime::wit::Principal;

/// What a rival is to do. Rounds come on standard input: number and starting time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Orders {
    /// The database.
    pub opening: Opening,
    /// Which one of the rivals it is, counting from 0; its worker has the same number.
    pub rival: u64,
    /// How many there are.
    pub rivals: u64,
    /// Of the choices.
    pub seed: u64,
}

/// Operations of a rival in one round.
const ACTS: u64 = 5;
/// How many of the rivals send a message in a round.
const SENDERS: u64 = 3;

/// An operation on the mailbox of a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act {
    /// Sends the message.
    Send(String),
    /// Lists what is pending.
    List,
    /// Claims the message.
    Claim(String),
    /// Accepts the message under the last claim of this rival, or under a claim that there never was.
    Ack(String),
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Said {
    /// It was sent.
    Sent,
    /// The undecided messages in their order, and whether somebody has claimed them.
    Listed(Vec<(String, bool)>),
    /// It is claimed, for the so manieth time.
    Claimed(i64),
    /// Somebody else has claimed it.
    Busy,
    /// It was decided on before.
    Decided,
    /// There is no such message.
    Missing,
    /// It is accepted.
    Accepted,
    /// There is no claim for it.
    Refused,
}

/// An operation, with its time in nanoseconds of a clock that all processes share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Whose.
    pub rival: u64,
    /// Not before this.
    pub from: i64,
    /// Not after this.
    pub to: i64,
    /// What was done.
    pub act: Act,
    /// What came of it.
    pub said: Said,
}

/// The clock of all processes.
pub fn clock() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// The task with the mailbox of a round.
pub fn target(round: u64) -> String {
    format!("mailbox-{round:05}")
}

/// The task that sends for a rival.
pub fn sender(rival: u64) -> String {
    format!("sender-{rival}")
}

fn message(round: u64, rival: u64) -> String {
    format!("msg_{round:05}-{rival}")
}

/// Is the rival.
pub fn main(orders: &str) -> Result<(), String> {
    let orders: Orders = serde_json::from_str(orders).map_err(|error| error.to_string())?;
    let mesh = Mesh::open(mesh::core(), &orders.opening)?;
    say(&Line::Loaded);
    for line in std::io::stdin().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let (round, start) = line.split_once(' ').ok_or("a round is two numbers")?;
        let (round, start): (u64, i64) =
            (round.parse().map_err(|_| "no round")?, start.parse().map_err(|_| "no starting time")?);
        std::thread::sleep(Duration::from_nanos(u64::try_from(start - clock()).unwrap_or(0)));
        let mut player = Player { mesh: &mesh, orders: &orders, round, tokens: BTreeMap::new(), keys: 0 };
        player.play()?;
        say(&Line::Round { number: round });
    }
    Ok(())
}

struct Player<'m> {
    mesh: &'m Mesh,
    orders: &'m Orders,
    round: u64,
    tokens: BTreeMap<String, Value>,
    keys: u64,
}

impl Player<'_> {
    fn play(&mut self) -> Result<(), String> {
        let mut random = Random::new(self.orders.seed, self.round * 16 + self.orders.rival);
        let mut sent = self.orders.rival >= SENDERS;
        for _ in 0..ACTS {
            let act = self.choose(&mut random, &mut sent);
            let from = clock();
            let said = self.act(&act)?;
            let event = Event { rival: self.orders.rival, from, to: clock(), act, said };
            say(&Line::Happened(event));
        }
        Ok(())
    }

    fn choose(&self, random: &mut Random, sent: &mut bool) -> Act {
        if !*sent && random.below(2) == 0 {
            *sent = true;
            return Act::Send(message(self.round, self.orders.rival));
        }
        let any = message(self.round, random.below(SENDERS.min(self.orders.rivals)));
        match random.below(8) {
            0..2 => Act::List,
            2..5 => match self.tokens.keys().nth(usize::try_from(random.below(2)).unwrap_or(0)) {
                Some(held) => Act::Ack(held.clone()),
                None => Act::Claim(any),
            },
            5 => Act::Ack(any),
            _ => Act::Claim(any),
        }
    }

    fn act(&mut self, act: &Act) -> Result<Said, String> {
        self.keys += 1;
        let box_of = target(self.round);
        let worker = format!("worker-{}", self.orders.rival);
        let receiver = Principal { worker: Some(worker), ..script::task(&box_of) };
        let from = |id: &str| sender(id.rsplit('-').next().and_then(|rival| rival.parse().ok()).unwrap_or(0));
        let on = |id: &str, name: &str| {
            let step = format!("{name}-{}-{}", self.orders.rival, self.keys);
            script::on(&from(id), id, &step, &json!(0))
        };
        let (who, operation, params) = match act {
            Act::Send(id) => {
                let own = sender(self.orders.rival);
                (script::task(&own), "messages.send", script::send(&own, &box_of, id, script::now_ms()))
            }
            Act::List => (receiver, "mailbox.listPending", json!({"receiver": script::reference(&box_of)})),
            Act::Claim(id) => (receiver, "mailbox.claim", on(id, "claim")),
            Act::Ack(id) => {
                let token = self.tokens.get(id).cloned().unwrap_or_else(|| json!(format!("sha256:{:064}", 0)));
                (
                    receiver,
                    "mailbox.ack",
                    script::with(on(id, "ack"), json!({"claimToken": token, "decision": "accepted"})),
                )
            }
        };
        let value = match self.mesh.call(&who, operation, &params) {
            Ok(done) => done.value,
            Err(fault) => return refused(act, &fault.code).ok_or_else(|| format!("{act:?}: {fault:?}")),
        };
        Ok(match act {
            Act::Send(_) => Said::Sent,
            Act::List => Said::Listed(listed(&value)),
            Act::Claim(id) => {
                self.tokens.insert(id.clone(), value["claimToken"].clone());
                Said::Claimed(value["fence"].as_i64().unwrap_or(0))
            }
            Act::Ack(_) => Said::Accepted,
        })
    }
}

fn listed(value: &Value) -> Vec<(String, bool)> {
    let item = |item: &Value| {
        (item["envelope"]["messageId"].as_str().unwrap_or_default().to_owned(), !item["claim"].is_null())
    };
    value["items"].as_array().into_iter().flatten().map(item).collect()
}

/// What a refusal means; nothing where it should not be.
fn refused(act: &Act, code: &str) -> Option<Said> {
    match (act, code) {
        (Act::Claim(_), "not-visible") => Some(Said::Missing),
        (Act::Claim(_), "mailbox-busy") => Some(Said::Busy),
        (Act::Claim(_), "state-conflict" | "revision-conflict") => Some(Said::Decided),
        (Act::Ack(_), "not-visible" | "mailbox-busy" | "mailbox-claim-invalid") => Some(Said::Refused),
        _ => None,
    }
}
