//! The `rmcp` client, over a child process and over HTTP.

use crate::program::http::HttpServer;
use crate::program::world::World;
use crate::program::{Answered, Asked};
use rmcp::model::{CallToolRequestParams, ProgressNotificationParam, Tool};
use rmcp::service::{NotificationContext, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use threadmesh_server::mcp::schema;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

/// Counts the progress that it is told of.
#[derive(Clone, Default)]
pub struct Listener(pub Arc<Mutex<Vec<f64>>>);

impl ClientHandler for Listener {
    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.0.lock().expect("nobody panicked").push(told.progress);
    }
}

/// A client in a session, and the tools that it was told of.
pub struct Agent {
    /// The session.
    pub running: RunningService<RoleClient, Listener>,
    /// What it heard.
    pub heard: Listener,
    tools: BTreeMap<String, Tool>,
}

/// Runs a test with a client.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(test)
}

/// Runs a test whose client says everything in the order in which it is told to: one thread, one task after the other.
pub fn run_in_turn<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(test)
}

impl Agent {
    /// `threadmesh mcp` as a child, as `name`.
    pub async fn stdio(world: &World, name: &str) -> Self {
        let token = format!("mesh.db.tokens/{name}");
        let command = world.rig.command(&["mcp", "--socket", "mesh.db.run/socket", "--token-file", &token]);
        let transport = TokioChildProcess::new(tokio::process::Command::from(command)).expect("it starts");
        let heard = Listener::default();
        Self::of(heard.clone().serve(transport).await.expect("it speaks MCP"), heard).await
    }

    /// `/mcp` of a server, with `token`.
    pub async fn http(server: &HttpServer, token: &str) -> Self {
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(carry(far, server.address.clone(), token.to_owned()));
        let heard = Listener::default();
        Self::of(heard.clone().serve(near).await.expect("it speaks MCP"), heard).await
    }

    async fn of(running: RunningService<RoleClient, Listener>, heard: Listener) -> Self {
        let tools = running.list_all_tools().await.expect("the tools");
        let tools = tools.into_iter().map(|tool| (tool.name.to_string(), tool)).collect();
        Agent { running, heard, tools }
    }

    /// The tools by name.
    pub fn tools(&self) -> &BTreeMap<String, Tool> {
        &self.tools
    }

    /// Calls a tool: its structured result, which must be one that the tool's schema describes, or the error that it told.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<Value, Value> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let result = self.running.call_tool(params).await.expect("the tool answers");
        let text = result.content[0].as_text().expect("a text").text.clone();
        if result.is_error == Some(true) {
            assert_eq!(result.structured_content, None, "an error is told as text");
            return Err(serde_json::from_str::<Value>(&text).expect("JSON")["error"].take());
        }
        let value = result.structured_content.expect("a structured result");
        let output = self.tools[tool].output_schema.as_ref().expect("an output schema");
        let schema = Value::Object(output.as_ref().clone());
        assert_eq!(schema::check(&schema, &value), Ok(()), "{tool}: {value}");
        match tool {
            "read" => assert_eq!(value["rendering"]["text"], text),
            _ => assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value),
        }
        Ok(value)
    }

    /// Calls a tool that must succeed.
    pub async fn done(&self, tool: &str, arguments: Value) -> Value {
        let called = self.call(tool, arguments.clone()).await;
        called.unwrap_or_else(|error| panic!("{tool} {arguments}: {error}"))
    }

    /// The code with which a tool refuses.
    pub async fn code(&self, tool: &str, arguments: Value) -> String {
        let refused = self.call(tool, arguments.clone()).await.expect_err("it must be refused");
        assert!(refused["next"].as_str().is_some_and(|next| next.len() > 10), "{refused}");
        refused["code"].as_str().expect("a code").to_owned()
    }
}

/// Carries lines of a client to `/mcp` and back, each request on a connection of its own.
async fn carry(far: tokio::io::DuplexStream, address: String, token: String) {
    let (input, output) = tokio::io::split(far);
    let output = Arc::new(tokio::sync::Mutex::new(output));
    let session: Arc<Mutex<Option<String>>> = Arc::default();
    let mut lines = BufReader::new(input).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let first = line.contains("\"initialize\"");
        let (address, token, session, output) =
            (address.clone(), token.clone(), Arc::clone(&session), Arc::clone(&output));
        let one = async move {
            let known = session.lock().expect("nobody panicked").clone();
            let asked = tokio::task::spawn_blocking(move || post(&address, &token, known.as_deref(), &line));
            let answered = asked.await.expect("an answer");
            if let Some(begun) = answered.field("mcp-session-id") {
                *session.lock().expect("nobody panicked") = Some(begun.to_owned());
            }
            for message in messages(&answered) {
                output.lock().await.write_all(format!("{message}\n").as_bytes()).await.expect("the client reads");
            }
        };
        // What follows needs the session that the first request begins.
        if first { one.await } else { drop(tokio::spawn(one)) }
    }
}

/// Posts one message.
pub fn post(address: &str, token: &str, session: Option<&str>, message: &str) -> Answered {
    asked(token, session, message).send(std::net::TcpStream::connect(address).expect("the server listens"), address)
}

/// The request that posts one message.
pub fn asked(token: &str, session: Option<&str>, message: &str) -> Asked {
    let asked = Asked::new("POST", "/mcp")
        .bearer(token)
        .field("content-type", "application/json")
        .field("accept", "application/json, text/event-stream")
        .body(message);
    session.iter().fold(asked, |asked, session| asked.field("mcp-session-id", session))
}

/// The messages in an answer, be it an event stream or not.
pub fn messages(answered: &Answered) -> Vec<String> {
    let streamed = answered.body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    let streamed: Vec<String> = streamed.filter(|data| !data.is_empty()).map(str::to_owned).collect();
    match streamed.is_empty() && answered.body.starts_with('{') {
        true => vec![json!(serde_json::from_str::<Value>(&answered.body).expect("JSON")).to_string()],
        false => streamed,
    }
}
