//! How HTTP answers are put together.

use super::gate::Denied;
use super::names::Misdirected;
use super::pool::Full;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::json;
use threadmesh_runtime::rpc::{self, Answer, Frame, Refusal, Response as Rpc};

/// Seconds after which a request that met a limit may be tried again.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// An answer with a JSON body. The same header fields come with every answer of a status, whoever asks for what.
pub fn json(status: StatusCode, text: String) -> Response<Body> {
    with(status, Body::from(text), "application/json")
}

/// An answer with a body of some type.
pub fn with(status: StatusCode, body: Body, kind: &'static str) -> Response<Body> {
    let mut response = empty(status);
    *response.body_mut() = body;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// An answer without a body.
pub fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A fault of the transport that JSON-RPC has no code for: `{"error": {"code", "detail"}}`.
pub fn fault(status: StatusCode, code: &str, detail: &str) -> Response<Body> {
    json(status, json!({"error": {"code": code, "detail": detail}}).to_string())
}

/// A fault of the transport as a JSON-RPC response for the whole request, with a code of spec/errors.md.
pub fn rpc_fault(status: StatusCode, code: &str, detail: &str) -> Response<Body> {
    json(status, rpc::fault(code, detail))
}

/// The answer to a request without a credential, or with one that is none.
pub fn denied(denied: Denied) -> Response<Body> {
    let (status, detail, challenge) = match denied {
        Denied::Missing => (StatusCode::UNAUTHORIZED, "there is no bearer token", "Bearer realm=\"threadmesh\""),
        Denied::Invalid => {
            (StatusCode::UNAUTHORIZED, "the token is not valid", "Bearer realm=\"threadmesh\", error=\"invalid_token\"")
        }
        Denied::Unavailable => {
            let detail = "credentials cannot be checked now";
            return retry_later(rpc_fault(StatusCode::SERVICE_UNAVAILABLE, "store-unavailable", detail));
        }
    };
    let mut response = rpc_fault(status, "authentication-required", detail);
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    response
}

/// The answer to a request that came under a name, or from a page, that this server does not know.
pub fn misdirected(refused: Misdirected) -> Response<Body> {
    match refused {
        Misdirected::Host => {
            let detail = "this name is not served here; the operator can allow it: --allow-host";
            fault(StatusCode::MISDIRECTED_REQUEST, "host-denied", detail)
        }
        Misdirected::Origin => {
            let detail = "pages of this origin may not call; the operator can allow it: --allow-origin";
            fault(StatusCode::FORBIDDEN, "origin-denied", detail)
        }
    }
}

/// The answer where there is no room for the request now, and nobody knows what it asks.
pub fn full(full: Full) -> Response<Body> {
    let (status, detail) = no_room(full);
    retry_later(rpc_fault(status, "backpressure", detail))
}

/// The answer where there is no room for `frame` now: one for each of its calls that has an id.
pub fn full_for(full: Full, frame: &Frame) -> Response<Body> {
    let (status, detail) = no_room(full);
    let text = rpc::refuse(frame, &rpc::error("backpressure", detail));
    retry_later(text.map_or_else(|| empty(status), |text| json(status, text)))
}

fn no_room(full: Full) -> (StatusCode, &'static str) {
    match full {
        Full::Caller => (StatusCode::TOO_MANY_REQUESTS, "too many requests of this principal at once"),
        Full::Server => (StatusCode::SERVICE_UNAVAILABLE, "too many requests at once"),
    }
}

/// The answer where a handler failed: nothing is known of what it did.
pub fn lost() -> Response<Body> {
    rpc_fault(StatusCode::INTERNAL_SERVER_ERROR, "core-trap", "the request could not be carried out")
}

/// The answer to a frame that was run. One call whose fault is the server's has the status of that; all else is 200, and
/// the body says how it ended.
pub fn frame(text: Option<String>, batch: bool) -> Response<Body> {
    let Some(text) = text else { return empty(StatusCode::NO_CONTENT) };
    match refusal(&text).filter(|_| !batch) {
        Some(refusal) if refusal.passing() => retry_later(json(StatusCode::SERVICE_UNAVAILABLE, text)),
        Some(refusal) if refusal.lasting() => json(StatusCode::INTERNAL_SERVER_ERROR, text),
        _ => json(StatusCode::OK, text),
    }
}

/// The error of a response, if it is one.
pub fn refusal(response: &str) -> Option<Refusal> {
    match Rpc::read(response)?.answer {
        Answer::Error(error) => Some(Refusal::read(&error)),
        Answer::Result(_) => None,
    }
}

/// The answer where the core refuses what is no JSON-RPC frame: its `error` member.
pub fn refused(error: &str) -> Response<Body> {
    let text = format!("{{\"error\":{error}}}");
    let refusal = Refusal::read(error);
    match refusal.group.as_str() {
        _ if refusal.passing() => retry_later(json(StatusCode::SERVICE_UNAVAILABLE, text)),
        "host" | "store" | "core" | "" => json(StatusCode::INTERNAL_SERVER_ERROR, text),
        "authority" | "state" | "budget" => json(StatusCode::FORBIDDEN, text),
        _ => json(StatusCode::BAD_REQUEST, text),
    }
}

/// Says when to try again.
pub fn retry_later(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(HeaderName::from_static("retry-after"), RETRY_AFTER);
    response
}
