//! `GET /stream`: JSON-RPC frames over a WebSocket, both ways, and pushed events.

mod session;
mod subscriptions;

use super::gate::Caller;
use super::pool::Kind;
use super::{App, answer, trace};
use axum::body::Body;
use axum::extract::ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection};
use axum::extract::{Extension, RawQuery, State};
use axum::http::{HeaderMap, Response, StatusCode};
use std::sync::Arc;

/// How many bytes are read at once; every connection holds a buffer of this size.
const READ_BYTES: usize = 16 << 10;

/// Makes the connection a WebSocket of its own.
pub async fn stream(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response<Body> {
    if query.is_some() {
        return answer::fault(StatusCode::BAD_REQUEST, "query-invalid", "there are no parameters here");
    }
    let Ok(upgrade) = upgrade else {
        let detail = "this is a WebSocket: ask for an upgrade";
        return answer::fault(StatusCode::UPGRADE_REQUIRED, "upgrade-required", detail);
    };
    // A message that is too long is read to its end up to here: a connection that closes over unread bytes is reset, and
    // the reason with it.
    let max = app.limits.body_bytes_max.saturating_mul(2);
    let place = match app.pool.enter(Kind::Socket, &caller) {
        Ok(place) => place,
        Err(full) => return answer::full(full),
    };
    let (live, context) = (app.keep_alive(), trace::of(&headers));
    let upgrade = upgrade.max_message_size(max).max_frame_size(max).read_buffer_size(READ_BYTES);
    upgrade.on_upgrade(move |socket| async move {
        session::run(&app, &caller, context, socket).await;
        drop((live, place));
    })
}
