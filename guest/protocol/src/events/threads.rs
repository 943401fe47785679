//! `threads.register`, `configure`, `archive`, `terminate`, `fork`, `read`, `list`: which threads there are, and whether
//! they take part in events.

use crate::Rule;
use crate::authority::task::Task;
use crate::digest::sha256_text;
use crate::events::{
    capability::Capability,
    resolvers::{self, Resolver},
    thread::{self, Check, Thread, ThreadName, place_of},
};
use crate::generated::machines::{self, ThreadEvent};
use crate::json::{Value, Writer};
use crate::kernel::{
    PrincipalKind,
    audit::{Event, detail},
    boxes::Box,
    context::Context,
    fields::Fields,
    flow::{Flow, not_visible},
    names::TaskName,
    pages::page,
    records::{Row, put_raw},
    streams::Streams,
};
use crate::rules::{check, check_at};
use alloc::{string::String, vec::Vec};

/// What is registered of a thread.
struct Draft<'a> {
    agent: &'a str,
    role: &'a str,
    continuation: Option<String>,
    reception: String,
    settings: Option<String>,
    checks: Vec<Check>,
    origin: Option<ThreadName>,
}

/// `threads.register`: the thread of a live task in the caller's scope, or, for a policy, in the one that is named.
/// Registering the same again answers with what stands there, whatever has become of it.
pub(crate) fn register(cx: &mut Context<'_>) -> Flow<String> {
    cx.control_plane()?;
    let input = cx.params.member("thread")?;
    let draft = Draft {
        agent: input.text("agentId")?,
        role: input.text("role")?,
        continuation: input.maybe_text("continuationId"),
        reception: input.maybe_text("reception").unwrap_or_else(|| "asked".into()),
        settings: settings(input.get("settings"))?,
        checks: Vec::new(),
        origin: None,
    };
    let name = TaskName {
        task: input.text("threadId")?,
        incarnation: input.text("incarnationId")?,
        owner: cx.owner_in("owner"),
    };
    let task = task_of(cx, name)?;
    enter(cx, &task, draft, "thread-registered")
}

/// The task of a new thread. Its thread and its box are asked for with it.
fn task_of(cx: &mut Context<'_>, name: TaskName<'_>) -> Flow<Row<Task>> {
    if let Some(party) = cx.own_party(name) {
        cx.hint(&Box::find(&party.key(cx.tenant())));
        cx.hint(&Thread::find_row(cx.tenant(), &ThreadName { thread: party.task, owner: party.owner }));
    }
    cx.own_task(name)
}

/// Adds a thread of a live task, or answers with the one that is there.
fn enter(cx: &mut Context<'_>, task: &Row<Task>, draft: Draft<'_>, kind: &str) -> Flow<String> {
    let party = &task.record.party;
    let name = ThreadName { thread: party.task.clone(), owner: party.owner.clone() };
    let registered = content(&party.incarnation, &draft);
    let id = name.id(cx.tenant());
    cx.want(thread::COLLECTION, &id);
    cx.fetch(&[&Box::find(&task.id)])?;
    let replayed = cx.replayed()?;
    if let Some(row) = cx.lookup(thread::COLLECTION, &id)? {
        let known = Thread::read(row)?;
        check(Rule::TH1, known.record.registered == registered)?;
        if !replayed {
            cx.resource = Some((known.id.clone(), known.record.revision));
        }
        return Ok(view(&known.record, true));
    }
    check(Rule::OP4, task.record.live())?;
    let thread = Thread {
        name,
        state: machines::Thread::INITIAL,
        incarnation: party.incarnation.clone(),
        agent: draft.agent.into(),
        role: draft.role.into(),
        continuation: draft.continuation,
        reception: draft.reception,
        checks: draft.checks,
        settings: draft.settings,
        forked_from: draft.origin,
        registered,
        epoch: 0,
        revision: 0,
    };
    let row = Row { id, revision: 0, record: thread };
    let told = detail(&[("registrationDigest", &row.record.registered), ("threadId", &row.record.name.thread)]);
    save(cx, &row, kind, told)?;
    Ok(view(&row.record, true))
}

