//! Connections: taken on up to a number, each with bounds on how long everything may take.

use super::connections::{Busy, Connected, Connections};
use super::heads::{Heads, Refused};
use super::stall::Stalling;
use super::tls::Tls;
use super::{App, HttpLimits, answer};
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

/// What a connection beyond the limit is told.
const TURNED_AWAY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
/// How many connections beyond the limit are told so at once; more are closed without a word.
const TURNED_AWAY_MAX: usize = 64;

/// Serves `listener` until the server is to end, and then drains what is under way.
pub async fn serve(
    app: &Arc<App>,
    router: Router,
    listener: std::net::TcpListener,
    tls: Option<Tls>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let places = Connections::default();
    let excess = Arc::new(Semaphore::new(TURNED_AWAY_MAX));
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            biased;
            () = app.closed() => break,
            // Reaped, so that what has ended takes no memory. A connection that broke concerns its client alone.
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, peer)) = stream else {
            // Out of descriptors, most likely: give the connections that live a moment to end.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        match places.enter(peer.ip(), app.limits.connections_max) {
            Some(place) => {
                drop(connections.spawn(connection(Arc::clone(app), router.clone(), stream, tls.clone(), place)))
            }
            None if tls.is_none() => {
                if let Ok(place) = Arc::clone(&excess).try_acquire_owned() {
                    connections.spawn(turn_away(stream, place));
                }
            }
            None => {}
        }
    }
    drop(listener);
    let drained = async {
        while connections.join_next().await.is_some() {}
        let _ = app.live.subscribe().wait_for(|live| *live == 0).await;
    };
    let _ = tokio::time::timeout(Duration::from_millis(app.limits.drain_ms_max), drained).await;
    Ok(())
}

async fn connection(app: Arc<App>, router: Router, stream: TcpStream, tls: Option<Tls>, place: Connected) {
    // Frames are written whole; waiting for more of them helps nobody.
    let _ = stream.set_nodelay(true);
    let limits = app.limits;
    let served = async {
        match tls {
            None => http(&app, router, stream, limits, &place).await,
            Some(Tls(acceptor)) => {
                let limit = Duration::from_millis(limits.handshake_ms_max);
                if let Ok(Ok(stream)) = tokio::time::timeout(limit, acceptor.accept(stream)).await {
                    http(&app, router, stream, limits, &place).await;
                }
            }
        }
    };
    tokio::select! {
        () = served => {}
        () = place.gives_way() => {}
    }
}

async fn http<S>(app: &App, router: Router, stream: S, limits: HttpLimits, place: &Connected)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let refused = Refused::default();
    let stream = Heads::new(stream, Arc::clone(&refused));
    let stream = Stalling::new(stream, Duration::from_millis(limits.write_ms_max));
    let (state, requests) = (place.state(), Arc::new(AtomicU64::new(0)));
    let router = router.layer(from_fn(move |mut request: Request, next: Next| {
        // Requests of a connection come one after the other, as their heads do.
        let number = requests.fetch_add(1, Ordering::Relaxed) + 1;
        let refused = refused.load(Ordering::Acquire) == number;
        let busy = state.begin();
        request.extensions_mut().insert(Arc::clone(&state));
        async move { of_one_length(refused, request, next).await.map(|body| Body::new(Held { body, _busy: busy })) }
    }));
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(limits.head_ms_max))
        .max_headers(limits.fields_max)
        .max_header_size(limits.head_bytes_max)
        .max_buf_size(limits.head_bytes_max.max(64 << 10));
    let service = TowerToHyperService::new(router);
    let mut serving = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service).with_upgrades());
    tokio::select! {
        // What breaks a connection concerns its client alone.
        _ = serving.as_mut() => return,
        () = app.closed() => serving.as_mut().graceful_shutdown(),
    }
    let _ = serving.await;
}

/// Refuses a request that gives the length of its body in two ways, and ends the connection: nobody knows where the next
/// one begins. After a body in pieces it ends as well, since only what has a length is followed.
async fn of_one_length(refused: bool, request: Request, next: Next) -> axum::response::Response {
    let in_pieces = request.headers().contains_key(header::TRANSFER_ENCODING);
    let mut response = if refused {
        let detail = "the length of the body is to be told once, by Content-Length or Transfer-Encoding";
        answer::fault(StatusCode::BAD_REQUEST, "length-ambiguous", detail)
    } else {
        next.run(request).await
    };
    if refused || in_pieces {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// A body whose request is under way until all of it is out.
struct Held {
    body: Body,
    _busy: Busy,
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

/// Tells a connection that there is no room, and takes what it sends meanwhile, so that it can read the answer.
async fn turn_away(mut stream: TcpStream, _place: OwnedSemaphorePermit) {
    let tell = async {
        stream.write_all(TURNED_AWAY).await?;
        stream.shutdown().await?;
        let mut rest = [0; 1024];
        while stream.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), tell).await;
}
