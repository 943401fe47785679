//! Where the demo happens: a folder, tokens, a profile, and a server that can be killed and started again.

use crate::client::Client;
use crate::command::token;
use crate::database;
use crate::failure::Failure;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use threadmesh_server::socket;
use threadmesh_server::tokens::{self, Kind, Principal};

/// Tells a folder that a demo made from all others.
const MARK: &str = ".threadmesh-demo";

/// The names that a demo makes in its folder, beside the mark.
const NAMES: &[&str] = &[
    "mesh.db",
    "mesh.db-wal",
    "mesh.db-shm",
    "mesh.db.lock",
    "mesh.db.tokens.json",
    "mesh.db.tokens.json.lock",
    "ledger.jsonl",
    "ledger.jsonl.hold",
    "profiles.toml",
    "server.log",
];

/// The folder and the processes.
pub struct Stage {
    folder: PathBuf,
    server: Option<Child>,
}

impl Stage {
    /// Makes the folder, or clears one that an earlier demo made.
    pub fn set(folder: &Path) -> Result<Self, Failure> {
        let shown = folder.display().to_string();
        let unusable = |error: io::Error| {
            Failure::unusable("file-unwritable", format_args!("{shown}: {error}"), "choose another folder with --dir")
        };
        if folder.exists() && !folder.join(MARK).is_file() {
            let detail = format!("{shown} is there, and no demo made it");
            return Err(Failure::unusable("file-exists", detail, "choose another folder with --dir"));
        }
        database::private_folder(folder).or_else(|_| fs::create_dir_all(folder)).map_err(unusable)?;
        let folder = folder.canonicalize().map_err(unusable)?;
        fs::write(folder.join(MARK), "Made by `threadmesh demo`, which may clear it.\n").map_err(unusable)?;
        for name in NAMES {
            match fs::remove_file(folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(error)),
                _ => {}
            }
        }
        for name in ["mesh.db.tokens", "mesh.db.run", "mesh.db.replay"] {
            match fs::remove_dir_all(folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(error)),
                _ => {}
            }
        }
        Ok(Stage { folder, server: None })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The database.
    pub fn db(&self) -> PathBuf {
        self.folder.join("mesh.db")
    }

    /// The ledger of effects.
    pub fn ledger(&self) -> PathBuf {
        self.folder.join("ledger.jsonl")
    }

    /// Makes a token, and puts it where `--as` finds it.
    pub fn token(&self, name: &str, principal: Principal) -> Result<(), Failure> {
        let (db, path) = (self.db(), tokens::default_path(&self.db()));
        let unusable = |error: io::Error| Failure::unusable("file-unwritable", error, "");
        database::private_folder(&database::token_folder(&db)).map_err(unusable)?;
        let made = tokens::update(&path, |file| file.create(&path, name, principal));
        let written = made.and_then(|token| tokens::write_secret(&token::place(&db, name), &token));
        written.map_err(|error| token::failure(&error))
    }

    /// Writes the operator's profile file: one adapter, the ledger.
    pub fn profile(&self) -> Result<(), Failure> {
        let program = std::env::current_exe();
        let unusable = |error: io::Error| Failure::unusable("file-unwritable", error, "");
        let program = program.map_err(unusable)?;
        let (program, ledger) = (program.display().to_string(), self.ledger().display().to_string());
        let text = format!(
            "# The outside world of the demo: every call is a line in a ledger.\n\
             [profile.ledger]\nkind = \"command\"\nprogram = {program:?}\nargs = [\"demo\", \"--target\", {ledger:?}]\n\
             can_query = true\ndeadline_ms = 1500\ngrace_ms = 200\nsettle_ms = 3200\n"
        );
        let mut options = File::options();
        let file = options.write(true).create_new(true).mode(0o600).open(self.folder.join("profiles.toml"));
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(unusable)
    }

    /// Starts a server on the database and waits until it answers.
    pub fn start(&mut self) -> Result<u32, Failure> {
        let failed = |what: String| {
            let log = self.folder.join("server.log");
            Failure::unusable("server-unreachable", what, format!("see {}", log.display()))
        };
        let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
        let log = File::options().append(true).create(true).open(self.folder.join("server.log"));
        let log = log.map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new(program);
        command.args(["--json", "serve", "--create", "--db"]).arg(self.db());
        command.arg("--profiles").arg(self.folder.join("profiles.toml"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let pid = child.id();
        let output = child.stdout.take();
        self.server = Some(child);
        let mut line = String::new();
        let read = output.map(|output| BufReader::new(output).read_line(&mut line));
        match read {
            Some(Ok(length)) if length > 0 && line.contains("serving") => Ok(pid),
            _ => Err(failed(format!("the server did not start: {}", line.trim()))),
        }
    }

    /// Kills the server as `kill -9` does.
    pub fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }

    /// Ends the server as an operator does, with SIGTERM.
    pub fn clear(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        if let Some(pid) = rustix::process::Pid::from_raw(i32::try_from(server.id()).unwrap_or_default()) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let _ = server.wait();
    }

    /// A connection to the server as `name`.
    pub fn connect(&self, name: &str) -> Result<Client, Failure> {
        let secret = tokens::read_secret(&token::place(&self.db(), name)).map_err(|error| token::failure(&error))?;
        Client::connect(&socket::default_path(&self.db()), &secret)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A principal of the demo: `alice`, or one of her tasks.
pub fn principal(kind: Kind, id: &str, incarnation: Option<&str>) -> Principal {
    Principal {
        tenant: "default".to_owned(),
        kind,
        id: id.to_owned(),
        incarnation: incarnation.map(str::to_owned),
        owner: incarnation.map(|_| "user:alice".to_owned()),
        worker: None,
    }
}
