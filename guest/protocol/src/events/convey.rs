//! `events.send`: stages 1 to 3, and only then the mailbox. A refusal stores nothing.

use crate::Rule;
use crate::authority::{
    budget::Budget,
    gate::not_ahead,
    task::{self, Task},
};
use crate::delivery::{
    life::{EventPart, Life},
    scene::Scene,
    send::{self, Taken},
};
use crate::digest::{hex, sha256};
use crate::documents::{Document, Kind};
use crate::events::{
    accepted::{self, Accepted},
    capability::Capability,
    event::{self, Event},
    judge::{self, Choice, Facts},
    receive, show, stages,
    thread::{self, Thread, ThreadName},
};
use crate::generated::limits;
use crate::generated::machines::{Uptake, Verification};
use crate::json::{self, Writer};
use crate::kernel::{
    audit::detail,
    boxes::{self, Box},
    context::Context,
    flow::{Flow, damaged, not_visible},
    keys,
    names::only,
    records::{Party, Row},
};
use crate::rules::check;
use crate::time;
use alloc::{string::String, vec::Vec};

/// The reception of a thread that takes events by itself: they are judged in the commit that stores them.
const STANDING: &str = "standing";

/// `events.send`.
pub(crate) fn send(cx: &mut Context<'_>) -> Flow<String> {
    let document = cx.shaped.document(Kind::CrossThreadEvent, "event")?.ok_or_else(|| damaged("event"))?;
    let event = Event::read(&document)?;
    let own = cx.caller_thread().filter(|own| own.thread == event.source);
    check(Rule::EV2, own.is_some())?;
    let own = own.ok_or_else(not_visible)?;
    prefetch(cx, &event, &own)?;
    let (source, sender) = source(cx, &event, &own)?;
    let replayed = cx.replayed()?;
    let (target, capability) = route(cx, &event, &own)?;
    if let Some(known) = known(cx, &event, &own)? {
        if !replayed {
            cx.resource = Some((known.id.clone(), known.record.revision));
        }
        return Ok(show::view(&known, false));
    }
    let expires = times(&event, cx.now)?;
    let receiver = receiver(cx, &event, &target)?;
    check(Rule::CN1, !receiver.record.mute)?;
    let part = part(cx, &event, &source, &target, &capability);
    let scene = store(cx, &event, sender, receiver, (part, expires))?;
    if target.record.reception != STANDING {
        return finish(cx, scene);
    }
    let subject = Accepted::id(cx.tenant(), &target.record.name, event.trajectory, event.subject);
    let stored = cx.lookup(accepted::COLLECTION, &subject)?;
    let accepted = Accepted::read_or_new(subject, stored)?;
    let resolver = receive::resolver(cx, Some(&target), event.subject)?;
    let (source, target, capability) = (Some(source), Some(target), Some(capability));
    let mut scene = scene;
    announce(cx, &mut scene)?;
    let facts = Facts { source, target, capability, accepted, resolver };
    judge::decide(cx, &mut scene, &event, facts, (Choice::Accept, None))?;
    let scene = scene.save(cx, true)?;
    Ok(show::view(&scene.life, false))
}

/// The event waits for its receiver.
fn finish(cx: &mut Context<'_>, mut scene: Scene) -> Flow<String> {
    announce(cx, &mut scene)?;
    let scene = scene.save(cx, true)?;
    Ok(show::view(&scene.life, false))
}

/// What both trails say of an event that came in.
fn announce(cx: &mut Context<'_>, scene: &mut Scene) -> Flow<()> {
    let part = scene.life.record.event.as_ref().ok_or_else(|| damaged("event"))?;
    let told = detail(&[
        ("envelopeDigest", &scene.life.record.digest),
        ("eventDigest", &part.digest),
        ("eventId", &part.event),
        ("grantId", &part.grant_id),
    ]);
    scene.record(cx, "event-durably-received", told)
}

