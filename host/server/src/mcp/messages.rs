//! Messages over HTTP on their way to the MCP library and back: one in a request, and one or several in its answer.

use super::frames::{Split, Taken, UnderWay};
use crate::http::answer;
use crate::http::body::is_json;
use crate::standing::Standing;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use threadmesh_runtime::rpc::{self, Answer};

/// The longest message: `document_bytes_max` of spec/limits.md.
pub const BYTES_MAX: usize = 1 << 20;
/// How long a message may take to come.
const PATIENCE: Duration = Duration::from_secs(15);

/// Passes a request on, and its answer back. What is no message, or faulty, is answered here: with status 400 where it is
/// not known what is asked, or by which id, and otherwise with 200 under its id.
pub async fn pass(
    split: &Split,
    under_way: &Arc<UnderWay>,
    caller: Standing,
    request: Request,
    next: Next,
) -> Response {
    if request.method() != Method::POST {
        return told(next.run(request).await, under_way, Vec::new(), Some(caller)).await;
    }
    if !is_json(request.headers()) {
        let detail = "send application/json in UTF-8, as it is";
        return answer::fault(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type", detail);
    }
    let (mut parts, body) = request.into_parts();
    let text = match text(body).await {
        Ok(text) => text,
        Err(refused) => return refused,
    };
    let (split, entering) = (Arc::clone(split), Arc::clone(under_way));
    let taken = tokio::task::spawn_blocking(move || split(&text).map(|frame| entering.take(&frame, &text)));
    let messages = match taken.await {
        Ok(Ok(Taken::Goes(messages))) => messages,
        Ok(Ok(Taken::Answered(text))) => {
            let nameless = rpc::Response::read(&text).is_none_or(|response| response.id == "null");
            return answer::json(if nameless { StatusCode::BAD_REQUEST } else { StatusCode::OK }, text);
        }
        Ok(Ok(Taken::Dropped)) => return answer::empty(StatusCode::ACCEPTED),
        Ok(Err(error)) => {
            let text = rpc::respond("null", &Answer::Error(error));
            return answer::retry_later(answer::json(StatusCode::SERVICE_UNAVAILABLE, text));
        }
        Err(_) => return answer::lost(),
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    let ids = messages.iter().filter_map(|message| inner_id(message)).collect();
    let mut response = answer::empty(StatusCode::ACCEPTED);
    for message in messages {
        response = next.clone().run(Request::from_parts(parts.clone(), Body::from(message))).await;
    }
    told(response, under_way, ids, None).await
}

async fn text(body: Body) -> Result<String, Response> {
    let Ok(read) = tokio::time::timeout(PATIENCE, read(body)).await else {
        return Err(answer::fault(StatusCode::REQUEST_TIMEOUT, "body-slow", "the body did not come in time"));
    };
    let bytes = read?;
    String::from_utf8(bytes)
        .map_err(|_| answer::rpc_fault(StatusCode::BAD_REQUEST, "json-encoding", "the body is not UTF-8"))
}

async fn read(body: Body) -> Result<Vec<u8>, Response> {
    let mut all = Vec::new();
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let broken = |_| answer::fault(StatusCode::BAD_REQUEST, "body-broken", "the body ended before its end");
        let chunk = chunk.map_err(broken)?;
        if all.len() + chunk.len() > BYTES_MAX {
            let detail = format!("a body is longer than {BYTES_MAX} bytes");
            return Err(answer::rpc_fault(StatusCode::PAYLOAD_TOO_LARGE, "json-size", &detail));
        }
        all.extend_from_slice(&chunk);
    }
    Ok(all)
}

fn inner_id(message: &str) -> Option<String> {
    serde_json::from_str::<serde_json::Value>(message).ok()?["id"].as_str().map(str::to_owned)
}

/// Requests that nobody waits for any more once their answer is out, or is not wanted.
struct Open(Arc<UnderWay>, Vec<String>);

impl Drop for Open {
    fn drop(&mut self) {
        self.1.iter().for_each(|id| self.0.leave(id));
    }
}

/// An answer with the client's own ids; `ids` are those that it is about. What is no answer to a call, but a stream that a
/// client listens to, ends when the credential of its `listener` has.
async fn told(response: Response, under_way: &Arc<UnderWay>, ids: Vec<String>, listener: Option<Standing>) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let (json, events) = (kind.starts_with("application/json"), kind.starts_with("text/event-stream"));
    let open = Open(Arc::clone(under_way), ids);
    if !json && !events {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    let body = if events {
        Body::from_stream(in_lines(body.into_data_stream(), open, listener))
    } else {
        // The library's own answer, of no greater length than what was asked for.
        let told = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
        Body::from(open.0.answered(&String::from_utf8_lossy(&told)))
    };
    Response::from_parts(parts, body)
}

/// Server-Sent Events line by line, the messages in them with the client's ids.
fn in_lines<E>(
    chunks: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    open: Open,
    listener: Option<Standing>,
) -> impl Stream<Item = Result<Bytes, E>> + Send + 'static
where
    E: Send + 'static,
{
    let lines = Lines { chunks: Box::pin(chunks), rest: Vec::new(), open, listener };
    stream::unfold(lines, |mut lines| async move {
        loop {
            let chunk = lines.chunks.next().await;
            // Something comes at least with each sign of life of the library.
            if lines.listener.as_ref().is_some_and(|listener| !listener.holds()) {
                return None;
            }
            match chunk {
                Some(Ok(chunk)) => lines.rest.extend_from_slice(&chunk),
                Some(Err(error)) => return Some((Err(error), lines)),
                None if lines.rest.is_empty() => return None,
                None => {
                    let rest = std::mem::take(&mut lines.rest);
                    return Some((Ok(Bytes::from(rest)), lines));
                }
            }
            if let Some(whole) = lines.take() {
                return Some((Ok(Bytes::from(whole)), lines));
            }
        }
    })
}

/// A stream that is cut into lines.
struct Lines<S> {
    chunks: Pin<Box<S>>,
    rest: Vec<u8>,
    open: Open,
    listener: Option<Standing>,
}

impl<S> Lines<S> {
    /// The whole lines that are there, as the client is to see them.
    fn take(&mut self) -> Option<String> {
        let end = self.rest.iter().rposition(|byte| *byte == b'\n')? + 1;
        let whole: Vec<u8> = self.rest.drain(..end).collect();
        let text = String::from_utf8_lossy(&whole);
        Some(text.split_inclusive('\n').map(|line| line_told(line, &self.open.0)).collect())
    }
}

fn line_told(line: &str, under_way: &UnderWay) -> String {
    match line.strip_prefix("data:") {
        Some(data) => format!("data: {}\n", under_way.answered(data.trim())),
        None => line.to_owned(),
    }
}
