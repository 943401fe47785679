//! HTTP: JSON-RPC, pushed events, health. spec/http.md has the endpoints, headers and status codes.
//!
//! A request passes, in this order: the names under which this server is reached ([`Names`]), the credential ([`Gate`]),
//! the allowance of its kind and caller, and then the core. The host loop is synchronous: calls run on a bounded pool of
//! blocking threads, and what waits has an allowance of its own, so that waiting never keeps others from being served.
//!
//! Other crates' endpoints are merged as a router ([`HttpServer::more`]); their handlers find out who calls in the
//! extension [`Caller`].

pub(crate) mod answer;
pub(crate) mod body;
mod connections;
mod feed;
mod gate;
mod heads;
mod health;
mod jwt;
mod listen;
mod names;
pub(crate) mod pool;
mod rpc;
mod sse;
mod stall;
mod stream;
#[cfg(test)]
mod tests;
mod tls;
pub(crate) mod trace;

pub use gate::{Caller, Credential, Denied, Gate};
pub use jwt::{Jwt, JwtError};
pub use names::Names;
pub use tls::{Tls, TlsError};

use crate::service::Service;
use crate::shares::Places;
use crate::stop::Stop;
use axum::{
    Router,
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
    routing::{get, post},
};
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How much a server takes on over HTTP. Times are milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// The longest body, and the longest WebSocket message: `document_bytes_max` of spec/limits.md unless told otherwise.
    pub body_bytes_max: usize,
    /// The longest head of a request, in bytes.
    pub head_bytes_max: usize,
    /// Header fields of one request.
    pub fields_max: usize,
    /// Connections at once; one on which nothing is under way gives way to a new one.
    pub connections_max: usize,
    /// Requests at once whose answers have not begun, what waits included.
    pub requests: Places,
    /// WebSockets at once.
    pub sockets: Places,
    /// Calls at once that do not wait.
    pub calls_max: usize,
    /// Waiting calls and streams at once.
    pub waits_max: usize,
    /// Of [`calls_max`](Self::calls_max), those of one owner.
    pub owner_calls_max: usize,
    /// Of [`waits_max`](Self::waits_max), those of one owner.
    pub owner_waits_max: usize,
    /// Of [`calls_max`](Self::calls_max), those of one principal.
    pub caller_calls_max: usize,
    /// Of [`waits_max`](Self::waits_max), those of one principal.
    pub caller_waits_max: usize,
    /// How long a TLS handshake may take.
    pub handshake_ms_max: u64,
    /// How long a request's head may take, from the end of the answer before it.
    pub head_ms_max: u64,
    /// How long a request's body may take.
    pub body_ms_max: u64,
    /// How long a client may read nothing of what it is sent.
    pub write_ms_max: u64,
    /// How long requests may take after the wish to stop.
    pub drain_ms_max: u64,
    /// How long a stream is silent at most.
    pub heartbeat_ms: u64,
    /// How long a stream's client may take for one item.
    pub slow_ms_max: u64,
    /// How long events that were read may be handed out; then they are read anew.
    pub page_ms_max: u64,
    /// How often it is asked whether the credential of a stream still holds.
    pub pulse_ms: u64,
    /// How long a state of health is taken as known.
    pub health_ms: u64,
}

impl Default for HttpLimits {
    fn default() -> Self {
        HttpLimits {
            body_bytes_max: 1 << 20,
            head_bytes_max: 32 << 10,
            fields_max: 64,
            connections_max: 512,
            requests: Places { all: 256, owner: 160, principal: 112 },
            sockets: Places { all: 64, owner: 40, principal: 32 },
            calls_max: 64,
            waits_max: 192,
            owner_calls_max: 40,
            owner_waits_max: 112,
            caller_calls_max: 32,
            caller_waits_max: 64,
            handshake_ms_max: 10_000,
            head_ms_max: 15_000,
            body_ms_max: 15_000,
            write_ms_max: 30_000,
            drain_ms_max: 5_000,
            heartbeat_ms: 15_000,
            slow_ms_max: 20_000,
            page_ms_max: 5_000,
            pulse_ms: 500,
            health_ms: 5_000,
        }
    }
}

