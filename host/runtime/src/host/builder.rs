//! How a host is put together.

use super::{
    Clock, Counting, Entropy, Host, HostError, Inner, ReplayFiles, SystemClock, SystemEntropy,
    clock::Watch,
    denials::{self, Denials},
    follow::Follow,
    group::Group,
    others::Others,
    wait::Hub,
};
use crate::{Core, store::Store};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Makes a [`Host`].
pub struct Builder {
    core: Arc<dyn Core>,
    store: Arc<dyn Store>,
    clock: Box<dyn Clock>,
    entropy: Box<dyn Entropy>,
    instance: Option<String>,
    replay: Option<ReplayFiles>,
    denials_every: Duration,
    by_hand: bool,
}

impl Builder {
    pub(super) fn new(core: Arc<dyn Core>, store: Arc<dyn Store>) -> Self {
        let (clock, entropy) = (Box::new(SystemClock), Box::new(SystemEntropy));
        Self {
            core,
            store,
            clock,
            entropy,
            instance: None,
            replay: None,
            denials_every: denials::EVERY,
            by_hand: false,
        }
    }

    /// Another clock than the system's.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Another source of randomness; for tests.
    #[must_use]
    pub fn entropy(mut self, entropy: impl Entropy + 'static) -> Self {
        self.entropy = Box::new(entropy);
        self
    }

    /// The name of this instance, which must be nobody else's and new at every start; random without it.
    #[must_use]
    pub fn instance(mut self, name: impl Into<String>) -> Self {
        self.instance = Some(name.into());
        self
    }

    /// Where the arguments of a trapped call are kept; nowhere without it.
    #[must_use]
    pub fn replay_files(mut self, files: ReplayFiles) -> Self {
        self.replay = Some(files);
        self
    }

    /// How long refusals are counted in memory before they are recorded; a minute without it.
    #[must_use]
    pub fn denials_every(mut self, every: Duration) -> Self {
        self.denials_every = every;
        self
    }

    /// What commits leave to do waits until somebody calls [`Host::perform_stored`], and what was refused until
    /// [`Host::record_denials`]; no thread is started. For whoever decides himself what happens next, such as a
    /// simulation.
    #[must_use]
    pub fn by_hand(mut self) -> Self {
        self.by_hand = true;
        self
    }

    /// The host. Errors: the core cannot be run, the store does not answer, or there is no randomness for the
    /// instance's name.
    pub fn build(self) -> Result<Host, HostError> {
        let Self { core, store, clock, entropy, instance, replay, denials_every, by_hand } = self;
        let operations = core.session()?.operations()?;
        let read_only = operations.iter().map(|known| (known.name.clone(), known.read_only)).collect();
        let instance = match instance {
            Some(name) => name,
            None => format!("host-{}", entropy.draw()?.get(..32).unwrap_or_default()),
        };
        let inner = Inner {
            watch: Watch::new(clock),
            core,
            store,
            entropy,
            instance,
            operations,
            read_only,
            replay,
            calls: Mutex::new(None),
            stuck: Mutex::new(None),
            faults: Mutex::new(None),
            group: Group::new(),
            hub: Hub::default(),
            others: Others::default(),
            follow: Follow::new(by_hand),
            denials: Denials::new(denials_every),
            counters: Counting::default(),
        };
        inner.load_acceptance(&mut |queries| inner.store.read(queries))?;
        Ok(Host(Arc::new(inner)))
    }
}
