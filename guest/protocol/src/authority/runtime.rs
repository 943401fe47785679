//! `tasks.updateRuntime`, `tasks.rotateIncarnation`: a task moves on, and with it whatever other domains have that
//! speaks of what is over (see [`hooks`]). What one commit cannot hold follows in further ones.

use crate::authority::{
    hooks::{self, Rotated, RuntimeChanged},
    task::{self, Task},
    tasks,
};
use crate::json::Writer;
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
use crate::{Rule, time};
use alloc::{format, string::String, vec::Vec};

/// `tasks.updateRuntime`: what the task is at. Members that are absent keep their value; objectiveVersion never goes
/// down.
pub(crate) fn update(cx: &mut Context<'_>, hooks: &[RuntimeChanged]) -> Flow<String> {
    if let Some(cursor) = &cx.request.cursor {
        return update_rest(cx, hooks, cursor);
    }
    let runtime = cx.params.member("runtime")?;
    if let Some(own) = own_party(cx, "task")? {
        for query in hooks::queries(cx.tenant(), hooks, &own) {
            cx.hint(&query);
        }
    }
    let mut row = tasks::changeable(cx, "task")?;
    if cx.replayed()? {
        return Ok(tasks::view(&row.record));
    }
    let reached = hooks::queries(cx.tenant(), hooks, &row.record.party);
    let own = [Box::find(&row.id)];
    cx.fetch(&reached.iter().chain(&own).collect::<Vec<_>>())?;
    let mut streams = Streams::default();
    streams.load(cx, [row.id.clone()])?;
    tasks::current(cx, &row.record)?;
    let (known, next) = (row.record.objective, runtime.maybe_int("objectiveVersion"));
    check(Rule::TK6, next.is_none_or(|next| known.is_none_or(|known| next >= known)))?;
    row.record.take_runtime(runtime);
    row.record.revision = row.record.revision.saturating_add(1);
    let told = detail(&[("runtimeDigest", &runtime.digest())]);
    tasks::save(cx, &mut streams, &row, "task-runtime-updated", told)?;
    let pages = hooks::pages(cx, &reached)?;
    cx.proceed = hooks::places(&pages)?.map(|places| format!("{places}:{}", row.id));
    hooks::apply(cx, &mut streams, hooks, &row, &pages)?;
    streams.save(cx);
    Ok(tasks::view(&row.record))
}

/// Goes on after the order numbers in the cursor, for the task in it.
fn update_rest(cx: &mut Context<'_>, hooks: &[RuntimeChanged], cursor: &str) -> Flow<String> {
    let (places, id) = cursor.split_once(':').ok_or_else(no_cursor)?;
    let places = hooks::read_places(hooks, places)?;
    let row = continued(cx, id)?;
    let reached = hooks::queries_after(cx.tenant(), hooks, &row.record.party, &places);
    cx.fetch(&reached.iter().flatten().collect::<Vec<_>>())?;
    let mut streams = Streams::default();
    streams.load(cx, [row.id.clone()])?;
    let pages = hooks::pages_of(cx, &reached)?;
    cx.proceed = hooks::places(&pages)?.map(|places| format!("{places}:{}", row.id));
    hooks::apply(cx, &mut streams, hooks, &row, &pages)?;
    streams.save(cx);
    Ok(tasks::view(&row.record))
}

/// The task that a continuation is about.
fn continued(cx: &mut Context<'_>, id: &str) -> Flow<Row<Task>> {
    cx.hint(&Box::find(id));
    Task::read(cx.lookup(task::COLLECTION, id)?.ok_or_else(no_cursor)?)
}

/// The party that the params name in `member`, where it can only be one of the caller's own scope.
fn own_party(cx: &Context<'_>, member: &str) -> Flow<Option<Party>> {
    Ok(cx.own_party(cx.task_in(member)?))
}

