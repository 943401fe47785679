//! One host process: the real loop and the real dispatcher, over a connection to the shared store.

use crate::{
    outside,
    store::FaultyStore,
    world::{Asked, World},
};
use std::{
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicI64, Ordering::Relaxed},
    },
    time::Duration,
};
use threadmesh_runtime::{
    Core, Host,
    dispatcher::{Caller, Config, Dispatcher, Refusal},
    host::{Entropy, HostError},
    store::Store,
    wit::Status,
};

/// A running process.
pub struct Node {
    /// Its number; no two processes have the same.
    pub process: u64,
    /// The loop.
    pub host: Host,
    /// Performs calls.
    pub dispatcher: OnceLock<Dispatcher>,
    /// The connection.
    pub store: Arc<FaultyStore>,
    /// False from the moment at which the process ended.
    pub alive: Arc<AtomicBool>,
    /// How wrong its clock is.
    pub skew: Arc<AtomicI64>,
}

/// What a process is started with.
pub struct Start {
    /// The world, weakly: it holds its processes.
    pub world: Weak<World>,
    /// The rules.
    pub core: Arc<dyn Core>,
    /// Its own way to the shared facts.
    pub store: Arc<dyn Store>,
    /// The process's number.
    pub process: u64,
    /// How wrong its clock is.
    pub skew: i64,
    /// The version of its profile file.
    pub profiles: u32,
}

/// Randomness that is drawn again with the life.
struct Drawn(Weak<World>);

impl Entropy for Drawn {
    fn draw(&self) -> Result<String, HostError> {
        let gone = || HostError::Entropy { detail: "the world is gone".into() };
        self.0.upgrade().map(|world| world.entropy()).ok_or_else(gone)
    }
}

/// Starts a process. `joined` hears of it before its dispatcher declares its profiles. Nothing where the host cannot be
/// built; without a dispatcher where the profiles could not be declared.
pub fn start(with: Start, joined: impl FnOnce(&Arc<Node>)) -> Option<Arc<Node>> {
    let Start { world, core, store, process, skew, profiles } = with;
    let (alive, skew) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicI64::new(skew)));
    let store = Arc::new(FaultyStore::new(store, world.clone(), process, Arc::clone(&alive)));
    let sleeping = world.clone();
    let clock = world.upgrade()?.time.clock(Arc::clone(&skew), move |limit| {
        if let Some(world) = sleeping.upgrade() {
            world.sleeps(process, limit);
        }
    });
    let host = Host::builder(core, Arc::clone(&store) as Arc<dyn Store>)
        .clock(clock)
        .entropy(Drawn(world.clone()))
        .instance(format!("host-{process}"))
        .denials_every(Duration::MAX)
        .by_hand()
        .build()
        .ok()?;
    let node = Arc::new(Node { process, host, dispatcher: OnceLock::new(), store, alive, skew });
    joined(&node);
    let caller = Arc::new(AsHost { world: world.clone(), node: Arc::downgrade(&node) });
    let pausing = world.clone();
    let config = Config {
        pause: Arc::new(move |point| {
            if let Some(world) = pausing.upgrade() {
                world.pause(process, point);
            }
        }),
        time: Arc::new(world.upgrade()?.time.clone()),
        nonce: Some(format!("process-{process}")),
        ..Config::new(node.host.instance())
    };
    let profiles = outside::profiles(&world, process, &node.alive, profiles);
    if let Ok(dispatcher) = Dispatcher::by_hand(caller, profiles, config) {
        let _ = node.dispatcher.set(dispatcher);
    }
    Some(node)
}

/// The dispatcher's view of the host: it acts as `host`, which no transport can.
struct AsHost {
    world: Weak<World>,
    node: Weak<Node>,
}

impl Caller for AsHost {
    fn call(&self, tenant: &str, method: &str, params: &str) -> Result<String, Refusal> {
        let dead = || Refusal { code: "dead".into(), detail: "this process is dead".into(), retryable: false };
        let (Some(world), Some(node)) = (self.world.upgrade(), self.node.upgrade()) else { return Err(dead()) };
        if !node.alive.load(Relaxed) {
            return Err(dead());
        }
        let mut principal = crate::cast::host();
        tenant.clone_into(&mut principal.tenant);
        let parsed: serde_json::Value = serde_json::from_str(params).unwrap_or_default();
        world.vouched(node.process, method, &parsed);
        let asked = Asked { operation: method, text: params, params: parsed, facts: &[] };
        match world.invoke(&node, &principal, asked) {
            Ok((reply, error)) if reply.status == Status::Refused => Err(refused(&error)),
            Ok((reply, _)) => Ok(reply.body),
            Err(error) => {
                Err(Refusal { code: error.code().into(), detail: error.to_string(), retryable: error.retryable() })
            }
        }
    }

    fn digest(&self, text: &str) -> Result<String, Refusal> {
        let down = |detail: String| Refusal { code: "core-trap".into(), detail, retryable: false };
        let node = self.node.upgrade().ok_or_else(|| down("this process is dead".into()))?;
        let mut session = node.host.core().session().map_err(|error| down(error.to_string()))?;
        session.digest(text).map_err(|error| down(error.to_string()))?.map_err(|error| down(error.detail))
    }

    fn now_ms(&self) -> u64 {
        let (Some(world), Some(node)) = (self.world.upgrade(), self.node.upgrade()) else { return 0 };
        let wall = || world.time.now() + node.skew.load(Relaxed);
        u64::try_from(node.host.now_ms().unwrap_or_else(|_| wall())).unwrap_or(0)
    }
}

fn refused(error: &serde_json::Value) -> Refusal {
    let data = &error["data"];
    let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
    Refusal { code: text("code"), detail: text("detail"), retryable: data["retryable"] == true }
}
