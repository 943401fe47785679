//! `mailbox.listPending`, `mailbox.claim`, `mailbox.ack`: one worker at a time, fenced.

use crate::authority::{
    gate::Gate,
    grant::{self, Grant},
    task::{self, Task},
};
use crate::delivery::{
    guard::{self, Guard},
    life::{Claim, Life, disposition},
    message::{self, Message},
    respond::{Choice, decide},
    scene::{Scene, with_message},
};
use crate::digest::sha256_text;
use crate::generated::limits;
use crate::generated::machines::{self, ClaimEvent};
use crate::json::Writer;
use crate::kernel::{
    audit::detail,
    context::Context,
    fields::Fields,
    flow::{Flow, Stop, damaged},
    guard::Moment,
    names::TaskName,
    pages::patience,
    records,
};
use crate::rules::check;
use crate::{Rule, time};
use alloc::{string::String, vec::Vec};

/// `mailbox.listPending`: undecided messages in their order. Messages that can never be acted on any more are left
/// out; what is only deferred is shown with its time, so that a cursor never passes over it. With nothing to show and
/// nothing behind it the step waits, where the caller has patience.
pub(crate) fn list_pending(cx: &mut Context<'_>) -> Flow<String> {
    let name = TaskName::read(cx.params.member("receiver")?, None)?;
    let after = cx.params.maybe_int("afterCursor").unwrap_or(0);
    let limit = cx.params.maybe_int("limit").unwrap_or(50).clamp(1, limits::PAGE_MAX);
    let most = u32::try_from(limit).unwrap_or(1);
    let from = after.saturating_add(1);
    if let Some(own) = cx.own_party(name) {
        cx.hint(&Life::find_open(cx.tenant(), &own, from, most));
    }
    let own = cx.exact_task(name)?;
    check(Rule::OP4, own.record.live())?;
    let page = cx.page(&Life::find_open(cx.tenant(), &own.record.party, from, most))?;
    let mut lives = Vec::new();
    for row in &page.rows {
        lives.push(Life::read(row)?.record);
    }
    let next = lives.last().map_or(after, |life| life.cursor);
    let items = lives.iter().map(|life| pending(cx, &own.record, life)).collect::<Vec<_>>();
    let items = items.into_iter().collect::<Flow<Vec<_>>>()?;
    if let Some(until) = patience(cx).filter(|_| !page.more && items.iter().all(Option::is_none)) {
        return Err(Stop::Wait([own.id].into(), until));
    }
    let mut w = Writer::new();
    w.begin_object();
    w.key("items");
    w.begin_array();
    for (life, message) in lives.iter().zip(items) {
        if let Some(message) = message {
            item(&mut w, life, &message, cx.now);
        }
    }
    w.end_array();
    w.member_int("nextCursor", next);
    w.end_object();
    Ok(w.finish())
}

/// The text of a message that its receiver may still act on. Everything is asked for before the first answer, so
/// that a whole page takes one round.
fn pending(cx: &mut Context<'_>, receiver: &Task, life: &Life) -> Flow<Option<Message>> {
    let (tenant, grant) = (cx.tenant(), &life.binding.grant);
    let sender = cx.lookup(task::COLLECTION, &life.sender.key(tenant));
    let granted = if grant.is_empty() { Ok(None) } else { cx.lookup(grant::COLLECTION, grant) };
    let message = cx.lookup(message::COLLECTION, &Life::id(tenant, &life.message, &life.sender));
    let sender = sender?.map(Task::read).transpose()?;
    let granted = granted?.map(Grant::read).transpose()?;
    let gate = Gate {
        sender: sender.as_ref().map(|row| &row.record),
        receiver: Some(receiver),
        grant: granted.as_ref(),
        owner: grant.is_empty(),
        event: life.event.is_some(),
        intent: &life.intent,
        mode: &life.mode,
        freshness: life.freshness.as_deref(),
        now: cx.now,
    };
    if cx.now >= life.expires || gate.judge().is_err() {
        return Ok(None);
    }
    let message = message?.ok_or_else(|| damaged("message"))?;
    Ok(Some(Message::read(message)?.record))
}

