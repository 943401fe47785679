//! The tools as an MCP server: lists them, checks arguments, and runs each call on a thread that may block.

use super::backend::{Backend, InProcess};
use super::fault::ToolFault;
use super::session::{Session, ToolCall};
use super::tools::{self, Described, INSTRUCTIONS, TOOLS, WAIT_MS_MAX};
use super::{frames, mailbox, relations, schema, sending, watching};
use crate::http::pool::{Kind, Place, Pool};
use crate::http::{Caller, Gate, trace};
use crate::service::Service;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode,
    Implementation, ListToolsResult, NumberOrString, PaginatedRequestParams, ProgressNotificationParam,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use threadmesh_runtime::host::Cancel;
use tokio::sync::{Semaphore, SemaphorePermit, watch};

/// Calls at once of a session that has a process of its own.
const CALLS_MAX: usize = 8;
/// How long a call waits for a place: one that was cancelled lets go of its own a moment later.
const PLACE_MS: u64 = 2_000;
/// How long one part of a wait is: after each, progress is told.
const PART_MS: u64 = 5_000;

/// The methods that are answered.
const METHODS: &[&str] = &["initialize", "ping", "tools/list", "tools/call", "server/discover"];

/// Who is calling.
pub enum Identity {
    /// The principal that the program was started with.
    Fixed(Arc<dyn Backend>),
    /// Whom each HTTP request proves. All sessions share the places.
    OfRequest(Arc<dyn Service>, Arc<Pool>, Gate),
}

/// A place among the calls at once; free again when it is dropped.
#[allow(dead_code, reason = "held, never looked at")]
enum Held<'h> {
    Session(SemaphorePermit<'h>),
    Server(Place),
}

/// One session of one client.
pub struct Handler {
    identity: Identity,
    session: Arc<Session>,
    places: Semaphore,
    /// True when nothing is to wait any longer.
    ending: watch::Receiver<bool>,
}

impl Handler {
    /// For a new session, whose waits end when `ending` becomes true.
    pub fn new(identity: Identity, ending: watch::Receiver<bool>) -> Self {
        Handler { identity, session: Arc::new(Session::new()), places: Semaphore::new(CALLS_MAX), ending }
    }

    /// What the call runs on, as whom, and its place among the calls at once.
    async fn enter(
        &self,
        tool: &Described,
        context: &RequestContext<RoleServer>,
    ) -> Result<(Arc<dyn Backend>, Held<'_>), ToolFault> {
        let full = || ToolFault { retryable: true, ..ToolFault::new("backpressure", "too many calls are under way") };
        match &self.identity {
            Identity::Fixed(backend) => {
                let patience = Duration::from_millis(PLACE_MS);
                let place = tokio::time::timeout(patience, self.places.acquire()).await;
                let place = place.ok().and_then(Result::ok).ok_or_else(full)?;
                Ok((Arc::clone(backend), Held::Session(place)))
            }
            Identity::OfRequest(service, pool, gate) => {
                let parts = context.extensions.get::<axum::http::request::Parts>();
                let context = parts.map(|parts| trace::of(&parts.headers)).unwrap_or_default();
                let caller = parts.and_then(|parts| parts.extensions.get::<Caller>());
                let caller = caller.ok_or_else(|| ToolFault::new("authentication-required", "nobody is calling"))?;
                let kind = if tool.name() == "wait" { Kind::Wait } else { Kind::Call };
                let place = pool.enter(kind, caller).map_err(|_| full())?;
                let backend = InProcess::new(Arc::clone(service), gate.standing(caller), context);
                Ok((Arc::new(backend), Held::Server(place)))
            }
        }
    }

    async fn run(
        &self,
        tool: &'static Described,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ToolFault> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        schema::check(&tool.input, &arguments).map_err(|(place, what)| {
            let place = if place.is_empty() { "the arguments" } else { place.as_str() };
            ToolFault::new("arguments-invalid", format!("{place}: {what}"))
        })?;
        let (backend, _place) = tokio::select! {
            entered = self.enter(tool, context) => entered?,
            () = context.ct.cancelled() => return Err(cancelled()),
        };
        let call = Arc::new(ToolCall {
            session: Arc::clone(&self.session),
            backend,
            id: request_id(context),
            tool: tool.name(),
            arguments,
            cancel: Cancel::default(),
        });
        let work = async {
            match tool.name() {
                "wait" => wait(&call, context, self.ending.clone()).await,
                _ => blocking(&call, one).await,
            }
        };
        tokio::select! {
            done = work => done,
            () = context.ct.cancelled() => {
                call.cancel.cancel();
                Err(cancelled())
            }
        }
    }
}