/// A server of one TCP port.
pub struct HttpServer {
    /// What runs the calls.
    pub service: Arc<dyn Service>,
    /// Who may call.
    pub gate: Gate,
    /// Under which names it is reached.
    pub names: Names,
    /// How much is taken on.
    pub limits: HttpLimits,
    /// TLS; without it, plain HTTP.
    pub tls: Option<Tls>,
    /// Further endpoints, behind the same names and the same gate.
    pub more: Option<Router>,
}

/// What the handlers share.
pub(crate) struct App {
    service: Arc<dyn Service>,
    gate: Gate,
    names: Names,
    limits: HttpLimits,
    pool: pool::Pool,
    health: health::Health,
    /// True from the wish to stop on.
    closing: watch::Receiver<bool>,
    /// Tasks that outlive their request: upgraded connections.
    live: watch::Sender<usize>,
}

impl HttpServer {
    /// Serves `listener` until somebody asks to stop; then takes no new connection, lets the running requests finish,
    /// ends the streams, and returns. Errors: there is no runtime to be had, or the listener cannot be used.
    pub fn serve(self, listener: TcpListener, stop: &Stop) -> io::Result<()> {
        let HttpServer { service, gate, names, limits, tls, more } = self;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(limits.calls_max + limits.waits_max + 4)
            .thread_name("http")
            .enable_all()
            .build()?;
        let (close, closing) = watch::channel(false);
        let asked = stop.clone();
        std::thread::Builder::new().name("http-stop".to_owned()).spawn(move || {
            asked.wait();
            close.send_replace(true);
        })?;
        let pool = pool::Pool::new(&limits);
        let health = health::Health::default();
        let app = Arc::new(App { service, gate, names, limits, pool, health, closing, live: watch::Sender::new(0) });
        let served = runtime.block_on(listen::serve(&app, router(&app, more), listener, tls));
        // What still waits or writes after the time for it is over is left behind.
        runtime.shutdown_timeout(Duration::from_millis(limits.drain_ms_max));
        served
    }
}

fn router(app: &Arc<App>, more: Option<Router>) -> Router {
    let own = Router::new()
        .route("/rpc", post(rpc::rpc))
        .route("/events", get(sse::events))
        .route("/stream", get(stream::stream))
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready))
        .with_state(Arc::clone(app));
    own.merge(more.unwrap_or_default())
        .fallback(async || answer::fault(axum::http::StatusCode::NOT_FOUND, "path-unknown", "there is nothing here"))
        .method_not_allowed_fallback(async || {
            let status = axum::http::StatusCode::METHOD_NOT_ALLOWED;
            answer::fault(status, "method-not-allowed", "this is asked for in another way")
        })
        .layer(from_fn_with_state(Arc::clone(app), guard))
}

/// What every request passes before it reaches a handler. Health is told to everybody: it says nothing.
async fn guard(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    if request.uri().path().starts_with("/health/") {
        return next.run(request).await;
    }
    if let Err(refused) = app.names.check(&request) {
        return answer::misdirected(refused);
    }
    let caller = match app.gate.admit_request(request.headers()) {
        Ok(caller) => caller,
        Err(denied) => return answer::denied(denied),
    };
    if let Some(connection) = request.extensions().get::<Arc<connections::State>>() {
        connection.prove();
    }
    let _place = match app.pool.enter(pool::Kind::Request, &caller) {
        Ok(place) => place,
        Err(full) => return answer::full(full),
    };
    request.extensions_mut().insert(caller);
    next.run(request).await
}

/// Keeps the server from ending, for a while, before what it stands for has ended.
struct Live(Arc<App>);

impl Drop for Live {
    fn drop(&mut self) {
        self.0.live.send_modify(|count| *count -= 1);
    }
}

impl App {
    /// To be held by a task that outlives its request.
    fn keep_alive(self: &Arc<Self>) -> Live {
        self.live.send_modify(|count| *count += 1);
        Live(Arc::clone(self))
    }

    /// Whether the server is about to end.
    fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Returns when the server is about to end.
    async fn closed(&self) {
        // The sender lives until it has sent; without it there is nothing left to serve either.
        let _ = self.closing.clone().wait_for(|closing| *closing).await;
    }
}