/// The digest of what is registered.
fn content(incarnation: &str, draft: &Draft<'_>) -> String {
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("agentId", draft.agent);
    w.member_opt_str("continuationId", draft.continuation.as_deref());
    if let Some(origin) = &draft.origin {
        origin.show(&mut w, "forkedFrom");
    }
    w.member_str("incarnationId", incarnation);
    w.member_str("reception", &draft.reception);
    w.member_str("role", draft.role);
    put_raw(&mut w, "settings", draft.settings.as_deref());
    w.end_object();
    sha256_text(w.finish().as_bytes())
}

/// The canonical form of settings, each of whose values is on its list.
fn settings(given: Option<Value<'_>>) -> Flow<Option<String>> {
    let Some(settings) = given else { return Ok(None) };
    for (_, setting) in settings.members() {
        let value = setting.text("value")?;
        let listed = setting.member("order")?.items().any(|known| known.as_str() == Some(value));
        check_at(Rule::TH3, listed, || setting.pointer())?;
    }
    Ok(Some(settings.canonical()))
}

/// Checks, at most one for a subject.
fn checks(given: Value<'_>) -> Flow<Vec<Check>> {
    let mut checks: Vec<Check> = Vec::new();
    for item in given.items() {
        let subject = item.text("subject")?;
        let first = checks.iter().all(|known| known.subject != subject);
        check_at(Rule::TH9, first, || item.pointer())?;
        checks.push(Check {
            subject: subject.into(),
            resolver: item.text("resolver")?.into(),
            address: item.text("address")?.into(),
            answer: item.text("answer")?.into(),
            payload: item.text("payload")?.into(),
            visible_after_ms: item.maybe_int("visibleAfterMs").unwrap_or(0),
        });
    }
    Ok(checks)
}

/// `threads.configure`: who it is, how it takes events, what it runs with. Members that are absent keep their value.
pub(crate) fn configure(cx: &mut Context<'_>) -> Flow<String> {
    let change = cx.params.member("change")?;
    let settings = settings(change.get("settings"))?;
    let checks = change.get("checks").map(checks).transpose()?;
    for check in checks.iter().flatten() {
        cx.want(resolvers::COLLECTION, &Resolver::id(cx.tenant(), &check.resolver));
    }
    let Some(mut row) = changeable(cx)? else { return now(cx) };
    check(Rule::TH2, !row.record.terminated())?;
    for known in checks.iter().flatten() {
        let id = Resolver::id(cx.tenant(), &known.resolver);
        check(Rule::TH8, cx.lookup(resolvers::COLLECTION, &id)?.is_some())?;
    }
    let thread = &mut row.record;
    thread.checks = checks.unwrap_or_else(|| core::mem::take(&mut thread.checks));
    thread.agent = change.maybe_text("agentId").unwrap_or_else(|| thread.agent.clone());
    thread.role = change.maybe_text("role").unwrap_or_else(|| thread.role.clone());
    thread.continuation = change.maybe_text("continuationId").or_else(|| thread.continuation.clone());
    thread.reception = change.maybe_text("reception").unwrap_or_else(|| thread.reception.clone());
    thread.settings = settings.or_else(|| thread.settings.clone());
    let told = detail(&[("changeDigest", &change.digest()), ("threadId", &thread.name.thread)]);
    changed(cx, row, "thread-configured", told)
}

/// `threads.terminate`: the end of a thread. Its records stay.
pub(crate) fn terminate(cx: &mut Context<'_>) -> Flow<String> {
    let Some(mut row) = changeable(cx)? else { return now(cx) };
    end(&mut row.record, ThreadEvent::Terminate)?;
    let told = detail(&[("threadId", &row.record.name.thread)]);
    changed(cx, row, "thread-terminated", told)
}

/// `threads.archive`: nothing comes in or goes out from here on, and nothing is deleted.
pub(crate) fn archive(cx: &mut Context<'_>) -> Flow<String> {
    let (mut row, own) = reachable(cx, "archive_thread")?;
    if cx.replayed()? {
        return Ok(view(&row.record, own));
    }
    check(Rule::OP7, cx.params.int("expectedRevision")? == row.record.revision)?;
    end(&mut row.record, ThreadEvent::Archive)?;
    let told = detail(&[("threadId", &row.record.name.thread)]);
    let answer = changed(cx, row, "thread-archived", told)?;
    Ok(answer)
}