/// `tasks.rotateIncarnation`: retires an incarnation and registers the next one of the same task and owner, which keeps
/// what the task consented to. Grants, claims and credentials of the old one end with it.
pub(crate) fn rotate(cx: &mut Context<'_>, hooks: &[Rotated]) -> Flow<String> {
    cx.control_plane()?;
    if let Some(cursor) = &cx.request.cursor {
        return rotate_rest(cx, hooks, cursor);
    }
    let input = cx.params.member("next")?;
    tasks::adapter_reference(input.get("adapterRef"))?;
    check(Rule::TK7, input.text("taskId")? == cx.params.member("previous")?.text("taskId")?)?;
    if let Some(own) = own_party(cx, "previous")? {
        rotation_facts(cx, hooks, &own)?;
    }
    let previous = tasks::changeable(cx, "previous")?;
    let (reached, next) = rotation_facts(cx, hooks, &previous.record.party)?;
    cx.fetch(&[])?;
    let mut streams = Streams::default();
    streams.load(cx, [previous.id.clone(), next.id.clone()])?;
    let registered = cx.one(&Task::find_own(cx.tenant(), &next.record.party.owner, &next.record.party.incarnation))?;
    let registered = registered.map(Task::read).transpose()?;
    let replayed = cx.replayed()?;
    let (previous, next) = match registered {
        Some(next) if replayed => (previous, next),
        registered => {
            tasks::current(cx, &previous.record)?;
            check(Rule::TK2, registered.is_none())?;
            retire(cx, &mut streams, previous, next)?
        }
    };
    if !replayed {
        leave_behind(cx, &mut streams, hooks, &previous, &reached)?;
    }
    Ok(rotation(&previous.record, &next.record))
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
fn rotate_rest(cx: &mut Context<'_>, hooks: &[Rotated], cursor: &str) -> Flow<String> {
    let previous = continued(cx, cursor)?;
    previous.record.retired_at.ok_or_else(no_cursor)?;
    let reached = hooks::queries(cx.tenant(), hooks, &previous.record.party);
    leave_behind(cx, &mut Streams::default(), hooks, &previous, &reached)?;
    Ok(tasks::view(&previous.record))
}

/// Asks for what a rotation of `previous` needs; the pages of what reaches for it, and the next incarnation as the
/// params name it.
fn rotation_facts(cx: &mut Context<'_>, hooks: &[Rotated], previous: &Party) -> Flow<(Vec<Query>, Row<Task>)> {
    let tenant = cx.tenant();
    let record = Task::from_input(cx.params.member("next")?, previous.owner.clone())?;
    let id = record.party.key(tenant);
    let reached = hooks::queries(tenant, hooks, previous);
    let own = Task::find_own(tenant, &record.party.owner, &record.party.incarnation);
    for query in reached.iter().chain([&own, &Box::find(&previous.key(tenant)), &Box::find(&id)]) {
        cx.hint(query);
    }
    Ok((reached, Row { id, revision: 0, record }))
}

/// One ends, the next begins, in one commit.
pub(crate) fn retire(
    cx: &mut Context<'_>,
    streams: &mut Streams,
    mut previous: Row<Task>,
    mut next: Row<Task>,
) -> Flow<(Row<Task>, Row<Task>)> {
    let task = &mut previous.record;
    task.state = "archived".into();
    task.retired_at = Some(cx.now);
    task.revision = task.revision.saturating_add(1);
    (next.record.mute, next.record.quiet_until) = (task.mute, task.quiet_until);
    let told = detail(&[
        ("nextIncarnationId", &next.record.party.incarnation),
        ("previousIncarnationId", &task.party.incarnation),
        ("registrationDigest", &next.record.registered),
    ]);
    let event = Event { kind: "task-rotated", revision: task.revision, detail: told, ..Event::default() };
    streams.record(cx, &[&previous.id, &next.id], &event)?;
    tasks::write(cx, &previous);
    tasks::write(cx, &next);
    cx.resource = Some((next.id.clone(), 0));
    Ok((previous, next))
}

fn rotation(previous: &Task, next: &Task) -> String {
    let mut w = Writer::new();
    w.begin_object();
    w.key("previous");
    w.begin_object();
    w.member_str("taskId", &previous.party.task);
    w.member_str("incarnationId", &previous.party.incarnation);
    w.member_int("revision", previous.revision);
    w.member_opt_str("retiredAt", previous.retired_at.map(time::format).as_deref());
    w.end_object();
    w.key("current");
    w.begin_object();
    next.view(&mut w);
    w.end_object();
    w.end_object();
    w.finish()
}
