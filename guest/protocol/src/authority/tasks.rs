//! `tasks.register`, `tasks.get`, `tasks.attach`, `tasks.setConsent`: who is there, in whose scope, taking what.

use crate::authority::task::{self, Task};
use crate::documents::shape;
use crate::generated::shapes;
use crate::json::{Value, Writer};
use crate::kernel::{
    PrincipalKind,
    audit::{Event, detail},
    boxes::Box,
    context::Context,
    fields::Fields,
    flow::Flow,
    records::Row,
    streams::Streams,
};
use crate::rules::{check, check_at};
use crate::{Code, Error, Rule, time};
use alloc::string::String;

/// `tasks.register`: a new live incarnation in the caller's scope, revision 0. Registering the same again answers with
/// what stands there now, marked as a replay.
pub(crate) fn register(cx: &mut Context<'_>) -> Flow<String> {
    cx.control_plane()?;
    let input = cx.params.member("task")?;
    adapter_reference(input.get("adapterRef"))?;
    let task = Task::from_input(input, cx.owner_scope())?;
    let (tenant, party) = (cx.tenant(), &task.party);
    let id = party.key(tenant);
    let live = Task::find_live(tenant, &party.owner, &party.task);
    cx.fetch(&[&Task::find_own(tenant, &party.owner, &party.incarnation), &live, &Box::find(&id)])?;
    let replayed = cx.replayed()?;
    if let Some(known) = registered(cx, &task)? {
        if !replayed {
            cx.resource = Some((known.id.clone(), known.record.revision));
        }
        return Ok(registration(&known.record, true));
    }
    check(Rule::TK4, cx.one(&live)?.is_none())?;
    let mut streams = Streams::default();
    streams.load(cx, [id.clone()])?;
    let told = detail(&[("registrationDigest", &task.registered), ("state", &task.state)]);
    save(cx, &mut streams, &Row { id, revision: 0, record: task.clone() }, "task-registered", told)?;
    streams.save(cx);
    Ok(registration(&task, false))
}

/// The incarnation with this id in the owner's scope, if there is one: then it is the same.
fn registered(cx: &mut Context<'_>, task: &Task) -> Flow<Option<Row<Task>>> {
    let query = Task::find_own(cx.tenant(), &task.party.owner, &task.party.incarnation);
    let Some(row) = cx.one(&query)? else { return Ok(None) };
    let known = Task::read(row)?;
    check(Rule::TK2, known.record.party == task.party)?;
    check(Rule::TK3, known.record.registered == task.registered)?;
    Ok(Some(known))
}

fn registration(task: &Task, replay: bool) -> String {
    let mut w = Writer::new();
    w.begin_object();
    w.member_bool("replay", replay);
    task.view(&mut w);
    w.end_object();
    w.finish()
}

/// Rule TK-1.
pub(crate) fn adapter_reference(reference: Option<Value<'_>>) -> Result<(), Error> {
    let Some(reference) = reference else { return Ok(()) };
    let fits = shape::check_value(shapes::PROFILE_REF, reference, Code::ParamsInvalid).is_ok();
    check_at(Rule::TK1, fits, || reference.pointer())
}

/// `tasks.get`: for the task itself, its owner, policies and the operator.
pub(crate) fn get(cx: &mut Context<'_>) -> Flow<String> {
    let row = cx.own_task(cx.task_in("task")?)?;
    check(Rule::OP4, cx.principal.kind != PrincipalKind::Task || row.record.live())?;
    Ok(view(&row.record))
}

/// The answer of `tasks.get` and of every change.
pub(crate) fn view(task: &Task) -> String {
    let mut w = Writer::new();
    w.begin_object();
    task.view(&mut w);
    w.end_object();
    w.finish()
}

/// The task that the params name in `member`, for somebody who may change it: a task itself only while it is live, so
/// that a replay tells it nothing that `tasks.get` would not. Its box is asked for with it.
pub(crate) fn changeable(cx: &mut Context<'_>, member: &str) -> Flow<Row<Task>> {
    let kind = cx.principal.kind;
    check(Rule::TK5, !matches!(kind, PrincipalKind::Operator | PrincipalKind::Host))?;
    let name = cx.task_in(member)?;
    if let Some(id) = cx.own_row(name) {
        cx.hint(&Box::find(&id));
    }
    let row = cx.own_task(name)?;
    check(Rule::OP4, kind != PrincipalKind::Task || row.record.live())?;
    Ok(row)
}

/// The task is live, and the caller knows it as it is.
pub(crate) fn current(cx: &Context<'_>, task: &Task) -> Flow<()> {
    check(Rule::OP4, task.live())?;
    Ok(check(Rule::OP7, cx.params.int("expectedRevision")? == task.revision)?)
}

/// `tasks.attach`: binds an adapter profile and a session.
pub(crate) fn attach(cx: &mut Context<'_>) -> Flow<String> {
    let reference = cx.params.member("adapterRef")?;
    adapter_reference(Some(reference))?;
    let mut row = changeable(cx, "task")?;
    if cx.replayed()? {
        return Ok(view(&row.record));
    }
    current(cx, &row.record)?;
    row.record.adapter_ref = Some(reference.raw().into());
    let told = detail(&[("adapterRefDigest", &reference.digest())]);
    change(cx, row, "task-attached", told)
}

/// `tasks.setConsent`: whether the task takes anything, and from when on it takes what is urgent.
pub(crate) fn set_consent(cx: &mut Context<'_>) -> Flow<String> {
    let consent = cx.params.member("consent")?;
    let mut row = changeable(cx, "task")?;
    if cx.replayed()? {
        return Ok(view(&row.record));
    }
    current(cx, &row.record)?;
    let task = &mut row.record;
    if let Some(mute) = consent.get("mute").and_then(|mute| mute.as_bool()) {
        task.mute = mute;
    }
    if let Some(until) = consent.get("doNotDisturbUntil") {
        task.quiet_until = until.as_str().map(time::parse).transpose()?;
    }
    let quiet = task.quiet_until.map(time::format).unwrap_or_default();
    let told = detail(&[("doNotDisturbUntil", &quiet), ("mute", if task.mute { "true" } else { "false" })]);
    change(cx, row, "task-consent-set", told)
}

/// Commits a change of a task alone: next revision, audit, answer.
fn change(cx: &mut Context<'_>, mut row: Row<Task>, kind: &str, told: String) -> Flow<String> {
    row.record.revision = row.record.revision.saturating_add(1);
    let mut streams = Streams::default();
    streams.load(cx, [row.id.clone()])?;
    save(cx, &mut streams, &row, kind, told)?;
    streams.save(cx);
    Ok(view(&row.record))
}

/// Writes a task, with an event in its stream, which is loaded.
pub(crate) fn save(cx: &mut Context<'_>, streams: &mut Streams, row: &Row<Task>, kind: &str, told: String) -> Flow<()> {
    let event = Event { kind, revision: row.record.revision, detail: told, ..Event::default() };
    streams.record(cx, &[&row.id], &event)?;
    write(cx, row);
    cx.resource = Some((row.id.clone(), row.record.revision));
    Ok(())
}

/// Writes a task.
pub(crate) fn write(cx: &mut Context<'_>, row: &Row<Task>) {
    let entries = row.record.entries(cx.tenant());
    cx.write(task::COLLECTION, &row.id, row.revision, row.record.text(), entries);
}
