//! `GET /events`: the events of a task as Server-Sent Events.

use super::feed::{Feed, Item, Start, Subject, TaskRef};
use super::gate::Caller;
use super::pool::Kind;
use super::{App, answer};
use axum::body::Body;
use axum::extract::{Extension, Query, State};
use axum::http::{HeaderMap, Response, StatusCode};
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;

/// After how many milliseconds a client that lost the stream is to come back.
const RETRY_MS: u32 = 1_000;

/// Which events. Anything else in the query is refused, a token above all.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wanted {
    task_id: String,
    incarnation_id: String,
    owner: Option<String>,
    after: Option<String>,
}

/// Streams events after `Last-Event-ID`, or else after `after`, until one side ends it.
pub async fn events(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    wanted: Result<Query<Wanted>, axum::extract::rejection::QueryRejection>,
) -> Response<Body> {
    let invalid = |detail: &str| answer::fault(StatusCode::BAD_REQUEST, "query-invalid", detail);
    let Ok(Query(wanted)) = wanted else {
        return invalid(
            "taskId and incarnationId, owner where owners use the same ids, and after if events were seen before; nothing else",
        );
    };
    let mut resumed = headers.get_all("last-event-id").iter();
    let after = match (resumed.next(), resumed.next()) {
        (None, _) => match wanted.after.as_deref().map_or(Some(Start::default()), Start::parse) {
            Some(after) => after,
            None => return invalid("after is a cursor, or now"),
        },
        (Some(id), None) => match id.to_str().ok().and_then(Start::parse) {
            Some(after @ Start::After(_)) => after,
            _ => return invalid("Last-Event-ID is no cursor"),
        },
        _ => return invalid("there is more than one Last-Event-ID"),
    };
    let place = match app.pool.enter(Kind::Wait, &caller) {
        Ok(place) => place,
        Err(full) => return answer::full(full),
    };
    let task = TaskRef { task_id: wanted.task_id, incarnation_id: wanted.incarnation_id };
    let subject = Subject { task, owner: wanted.owner };
    let feed = match Feed::start(&app, &caller, place, subject, after).await {
        Ok(feed) => feed,
        Err(error) => return answer::refused(&error),
    };
    let start = stream::once(async { Ok::<_, Infallible>(format!("retry: {RETRY_MS}\n\n")) });
    let rest = stream::unfold(Some(feed), |feed| async {
        let mut feed = feed?;
        let item = feed.next().await;
        let more = !matches!(item, Item::End { .. });
        Some((Ok(text(&item)), more.then_some(feed)))
    });
    answer::with(StatusCode::OK, Body::from_stream(stream::StreamExt::chain(start, rest)), "text/event-stream")
}

/// An item as Server-Sent Event. `id` is always what to resume after.
fn text(item: &Item) -> String {
    match item {
        Item::Event(cursor, text) => format!("id: {cursor}\nevent: tasks.event\ndata: {text}\n\n"),
        Item::Gap { from, to, after } => {
            format!("id: {after}\nevent: tasks.gap\ndata: {}\n\n", json!({"from": from, "to": to, "after": after}))
        }
        Item::Quiet => ": still here\n\n".to_owned(),
        Item::End { reason, after } => {
            format!("event: tasks.end\ndata: {}\n\n", json!({"reason": reason, "after": after}))
        }
    }
}
