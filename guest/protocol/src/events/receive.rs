//! `events.receive`, `events.reconsider`, `events.decline`: the receiver's side of an event.

use crate::Rule;
use crate::delivery::{
    life::Life,
    scene::{Role, Scene, with_message},
};
use crate::documents::{self, Kind};
use crate::events::{
    accepted::{self, Accepted},
    capability::{self, Capability},
    event::Event,
    judge::{self, Choice, Facts},
    resolvers::{self, Resolver},
    show,
    thread::{self, Thread, ThreadName},
};
use crate::generated::machines::{Decision, Uptake, UptakeEvent, Verification};
use crate::json;
use crate::kernel::{
    audit::detail,
    boxes,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged, not_visible},
    records::Row,
};
use crate::rules::check;
use alloc::string::String;

/// `events.receive`: claims, judges and answers in one commit.
pub(crate) fn receive(cx: &mut Context<'_>) -> Flow<String> {
    let choice = match cx.params.maybe_text("decision").as_deref() {
        Some("reject") => Choice::Reject,
        Some("defer") => Choice::Defer,
        _ => Choice::Accept,
    };
    take(cx, Decision::Pending, choice)
}

/// `events.reconsider`: judges an event that was deferred once more, by what stands now.
pub(crate) fn reconsider(cx: &mut Context<'_>) -> Flow<String> {
    take(cx, Decision::Deferred, Choice::Accept)
}

fn take(cx: &mut Context<'_>, from: Decision, choice: Choice) -> Flow<String> {
    let (mut scene, role) = open(cx)?;
    scene.receiver_acts(role)?;
    if cx.replayed()? {
        return Ok(show::view(&scene.life, true));
    }
    scene.not_busy(cx)?;
    scene.at_revision(cx)?;
    scene.unexpired(cx.now)?;
    let life = &scene.life.record;
    let examined = life.event.as_ref().is_some_and(|event| event.verification == Verification::Examining);
    check(Rule::EV7, life.decision == from && !life.delivery.terminal() && !examined)?;
    let facts = facts(cx, &scene)?;
    let message = scene.message(cx)?;
    let envelope = json::parse(&message.envelope)?;
    let content = envelope.root().text("content")?;
    let document = documents::parse(Kind::CrossThreadEvent, content)?;
    let event = Event::read(&document.document())?;
    judge::decide(cx, &mut scene, &event, facts, (choice, None))?;
    let scene = scene.save(cx, true)?;
    Ok(show::view(&scene.life, true))
}

/// The event that the params name with everyone concerned, for somebody who has a part in it.
fn open(cx: &mut Context<'_>) -> Flow<(Scene, Role)> {
    let life = show::named(cx, |cx, life| show::side(cx, life).is_some())?;
    for id in rows(cx, &life.record) {
        cx.want(id.0, &id.1);
    }
    cx.scene_of(life, with_message)
}

/// The rows of both threads, of the capability and of the subject.
pub(crate) fn rows(cx: &Context<'_>, life: &Life) -> [(&'static str, String); 4] {
    let tenant = cx.tenant();
    let capability = life.event.as_ref().map(|event| event.capability.clone()).unwrap_or_default();
    let subject = life.event.as_ref().map(|event| Accepted::id_of(tenant, &life.receiver, event)).unwrap_or_default();
    [
        (thread::COLLECTION, ThreadName::of(&life.sender).id(tenant)),
        (thread::COLLECTION, ThreadName::of(&life.receiver).id(tenant)),
        (capability::COLLECTION, capability),
        (accepted::COLLECTION, subject),
    ]
}

/// The rows that the stages are about. What these lead to is asked for together.
pub(crate) fn facts(cx: &mut Context<'_>, scene: &Scene) -> Flow<Facts> {
    let [source, target, capability, subject] = rows(cx, &scene.life.record);
    let source = cx.lookup(source.0, &source.1)?.map(Thread::read).transpose()?;
    let target = cx.lookup(target.0, &target.1)?.map(Thread::read).transpose()?;
    let capability = cx.lookup(capability.0, &capability.1)?.map(Capability::read).transpose()?;
    let accepted = cx.lookup(subject.0, &subject.1)?;
    let accepted = Accepted::read_or_new(subject.1, accepted)?;
    if let Some(source) = &source {
        cx.want(boxes::COLLECTION, &source.record.party().key(cx.tenant()));
    }
    let about = scene.life.record.event.as_ref().map_or("", |event| event.subject.as_str());
    let resolver = resolver(cx, target.as_ref(), about)?;
    Ok(Facts { source, target, capability, accepted, resolver })
}

/// The resolver that the target's check for a subject names.
pub(crate) fn resolver(
    cx: &mut Context<'_>,
    target: Option<&Row<Thread>>,
    subject: &str,
) -> Flow<Option<Row<Resolver>>> {
    let check = target.and_then(|row| row.record.checks.iter().find(|check| check.subject == subject));
    let Some(check) = check else { return Ok(None) };
    let id = Resolver::id(cx.tenant(), &check.resolver);
    cx.lookup(resolvers::COLLECTION, &id)?.map(Resolver::read).transpose()
}

/// `events.decline`: the receiver or its owner turns down what an accepted event asks for.
pub(crate) fn decline(cx: &mut Context<'_>) -> Flow<String> {
    let (mut scene, role) = open(cx)?;
    match role {
        Role::Receiver => scene.receiver_acts(role)?,
        Role::ReceiverOwner => {}
        _ => return Err(not_visible()),
    }
    if cx.replayed()? {
        return Ok(show::view(&scene.life, true));
    }
    scene.at_revision(cx)?;
    let facts = facts(cx, &scene)?;
    let life = &mut scene.life.record;
    let stands = life.decision == Decision::Accepted;
    let part = life.event.as_mut().ok_or_else(|| damaged("event"))?;
    check(Rule::EV8, stands && part.uptake == Uptake::Requested)?;
    part.uptake = part.uptake.apply(UptakeEvent::Decline)?;
    part.recorded = cx.now;
    let told = detail(&[("eventId", &part.event)]);
    life.revision = life.revision.saturating_add(1);
    judge::record(cx, &mut scene, &facts, "event-declined", told)?;
    let scene = scene.save(cx, false)?;
    Ok(show::view(&scene.life, true))
}
