//! Reading a request's body: one JSON text of a bounded size, in a bounded time.

use super::{App, answer};
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Response, StatusCode, header};
use futures_util::StreamExt;
use std::time::Duration;

/// The body as text, or the answer that says what is wrong with it.
pub async fn text(app: &App, request: Request) -> Result<String, Response<Body>> {
    if !is_json(request.headers()) {
        let detail = "send application/json, as it is";
        return Err(answer::fault(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type", detail));
    }
    if request.uri().query().is_some() {
        return Err(answer::fault(StatusCode::BAD_REQUEST, "query-invalid", "there are no parameters here"));
    }
    let limit = Duration::from_millis(app.limits.body_ms_max);
    let read = tokio::time::timeout(limit, bytes(request.into_body(), app.limits.body_bytes_max)).await;
    let Ok(bytes) = read else {
        return Err(answer::fault(StatusCode::REQUEST_TIMEOUT, "body-slow", "the body did not come in time"));
    };
    String::from_utf8(bytes?)
        .map_err(|_| answer::rpc_fault(StatusCode::BAD_REQUEST, "json-encoding", "the body is not UTF-8"))
}

async fn bytes(body: Body, max: usize) -> Result<Vec<u8>, Response<Body>> {
    let mut all = Vec::new();
    let mut stream = body.into_data_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk
            .map_err(|_| answer::fault(StatusCode::BAD_REQUEST, "body-broken", "the body ended before its end"))?;
        if all.len() + chunk.len() > max {
            let detail = format!("a body is longer than {max} bytes");
            return Err(answer::rpc_fault(StatusCode::PAYLOAD_TOO_LARGE, "json-size", &detail));
        }
        all.extend_from_slice(&chunk);
    }
    Ok(all)
}

/// JSON in UTF-8 and nothing else: a page cannot send that to another origin without asking first, and is then refused.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let mut kinds = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(kind), None) = (kinds.next().and_then(|kind| kind.to_str().ok()), kinds.next()) else { return false };
    let mut parts = kind.split(';').map(str::trim);
    let json = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    let plain =
        parts.all(|part| ["charset=utf-8", "charset=\"utf-8\""].iter().any(|utf8| part.eq_ignore_ascii_case(utf8)));
    json && plain && !headers.contains_key(header::CONTENT_ENCODING)
}
