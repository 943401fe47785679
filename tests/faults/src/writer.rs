//! A process among many that write to one mailbox of one database.

use crate::lines::{Line, say};
use crate::mesh::{self, Fault, Mesh, Opening};
use crate::script;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use threadmesh_runtime::wit::Principal;

/// What a writer is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Orders {
    /// The database; opened when a line comes on standard input.
    pub opening: Opening,
    /// Part of all names.
    pub writer: u64,
    /// The task in whose mailbox everything lands.
    pub target: String,
    /// How long to write.
    pub millis: u64,
}

/// Messages of one sender: less than its budget for a minute.
const MESSAGES_PER_SENDER: u64 = 2_000;

/// Is the writer.
pub fn main(orders: &str) -> Result<(), String> {
    let orders: Orders = serde_json::from_str(orders).map_err(|error| error.to_string())?;
    let core = mesh::core();
    say(&Line::Loaded);
    std::io::stdin().read_line(&mut String::new()).map_err(|error| error.to_string())?;
    let mesh = Mesh::open(core, &orders.opening)?;
    say(&Line::Open { unresolved: Vec::new() });
    write(&mesh, &orders).map_err(|fault| format!("{fault:?}"))
}

fn write(mesh: &Mesh, orders: &Orders) -> Result<(), Fault> {
    let end = Instant::now() + Duration::from_millis(orders.millis);
    // Everyone registers the receiver: the first does it, the others are told that it is done.
    let call = |who: &Principal, operation: &str, params: Value| mesh.call(who, operation, &params);
    call(&script::user(), "tasks.register", script::register(&orders.target, "final"))?;
    let mut sender = String::new();
    for number in 0.. {
        if number % MESSAGES_PER_SENDER == 0 {
            sender = format!("writer{}-{}", orders.writer, number / MESSAGES_PER_SENDER);
            call(&script::user(), "tasks.register", script::register(&sender, "final"))?;
            call(&script::user(), "relationships.grant", script::grant(&sender, &orders.target))?;
        }
        if Instant::now() >= end {
            return Ok(());
        }
        let id = format!("msg_{}-{number:06}", orders.writer);
        let waits = life(mesh, &sender, &orders.target, &id)?;
        say(&Line::Life { task: sender.clone(), message: id, waits });
    }
    Ok(())
}

/// Send, claim, accept; how long each took.
fn life(mesh: &Mesh, sender: &str, target: &str, id: &str) -> Result<Vec<u64>, Fault> {
    let mut waits = Vec::new();
    let mut timed = |who: &Principal, operation: &str, params: Value| {
        let start = Instant::now();
        let done = mesh.call(who, operation, &params)?;
        waits.push(u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX));
        Ok(done.value)
    };
    let receiver = script::task(target);
    timed(&script::task(sender), "messages.send", script::send(sender, target, id, script::now_ms()))?;
    let claim = timed(&receiver, "mailbox.claim", script::on(sender, id, "claim", &json!(0)))?;
    let accepted = json!({"claimToken": claim["claimToken"], "decision": "accepted"});
    timed(&receiver, "mailbox.ack", script::with(script::on(sender, id, "ack", &json!(0)), accepted))?;
    Ok(waits)
}
