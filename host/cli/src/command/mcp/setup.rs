//! `threadmesh mcp setup`: what to write into the configuration of a harness.

use crate::command::token;
use crate::database;
use crate::failure::{Exit, Failure, Outcome};
use crate::names::Names;
use crate::terminal::Printer;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use threadmesh_server::{socket, tokens};

/// Print what to write into a harness's configuration.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh mcp setup --harness codex --as build
  threadmesh mcp setup --harness gemini --socket mesh.db.run/socket --token-file mesh.db.tokens/builder

Nothing is written, and no token is shown: it stays in its file. The harness needs a running server: threadmesh up.")]
pub struct Arguments {
    /// The harness
    #[arg(long, value_enum)]
    harness: Harness,
    /// The database whose server it is; that of this account unless given
    #[arg(long, value_name = "FILE", env = "THREADMESH_DB")]
    db: Option<PathBuf>,
    /// The socket of the server; that of the database unless given
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// The task that the harness works on, by its name
    #[arg(long = "as", value_name = "NAME", required_unless_present = "token_file")]
    task: Option<String>,
    /// The file that holds the token, instead of --as
    #[arg(long, value_name = "FILE", conflicts_with = "task")]
    token_file: Option<PathBuf>,
    /// What the harness calls it
    #[arg(long, value_name = "NAME", default_value = "threadmesh")]
    name: String,
}

/// The harnesses whose configuration is known.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Harness {
    /// `config.toml` of Codex
    Codex,
    /// `.mcp.json` of Claude Code
    ClaudeCode,
    /// `settings.json` of Gemini CLI
    Gemini,
    /// `settings.json` of Qwen Code
    Qwen,
    /// `opencode.json` of opencode
    Opencode,
    /// `mcpServers` of `session/new` in the Agent Client Protocol
    Acp,
}

/// Runs it.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '-' || sign == '_';
    if arguments.name.is_empty() || !arguments.name.chars().all(plain) {
        return Err(Failure::unusable("usage", "a name is letters, digits, '-' and '_'", "choose another --name"));
    }
    let program = std::env::current_exe().map_err(|error| Failure::unusable("system", error, ""))?;
    let command = text(&program)?;
    let socket = text(&absolute(&arguments.socket()?)?)?;
    let token = text(&absolute(&arguments.token()?)?)?;
    let told = ["mcp", "--socket", &socket, "--token-file", &token].map(str::to_owned).to_vec();
    let (file, lines) = match arguments.harness {
        Harness::Codex => ("$CODEX_HOME/config.toml", codex(&arguments.name, &command, &told)),
        other => {
            let (file, value) = document(other, &arguments.name, &command, &told);
            let pretty = serde_json::to_string_pretty(&value).unwrap_or_default();
            (file, pretty.lines().map(str::to_owned).collect())
        }
    };
    let report = json!({"file": file, "text": lines.join("\n"), "command": command, "arguments": told});
    printer.remark(&format!("add this to {file}:"));
    printer.show(&report, || lines);
    Ok(Exit::Accepted)
}

impl Arguments {
    fn socket(&self) -> Result<PathBuf, Failure> {
        match &self.socket {
            Some(socket) => Ok(socket.clone()),
            None => Ok(socket::default_path(&database::chosen(self.db.as_deref())?)),
        }
    }

    /// The token file of the task. Unusable where the name is none of a task, or its token is not there.
    fn token(&self) -> Result<PathBuf, Failure> {
        if let Some(file) = &self.token_file {
            return Ok(file.clone());
        }
        let of_socket = self.socket.as_deref().and_then(database::of_socket);
        let db = of_socket.map_or_else(|| database::chosen(self.db.as_deref()), Ok)?;
        let name = self.task.as_deref().unwrap_or_default();
        Names::load(&tokens::default_path(&db))?.task(name)?;
        let file = token::place(&db, name);
        match file.exists() {
            true => Ok(file),
            false => {
                let detail = format!("the token of {name} is not in {}", file.display());
                Err(Failure::unusable("token-unusable", detail, "name its file: --token-file FILE"))
            }
        }
    }
}

/// A harness starts the program in a folder of its own.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::unusable("usage", error, ""))
}

fn text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::unusable("usage", "a path is not UTF-8, which no configuration can hold", ""))
}

/// The strings of TOML are those of JSON as far as paths go.
fn codex(name: &str, command: &str, told: &[String]) -> Vec<String> {
    vec![format!("[mcp_servers.{name}]"), format!("command = {}", json!(command)), format!("args = {}", json!(told))]
}

fn document(harness: Harness, name: &str, command: &str, told: &[String]) -> (&'static str, Value) {
    let server = json!({"command": command, "args": told});
    match harness {
        Harness::ClaudeCode => (".mcp.json", json!({"mcpServers": {name: server}})),
        Harness::Qwen => (".qwen/settings.json", json!({"mcpServers": {name: server}})),
        Harness::Opencode => {
            let whole: Vec<&str> = std::iter::once(command).chain(told.iter().map(String::as_str)).collect();
            ("opencode.json", json!({"mcp": {name: {"type": "local", "command": whole, "enabled": true}}}))
        }
        Harness::Acp => {
            let server = json!({"name": name, "command": command, "args": told, "env": []});
            ("the params of session/new", json!({"mcpServers": [server]}))
        }
        Harness::Codex | Harness::Gemini => (".gemini/settings.json", json!({"mcpServers": {name: server}})),
    }
}