/// Asks for everything that is known before a row was read: the target is guessed in the source's own scope.
fn prefetch(cx: &mut Context<'_>, event: &Event<'_>, own: &ThreadName) -> Flow<()> {
    let tenant = cx.tenant();
    let owner = cx.owner_in("owner").map_or_else(|| own.owner.clone(), Into::into);
    let guess = ThreadName { thread: event.target.into(), owner };
    let stream = cx.caller_row().unwrap_or_default();
    cx.fetch(&[
        &Thread::find_row(tenant, own),
        &Thread::find_row(tenant, &guess),
        &Capability::find_routes(tenant, own, event.target),
        &event::find(tenant, event.source, event.id),
        &keys::row(task::COLLECTION, &stream),
        &Box::find(&stream),
        &Budget::find(&cx.scope()),
    ])
}

/// Stage 2: the source thread with its task, which calls.
fn source(cx: &mut Context<'_>, event: &Event<'_>, own: &ThreadName) -> Flow<(Row<Thread>, Row<Task>)> {
    let known = cx.lookup(thread::COLLECTION, &own.id(cx.tenant()))?.is_some();
    check(Rule::TH5, known)?;
    let source = cx.own_thread(&own.thread, None)?;
    check(Rule::TH6, stages::active(&source.record, None))?;
    check(Rule::EV3, source.record.agent == event.agent && source.record.role == event.role)?;
    check(Rule::EV4, source.record.continuation.as_deref() == Some(event.continuation))?;
    Ok((source, cx.caller_task()?))
}

/// Stage 3: the target thread, and the capability that alone allows the event, the least by its id.
fn route(cx: &mut Context<'_>, event: &Event<'_>, own: &ThreadName) -> Flow<(Row<Thread>, Row<Capability>)> {
    let page = cx.rows(&Capability::find_routes(cx.tenant(), own, event.target))?;
    let mut route = page.iter().map(Capability::read).collect::<Flow<Vec<_>>>()?;
    route.retain(|row| row.record.kind == "send_message_to_thread");
    if let Some(owner) = cx.owner_in("owner") {
        route.retain(|row| row.record.target.owner == owner);
    }
    cx.disclose = !route.is_empty();
    let standing = stages::standing(route, cx.now)?;
    let mut owners: Vec<String> = Vec::new();
    for row in &standing {
        if !owners.contains(&row.record.target.owner) {
            owners.push(row.record.target.owner.clone());
        }
    }
    let owner = only(owners, None, |owner| owner)?;
    let name = ThreadName { thread: event.target.into(), owner };
    let row = cx.lookup(thread::COLLECTION, &name.id(cx.tenant()))?.ok_or_else(|| damaged("thread"))?;
    let target = Thread::read(row)?;
    check(Rule::TH7, stages::active(&target.record, None))?;
    let allowing = stages::allowing(standing, event, &target.record)?;
    let capability = allowing.into_iter().next().ok_or_else(not_visible)?;
    Ok((target, capability))
}

/// Rule EV-5: the event that the source, in whatever incarnation, sent under this id.
fn known(cx: &mut Context<'_>, event: &Event<'_>, own: &ThreadName) -> Flow<Option<Row<Life>>> {
    for row in cx.crowd(&event::find(cx.tenant(), event.source, event.id))? {
        let life = Life::read(row)?;
        if life.record.sender.owner == own.owner {
            let same = life.record.event.as_ref().is_some_and(|known| known.digest == event.digest);
            check(Rule::EV5, same)?;
            return Ok(Some(life));
        }
    }
    Ok(None)
}

/// Not expired, not from the future, and no longer than a message may live; when it ends.
fn times(event: &Event<'_>, now: i64) -> Flow<i64> {
    let expires = event.expires.unwrap_or_else(|| now.saturating_add(limits::EVENT_LIFETIME_MS));
    let created = event.created.unwrap_or(now);
    check(Rule::MS3, now < expires)?;
    not_ahead(Rule::MS5, created, now, || "/event/created_at".into())?;
    check(Rule::MS6, expires.saturating_sub(created.min(now)) <= limits::MESSAGE_LIFETIME_MS_MAX)?;
    Ok(expires)
}

