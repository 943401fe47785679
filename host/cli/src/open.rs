//! A database, opened: the store, the host loop on it, and the dispatcher for what its commits return.

use crate::failure::Failure;
use crate::log::Log;
use crate::outside::{self, Outside};
use crate::terminal::Printer;
use crate::{core, database, time};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use threadmesh_runtime::dispatcher::{CallEffect, Caller, Config, Dispatcher, Note, Refusal};
use threadmesh_runtime::host::{Clock, Host, Performer, ReplayFiles, itself};
use threadmesh_runtime::store::{Effect as StoredEffect, Store};
use threadmesh_runtime::wit::{Effect, Status};
use threadmesh_runtime::{Core, WasmCore, rpc};
use threadmesh_server::hosted::{self, Hosted, Perform};
use threadmesh_server::tokens::CheckPrincipal;
use threadmesh_store_sqlite::{OpenError, Options, SqliteStore};

/// How a database is opened.
#[derive(Clone, Debug)]
pub struct Opening<'a> {
    /// The file.
    pub db: &'a Path,
    /// Make it if it is missing.
    pub create: bool,
    /// The operator's profile file.
    pub profiles: Option<&'a Path>,
    /// Open it on a network file system all the same.
    pub allow_network_fs: bool,
    /// Keep texts in replay files as they are.
    pub keep_content: bool,
    /// A clock that a test sets: [`TestClock`].
    pub test_clock: Option<&'a Path>,
}

impl<'a> Opening<'a> {
    /// A database that must exist, without adapters.
    pub const fn existing(db: &'a Path) -> Self {
        Opening { db, create: false, profiles: None, allow_network_fs: false, keep_content: false, test_clock: None }
    }
}

/// An open database.
pub struct Opened {
    core: Arc<WasmCore>,
    store: Arc<SqliteStore>,
    host: Arc<Host>,
    outside: Outside,
    dispatcher: Arc<OnceLock<Dispatcher>>,
    performer: Mutex<Option<Performer>>,
}

impl Opened {
    /// Opens it. Unusable where the component, the database or the profile file is.
    pub fn open(opening: &Opening<'_>) -> Result<Self, Failure> {
        let core = Arc::new(core::load()?);
        let outside = match opening.profiles {
            Some(path) => outside::read(path, &core)?,
            None => Outside::default(),
        };
        let (create, allow_network_fs, records) =
            (opening.create, opening.allow_network_fs, core::records(core.as_ref())?);
        let options = Options { create, allow_network_fs, records, ..Options::default() };
        let store = SqliteStore::open(opening.db, options).map_err(|error| unusable(&error))?;
        let store = Arc::new(store);
        let mut builder = Host::builder(Arc::clone(&core) as Arc<dyn Core>, Arc::clone(&store) as Arc<dyn Store>);
        let replays = ReplayFiles::in_directory(&database::beside(opening.db, ".replay"), opening.keep_content);
        if let Ok(files) = replays {
            builder = builder.replay_files(files);
        }
        if let Some(file) = opening.test_clock {
            builder = builder.clock(TestClock(file.to_owned()));
        }
        let host = Arc::new(builder.build().map_err(|error| {
            Failure::unusable("database-unusable", error, "`threadmesh doctor --db FILE` says more")
        })?);
        let dispatcher = Arc::new(OnceLock::<Dispatcher>::new());
        let late = Arc::clone(&dispatcher);
        host.set_call_sink(Arc::new(move |effect| perform(&late, effect)));
        host.set_stuck_sink(Arc::new(|effect, error| {
            let told = format!("threadmesh: {}: {error}; `threadmesh doctor --db FILE` says more", left_to_do(effect));
            Printer::new(false).warn(&told);
        }));
        Ok(Opened { core, store, host, outside, dispatcher, performer: Mutex::default() })
    }

    /// The host.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Whether the core takes the principal of an entry as a caller.
    pub fn check_principal(&self) -> CheckPrincipal {
        let core = Arc::clone(&self.core);
        Arc::new(move |entry| {
            let problem = hosted::check_principal(core.as_ref(), entry);
            Ok(problem.map_err(|error| error.to_string())?.is_none())
        })
    }

