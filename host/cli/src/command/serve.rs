//! `threadmesh serve`: answers JSON-RPC until it is told to stop.

mod http;

use crate::command::token;
use crate::database;
use crate::failure::{Exit, Failure, Outcome};
use crate::faults;
use crate::log::Log;
use crate::open::{self, Opened, Opening};
use crate::target::TokenArguments;
use crate::terminal::Printer;
use clap::Args;
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use threadmesh_runtime::host::Counters;
use threadmesh_server::connection::{Connection, Limits, Output};
use threadmesh_server::service::Service;
use threadmesh_server::shares::Shares;
use threadmesh_server::socket::{self, SocketError, SocketPlace, SocketServer};
use threadmesh_server::stdio;
use threadmesh_server::stop::Stop;
use threadmesh_server::tokens::{self, Secret, TokenBook};

/// How long calls in flight may take at the end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Answer JSON-RPC 2.0 over a private Unix socket and HTTP, or over standard input and output.
#[derive(Debug, Default, Args)]
#[command(after_help = "Examples:
  threadmesh serve --db mesh.db --create
  threadmesh serve --db mesh.db --socket /run/user/1000/mesh/socket --profiles profiles.toml
  threadmesh serve --db mesh.db --stdio --as builder
  threadmesh serve --db mesh.db --listen 127.0.0.1:7400
  threadmesh serve --db mesh.db --listen 0.0.0.0:7400 --tls-cert cert.pem --tls-key key.pem --allow-host mesh.example