/// The live task of the target thread; its box is asked for with it.
fn receiver(cx: &mut Context<'_>, event: &Event<'_>, target: &Row<Thread>) -> Flow<Row<Task>> {
    let id = target.record.party().key(cx.tenant());
    cx.want(boxes::COLLECTION, &id);
    if target.record.reception == STANDING {
        let subject = Accepted::id(cx.tenant(), &target.record.name, event.trajectory, event.subject);
        cx.want(accepted::COLLECTION, &subject);
        // What is missing is noted; the row is read when the event is judged.
        let _ = receive::resolver(cx, Some(target), event.subject);
    }
    Task::read(cx.lookup(task::COLLECTION, &id)?.ok_or_else(|| damaged("task"))?)
}

fn part(
    cx: &Context<'_>,
    event: &Event<'_>,
    source: &Row<Thread>,
    target: &Row<Thread>,
    capability: &Row<Capability>,
) -> EventPart {
    use crate::kernel::fields::Fields;
    EventPart {
        event: event.id.into(),
        kind: event.kind.into(),
        trajectory: event.trajectory.into(),
        subject: event.subject.into(),
        sequence: event.value.maybe_int("sequence"),
        supersedes: event.value.maybe_text("supersedes_event_id"),
        digest: event.digest.clone(),
        capability: capability.id.clone(),
        grant_id: capability.record.grant_id.clone(),
        source_epoch: source.record.epoch,
        target_epoch: target.record.epoch,
        sent: cx.now,
        verification: Verification::INITIAL,
        uptake: Uptake::INITIAL,
        stage: "scope".into(),
        status: "pending".into(),
        why: None,
        verdicts: Vec::new(),
        inquiry: None,
        checked: None,
        state_version: None,
        recorded: cx.now,
    }
}

/// The message that carries the event, in the receiver's mailbox.
fn store(
    cx: &mut Context<'_>,
    event: &Event<'_>,
    sender: Row<Task>,
    receiver: Row<Task>,
    (part, expires): (EventPart, i64),
) -> Flow<Scene> {
    let text = envelope(cx, event, [&sender, &receiver], &part, expires);
    let tree = json::parse_document(&text)?;
    let document = Document::from_value(Kind::Envelope, tree.root())?;
    let mut envelope = send::read(&document)?;
    envelope.digest = document.digest();
    cx.tell("message", envelope.message);
    cx.tell("digest", document.digest());
    let (party, task): (Party, _) = (receiver.record.party.clone(), Some(receiver));
    let taken = Taken {
        sender,
        receiver: party,
        task,
        grant: None,
        hops: 0,
        ancestors: Vec::new(),
        forwarding: None,
        event: Some(part),
        asks: event.requests(),
    };
    send::store(cx, &envelope, taken)
}

/// The envelope of an event: its content is the event as it was received.
fn envelope(cx: &Context<'_>, event: &Event<'_>, ends: [&Row<Task>; 2], part: &EventPart, expires: i64) -> String {
    let [sender, receiver] = ends.map(|end| &end.record);
    let mut w = Writer::new();
    w.begin_object();
    w.member_str("specVersion", "0.0-draft");
    w.member_str("messageId", &id("msg_", &[event.source, &sender.party.owner, event.id]));
    w.member_str("messageType", event.message_type());
    w.member_str("intent", "suggest");
    w.member_str("claimStatus", "unverified");
    w.key("sender");
    w.begin_object();
    w.member_str("taskId", &sender.party.task);
    w.member_str("incarnationId", &sender.party.incarnation);
    w.member_str("harness", &sender.harness);
    w.member_str("actorType", "agent");
    w.end_object();
    receiver.party.put_ref(&mut w, "target");
    w.member_str("relationshipId", &id("rel_", &[&part.capability]));
    w.member_str("content", event.value.raw());
    w.member_str("reason", "A cross-thread event.");
    w.member_raw("delivery", r#"{"requestedMode":"checkpoint-offer","requiresDisposition":true}"#);
    w.member_str("createdAt", &time::format(cx.now));
    w.member_str("expiresAt", &time::format(expires));
    w.end_object();
    w.finish()
}

/// A name that says the same of the same parts: 32 hex digits of their hash.
fn id(prefix: &str, parts: &[&str]) -> String {
    let digest = hex(&sha256(keys::key(parts).as_bytes()));
    prefix.chars().chain(digest.chars().take(32)).collect()
}
