//! The host as the fault tests use it. The only file that knows its interface.

use crate::{lines::Unresolved, script, vfs};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use threadmesh_adapters::carrier::CarrierCommand;
use threadmesh_adapters::profiles::{Surroundings, load};
use threadmesh_runtime::adapter::Profile;
use threadmesh_runtime::dispatcher::{CallEffect, Caller, Config, Dispatcher, Note, Refusal};
use threadmesh_runtime::engine::{self, Cache};
use threadmesh_runtime::store::{Answer, Query, Scrub, Store, StoreError};
use threadmesh_runtime::wit::{Principal, Status};
use threadmesh_runtime::{Core, Host, WasmCore, pause};
use threadmesh_store_sqlite::{OpenError, Options, SqliteStore, Synchronous};

/// How a database is opened.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opening {
    /// The file.
    pub db: PathBuf,
    /// Through the VFS that loses unsynced writes.
    pub lossy: bool,
    /// How many of a hundred writes reach the file all the same, without a sync; see [`vfs::leak`].
    pub leak: u64,
    /// `full`, `normal` or `off`.
    pub synchronous: String,
    /// The name of the host's instance.
    pub instance: String,
}

impl Opening {
    /// As a product does it.
    pub fn plain(db: &Path, instance: &str) -> Self {
        Self { db: db.to_owned(), lossy: false, leak: 0, synchronous: "full".into(), instance: instance.into() }
    }
}

/// What was answered.
#[derive(Debug)]
pub struct Done {
    /// Whether it had been done before.
    pub replayed: bool,
    /// The operation's value, without the frame around it.
    pub value: Value,
    /// What this process may now call.
    pub calls: Vec<CallEffect>,
}

/// A refusal, or an error of the host.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The code.
    pub code: String,
    /// A sentence.
    pub detail: String,
    /// Whether the same may succeed later.
    pub retryable: bool,
}

/// The component, compiled. Kept beside the test program, so that no worker compiles it again.
pub fn core() -> Arc<dyn Core> {
    let folder = std::env::current_exe().expect("this program");
    let folder = folder.ancestors().find(|place| place.join("deps").is_dir()).expect("a target directory").to_owned();
    // The machine of a test may be busy with much else: no call is to be stopped for it.
    let deadline = Duration::from_secs(60);
    let options = engine::Options { cache: Cache::At(folder.join("faults-cache")), deadline, ..Default::default() };
    Arc::new(WasmCore::with(options).expect("the component loads"))
}

/// A running host on a database.
#[derive(Clone)]
pub struct Mesh {
    host: Arc<Host>,
    store: Arc<SqliteStore>,
}

impl Mesh {
    /// Opens. The error is a sentence.
    pub fn open(core: Arc<dyn Core>, opening: &Opening) -> Result<Self, String> {
        if opening.lossy {
            vfs::register();
            vfs::leak(opening.leak, u64::from(std::process::id()));
        }
        let options = Options {
            vfs: opening.lossy.then(|| vfs::NAME.to_owned()),
            synchronous: match opening.synchronous.as_str() {
                "normal" => Synchronous::Normal,
                "off" => Synchronous::Off,
                _ => Synchronous::Full,
            },
            // So few that some kills meet the journal being carried over.
            journal_pages: 40,
            ..Options::default()
        };
        let store = Arc::new(SqliteStore::open(&opening.db, options).map_err(|error| error.to_string())?);
        let shared: Arc<dyn Store> = store.clone();
        let host = Host::builder(core, shared).instance(&*opening.instance).build().map_err(|e| e.to_string())?;
        Ok(Self { host: Arc::new(host), store })
    }

    /// Opens a store on a disk that may fail: through [`vfs::NAME`] where `through`, else as a product does it. It carries
    /// journal and log over often. The code of the fault is `open:` and a word, or that of the host.
    pub fn on_disk(core: &Arc<dyn Core>, db: &Path, through: bool, read_only: bool) -> Result<Self, Fault> {
        Self::on_disk_beside(core, db, through, read_only, false)
    }

