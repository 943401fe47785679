//! `POST /rpc`: one JSON-RPC frame, one answer.

use super::gate::Caller;
use super::pool::{Full, Kind, Place};
use super::{App, answer, body, trace};
use crate::service;
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::Response;
use std::sync::Arc;
use threadmesh_runtime::host::Cancel;
use threadmesh_runtime::rpc::{Answer, Frame, respond};
use threadmesh_runtime::wit::Fact;
use tokio::sync::Semaphore;

/// Frames for which there is no room and which are looked at all the same, at once: their calls have ids. More than those
/// are refused unseen.
static LOOKED_AT: Semaphore = Semaphore::const_new(2);

/// What the first look at a frame came to.
enum Begun {
    /// It was run. The status is 200 whatever the answer says where it is that of a batch, or the fault is the caller's.
    Done(Option<String>, bool),
    /// It may wait, and was not begun.
    Waits(Frame),
}

/// Answers one frame. A frame with a call that may wait runs in the allowance of waits.
pub async fn rpc(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response<Body> {
    let context = trace::of(request.headers());
    let text = match body::text(&app, request).await {
        Ok(text) => text,
        Err(refused) => return refused,
    };
    let place = match app.pool.enter(Kind::Call, &caller) {
        Ok(place) => place,
        Err(full) => return turn_away(&app, text, full).await,
    };
    let (shared, who, facts) = (Arc::clone(&app), caller.clone(), context.clone());
    let begun = tokio::task::spawn_blocking(move || {
        let _place = place;
        begin(&shared, &who, &text, &facts)
    });
    match begun.await {
        Ok(Begun::Done(text, batch)) => answer::frame(text, batch),
        Ok(Begun::Waits(frame)) => wait(&app, caller, frame, context).await,
        Err(_) => answer::lost(),
    }
}

/// Refuses a frame for which there is no room.
async fn turn_away(app: &Arc<App>, text: String, full: Full) -> Response<Body> {
    let Ok(_turn) = LOOKED_AT.try_acquire() else { return answer::full(full) };
    let shared = Arc::clone(app);
    let frame = tokio::task::spawn_blocking(move || shared.service.split(&text)).await;
    match frame {
        Ok(Ok(frame)) => answer::full_for(full, &frame),
        _ => answer::full(full),
    }
}

fn begin(app: &App, caller: &Caller, text: &str, context: &[Fact]) -> Begun {
    let frame = match app.service.split(text) {
        Ok(frame) => frame,
        Err(problem) => return Begun::Done(Some(respond("null", &Answer::Error(problem))), false),
    };
    if service::waits(app.service.as_ref(), &frame) {
        return Begun::Waits(frame);
    }
    let batch = frame.batch;
    let stands_in = frame.calls.iter().any(|call| call.method.starts_with("core."));
    let standing = app.gate.standing(caller);
    let text = service::run(app.service.as_ref(), &standing, &frame, context, &Cancel::default());
    // Who calls a pure function stands in for a host: its misuse is no fault of this server.
    let own = stands_in
        && text
            .as_deref()
            .and_then(answer::refusal)
            .is_some_and(|refusal| refusal.lasting() && refusal.group != "core");
    Begun::Done(text, batch || own)
}

/// Runs a frame that may wait. It ends early when the server is to end, and when the client is gone.
async fn wait(app: &Arc<App>, caller: Caller, frame: Frame, context: Vec<Fact>) -> Response<Body> {
    let place = match app.pool.enter(Kind::Wait, &caller) {
        Ok(place) => place,
        Err(full) => return answer::full_for(full, &frame),
    };
    let batch = frame.batch;
    let done = run_waiting(app, caller, place, frame, context).await;
    done.map_or_else(|_| answer::lost(), |text| answer::frame(text, batch))
}

/// Runs a frame that may wait, in its place. Error: the thread that ran it was lost.
pub async fn run_waiting(
    app: &Arc<App>,
    caller: Caller,
    place: Place,
    frame: Frame,
    context: Vec<Fact>,
) -> Result<Option<String>, tokio::task::JoinError> {
    let ending = Ending::default();
    let (shared, cancel) = (Arc::clone(app), ending.0.clone());
    let mut running = tokio::task::spawn_blocking(move || {
        let _place = place;
        service::run(shared.service.as_ref(), &shared.gate.standing(&caller), &frame, &context, &cancel)
    });
    tokio::select! {
        done = &mut running => done,
        () = app.closed() => {
            ending.0.cancel();
            running.await
        }
    }
}

/// Ends a wait when nobody asks for its answer any more.
#[derive(Default)]
pub struct Ending(pub Cancel);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
