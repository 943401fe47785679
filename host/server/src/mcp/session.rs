//! One MCP session: its random id, and what it remembers of its own calls.
//!
//! A harness that repeats a tool call must not act twice, and the ids of its requests say nothing of that: some clients
//! use one id for all. Keys and ids are therefore derived from the session, the tool and the arguments, and what a call
//! sent first is kept, so that the repetition is the same to the byte.

use super::backend::{Backend, Via};
use super::fault::ToolFault;
use crate::tokens::{Kind, random_id};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use threadmesh_runtime::client::Client;
use threadmesh_runtime::client::types::TaskRef;
use threadmesh_runtime::host::Cancel;

/// What is remembered of a session; the oldest is forgotten first.
const KEPT_MAX: usize = 512;
/// How many bytes of JSON that may be; a call of the largest size has room.
const KEPT_BYTES_MAX: usize = 512 << 10;

/// A session.
pub struct Session {
    id: String,
    kept: Mutex<Kept>,
    /// What some call makes now, to keep it.
    making: Mutex<HashSet<String>>,
    made: Condvar,
}

/// The turn of a call to make something; over when it is dropped.
struct Turn<'s>(&'s Session, String);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.making.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
        self.0.made.notify_all();
    }
}

/// What is remembered.
#[derive(Default)]
struct Kept {
    values: VecDeque<(String, Value)>,
    bytes: usize,
}

impl Kept {
    fn put(&mut self, name: String, value: Value) {
        if let Some(at) = self.values.iter().position(|(known, _)| *known == name) {
            self.values.remove(at).iter().for_each(|gone| self.bytes -= bytes(gone));
        }
        let new = (name, value);
        self.bytes += bytes(&new);
        self.values.push_back(new);
        while self.values.len() > KEPT_MAX || self.bytes > KEPT_BYTES_MAX {
            let Some(oldest) = self.values.pop_front() else { break };
            self.bytes -= bytes(&oldest);
        }
    }
}

fn bytes((name, value): &(String, Value)) -> usize {
    name.len() + value.to_string().len()
}

impl Session {
    /// A new one.
    pub fn new() -> Self {
        let id = format!("mcp-{}{}", random_id(), random_id());
        Session { id, kept: Mutex::default(), making: Mutex::default(), made: Condvar::new() }
    }

    /// Its random id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What was kept under `name`, if it is still known.
    fn kept(&self, name: &str) -> Option<Value> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.values.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    /// Waits until nobody else makes what is kept under `name`.
    fn turn(&self, name: &str) -> Turn<'_> {
        let making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = |making: &mut HashSet<String>| making.contains(name);
        let mut making = self.made.wait_while(making, taken).unwrap_or_else(PoisonError::into_inner);
        making.insert(name.to_owned());
        Turn(self, name.to_owned())
    }

    fn keep(&self, name: String, value: Value) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).put(name, value);
    }
}

/// One call of a tool.
pub struct ToolCall {
    /// The session.
    pub session: Arc<Session>,
    /// What runs operations.
    pub backend: Arc<dyn Backend>,
    /// The id of the request that carried the call, as JSON text: 1 and "1" are two.
    pub id: String,
    /// The tool's name.
    pub tool: &'static str,
    /// The arguments, which have the form of the tool's schema.
    pub arguments: Value,
    /// Ends what waits.
    pub cancel: Cancel,
}

impl ToolCall {
    /// The operations.
    pub fn client(&self) -> Client<Via> {
        Via::client(Arc::clone(&self.backend), self.cancel.clone())
    }

    /// An idempotency key for a step of this call: the same for every call of the session that means the same.
    pub fn key(&self, step: &str) -> String {
        format!("idem_mcp-{}", self.digest(step))
    }

    /// The part of an id that this call makes: the same for every call of the session that means the same.
    pub fn own_id(&self) -> String {
        format!("mcp-{}", self.digest("id"))
    }

