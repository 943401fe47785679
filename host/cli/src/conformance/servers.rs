//! Vectors over JSON-RPC against servers of our own: one for the pure functions, and fresh ones on a fresh database, with
//! a clock that is set for each call, for every scenario.

use super::drivers::{Driver, Server};
use crate::client::Client;
use crate::core;
use crate::database;
use crate::failure::Failure;
use crate::mesh::Mesh;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use threadmesh_runtime::client::operations;
use threadmesh_runtime::scenario::{self, Call, Reply, Target};
use threadmesh_server::hosted;
use threadmesh_server::tokens::{self, Principal, Secret};

/// A driver that starts its own servers. Its folder goes with it.
pub struct OwnServers {
    folder: PathBuf,
    pure: Server,
    number: u32,
    // Ends before the folder goes.
    _first: Scene<'static>,
}

impl OwnServers {
    /// Starts the first server, in a new folder for temporary files.
    pub fn start() -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("threadmesh-{}", tokens::random_id()));
        database::private_folder(&folder).map_err(failed)?;
        let mut first = Scene::fresh(&folder.join("0"), None)?;
        let nobody = json!({"tenant": "default", "kind": "user", "id": "nobody"});
        let (_, socket) = first.server("host-1")?;
        let secret = first.token("nobody", &nobody)?.ok_or_else(|| failed("a token could not be made"))?;
        let client = Client::connect(&socket, &secret)?;
        Ok(OwnServers { folder, pure: Server { client }, number: 0, _first: first })
    }
}

impl Driver for OwnServers {
    fn answer(&mut self, function: &str, args: &Map<String, Value>) -> Result<Value, Failure> {
        if function != "scenario" {
            return self.pure.answer(function, args);
        }
        self.number += 1;
        let mut scene = Scene::fresh(&self.folder.join(self.number.to_string()), Some(&mut self.pure.client))?;
        let performed = scenario::perform(&Value::Object(args.clone()), &mut scene);
        match (performed, scene.fault.take()) {
            (_, Some(fault)) => Err(fault),
            (Ok(transcript), None) => Ok(json!({"ok": transcript})),
            (Err(what), None) => Ok(json!({"unusable": what})),
        }
    }
}

impl Drop for OwnServers {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A fresh database, the servers on it by the name of their instance, and the connections of the callers.
struct Scene<'a> {
    folder: PathBuf,
    parser: Option<&'a mut Client>,
    servers: Vec<(String, Child)>,
    tokens: HashMap<String, Secret>,
    clients: HashMap<(usize, String), Client>,
    fault: Option<Failure>,
}

impl<'a> Scene<'a> {
    fn fresh(folder: &Path, parser: Option<&'a mut Client>) -> Result<Self, Failure> {
        database::private_folder(folder).map_err(failed)?;
        fs::write(folder.join("clock"), "0").map_err(failed)?;
        // A server looks at the token file when it starts.
        tokens::update(&folder.join("tokens.json"), |_| Ok(())).map_err(failed)?;
        let (servers, tokens, clients) = (Vec::new(), HashMap::new(), HashMap::new());
        Ok(Scene { folder: folder.to_owned(), parser, servers, tokens, clients, fault: None })
    }