/// A thread that its owner, a policy or a holder of the capability may act on.
fn reachable(cx: &mut Context<'_>, kind: &str) -> Flow<(Row<Thread>, bool)> {
    check(Rule::TH4, !matches!(cx.principal.kind, PrincipalKind::Operator | PrincipalKind::Host))?;
    cx.thread_for(kind)
}

/// A step after which events of before are over.
fn end(thread: &mut Thread, event: ThreadEvent) -> Flow<()> {
    thread.state = thread.state.apply(event)?;
    thread.epoch = thread.epoch.saturating_add(1);
    Ok(())
}

/// The thread that the params name, at the revision that they name, for users and policies; nothing where the call was
/// made before.
fn changeable(cx: &mut Context<'_>) -> Flow<Option<Row<Thread>>> {
    cx.control_plane()?;
    let row = cx.own_thread(cx.params.text("threadId")?, cx.owner_in("owner"))?;
    if cx.replayed()? {
        return Ok(None);
    }
    check(Rule::OP7, cx.params.int("expectedRevision")? == row.record.revision)?;
    Ok(Some(row))
}

/// The thread that the params name as it stands.
fn now(cx: &mut Context<'_>) -> Flow<String> {
    let row = cx.own_thread(cx.params.text("threadId")?, cx.owner_in("owner"))?;
    Ok(view(&row.record, true))
}

fn changed(cx: &mut Context<'_>, mut row: Row<Thread>, kind: &str, told: String) -> Flow<String> {
    row.record.revision = row.record.revision.saturating_add(1);
    save(cx, &row, kind, told)?;
    Ok(view(&row.record, true))
}

/// Writes a thread alone, with an event in the stream of its live incarnation.
fn save(cx: &mut Context<'_>, row: &Row<Thread>, kind: &str, told: String) -> Flow<()> {
    let stream = row.record.party().key(cx.tenant());
    let mut streams = Streams::default();
    streams.load(cx, [stream.clone()])?;
    let event = Event { kind, revision: row.record.revision, detail: told, ..Event::default() };
    streams.record(cx, &[&stream], &event)?;
    streams.save(cx);
    write(cx, row);
    Ok(())
}

/// Writes a thread, and wakes those who wait for something of it.
pub(crate) fn write(cx: &mut Context<'_>, row: &Row<Thread>) {
    cx.topics.push(row.id.clone());
    let entries = row.record.entries(cx.tenant());
    cx.write(thread::COLLECTION, &row.id, row.revision, row.record.text(), entries);
    cx.resource = Some((row.id.clone(), row.record.revision));
}

/// The answer of every change; settings are for the thread's own side.
pub(crate) fn view(thread: &Thread, own: bool) -> String {
    let mut w = Writer::new();
    thread.view(&mut w, own);
    w.finish()
}

/// `threads.fork`: a thread of another task that goes on from this one: a new identity that names where it comes from,
/// with the settings and the reception of the original, and without any capability.
pub(crate) fn fork(cx: &mut Context<'_>) -> Flow<String> {
    let input = cx.params.member("fork")?;
    let (thread, incarnation) = (input.text("threadId")?, input.text("incarnationId")?);
    let scope = cx.own_scope();
    let name = TaskName { task: thread, incarnation, owner: scope.as_deref() };
    if let Some(party) = cx.own_party(name) {
        let forked = ThreadName { thread: party.task.clone(), owner: party.owner.clone() };
        for query in [Task::find_own(cx.tenant(), &party.owner, incarnation), Thread::find_row(cx.tenant(), &forked)] {
            cx.hint(&query);
        }
        cx.hint(&Box::find(&party.key(cx.tenant())));
    }
    let (origin, _) = reachable(cx, "fork_thread")?;
    let task = beside(cx, thread, incarnation)?;
    let draft = Draft {
        agent: input.text("agentId")?,
        role: input.text("role")?,
        continuation: input.maybe_text("continuationId"),
        reception: origin.record.reception.clone(),
        settings: origin.record.settings.clone(),
        checks: origin.record.checks.clone(),
        origin: Some(origin.record.name.clone()),
    };
    let known = cx.lookup(thread::COLLECTION, &named(&task.record).id(cx.tenant()))?;
    check(Rule::TH2, !origin.record.terminated() || known.is_some())?;
    enter(cx, &task, draft, "thread-forked")
}