fn cancelled() -> ToolFault {
    ToolFault { retryable: true, ..ToolFault::new("wait-cancelled", "the call was cancelled") }
}

/// The client's id of the request, as JSON text.
fn request_id(context: &RequestContext<RoleServer>) -> String {
    match &context.id {
        NumberOrString::String(inner) => frames::own_id(inner).to_owned(),
        number @ NumberOrString::Number(_) => number.to_string(),
    }
}

/// A tool that does not wait.
fn one(call: &ToolCall) -> Result<Value, ToolFault> {
    match call.tool {
        "inbox" => mailbox::inbox(call),
        "ack" => mailbox::ack(call),
        "read" => mailbox::read(call),
        "reply" => sending::reply(call),
        "send" => sending::send(call),
        "status" => watching::status(call),
        "related" => relations::related(call),
        "propose" => relations::propose(call),
        other => Err(ToolFault::new("arguments-invalid", format!("there is no tool {other}"))),
    }
}

async fn blocking(
    call: &Arc<ToolCall>,
    run: impl FnOnce(&ToolCall) -> Result<Value, ToolFault> + Send + 'static,
) -> Result<Value, ToolFault> {
    let call = Arc::clone(call);
    let done = tokio::task::spawn_blocking(move || run(&call)).await;
    done.unwrap_or_else(|_| Err(ToolFault::new("core-trap", "the call was lost")))
}

/// Waits in parts, and tells of progress between them where the client asked for it.
async fn wait(
    call: &Arc<ToolCall>,
    context: &RequestContext<RoleServer>,
    mut ending: watch::Receiver<bool>,
) -> Result<Value, ToolFault> {
    let total = call.number("timeoutMs").unwrap_or(WAIT_MS_MAX).clamp(0, WAIT_MS_MAX);
    let total = Duration::from_millis(u64::try_from(total).unwrap_or(0));
    let (token, start) = (context.meta.get_progress_token(), Instant::now());
    loop {
        let left = total.saturating_sub(start.elapsed());
        let part = left.min(Duration::from_millis(PART_MS));
        let part_ms = i64::try_from(part.as_millis()).unwrap_or(0);
        let page = tokio::select! {
            page = blocking(call, move |call| watching::part(call, part_ms)) => page?,
            // A sender that is gone has nothing to end.
            Ok(_) = ending.wait_for(|ending| *ending) => {
                call.cancel.cancel();
                return Ok(watching::nothing(call));
            }
        };
        if page["timedOut"] != true || start.elapsed() >= total {
            return Ok(page);
        }
        if let Some(token) = &token {
            let told = ProgressNotificationParam::new(token.clone(), start.elapsed().as_secs_f64())
                .with_total(total.as_secs_f64())
                .with_message("nothing has happened yet");
            // A client that has gone does not hear it; its call ends by itself.
            let _ = context.peer.notify_progress(told).await;
        }
    }
}

/// A result for programs, and as text for models: of a message that is read, the text is its rendering.
fn told(tool: &Described, done: Result<Value, ToolFault>) -> CallToolResult {
    match done {
        Ok(value) => {
            let text = match value["rendering"]["text"].as_str() {
                Some(text) if tool.name() == "read" => text.to_owned(),
                _ => value.to_string(),
            };
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = Some(value);
            result
        }
        // The schema of the result is for results: an error is told as text.
        Err(fault) => CallToolResult::error(vec![ContentBlock::text(fault.to_json().to_string())]),
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("threadmesh", env!("CARGO_PKG_VERSION"));
        info.with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(Described::listed).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::find(&request.name) else {
            let known: Vec<&str> = TOOLS.iter().map(Described::name).collect();
            let detail = format!("there is no such tool; there are {}", known.join(", "));
            return Err(ErrorData::invalid_params(detail, None));
        };
        let done = self.run(tool, request, &context).await;
        Ok(told(tool, done).into())
    }

    /// What the library takes for no request that it knows: an unknown method, or one whose params are not its own.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        match METHODS.contains(&method.as_str()) {
            true => Err(ErrorData::invalid_params(format!("the params are not those of {method}"), None)),
            false => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method {method:?}"), None)),
        }
    }
}
