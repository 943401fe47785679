//! `state.get`, `state.history`, `state.wait`, `state.invalidate`: what a thread takes for the state of a subject.

use crate::Rule;
use crate::delivery::{
    life::{self, Life},
    scene::with_message,
};
use crate::events::{
    accepted::{self, Accepted},
    capability::Capability,
    event, show, stages,
    thread::{self, Thread, ThreadName, after_place, place_of},
};
use crate::generated::machines::{Uptake, UptakeEvent};
use crate::json::{self, Value, Writer};
use crate::kernel::{
    PrincipalKind, Query,
    audit::{Event, detail},
    context::Context,
    fields::Fields,
    flow::{Flow, Stop, not_visible},
    keys,
    pages::{page, patience},
    records::Row,
    streams::Streams,
};
use crate::rules::check;
use alloc::{string::String, vec, vec::Vec};

/// The subject that the params name, of a thread of the caller's own side, with its state.
fn subject(cx: &mut Context<'_>) -> Flow<(Row<Thread>, Row<Accepted>)> {
    if cx.principal.kind == PrincipalKind::Host {
        return Err(not_visible());
    }
    let (thread, owner) = (cx.params.text("threadId")?, cx.owner_in("owner"));
    let (trajectory, about) = (cx.params.text("trajectoryId")?, cx.params.text("subject")?);
    cx.hint(&Accepted::find(cx.tenant(), thread, trajectory, about));
    let row = cx.own_thread(thread, owner)?;
    let id = id(cx, &row.record.name)?;
    let stored = cx.lookup(accepted::COLLECTION, &id)?;
    Ok((row, Accepted::read_or_new(id, stored)?))
}

fn id(cx: &Context<'_>, thread: &ThreadName) -> Flow<String> {
    Ok(Accepted::id(cx.tenant(), thread, cx.params.text("trajectoryId")?, cx.params.text("subject")?))
}

/// `state.get`.
pub(crate) fn get(cx: &mut Context<'_>) -> Flow<String> {
    let (_, state) = subject(cx)?;
    let mut w = Writer::new();
    state.record.view(&mut w);
    Ok(w.finish())
}

/// The events that became state of a subject, by their versions.
fn find_applied(cx: &Context<'_>, thread: &ThreadName, limit: u32) -> Flow<Query> {
    let parts =
        [cx.tenant(), &thread.owner, &thread.thread, cx.params.text("trajectoryId")?, cx.params.text("subject")?];
    Ok(keys::under(life::COLLECTION, "applied", &parts, limit))
}

/// `state.history`.
pub(crate) fn history(cx: &mut Context<'_>) -> Flow<String> {
    let (thread, _) = subject(cx)?;
    let (after, (_, limit)) = (cx.params.maybe_text("after"), page(cx));
    let first = find_applied(cx, &thread.record.name, limit)?;
    let found = cx.page(&after_place(first.clone(), after.as_deref()))?;
    let mut w = Writer::new();
    w.begin_object();
    w.key("items");
    w.begin_array();
    for row in &found.rows {
        show::put(&mut w, &Life::read(row)?, true)?;
    }
    w.end_array();
    w.member_opt_str("next", found.rows.last().filter(|_| found.more).map(|row| place_of(&first, row)));
    w.end_object();
    Ok(w.finish())
}

/// `state.wait`: reads the state of the waiter's own thread, so that who comes late is answered at once. It releases a
/// reader, and grants nothing.
pub(crate) fn wait(cx: &mut Context<'_>) -> Flow<String> {
    let (thread, state) = subject(cx)?;
    let mut topics = vec![state.id.clone(), thread.id.clone()];
    let end = if stages::active(&thread.record, None) { ended(cx, &state.record)? } else { Some("thread-not-active") };
    let end = match end {
        Some(end) => Some(end),
        None => source_ended(cx, &thread.record.name, &mut topics)?,
    };
    let end = match (end, patience(cx)) {
        (Some(end), _) => end,
        (None, Some(until)) => return Err(Stop::Wait(topics, until)),
        (None, None) => "timed-out",
    };
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("end", end);
    w.key("state");
    state.record.view(&mut w);
    w.end_object();
    Ok(w.finish())
}