    /// Has a log told of stored effects that cannot be performed, instead of standard error.
    pub fn tell_stuck(&self, log: &Log) {
        let log = log.clone();
        self.host.set_stuck_sink(Arc::new(move |effect, error| {
            let (name, about) = effect.map_or(("", ""), |effect| (&effect.name, &effect.key));
            let (code, detail) = (error.code(), error.to_string());
            log.line(&json!({"event": "effect-stuck", "name": name, "about": about, "code": code, "detail": detail}));
        }));
    }

    /// The service for transports.
    pub fn service(&self) -> Hosted {
        Hosted::new(Arc::clone(&self.host), self.perform())
    }

    /// Starts the dispatcher: declares the profiles and the resolvers, performs what commits return from now on, asks about
    /// attempts that nobody knows the outcome of, and looks at evidence. `note` gets what is worth a line in a log. Starts one, however often it is called.
    pub fn dispatch(&self, note: impl Fn(&Note) + Send + Sync + 'static) -> Result<(), Failure> {
        if self.dispatcher.get().is_some() {
            return Ok(());
        }
        let caller = Arc::new(AsHost { host: Arc::clone(&self.host), core: Arc::clone(&self.core) });
        let resolvers = self.outside.resolvers.clone();
        let config = Config { note: Arc::new(note), resolvers, ..Config::new(self.host.instance()) };
        let dispatcher = Dispatcher::start(caller, self.outside.profiles.clone(), config).map_err(|error| {
            Failure::unusable(
                "profiles-unusable",
                error,
                "mend the profile file; the adapters are described in spec/adapters.md",
            )
        })?;
        let _ = self.dispatcher.set(dispatcher);
        Ok(())
    }

    /// Performs `calls` and waits for them, at most until `patience` is over. For a process with one operation. Where the
    /// profile of a call is not given to this process, it is recorded that the call was not made.
    pub fn perform_now(&self, calls: Vec<Effect>, patience: Duration) -> Result<bool, Failure> {
        if calls.is_empty() {
            return Ok(true);
        }
        self.dispatch(|_| {})?;
        let perform = self.perform();
        calls.into_iter().for_each(|effect| perform(effect));
        // Not `end`: that would call off what has not begun.
        Ok(self.dispatcher.get().is_none_or(|dispatcher| dispatcher.drain(patience)))
    }

    /// Performs stored effects as they fall due, from now on until [`Opened::end`].
    pub fn perform_stored(&self) -> Result<(), Failure> {
        let performer =
            Performer::start(Host::clone(&self.host)).map_err(|error| Failure::unusable("system", error, ""))?;
        *self.performer.lock().unwrap_or_else(PoisonError::into_inner) = Some(performer);
        Ok(())
    }

    /// Stops the performer and the dispatcher; whether the calls in hand are on record. See [`Host::settle`] for the
    /// effects in hand.
    pub fn end(&self, patience: Duration) -> bool {
        *self.performer.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.dispatcher.get().is_none_or(|dispatcher| dispatcher.stop(patience))
    }

    /// Carries the write-ahead log over into the file, unless somebody is in the way, so that the one file is all there
    /// is to copy. What is committed is safe without it.
    pub fn tidy(&self) {
        let _ = self.store.checkpoint_truncate(Duration::from_millis(500));
    }

    fn perform(&self) -> Perform {
        let dispatcher = Arc::clone(&self.dispatcher);
        Arc::new(move |effect| perform(&dispatcher, effect))
    }
}

/// What cannot be done, for people.
fn left_to_do(effect: Option<&StoredEffect>) -> String {
    match effect {
        Some(effect) => {
            let (name, about) = (&effect.name, &effect.key);
            format!("what an earlier commit left to do cannot be done, and is tried again in an hour: {name} ({about})")
        }
        None => "what earlier commits left to do cannot be read".to_owned(),
    }
}

