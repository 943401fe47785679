//! What threads and events have in the operations of other domains: a task's incarnation is rotated, a message that is
//! an event is about to be decided or handed over.

use crate::Rule;
use crate::authority::task::Task;
use crate::delivery::{
    hooks,
    life::{self, Life},
    scene::Scene,
};
use crate::events::{
    thread::{Thread, ThreadName},
    threads,
};
use crate::generated::machines::Verification;
use crate::kernel::{
    Query, Stored, audit::detail, context::Context, fields::Fields, flow::Flow, guard::Moment, records::Party,
    records::Row, streams::Streams,
};
use crate::rules::check;
use alloc::vec::Vec;

/// The thread of a task that is rotated.
pub(crate) fn thread(tenant: &str, task: &Party, _: i64) -> Query {
    Thread::find_row(tenant, &ThreadName { thread: task.task.clone(), owner: task.owner.clone() })
}

/// A plain rotation: the thread is that of the next incarnation, without the label of the one before, and events of
/// before are over. A page that follows finds it done.
pub(crate) fn rotated(cx: &mut Context<'_>, _: &mut Streams, previous: &Row<Task>, rows: &[Stored]) -> Flow<i64> {
    let Some(row) = rows.first() else { return Ok(0) };
    let mut row = Thread::read(row)?;
    let next = cx.params.member("next")?;
    if row.record.incarnation != previous.record.party.incarnation {
        return Ok(0);
    }
    let thread = &mut row.record;
    thread.incarnation = next.text("incarnationId")?.into();
    thread.continuation = None;
    thread.epoch = thread.epoch.saturating_add(1);
    thread.revision = thread.revision.saturating_add(1);
    let resource = cx.resource.take();
    threads::write(cx, &row);
    cx.resource = resource;
    Ok(0)
}

/// An incarnation is over, and its thread goes on: undecided events move to the next incarnation, in their order and with
/// their numbers; plain mail is marked stale.
pub(crate) fn resumed(cx: &mut Context<'_>, streams: &mut Streams, task: &Row<Task>, rows: &[Stored]) -> Flow<i64> {
    let next =
        Party { incarnation: cx.params.member("next")?.text("incarnationId")?.into(), ..task.record.party.clone() };
    let mut lives = rows.iter().map(Life::read).collect::<Flow<Vec<_>>>()?;
    let mut concerned = lives.iter().map(|life| life.record.sender.key(cx.tenant())).collect::<Vec<_>>();
    concerned.extend([task.id.clone(), next.key(cx.tenant())]);
    streams.load(cx, concerned)?;
    let plain: Vec<_> = rows.iter().zip(&lives).filter(|(_, life)| life.record.event.is_none()).collect();
    let plain: Vec<Stored> = plain.into_iter().map(|(row, _)| row.clone()).collect();
    let stale = hooks::rotated(cx, streams, task, &plain)?;
    lives.retain(|life| life.record.event.is_some());
    let moved = i64::try_from(lives.len()).unwrap_or(i64::MAX);
    for life in lives {
        go_along(cx, streams, life, &next)?;
    }
    Ok(stale.saturating_add(moved))
}

/// Moves an undecided event to the next incarnation of its receiver, whose box is loaded as well.
fn go_along(cx: &mut Context<'_>, streams: &mut Streams, mut row: Row<Life>, next: &Party) -> Flow<()> {
    let (sender, before, after) =
        (row.record.sender.key(cx.tenant()), row.record.receiver.key(cx.tenant()), next.key(cx.tenant()));
    row.record.receiver = next.clone();
    row.record.lapse()?;
    row.record.revision = row.record.revision.saturating_add(1);
    row.record.updated = cx.now;
    let left = streams.get(&before)?;
    left.open = left.open.saturating_sub(1);
    let taken = streams.get(&after)?;
    taken.open = taken.open.saturating_add(1);
    let told = detail(&[("nextIncarnationId", &next.incarnation)]);
    streams.record(cx, &[&sender, &after], &row.event("event-moved", told))?;
    let life = &row.record;
    cx.write(life::COLLECTION, &row.id, row.revision, life.text(), life.entries(cx.tenant(), &cx.names));
    Ok(())
}

/// Rule EV-6: plain operations reject and put off an event, and show one that was accepted; they do nothing else with it.
pub(crate) fn guard(_: &mut Context<'_>, moment: Moment, scene: &Scene) -> Flow<()> {
    let Some(event) = &scene.life.record.event else { return Ok(()) };
    let free = match moment {
        Moment::Defer | Moment::Admit => true,
        Moment::Claim => event.verification != Verification::Examining,
        Moment::Acknowledge | Moment::Prepare | Moment::Begin => false,
    };
    Ok(check(Rule::EV6, free)?)
}