    /// The same; where `beside`, a thread carries the log over as in a product, so that no two runs make the same calls in
    /// the same order.
    pub fn on_disk_beside(
        core: &Arc<dyn Core>,
        db: &Path,
        through: bool,
        read_only: bool,
        beside: bool,
    ) -> Result<Self, Fault> {
        vfs::register();
        let plain = Options::default();
        let options = Options {
            vfs: through.then(|| vfs::NAME.to_owned()),
            write_again: if through { vfs::write_again } else { plain.write_again },
            read_only,
            journal_pages: 8,
            checkpoint_pages: if through { 40 } else { plain.checkpoint_pages },
            checkpoint_beside: beside,
            busy_limit: Duration::from_secs(10),
            ..plain
        };
        let store = Arc::new(SqliteStore::open(db, options).map_err(not_opened)?);
        let shared: Arc<dyn Store> = store.clone();
        let host = Host::builder(Arc::clone(core), shared).instance("host-1").build();
        let host = host.map_err(|error| Fault {
            code: format!("host:{}", error.code()),
            detail: error.to_string(),
            retryable: error.retryable(),
        })?;
        Ok(Self { host: Arc::new(host), store })
    }

    /// Everything in `collections` that is committed, in the order of the ids.
    pub fn visible(&self, collections: &[&str]) -> Result<Vec<Answer>, String> {
        let whole = |collection: &&str| Query {
            collection: (*collection).to_owned(),
            index: String::new(),
            start: String::new(),
            end: Some("\u{10ffff}".into()),
            reverse: false,
            limit: u32::MAX,
            bytes: 0,
        };
        let queries: Vec<Query> = collections.iter().map(whole).collect();
        self.store.read(&queries).map_err(|error| error.to_string())
    }

    /// Empties journal and log. False where somebody was in the way.
    pub fn scrub(&self) -> Result<bool, Fault> {
        let done = self.store.scrub(Duration::from_secs(5));
        done.map(|scrub| scrub == Scrub::Clean).map_err(|error| Fault {
            code: match error {
                StoreError::Broken { .. } => "host:store-outcome-unknown",
                StoreError::Damaged { .. } => "host:record-damaged",
                _ => "host:store-unavailable",
            }
            .into(),
            detail: error.to_string(),
            retryable: true,
        })
    }

    /// Runs an operation.
    pub fn call(&self, who: &Principal, operation: &str, params: &Value) -> Result<Done, Fault> {
        let (replayed, body, calls) = run(&self.host, who, operation, &params.to_string())?;
        let mut value: Value = serde_json::from_str(&body).map_err(|error| unreadable(&error))?;
        value = value["value"].take();
        if value.get("operationReplay").is_some() {
            value = value["value"].take();
        }
        Ok(Done { replayed, value, calls })
    }

    /// The attempts whose outcome is unknown.
    pub fn unresolved(&self) -> Result<Vec<Unresolved>, Fault> {
        let mut all = Vec::new();
        let mut params = json!({});
        loop {
            let page = self.call(&script::host(self.host.instance()), "adapter.listUnresolved", &params)?.value;
            for item in page["items"].as_array().into_iter().flatten() {
                all.push(serde_json::from_value(item.clone()).map_err(|error| unreadable(&error))?);
            }
            match page["nextCursor"].as_str() {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => return Ok(all),
            }
        }
    }

    /// Whether a document is one of its kind.
    pub fn check_document(&self, kind: &str, document: &Value) -> Result<(), String> {
        let mut session = self.host.core().session().map_err(|error| error.to_string())?;
        let checked = session.check(kind, &document.to_string()).map_err(|error| error.to_string())?;
        checked.map(|_| ()).map_err(|error| format!("{}: {}", error.code, error.detail))
    }

    /// Whether states of several machines may stand in one record, and the reason beside the decision.
    pub fn check_states(&self, states: &Value, reason: &str) -> Result<(), String> {
        let mut session = self.host.core().session().map_err(|error| error.to_string())?;
        let together = session.check_combination(&states.to_string()).map_err(|error| error.to_string())?;
        together.map_err(|error| format!("{}: {}", error.code, error.detail))?;
        let decision = states["decision"].as_str().unwrap_or_default();
        let fits = session.check_reason(decision, reason).map_err(|error| error.to_string())?;
        fits.map(|_| ()).map_err(|error| format!("{}: {}", error.code, error.detail))
    }

    /// Whether the file is sound.
    pub fn check_file(&self) -> Result<(), String> {
        self.store.check().map_err(|error| error.to_string())
    }

    /// How many commits this process made.
    pub fn commits(&self) -> u64 {
        self.host.counters().commits
    }

