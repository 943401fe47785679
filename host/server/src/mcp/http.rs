//! `/mcp`: MCP over streamable HTTP, behind the same names and the same credentials as everything else over HTTP.
//!
//! Every request proves who is calling. A session id is no credential: a session belongs to the credential that began it,
//! and for anybody else there is no such session.

use super::frames::{Split, UnderWay};
use super::handler::{Handler, Identity};
use super::messages;
use crate::http::pool::{Full, Pool};
use crate::http::{Caller, Gate, HttpLimits, answer};
use crate::service::Service;
use crate::shares::{Places, Share, Shares};
use crate::tokens::Kind;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// The header field that names a session.
const SESSION: &str = "mcp-session-id";
/// Sessions at once.
const SESSIONS: Places = Places { all: 256, owner: 144, principal: 64 };
/// So much of a fault in plain text is told.
const FAULT_BYTES_MAX: usize = 4 << 10;
/// How long a session may be silent.
const SILENCE: Duration = Duration::from_secs(3600);
/// The longest message, and room for the id that it goes on under.
const BODY_BYTES_MAX: usize = messages::BYTES_MAX + (1 << 10);

/// The endpoint, and how to end it.
pub struct Endpoint {
    /// Answers at `/mcp`; handlers need the extension [`Caller`].
    pub router: Router,
    /// Ends all sessions and streams.
    pub end: Box<dyn Fn() + Send + Sync>,
}

/// Who began which session.
struct Owners {
    sessions: Arc<LocalSessionManager>,
    split: Split,
    gate: Gate,
    by_session: Mutex<HashMap<String, Owner>>,
    places: Shares,
}

/// Who began a session.
struct Owner {
    credential: String,
    _place: Share,
    under_way: Arc<UnderWay>,
}

/// The tools of `service` at `/mcp`, for whom `gate` lets in.
pub fn endpoint(service: Arc<dyn Service>, gate: Gate) -> Endpoint {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SILENCE);
    // Else every answer of the last minute is kept for whoever might ask for it again, and those of a session that has
    // fallen silent for as long as it is there.
    sessions.session_config.completed_cache_ttl = Duration::ZERO;
    let sessions = Arc::new(sessions);
    // Names and origins are checked before a request comes here.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(BODY_BYTES_MAX);
    let ending = config.cancellation_token.clone();
    let pool = Arc::new(Pool::new(&HttpLimits::default()));
    // A session ends with its waits.
    let (end, ended) = watch::channel(false);
    let split: Split = {
        let service = Arc::clone(&service);
        Arc::new(move |text| service.split(text))
    };
    let standing = gate.clone();
    let make = move || {
        let identity = Identity::OfRequest(Arc::clone(&service), Arc::clone(&pool), standing.clone());
        Ok(Handler::new(identity, ended.clone()))
    };
    let served = StreamableHttpService::new(make, Arc::clone(&sessions), config);
    let (by_session, places) = (Mutex::default(), Shares::new(SESSIONS));
    let owners = Arc::new(Owners { sessions, split, gate, by_session, places });
    let router = Router::new().route_service("/mcp", served).layer(from_fn_with_state(owners, guard));
    let ends = move || {
        end.send_replace(true);
        ending.cancel();
    };
    Endpoint { router, end: Box::new(ends) }
}

async fn guard(State(owners): State<Arc<Owners>>, request: Request, next: Next) -> Response {
    let Some(caller) = request.extensions().get::<Caller>().cloned() else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    if caller.entry().principal.kind != Kind::Task {
        let detail = "the tools are for tasks: show the token of one incarnation of a task";
        return answer::rpc_fault(StatusCode::FORBIDDEN, "principal-mismatch", detail);
    }
    let credential = caller.entry().authentication_id.clone();
    let session = request.headers().get(SESSION).map(|value| value.to_str().unwrap_or_default().to_owned());
    let ends = *request.method() == Method::DELETE;
    let (under_way, place) = match &session {
        Some(session) => match owners.under_way(session, &credential) {
            Some(under_way) => (under_way, None),
            None => return unknown(),
        },
        None => match owners.room(&caller).await {
            Ok(place) => (Arc::default(), Some(place)),
            Err(full) => return answer::full(full),
        },
    };
    let response =
        in_json(messages::pass(&owners.split, &under_way, owners.gate.standing(&caller), request, next).await).await;
    match (session, response.headers().get(SESSION).and_then(|value| value.to_str().ok())) {
        (None, Some(begun)) => {
            if let Some(place) = place {
                owners.begin(begun.to_owned(), Owner { credential, _place: place, under_way });
            }
        }
        (Some(session), _) if ends && response.status().is_success() => owners.forget(&session),
        _ => {}
    }
    response
}

/// The answer for a session that is not there, or is somebody else's.
fn unknown() -> Response {
    answer::fault(StatusCode::NOT_FOUND, "session-unknown", "there is no such session: begin one with initialize")
}

/// An answer; one that says in plain text what is wrong says it in the form of every fault over HTTP.
async fn in_json(response: Response) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let streams = kind.starts_with("text/event-stream");
    let status = response.status();
    if !(status.is_client_error() || status.is_server_error()) || streams || kind.starts_with("application/json") {
        return response;
    }
    let (parts, body) = response.into_parts();
    let told = axum::body::to_bytes(body, FAULT_BYTES_MAX).await.unwrap_or_default();
    let code = match status {
        StatusCode::NOT_FOUND => "session-unknown",
        StatusCode::METHOD_NOT_ALLOWED => "method-not-allowed",
        StatusCode::NOT_ACCEPTABLE => "not-acceptable",
        StatusCode::PAYLOAD_TOO_LARGE => "json-size",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "content-type",
        _ if status.is_server_error() => "core-trap",
        _ => "request-invalid",
    };
    let mut fault = answer::fault(status, code, &String::from_utf8_lossy(&told));
    if let Some(allowed) = parts.headers.get(header::ALLOW) {
        fault.headers_mut().insert(header::ALLOW, allowed.clone());
    }
    fault
}

impl Owners {
    /// What is under way in a session that this credential began.
    fn under_way(&self, session: &str, credential: &str) -> Option<Arc<UnderWay>> {
        let known = self.by_session.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = known.get(session).filter(|owner| owner.credential == credential)?;
        Some(Arc::clone(&owner.under_way))
    }

    /// A place for another session of a caller; those that have ended are forgotten first.
    async fn room(&self, caller: &Caller) -> Result<Share, Full> {
        let who = &caller.entry().principal;
        // INVARIANT: while this is held no session begins, so that none is forgotten that was noted after this look.
        let live = self.sessions.sessions.read().await;
        let mut known = self.by_session.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() <= live.len()
            && let Ok(place) = self.places.enter(who)
        {
            return Ok(place);
        }
        known.retain(|session, _| live.contains_key(session.as_str()));
        self.places.enter(who)
    }

    /// Takes note of a session that has begun.
    fn begin(&self, session: String, owner: Owner) {
        self.by_session.lock().unwrap_or_else(PoisonError::into_inner).insert(session, owner);
    }

    fn forget(&self, session: &str) {
        self.by_session.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
    }
}