/// How the wait ends by the state itself, if it does.
fn ended(cx: &Context<'_>, state: &Accepted) -> Flow<Option<&'static str>> {
    if !state.blockers.is_empty() {
        return Ok(Some("blocked"));
    }
    let newer = state.version > cx.params.maybe_int("afterVersion").unwrap_or(0);
    match &state.state {
        _ if !newer => Ok(None),
        None => Ok(state.invalidated.then_some("invalidated")),
        Some(known) => {
            let tree = json::parse(&known.payload)?;
            Ok(holds(cx, tree.root())?.then_some("released"))
        }
    }
}

/// Whether the payload has at the pointer what is waited for.
fn holds(cx: &Context<'_>, payload: Value<'_>) -> Flow<bool> {
    let Some(until) = cx.params.get("until") else { return Ok(true) };
    let value = at(payload, until.text("pointer")?);
    Ok(value.is_some_and(|value| until.get("equals").is_some_and(|wanted| value.same(wanted))))
}

/// The value at a JSON Pointer.
pub(crate) fn at<'a>(value: Value<'a>, pointer: &str) -> Option<Value<'a>> {
    let steps = pointer.strip_prefix('/').into_iter().flat_map(|rest| rest.split('/'));
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return None;
    }
    steps.map(|step| step.replace("~1", "/").replace("~0", "~")).try_fold(value, |value, step| {
        match step.parse::<usize>() {
            Ok(index) if value.get(&step).is_none() => value.items().nth(index),
            _ => value.get(&step),
        }
    })
}

/// Whether the source that is waited for can no longer tell anything.
fn source_ended(cx: &mut Context<'_>, own: &ThreadName, topics: &mut Vec<String>) -> Flow<Option<&'static str>> {
    let Some(named) = cx.params.get("source") else { return Ok(None) };
    let source = ThreadName { thread: named.text("threadId")?.into(), owner: named.text("owner")?.into() };
    let id = source.id(cx.tenant());
    let routes = Capability::find_routes(cx.tenant(), &source, &own.thread);
    cx.fetch(&[&routes, &Thread::find_row(cx.tenant(), &source)])?;
    let now = cx.now;
    let mut stands = false;
    for row in cx.rows(&routes)? {
        let capability = Capability::read(row)?;
        if capability.record.target == *own && capability.record.kind == "send_message_to_thread" {
            stands |= capability.record.stands(now);
            topics.push(capability.id);
        }
    }
    if !stands {
        return Ok(Some("capability-revoked"));
    }
    topics.push(id.clone());
    let row = cx.lookup(thread::COLLECTION, &id)?.map(Thread::read).transpose()?;
    let active = row.is_some_and(|row| stages::active(&row.record, None));
    Ok((!active).then_some("source-not-active"))
}

/// `state.invalidate`: withdraws the state, by the thread's owner or a policy. Floors stay: what is older does not come back.
pub(crate) fn invalidate(cx: &mut Context<'_>) -> Flow<String> {
    cx.control_plane()?;
    let (thread, mut state) = subject(cx)?;
    let known = state.record.state.as_ref();
    if let Some(query) = known.map(|known| event::find(cx.tenant(), &known.source.thread, &known.event)) {
        cx.hint(&query);
    }
    if cx.replayed()? {
        let mut w = Writer::new();
        state.record.view(&mut w);
        return Ok(w.finish());
    }
    check(Rule::ST4, cx.params.int("expectedVersion")? == state.record.version)?;
    check(Rule::ST5, state.record.state.is_some() || !state.record.blockers.is_empty())?;
    if let Some(known) = state.record.state.take() {
        withdraw(cx, &thread.record, &known)?;
    } else {
        let stream = thread.record.party().key(cx.tenant());
        let mut streams = Streams::default();
        streams.load(cx, [stream.clone()])?;
        let told = detail(&[("subject", cx.params.text("subject")?), ("threadId", &thread.record.name.thread)]);
        streams.record(cx, &[&stream], &Event { kind: "state-invalidated", detail: told, ..Event::default() })?;
        streams.save(cx);
    }
    state.record.version = state.record.version.saturating_add(1);
    state.record.invalidated = true;
    state.record.blockers.clear();
    accepted::write(cx, &state);
    cx.resource = Some((state.id.clone(), state.record.version));
    let mut w = Writer::new();
    state.record.view(&mut w);
    Ok(w.finish())
}

/// The event that the state came from is told that it is state no more.
fn withdraw(cx: &mut Context<'_>, thread: &Thread, known: &accepted::State) -> Flow<()> {
    let query = event::find(cx.tenant(), &known.source.thread, &known.event);
    let lives = cx.crowd(&query)?.iter().map(Life::read).collect::<Flow<Vec<_>>>()?;
    let life = lives.into_iter().find(|life| {
        let (sender, receiver) = (&life.record.sender, &life.record.receiver);
        sender.owner == known.source.owner && ThreadName::of(receiver) == thread.name
    });
    let life = life.ok_or_else(not_visible)?;
    let (mut scene, _) = cx.scene_of(life, with_message)?;
    if let Some(part) = scene.life.record.event.as_mut().filter(|part| part.uptake == Uptake::Applied) {
        part.uptake = part.uptake.apply(UptakeEvent::Invalidate)?;
    }
    scene.life.record.revision = scene.life.record.revision.saturating_add(1);
    let told = detail(&[("eventId", &known.event)]);
    scene.record(cx, "state-invalidated", told)?;
    scene.write(cx, false)
}