fn perform(dispatcher: &OnceLock<Dispatcher>, effect: Effect) {
    // INVARIANT: nothing is decided before the dispatcher stands; an effect that came earlier would stay unknown.
    if let Some(dispatcher) = dispatcher.get() {
        dispatcher.perform(CallEffect { name: effect.name, key: effect.key, body: effect.body });
    }
}

/// Unusable where there is no database at `db` and none is to be made: asked before who is calling, since without a
/// database a token that is missing too is not what is wrong first.
pub fn existing(db: &Path, create: bool) -> Result<(), Failure> {
    match create || db.exists() {
        true => Ok(()),
        false => Err(unusable(&OpenError::NoFile { path: db.to_owned() })),
    }
}

/// A database that cannot be opened as a failure of the program.
pub fn unusable(error: &OpenError) -> Failure {
    let (code, next) = match error {
        OpenError::NoFile { .. } => ("database-missing", "make one with `threadmesh init`, or name another: --db FILE"),
        OpenError::NoDirectory { .. } => ("database-missing", "make the folder first"),
        OpenError::FileSystem { .. } => {
            ("database-unusable", "move it to a local disk, or use --allow-network-fs at its risk")
        }
        OpenError::Damaged { .. } => ("database-unusable", "keep the file as it is, and restore a copy beside it"),
        OpenError::Older { .. } | OpenError::Newer { .. } | OpenError::Linked { .. } | OpenError::Lost { .. } => {
            ("database-unusable", next_for(error))
        }
        OpenError::Busy { .. } => ("database-unusable", "try again; see who holds it"),
        _ => ("database-unusable", "`threadmesh doctor --db FILE` says more"),
    };
    Failure::unusable(code, error, next)
}

/// What to do about a database that is in another form, or not all there.
pub const fn next_for(error: &OpenError) -> &'static str {
    match error {
        OpenError::Older { .. } => "read it with the program that made it, and begin a new one beside it",
        OpenError::Newer { .. } => "use a newer threadmesh",
        OpenError::Linked { .. } => "remove all names but one: `find -samefile FILE` lists them",
        OpenError::Lost { .. } => {
            "bring its log (FILE-wal) back; to go on without what is missing, remove FILE.lock while nobody uses it"
        }
        _ => "",
    }
}

/// The dispatcher's view of the host: it acts as `host`, which no transport can.
struct AsHost {
    host: Arc<Host>,
    core: Arc<WasmCore>,
}

impl Caller for AsHost {
    fn call(&self, tenant: &str, method: &str, params: &str) -> Result<String, Refusal> {
        let reply = self.host.call(Some(&itself(tenant)), method, params);
        let reply = reply.map_err(|error| refusal(&rpc::failed(&error)))?;
        match reply.status {
            Status::Refused => Err(refusal(&reply.body)),
            Status::Accepted | Status::Replayed => Ok(reply.body),
        }
    }

    fn digest(&self, text: &str) -> Result<String, Refusal> {
        let down = |detail: String| Refusal { code: "core-trap".to_owned(), detail, retryable: false };
        let mut session = self.core.session().map_err(|error| down(error.to_string()))?;
        let digest = session.digest(text).map_err(|error| down(error.to_string()))?;
        digest.map_err(|error| down(error.detail))
    }

    fn now_ms(&self) -> u64 {
        // A clock that cannot be trusted lets nothing be recorded either; until then the wall clock must do.
        self.host.now_ms().ok().and_then(|now| u64::try_from(now).ok()).unwrap_or_else(time::now_ms)
    }
}

fn refusal(error: &str) -> Refusal {
    let rpc::Refusal { code, detail, retryable, .. } = rpc::Refusal::read(error);
    Refusal { code, detail, retryable }
}

/// A clock that shows the milliseconds since the Unix epoch that stand in a file, so that a test can set it while a
/// server runs. Without a number in the file it shows 0, at which nothing is written.
struct TestClock(PathBuf);

impl Clock for TestClock {
    fn wall_ms(&self) -> i64 {
        std::fs::read_to_string(&self.0).ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default()
    }

    /// The two never drift apart: setting this clock is no jump.
    fn steady_ms(&self) -> i64 {
        self.wall_ms()
    }
}