fn named(task: &Task) -> ThreadName {
    ThreadName { thread: task.party.task.clone(), owner: task.party.owner.clone() }
}

/// A task of the scope that the caller belongs to: its own, or, for a task, that of its owner.
fn beside(cx: &mut Context<'_>, task: &str, incarnation: &str) -> Flow<Row<Task>> {
    let owner = cx.own_scope().ok_or_else(not_visible)?;
    let query = Task::find_own(cx.tenant(), &owner, incarnation);
    let row = Task::read(cx.one(&query)?.ok_or_else(not_visible)?)?;
    if row.record.party.task == task { Ok(row) } else { Err(not_visible()) }
}

/// `threads.read`: one thread, for its own side and for tasks whose thread holds the capability to read it.
pub(crate) fn read(cx: &mut Context<'_>) -> Flow<String> {
    if cx.principal.kind == PrincipalKind::Host {
        return Err(not_visible());
    }
    let (row, own) = cx.thread_for("read_thread")?;
    Ok(view(&row.record, own))
}

/// `threads.list`: the threads of the caller's scope, or of the owner that a policy or the operator names; for a task its
/// own and those that it may read.
pub(crate) fn list(cx: &mut Context<'_>) -> Flow<String> {
    let owner = cx.owner_in("owner");
    let (after, (_, limit)) = (cx.params.maybe_text("after"), page(cx));
    if let Some(own) = cx.caller_thread() {
        check(Rule::OP10, owner.is_none_or(|owner| owner == own.owner))?;
        return list_shown(cx, &own, after.as_deref(), limit);
    }
    let scope = cx.own_scope();
    check(Rule::OP10, owner.is_none() || cx.of_office() || owner == scope.as_deref())?;
    let owner = owner.map(String::from).or(scope).ok_or_else(not_visible)?;
    let first = Thread::find_own(cx.tenant(), &owner, None, limit);
    let found = cx.page(&Thread::find_own(cx.tenant(), &owner, after.as_deref(), limit))?;
    let rows = found.rows.iter().map(Thread::read).collect::<Flow<Vec<_>>>()?;
    let next = found.rows.last().filter(|_| found.more).map(|row| place_of(&first, row));
    Ok(listed(rows.iter().map(|row| (&row.record, true)), next))
}

/// What a task is shown: its own thread at the start, then those that it may read, each once.
fn list_shown(cx: &mut Context<'_>, own: &ThreadName, after: Option<&str>, limit: u32) -> Flow<String> {
    let tenant = cx.tenant();
    let first = Capability::find_from(tenant, own, None, limit);
    let query = Capability::find_from(tenant, own, after, limit);
    cx.fetch(&[&Thread::find_row(tenant, own), &query])?;
    let mine = cx.own_thread(&own.thread, None)?;
    let found = cx.page(&query)?;
    let mut shown: Vec<ThreadName> = Vec::new();
    for row in &found.rows {
        let capability = Capability::read(row)?.record;
        if capability.kind == "read_thread" && capability.stands(cx.now) && !shown.contains(&capability.target) {
            shown.push(capability.target);
        }
    }
    shown.iter().for_each(|name| cx.want(thread::COLLECTION, &name.id(tenant)));
    let mut threads = Vec::new();
    for name in &shown {
        threads.extend(cx.lookup(thread::COLLECTION, &name.id(tenant))?.map(Thread::read).transpose()?);
    }
    let next = found.rows.last().filter(|_| found.more).map(|row| place_of(&first, row));
    let at_start = after.is_none().then_some((&mine.record, true));
    Ok(listed(at_start.into_iter().chain(threads.iter().map(|row| (&row.record, false))), next))
}

fn listed<'t>(threads: impl Iterator<Item = (&'t Thread, bool)>, next: Option<&str>) -> String {
    let mut w = Writer::new();
    w.begin_object();
    w.key("items");
    w.begin_array();
    for (thread, own) in threads {
        thread.view(&mut w, own);
    }
    w.end_array();
    w.member_opt_str("next", next);
    w.end_object();
    w.finish()
}