    /// The caller's connection to the server called `instance`; nothing where no token can stand for the caller.
    fn client(&mut self, instance: &str, principal: &Value) -> Result<Option<&mut Client>, Failure> {
        let name = principal["name"].as_str().unwrap_or_default().to_owned();
        let Some(secret) = self.token(&name, principal)? else { return Ok(None) };
        let (place, socket) = self.server(instance)?;
        Ok(Some(match self.clients.entry((place, name)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Client::connect(&socket, &secret)?),
        }))
    }

    fn token(&mut self, name: &str, principal: &Value) -> Result<Option<Secret>, Failure> {
        if let Some(secret) = self.tokens.get(name) {
            return Ok(Some(secret.clone()));
        }
        let named = principal["authentication"].as_str().map(str::to_owned);
        let mut members = principal.as_object().cloned().unwrap_or_default();
        members.retain(|member, _| member != "name" && member != "authentication");
        // The kind `host` is none that a token can have, and nobody is let in whom the rules do not take.
        let Ok(principal) = serde_json::from_value::<Principal>(Value::Object(members)) else { return Ok(None) };
        let candidate = tokens::Entry {
            name: name.to_owned(),
            token_digest: String::new(),
            principal: principal.clone(),
            authentication_id: "authn_of-no-token".to_owned(),
        };
        if core::with_session(|session| Ok(session.check_principal(&hosted::principal(&candidate))?))?.is_some() {
            return Ok(None);
        }
        let path = self.folder.join("tokens.json");
        let made = tokens::update(&path, |file| {
            let secret = file.create(&path, name, principal)?;
            // Grants show by which credential they were given.
            if let (Some(named), Some(entry)) = (named.filter(|named| named.len() > 10), file.entries.last_mut()) {
                entry.authentication_id = named;
            }
            Ok(secret)
        });
        match made {
            Ok(secret) => Ok(Some(self.tokens.entry(name.to_owned()).or_insert(secret).clone())),
            Err(error) => Err(failed(error)),
        }
    }

    /// The server called `instance`, which is started if it does not run yet: its number and its socket.
    fn server(&mut self, instance: &str) -> Result<(usize, PathBuf), Failure> {
        let known = self.servers.iter().position(|(name, _)| name == instance);
        let number = known.unwrap_or(self.servers.len());
        let socket = self.folder.join(format!("run-{number}")).join("socket");
        if known.is_none() {
            self.servers.push((instance.to_owned(), self.spawn(&socket)?));
        }
        Ok((number, socket))
    }

    fn spawn(&self, socket: &Path) -> Result<Child, Failure> {
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["--json", "serve", "--create", "--test-scenario"]);
        for (option, path) in [("--db", "mesh.db"), ("--tokens", "tokens.json"), ("--test-clock", "clock")] {
            command.arg(option).arg(self.folder.join(path));
        }
        command.arg("--socket").arg(socket).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let mut line = String::new();
        let read = child.stdout.take().map(|output| BufReader::new(output).read_line(&mut line));
        match read {
            Some(Ok(_)) if line.contains("serving") => Ok(child),
            _ => Err(failed(format_args!("a server did not start: {line}"))),
        }
    }

    fn perform(&mut self, call: &Call<'_>, principal: &Value) -> Result<Option<Reply>, Failure> {
        fs::write(self.folder.join("clock"), call.now.to_string()).map_err(failed)?;
        let Some(client) = self.client(call.instance, principal)? else { return Ok(None) };
        let response = client.raw(call.method, &call.params)?;
        Ok(Some(Reply { response, effects: None }))
    }
}

impl Target for Scene<'_> {
    fn start(&mut self, text: &str) -> Result<i64, String> {
        let parser = self.parser.as_mut().ok_or("there is nobody to parse a time")?;
        let parsed = parser.value("core.parseTime", &json!({"text": text})).map_err(|failure| failure.line())?;
        // Whole milliseconds, far below 2^53.
        parsed.as_f64().map(|ms| ms as i64).ok_or_else(|| "a time is a number".to_owned())
    }

    fn call(&mut self, call: &Call<'_>) -> Result<Option<Reply>, String> {
        // Nobody is there to end a wait, and the clock stands; and a frame without a method is no call.
        // A socket has no place for a context, and the server has no engine.
        let bare = call.context.is_null() && call.evaluated.is_null();
        let fits = !waits(call) && !call.method.is_empty() && bare;
        let Some(principal) = call.principal.as_ref().filter(|_| fits) else { return Ok(None) };
        self.perform(call, principal).map_err(|fault| {
            let line = fault.line();
            self.fault = Some(fault);
            line
        })
    }
}

impl Drop for Scene<'_> {
    fn drop(&mut self) {
        for (_, server) in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// Whether a call may wait for others: it says for how long, and that is not 0.
fn waits(call: &Call<'_>) -> bool {
    let member = operations::find(call.method).and_then(|operation| operation.waits);
    let params = serde_json::from_str::<Value>(&call.params).unwrap_or_default();
    member.and_then(|member| params.get(member)).is_some_and(|time| *time != 0)
}

/// Something of the machine's failed: no verdict on a vector.
fn failed(what: impl std::fmt::Display) -> Failure {
    Failure::unusable("driver-failed", what, "see whether the folder for temporary files can be used")
}