One frame a line. Over a socket, the first line of a connection is
  {\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"session.authenticate\", \"params\": {\"token\": \"…\"}}
SIGTERM, SIGINT and SIGHUP end it: what runs is finished and answered first. With --json it prints {\"serving\": PATH} when it is
ready, with --listen {\"serving\": PATH, \"listening\": URL}, and {\"ended\": COUNTS} at its end. HTTP is described in spec/http.md.")]
pub struct Arguments {
    /// The database
    #[arg(long, value_name = "FILE", env = "THREADMESH_DB")]
    db: Option<PathBuf>,
    /// Make the database if it does not exist
    #[arg(long)]
    create: bool,
    /// Where to listen; FILE.run/socket unless given
    #[arg(long, value_name = "PATH", conflicts_with = "stdio")]
    socket: Option<PathBuf>,
    /// Serve standard input and output, as the principal of one token
    #[arg(long)]
    stdio: bool,
    /// The token file, if it is not FILE.tokens.json
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    #[command(flatten)]
    http: http::HttpArguments,
    #[command(flatten)]
    token: TokenArguments,
    /// The operator's adapter profiles: spec/adapters.md
    #[arg(long, value_name = "FILE")]
    profiles: Option<PathBuf>,
    /// Open the database on a network or VM-shared file system all the same
    #[arg(long)]
    allow_network_fs: bool,
    /// Keep the texts in replay files (FILE.replay) as they are, for a defect that cannot be found without them
    #[arg(long)]
    keep_content: bool,
    /// A file with the time in milliseconds since the Unix epoch (for tests only)
    #[arg(long, value_name = "FILE", hide = true)]
    test_clock: Option<PathBuf>,
    /// Be the server of a scenario: make no calls, and answer when all that an operation leaves to do is done (for tests
    /// only)
    #[arg(long, hide = true)]
    test_scenario: bool,
}

impl Arguments {
    /// The settings of `threadmesh up`: those of `serve` without options, and HTTP where `listen` says.
    pub fn usual(db: Option<PathBuf>, listen: Option<SocketAddr>, profiles: Option<PathBuf>) -> Self {
        let http = http::HttpArguments::at(listen);
        Arguments { db, http, profiles, ..Arguments::default() }
    }

    /// Where the socket is.
    pub fn socket_place(&self) -> Result<PathBuf, Failure> {
        match &self.socket {
            Some(path) => Ok(path.clone()),
            None => Ok(socket::default_path(&database::chosen(self.db.as_deref())?)),
        }
    }
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let stop = Stop::on_signals().map_err(|error| Failure::unusable("system", error, ""))?;
    let db = database::chosen(arguments.db.as_deref())?;
    open::existing(&db, arguments.create)?;
    let tokens = arguments.tokens.clone().unwrap_or_else(|| tokens::default_path(&db));
    let book = TokenBook::open(&tokens).map_err(|error| token::failure(&error))?;
    let opened = Opened::open(&Opening {
        db: &db,
        create: arguments.create,
        profiles: arguments.profiles.as_deref(),
        allow_network_fs: arguments.allow_network_fs,
        keep_content: arguments.keep_content,
        test_clock: arguments.test_clock.as_deref(),
    })?;
    let log = Log::start(printer);
    opened.tell_stuck(&log);
    opened.host().set_fault_sink(faults::told_to(&log));
    for (name, detail) in token::check_principals(opened.host().core(), &tokens::load(&tokens).unwrap_or_default()) {
        log.line(&json!({"event": "token-untaken", "token": name, "detail": detail}));
    }
    let book = Arc::new(book.checked(opened.check_principal()));
    // The places are taken before anything is done for the database: a second server is refused first.
    let place = if arguments.stdio { None } else { Some(place(arguments)?) };
    let listening = arguments.http.listen(&book, opened.check_principal())?;
    let mut service = opened.service();
    match arguments.test_scenario {
        true => service = service.settling(PATIENCE),
        false => {
            let log = log.clone();
            opened.dispatch(move |note| log.line(note))?;
            opened.perform_stored()?;
        }
    }
    let service: Arc<dyn Service> = Arc::new(service);
    match place {
        None => over_stdio(&arguments.token.secret(Some(&db))?, &service, &book, &stop)?,
        Some(place) => {
            let path = place.path().display().to_string();
            match &listening {
                None => printer.show(&json!({"serving": path}), Vec::new),
                Some(http) => printer.show(&json!({"serving": path, "listening": http.url()}), Vec::new),
            }
            let also = listening.as_ref().map(|http| format!(" and {}", http.url())).unwrap_or_default();
            log.remark(&format!("serving {} at {path}{also}", db.display()));
            let http = listening.map(|http| http.start(&service, &stop)).transpose()?;
            let server = SocketServer { service, book, limits: Limits::default() };
            server.serve(place, &stop).map_err(|error| failure(&error))?;
            http.map_or(Ok(()), http::Running::end)?;
        }
    }
    if !opened.end(PATIENCE) {
        let detail = "some calls are still under way; their outcome is asked for at the next start";
        log.line(&json!({"event": "calls-open", "detail": detail}));
    }
    opened.host().settle(PATIENCE);
    opened.host().close();
    let ended = counted(opened.host().counters());
    match arguments.stdio {
        // Standard output is the protocol's.
        true => log.remark(&ended.to_string()),
        false => printer.close(&ended, || vec![ended.to_string()]),
    }
    opened.tidy();
    log.end(PATIENCE);
    Ok(Exit::Accepted)
}

/// What a server says at its end.
fn counted(counted: Counters) -> Value {
    let Counters { requests, commits, conflicts, traps, .. } = counted;
    json!({"ended": {"requests": requests, "commits": commits, "conflicts": conflicts, "traps": traps}})
}

fn place(arguments: &Arguments) -> Result<SocketPlace, Failure> {
    SocketPlace::bind(&arguments.socket_place()?).map_err(|error| failure(&error))
}

fn over_stdio(secret: &Secret, service: &Arc<dyn Service>, book: &Arc<TokenBook>, stop: &Stop) -> Result<(), Failure> {
    let entry = book.resolve(secret.text()).map_err(|error| token::failure(&error))?;
    let entry = entry.ok_or_else(|| {
        let next = "make one with `threadmesh token create`";
        Failure::unusable("token-unusable", "nobody is let in by this token, or it is not in the token file", next)
    })?;
    let caller = &book.standing(entry);
    let limits = Limits::default();
    let connection = Connection { service, caller, limits, waits: &Shares::new(limits.waits), stop };
    let served = stdio::serve(&connection, io::stdin(), &Output::new(io::stdout()));
    served.map_err(|error| Failure::unusable("output-failed", error, ""))
}

fn failure(error: &SocketError) -> Failure {
    match error {
        SocketError::InUse { .. } => Failure::unusable("socket-in-use", error, "use that server, or another --socket"),
        _ => Failure::unusable("socket-unusable", error, "choose another --socket, in a folder of mode 0700"),
    }
}