    /// Starts the dispatcher with the profiles of a file. `recorded` hears of every fact that was answered.
    pub fn dispatch(
        &self,
        profiles: &Path,
        recorded: impl Fn(&str, &str) + Send + Sync + 'static,
        note: impl Fn(&Note) + Send + Sync + 'static,
    ) -> Result<Arc<Dispatcher>, String> {
        let digest = |text: &str| digest(&self.host, text).map_err(|refusal| refusal.to_string());
        let carrier = CarrierCommand::this_program().map_err(|error| error.to_string())?;
        let surroundings = Surroundings { digest: &digest, carrier: Some(carrier) };
        let profiles: Vec<Profile> = load(profiles, &surroundings).map_err(|error| error.to_string())?;
        let caller = Arc::new(HostCaller { host: Arc::clone(&self.host), recorded: Box::new(recorded) });
        let config = Config {
            sweep: Duration::from_millis(200),
            pause: Arc::new(pause::point),
            note: Arc::new(note),
            ..Config::new(self.host.instance())
        };
        let dispatcher = Arc::new(Dispatcher::start(caller, profiles, config).map_err(|error| error.to_string())?);
        let sink = Arc::clone(&dispatcher);
        self.host.set_call_sink(Arc::new(move |effect| {
            sink.perform(CallEffect { name: effect.name, key: effect.key, body: effect.body })
        }));
        Ok(dispatcher)
    }
}

fn not_opened(error: OpenError) -> Fault {
    let word = match error {
        OpenError::Damaged { .. } | OpenError::NotAStore { .. } => "damaged",
        OpenError::Busy { .. } => "busy",
        OpenError::Io { .. } => "io",
        _ => "refused",
    };
    Fault { code: format!("open:{word}"), detail: error.to_string(), retryable: word != "damaged" }
}

fn unreadable(error: &serde_json::Error) -> Fault {
    Fault { code: "unreadable".into(), detail: error.to_string(), retryable: false }
}

fn run(host: &Host, who: &Principal, operation: &str, params: &str) -> Result<(bool, String, Vec<CallEffect>), Fault> {
    let reply = host.call(Some(who), operation, params).map_err(|error| Fault {
        code: format!("host:{}", error.code()),
        detail: error.to_string(),
        retryable: error.retryable(),
    })?;
    if let Some(problem) = reply.problem {
        return Err(Fault { code: problem.code, detail: problem.detail, retryable: problem.retryable });
    }
    let calls = reply
        .calls
        .into_iter()
        .map(|effect| CallEffect { name: effect.name, key: effect.key, body: effect.body })
        .collect();
    Ok((reply.status == Status::Replayed, reply.body, calls))
}

fn digest(host: &Host, text: &str) -> Result<String, Refusal> {
    let down = |detail: String| Refusal { code: "core-trap".into(), detail, retryable: true };
    let mut session = host.core().session().map_err(|error| down(error.to_string()))?;
    let digest = session.digest(text).map_err(|error| down(error.to_string()))?;
    digest.map_err(|error| Refusal { code: error.code, detail: error.detail, retryable: false })
}

/// Hears of facts: the attempt, and what about it.
type Recorded = Box<dyn Fn(&str, &str) + Send + Sync>;

/// The dispatcher's way to the core.
struct HostCaller {
    host: Arc<Host>,
    recorded: Recorded,
}

impl Caller for HostCaller {
    fn call(&self, _tenant: &str, method: &str, params: &str) -> Result<String, Refusal> {
        let (_, body, _) = run(&self.host, &script::host(self.host.instance()), method, params)
            .map_err(|Fault { code, detail, retryable }| Refusal { code, detail, retryable })?;
        if method.starts_with("adapter.record") {
            let params: Value = serde_json::from_str(params).unwrap_or_default();
            let what = params["result"].as_str().unwrap_or("receipt");
            (self.recorded)(params["submissionId"].as_str().unwrap_or_default(), what);
        }
        // The draft's frame around keyed operations.
        Ok(body)
    }

    fn digest(&self, text: &str) -> Result<String, Refusal> {
        digest(&self.host, text)
    }

    fn now_ms(&self) -> u64 {
        self.host.now_ms().unwrap_or_else(|_| script::now_ms()).unsigned_abs()
    }
}