fn item(w: &mut Writer, life: &Life, message: &Message, now: i64) {
    w.begin_object();
    w.member_int("cursor", life.cursor);
    w.member_raw("envelope", &message.envelope);
    records::put_raw(w, "forwarding", message.forwarding.as_ref().map(|known| known.view()).as_deref());
    records::put_raw(w, "context", message.context.as_deref());
    w.member_str("owner", &life.sender.owner);
    w.key("disposition");
    life.view(w);
    w.key("claim");
    match life.claim.as_ref().filter(|claim| claim.live(now)) {
        None => w.null(),
        Some(claim) => {
            w.begin_object();
            w.member_str("state", claim.state.name());
            w.member_str("expiresAt", &time::format(claim.until));
            w.end_object();
        }
    }
    records::put_text(w, "notBefore", life.not_before.map(time::format).as_deref());
    w.end_object();
}

/// `mailbox.claim`.
pub(crate) fn claim(cx: &mut Context<'_>, guards: &[Guard]) -> Flow<String> {
    let name = cx.message_in_params()?;
    cx.hint(&Message::find(cx.tenant(), name));
    let (mut scene, role) = cx.scene_with(name, with_message)?;
    scene.receiver_acts(role)?;
    let replayed = cx.replayed()?;
    guard::ask(cx, guards, Moment::Claim, &scene)?;
    scene.unexpired(cx.now)?;
    scene.not_busy(cx)?;
    let context = scene.message(cx)?.context;
    let worker = String::from(cx.principal.worker.as_deref().unwrap_or(""));
    if let Some(claim) = scene.life.record.claim.as_ref().filter(|claim| claim.live(cx.now) && claim.worker == worker) {
        cx.resource = Some((scene.life.id.clone(), scene.life.record.revision));
        return Ok(view(claim, &scene.life.record, context.as_deref(), true));
    }
    check(Rule::MB3, !replayed)?;
    scene.at_revision(cx)?;
    let life = &mut scene.life.record;
    check(Rule::MB4, life.open())?;
    check(Rule::MB5, life.not_before.is_none_or(|time| cx.now >= time))?;
    let (state, fence) = life.claim.as_ref().map_or((machines::Claim::Free, 0), |claim| (claim.state, claim.fence));
    let event = if state == machines::Claim::Claimed { ClaimEvent::TakeOver } else { ClaimEvent::Claim };
    let claim = Claim {
        state: state.apply(event)?,
        worker,
        token: cx.secret("claim"),
        fence: fence.saturating_add(1),
        until: life.expires.min(cx.now.saturating_add(limits::CLAIM_LEASE_MS)),
    };
    let answer = view(&claim, life, context.as_deref(), false);
    let told = detail(&[("claimTokenDigest", &sha256_text(claim.token.as_bytes())), ("event", event.name())]);
    life.claim = Some(claim);
    scene.record(cx, "mailbox-claimed", told)?;
    scene.save(cx, true)?;
    Ok(answer)
}

fn view(claim: &Claim, life: &Life, context: Option<&str>, replay: bool) -> String {
    let mut w = Writer::new();
    w.begin_object();
    w.member_bool("replay", replay);
    w.member_str("claimToken", &claim.token);
    w.member_int("expectedRevision", life.revision);
    w.member_str("owner", &life.sender.owner);
    w.member_str("expiresAt", &time::format(claim.until));
    w.member_int("fence", claim.fence);
    records::put_raw(&mut w, "context", context);
    w.end_object();
    w.finish()
}

/// `mailbox.ack`: decides under the claim.
pub(crate) fn ack(cx: &mut Context<'_>, guards: &[Guard]) -> Flow<String> {
    let name = cx.message_in_params()?;
    let (scene, role) = cx.scene(name)?;
    scene.receiver_acts(role)?;
    if cx.replayed()? {
        return Ok(disposition(&scene.life));
    }
    let scene = acknowledge(cx, guards, scene)?;
    let scene = scene.save(cx, true)?;
    Ok(disposition(&scene.life))
}

/// The part of `mailbox.ack` that `adapter.acceptAndBegin` shares.
pub(crate) fn acknowledge(cx: &mut Context<'_>, guards: &[Guard], mut scene: Scene) -> Flow<Scene> {
    scene.not_busy(cx)?;
    let token = cx.params.text("claimToken")?;
    let worker = cx.principal.worker.as_deref().unwrap_or("");
    let holds =
        |claim: &&Claim| claim.state == machines::Claim::Claimed && claim.token == token && claim.worker == worker;
    let claim = scene.life.record.claim.as_ref().filter(holds);
    check(Rule::MB2, claim.is_some())?;
    check(Rule::MB3, claim.is_some_and(|claim| claim.live(cx.now)))?;
    scene.at_revision(cx)?;
    let choice = Choice::read(cx, "accepted")?;
    decide(cx, guards, &mut scene, &choice)?;
    Ok(scene)
}
