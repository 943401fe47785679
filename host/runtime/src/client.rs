//! A typed client: one method for every public operation, over whatever carries calls.
//!
//! A [`Transport`] has authenticated the caller, or is the host itself ([`Embedded`]). A call keeps its idempotency key:
//! sending it again is a repetition of the same call, and is carried out once.
//!
//! ```
//! use std::sync::Arc;
//! use threadmesh_runtime::client::{Client, Embedded, types::{TaskInput, TasksRegister}};
//! use threadmesh_runtime::store::MemoryStore;
//! use threadmesh_runtime::wit::{Principal, PrincipalKind};
//! use threadmesh_runtime::{Host, WasmCore};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let host = Host::builder(Arc::new(WasmCore::new()?), Arc::new(MemoryStore::default())).build()?;
//! let alice = Principal {
//!     tenant: "default".into(),
//!     kind: PrincipalKind::User,
//!     id: "alice".into(),
//!     incarnation: None,
//!     owner: None,
//!     worker: None,
//!     authentication: "authn_alice-1".into(),
//! };
//! let client = Client::new(Embedded::new(host, alice, |effect| println!("to be performed: {}", effect.key)));
//!
//! let task = TaskInput::new("plan-1".into(), "inc_plan_0001".into(), "mine".into());
//! let call = client.tasks_register(&TasksRegister::new(task));
//! let first = call.send()?;
//! assert!(!first.operation_replay && first.value.revision == 0);
//! assert!(call.send()?.operation_replay, "the same call again is carried out once");
//! # Ok(())
//! # }
//! ```

mod generated;
pub mod operations;
#[cfg(test)]
mod tests;

pub use generated::types;

pub use crate::rpc::{Answer, Refusal};

use crate::host::Cancel;
use crate::wit::{Effect, Principal};
use crate::{Host, rpc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::marker::PhantomData;

/// What carries calls to a host, as one authenticated caller.
pub trait Transport: Send + Sync {
    /// Runs one operation. `params` is the text of an object.
    fn call(&self, method: &str, params: &str) -> Result<Answer, TransportError>;
}

/// Nobody answered: whether the call was carried out is not known. Send it again with its idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no answer: {detail}")]
pub struct TransportError {
    /// What happened, as a sentence.
    pub detail: String,
}

impl TransportError {
    /// With this detail.
    pub fn new(detail: impl std::fmt::Display) -> Self {
        TransportError { detail: detail.to_string() }
    }
}

/// Why a call gave no value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ClientError {
    /// It was refused, or could not be carried out.
    #[error(transparent)]
    Refused(#[from] Box<Refusal>),
    /// Nobody answered.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The answer is none that this client knows: the other end is of another version.
    #[error("{method}: the answer cannot be read: {detail}")]
    Unreadable {
        /// The operation.
        method: &'static str,
        /// What is wrong with it.
        detail: String,
    },
}

/// What an operation answers that takes an idempotency key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done<R> {
    /// Whether this key was used before: nothing was done now.
    #[serde(rename = "operationReplay")]
    pub operation_replay: bool,
    /// The operation's own answer, as things stand now.
    pub value: R,
}

/// Calls operations over a transport.
#[derive(Clone, Debug)]
pub struct Client<T> {
    transport: T,
}

impl<T: Transport> Client<T> {
    /// Over `transport`.
    pub fn new(transport: T) -> Self {
        Client { transport }
    }

    /// What carries the calls.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// A call without an idempotency key.
    fn plain<R>(&self, method: &'static str, params: &impl Serialize) -> Call<'_, T, R> {
        Call { transport: &self.transport, method, params: object(params), answer: PhantomData }
    }

    /// A call with one: made here where the params have none.
    fn keyed<R>(&self, method: &'static str, params: &impl Serialize) -> Call<'_, T, R> {
        let mut call = self.plain(method, params);
        if let Some(members) = call.params.as_object_mut() {
            members.entry("idempotencyKey").or_insert_with(|| fresh_key().into());
        }
        call
    }
}

/// One call, that can be sent and sent again.
#[derive(Clone, Debug)]
pub struct Call<'c, T, R> {
    transport: &'c T,
    method: &'static str,
    params: Value,
    answer: PhantomData<fn() -> R>,
}

impl<T: Transport, R: DeserializeOwned> Call<'_, T, R> {
    /// The idempotency key, for an operation that takes one.
    pub fn idempotency_key(&self) -> Option<&str> {
        self.params["idempotencyKey"].as_str()
    }

    /// Sends it. After [`ClientError::Transport`], and after a refusal that is `retryable`, send the same call again.
    pub fn send(&self) -> Result<R, ClientError> {
        match self.transport.call(self.method, &self.params.to_string())? {
            Answer::Error(text) => Err(Box::new(Refusal::read(&text)).into()),
            Answer::Result(text) => self.read(&text),
        }
    }

    fn read(&self, text: &str) -> Result<R, ClientError> {
        let unreadable = |detail: String| ClientError::Unreadable { method: self.method, detail };
        let answer: Named<R> = serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
        match answer.method == self.method {
            true => Ok(answer.value),
            false => Err(unreadable(format!("it is one to {}", answer.method))),
        }
    }
}

/// The `result` member.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named<R> {
    method: String,
    value: R,
}

/// A member that is there, be it null.
fn nullable<'de, D: Deserializer<'de>, V: Deserialize<'de>>(deserializer: D) -> Result<Option<V>, D::Error> {
    Option::deserialize(deserializer)
}

/// Params are structs of texts, numbers and lists, which always have a JSON form.
fn object(params: &impl Serialize) -> Value {
    serde_json::to_value(params).expect("params have a JSON form")
}

/// A new idempotency key. Panics only where the system has no randomness.
pub fn fresh_key() -> String {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    bytes.iter().fold(String::from("idem_"), |text, byte| format!("{text}{byte:02x}"))
}

/// A host in this process, as one principal.
pub struct Embedded<P> {
    host: Host,
    principal: Principal,
    perform: P,
}

impl<P: Fn(Effect) + Send + Sync> Embedded<P> {
    /// `perform` takes the calls that commits return, each to be performed once; it must not wait for them.
    pub fn new(host: Host, principal: Principal, perform: P) -> Self {
        Embedded { host, principal, perform }
    }
}

impl<P: Fn(Effect) + Send + Sync> Transport for Embedded<P> {
    fn call(&self, method: &str, params: &str) -> Result<Answer, TransportError> {
        let mut reply = match self.host.call_until(Some(&self.principal), method, params, &Cancel::default()) {
            Ok(reply) => reply,
            Err(fault) => return Ok(Answer::Error(rpc::failed(&fault))),
        };
        std::mem::take(&mut reply.calls).into_iter().for_each(|effect| (self.perform)(effect));
        Ok(reply.into_answer())
    }
}
