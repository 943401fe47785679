//! `GET /health/live` and `GET /health/ready`: for whoever runs the server, without a credential and without details.

use super::{App, answer};
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// What was found last, and when.
#[derive(Default)]
pub struct Health(Mutex<Option<(Instant, bool)>>);

/// The process runs and answers.
pub async fn live() -> Response<Body> {
    said(true)
}

/// The store can be read and written, the clock is right, and the server is not about to end. What was found counts for a
/// while, so that asking costs nothing.
pub async fn ready(State(app): State<Arc<App>>) -> Response<Body> {
    said(!app.is_closing() && look(&app).await)
}

async fn look(app: &Arc<App>) -> bool {
    let mut known = app.health.0.lock().await;
    if let Some((at, healthy)) = *known
        && at.elapsed() < Duration::from_millis(app.limits.health_ms)
    {
        return healthy;
    }
    let service = Arc::clone(&app.service);
    let healthy = tokio::task::spawn_blocking(move || service.healthy()).await.unwrap_or(false);
    *known = Some((Instant::now(), healthy));
    healthy
}

fn said(good: bool) -> Response<Body> {
    let (status, text) = match good {
        true => (StatusCode::OK, "{\"status\":\"ok\"}"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "{\"status\":\"unavailable\"}"),
    };
    answer::json(status, text.to_owned())
}
