//! Scenarios through the host loop: group commit, read sets, continuations on their thread, one host per instance name.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use threadmesh_runtime::host::{Clock, Entropy, Host, HostError};
use threadmesh_runtime::scenario::{Call, Reply, Target};
use threadmesh_runtime::store::Store;
use threadmesh_runtime::wit::{Effect, EffectKind, Status};
use threadmesh_runtime::{Core, driver};

/// What stands still until a step moves it.
#[derive(Clone, Default)]
struct Given {
    now: Arc<AtomicI64>,
    entropy: Arc<Mutex<String>>,
}

impl Clock for Given {
    fn wall_ms(&self) -> i64 {
        self.now.load(SeqCst)
    }

    fn steady_ms(&self) -> i64 {
        self.now.load(SeqCst)
    }
}

impl Entropy for Given {
    fn draw(&self) -> Result<String, HostError> {
        Ok(self.entropy.lock().expect("nobody panicked").clone())
    }
}

/// Hosts over one store.
pub struct Hosts {
    core: Arc<dyn Core>,
    store: Arc<dyn Store>,
    given: Given,
    hosts: BTreeMap<String, Host>,
}

impl Hosts {
    /// Over a store that should be fresh.
    pub fn new(core: Arc<dyn Core>, store: Arc<dyn Store>) -> Self {
        Self { core, store, given: Given::default(), hosts: BTreeMap::new() }
    }

    fn host(&mut self, instance: &str) -> &Host {
        self.hosts.entry(instance.to_owned()).or_insert_with(|| {
            let builder = Host::builder(Arc::clone(&self.core), Arc::clone(&self.store));
            let builder = builder.clock(self.given.clone()).entropy(self.given.clone()).instance(instance);
            builder.build().expect("a host")
        })
    }
}

impl Target for Hosts {
    fn start(&mut self, text: &str) -> Result<i64, String> {
        let mut session = self.core.session().map_err(|error| error.to_string())?;
        let time = session.parse_time(text).map_err(|error| error.to_string())?;
        Ok(time.map_err(|error| error.detail)? as i64)
    }

    fn call(&mut self, call: &Call<'_>) -> Result<Option<Reply>, String> {
        // The host has no engine.
        if !call.evaluated.is_null() {
            return Ok(None);
        }
        self.given.now.store(call.now, SeqCst);
        *self.given.entropy.lock().expect("nobody panicked") = call.entropy.clone();
        let principal = call.principal.as_ref().map(driver::principal_from).transpose()?;
        let host = self.host(call.instance).clone();
        let context = driver::facts_from(call.context)?;
        let reply = host.call_with(principal.as_ref(), call.method, &call.params, &context);
        let reply = reply.map_err(|error| error.to_string())?;
        if !host.settle(Duration::from_secs(30)) {
            return Err("what the call left to do is not done".into());
        }
        let effects: Value = reply.calls.iter().map(shown).collect();
        let response = if reply.status == Status::Refused { Err(reply.body) } else { Ok(reply.body) };
        Ok(Some(Reply { response, effects: Some(effects) }))
    }
}

fn shown(effect: &Effect) -> Value {
    assert_eq!(effect.kind, EffectKind::Call, "only calls come back with an answer");
    let body: Value = serde_json::from_str(&effect.body).expect("arguments are JSON");
    json!({"kind": "call", "name": effect.name, "key": effect.key, "body": body})
}
