//! What threads and events have in the operations of other domains: a task's incarnation is rotated, a message that is
//! an event is about to be decided or handed over.

use crate::Rule;
use crate::authority::task::Task;
use crate::delivery::scene::Scene;
use crate::events::{
    thread::{Thread, ThreadName},
    threads,
};
use crate::generated::machines::Verification;
use crate::kernel::{
    Query, Stored, context::Context, fields::Fields, flow::Flow, guard::Moment, records::Party, records::Row,
    streams::Streams,
};
use crate::rules::check;

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