    /// The id of the request as the record takes it: as it is, where it is short and plain.
    pub fn told_id(&self) -> String {
        let plain = self.id.len() <= 200 && self.id.bytes().all(|byte| byte.is_ascii_graphic());
        if plain { self.id.clone() } else { self.own_id() }
    }

    fn digest(&self, step: &str) -> String {
        let text = [self.session.id(), self.tool, &self.arguments.to_string(), step].join("\u{0}");
        let digest = Sha256::digest(text.as_bytes());
        digest.iter().take(16).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
    }

    /// What was kept for this step of a call that means the same, or else what `make` makes, which is kept. Two principals
    /// share nothing, be the session the same; of two calls at once one makes it.
    pub fn once(&self, step: &str, make: impl FnOnce() -> Result<Value, ToolFault>) -> Result<Value, ToolFault> {
        let name = self.scoped(&self.key(step));
        let _turn = self.session.turn(&name);
        if let Some(kept) = self.session.kept(&name) {
            return Ok(kept);
        }
        let made = make()?;
        self.session.keep(name, made.clone());
        Ok(made)
    }

    fn scoped(&self, name: &str) -> String {
        let of = self.backend.principal();
        let (incarnation, owner) = (of.incarnation.as_deref().unwrap_or(""), of.owner.as_deref().unwrap_or(""));
        [of.tenant.as_str(), of.id.as_str(), incarnation, owner, name].join("\u{0}")
    }

    /// The task that is calling; tools are for tasks alone.
    pub fn own_task(&self) -> Result<TaskRef, ToolFault> {
        let of = self.backend.principal();
        match (of.kind, &of.incarnation) {
            (Kind::Task, Some(incarnation)) => {
                Ok(TaskRef { task_id: of.id.clone(), incarnation_id: incarnation.clone(), harness: None })
            }
            _ => {
                Err(ToolFault::new("principal-mismatch", "these tools are for tasks, and the token is none of a task"))
            }
        }
    }

    /// A text among the arguments.
    pub fn text(&self, name: &str) -> Option<String> {
        self.arguments[name].as_str().map(str::to_owned)
    }

    /// A text that the schema asks for.
    pub fn needed(&self, name: &str) -> String {
        self.text(name).unwrap_or_default()
    }

    /// A number among the arguments.
    pub fn number(&self, name: &str) -> Option<i64> {
        whole(&self.arguments[name])
    }
}

/// A whole number, however it is written: 20.0 is 20.
pub fn whole(value: &Value) -> Option<i64> {
    const MOST: f64 = 9_007_199_254_740_991.0;
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() <= MOST)?;
    // Whole and in range, as was just checked.
    Some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_keeps_the_newest_up_to_a_number_and_a_size() {
        let session = Session::new();
        (0..2000).for_each(|number| session.keep(format!("small {number}"), number.into()));
        assert_eq!(session.kept("small 1999"), Some(1999.into()));
        assert_eq!(session.kept("small 1487"), None, "only the newest are known");
        let large = |number: usize| Value::from(format!("{number}{}", "x".repeat(100_000)));
        for number in 0..100 {
            session.keep(format!("large {number}"), large(number));
            session.keep(format!("large {number}"), large(number));
            let kept = session.kept.lock().unwrap();
            assert_eq!(kept.bytes, kept.values.iter().map(bytes).sum::<usize>());
            assert!(kept.bytes <= KEPT_BYTES_MAX && kept.values.len() <= KEPT_MAX, "{}", kept.bytes);
        }
        let known = (0..100).filter(|number| session.kept(&format!("large {number}")) == Some(large(*number)));
        assert_eq!(known.collect::<Vec<_>>(), [95, 96, 97, 98, 99]);
        session.keep("too large".to_owned(), "x".repeat(KEPT_BYTES_MAX).into());
        assert_eq!(session.kept("too large"), None);
        assert!(session.kept.lock().unwrap().values.is_empty());
    }
}
