//! `threads.resume`: a thread goes on as the next incarnation of its task, with its identity, its history and its mail.

use crate::Rule;
use crate::authority::{
    hooks::{self, Rotated},
    runtime,
    task::{self, Task},
    tasks,
};
use crate::events::{thread::Thread, threads};
use crate::generated::machines::ThreadEvent;
use crate::kernel::{
    Query,
    audit::{Event, detail},
    boxes::Box,
    context::Context,
    fields::Fields,
    flow::{Flow, no_cursor},
    records::{Party, Row},
    streams::Streams,
};
use crate::rules::check;
use alloc::{string::String, vec::Vec};

/// `threads.resume`: retires the live incarnation, registers the next one, and makes the thread active. What `hooks` find
/// of the incarnation that is over changes with it, a page in the same commit and the rest in further ones.
pub(crate) fn resume(cx: &mut Context<'_>, hooks: &[Rotated]) -> Flow<String> {
    cx.control_plane()?;
    if let Some(cursor) = &cx.request.cursor {
        return resume_rest(cx, hooks, cursor);
    }
    let input = cx.params.member("next")?;
    tasks::adapter_reference(input.get("adapterRef"))?;
    let thread = cx.params.text("threadId")?;
    check(Rule::TK7, input.text("taskId")? == thread)?;
    let mut row = cx.own_thread(thread, cx.owner_in("owner"))?;
    let previous = row.record.party();
    let (reached, next) = facts(cx, hooks, &previous)?;
    if cx.replayed()? {
        return Ok(threads::view(&row.record, true));
    }
    check(Rule::OP7, cx.params.int("expectedRevision")? == row.record.revision)?;
    row.record.state = row.record.state.apply(ThreadEvent::Resume)?;
    let registered = Task::find_own(cx.tenant(), &previous.owner, &next.record.party.incarnation);
    check(Rule::TK2, cx.one(&registered)?.is_none())?;
    let known = cx.lookup(task::COLLECTION, &previous.key(cx.tenant()))?.ok_or_else(no_cursor)?;
    let previous = Task::read(known)?;
    let mut streams = Streams::default();
    streams.load(cx, [previous.id.clone(), next.id.clone()])?;
    let (previous, next) = runtime::retire(cx, &mut streams, previous, next)?;
    // Order numbers go on, so that what moves along keeps its place before all that is sent later.
    let last = streams.get(&previous.id)?.cursor;
    streams.get(&next.id)?.cursor = last;
    go_on(cx, &mut row.record, &next.record)?;
    let told = detail(&[("nextIncarnationId", &next.record.party.incarnation), ("threadId", thread)]);
    let event = Event { kind: "thread-resumed", revision: row.record.revision, detail: told, ..Event::default() };
    streams.record(cx, &[&previous.id, &next.id], &event)?;
    leave_behind(cx, &mut streams, hooks, &previous, &reached)?;
    threads::write(cx, &row);
    Ok(threads::view(&row.record, true))
}

/// The thread is that of the next incarnation, which may have another agent, role and label.
fn go_on(cx: &Context<'_>, thread: &mut Thread, next: &Task) -> Flow<()> {
    thread.incarnation = next.party.incarnation.clone();
    thread.agent = next.agent.clone().unwrap_or_else(|| thread.agent.clone());
    thread.role = next.role.clone().unwrap_or_else(|| thread.role.clone());
    thread.continuation = cx.params.maybe_text("continuationId").or_else(|| thread.continuation.take());
    thread.revision = thread.revision.saturating_add(1);
    Ok(())
}

/// Asks for what a resumption from `previous` needs; the pages of what reaches for it, and the next incarnation.
fn facts(cx: &mut Context<'_>, hooks: &[Rotated], previous: &Party) -> Flow<(Vec<Query>, Row<Task>)> {
    let tenant = cx.tenant();
    let record = Task::from_input(cx.params.member("next")?, previous.owner.clone())?;
    let id = record.party.key(tenant);
    let reached = hooks::queries(tenant, hooks, previous);
    let own = Task::find_own(tenant, &previous.owner, &record.party.incarnation);
    cx.want(task::COLLECTION, &previous.key(tenant));
    let ends = [own, Box::find(&previous.key(tenant)), Box::find(&id)];
    cx.fetch(&reached.iter().chain(&ends).collect::<Vec<_>>())?;
    Ok((reached, Row { id, revision: 0, record }))
}

/// Lets a page of what reached for the incarnation that is over change.
fn leave_behind(
    cx: &mut Context<'_>,
    streams: &mut Streams,
    hooks: &[Rotated],
    previous: &Row<Task>,
    reached: &[Query],
) -> Flow<()> {
    let pages = hooks::pages(cx, reached)?;
    hooks::apply(cx, streams, hooks, previous, &pages)?;
    cx.proceed = pages.iter().any(|page| page.more).then(|| previous.id.clone());
    streams.save(cx);
    Ok(())
}

/// Goes on with the incarnation in the cursor, which is retired.
fn resume_rest(cx: &mut Context<'_>, hooks: &[Rotated], cursor: &str) -> Flow<String> {
    let thread = cx.params.text("threadId")?;
    cx.want(task::COLLECTION, cursor);
    let row = cx.own_thread(thread, cx.owner_in("owner"));
    let previous = Task::read(cx.lookup(task::COLLECTION, cursor)?.ok_or_else(no_cursor)?)?;
    previous.record.retired_at.ok_or_else(no_cursor)?;
    let row = row?;
    let reached = hooks::queries(cx.tenant(), hooks, &previous.record.party);
    leave_behind(cx, &mut Streams::default(), hooks, &previous, &reached)?;
    Ok(threads::view(&row.record, true))
}
