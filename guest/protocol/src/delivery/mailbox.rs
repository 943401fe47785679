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
    pages::{PAGE_BYTES, patience, scan},
    records,
};
use crate::rules::check;
use crate::{Rule, time};
use alloc::{string::String, vec::Vec};

/// `mailbox.listPending`: undecided messages in their order. Messages that can never be acted on any more are left
/// out; what is only deferred is shown with its time, so that a cursor never passes over it. A page ends at so many
/// messages or bytes, and says whether there is more behind it, shown or not: where everything that was looked at is left
/// out, it is empty and there may still be more. With nothing to show and nothing behind it the step waits, where the
/// caller has patience.
pub(crate) fn list_pending(cx: &mut Context<'_>) -> Flow<String> {
    let name = TaskName::read(cx.params.member("receiver")?, None)?;
    let after = cx.params.maybe_int("afterCursor").unwrap_or(0);
    let limit = cx.params.maybe_int("limit").unwrap_or(50).clamp(1, limits::PAGE_MAX);
    let most = u32::try_from(limit).unwrap_or(1);
    let from = after.saturating_add(1);
    let looked = scan(most);
    if let Some(own) = cx.own_party(name) {
        cx.hint(&Life::find_open(cx.tenant(), &own, from, looked));
    }
    let own = cx.exact_task(name)?;
    check(Rule::OP4, own.record.live())?;
    let found = cx.page(&Life::find_open(cx.tenant(), &own.record.party, from, looked))?;
    let lives = found.rows.iter().map(|row| Ok(Life::read(row)?.record)).collect::<Flow<Vec<_>>>()?;
    let Page { shown, next, more } = page(cx, &own.record, &lives, most)?;
    let (next, more) = (next.unwrap_or(after), more || found.more);
    if let Some(until) = patience(cx).filter(|_| !more && shown.is_empty()) {
        return Err(Stop::Wait([own.id].into(), until));
    }
    let mut w = Writer::new();
    w.begin_object();
    w.key("items");
    w.begin_array();
    for life in shown {
        let id = Life::id(cx.tenant(), &life.message, &life.sender);
        let message = cx.lookup(message::COLLECTION, &id)?.ok_or_else(|| damaged("message"))?;
        item(&mut w, life, &Message::read(message)?.record, cx.now);
    }
    w.end_array();
    w.member_int("nextCursor", next);
    w.member_bool("hasMore", more);
    w.end_object();
    Ok(w.finish())
}

/// What a page shows of the lives that were looked at, where the next one starts, and whether some of them are left.
struct Page<'l> {
    shown: Vec<&'l Life>,
    next: Option<i64>,
    more: bool,
}

/// The first lives whose messages their receiver may still act on, up to `most` and up to the bytes of a page. What is
/// needed to judge them is asked for with the messages that come if nothing is left out, so that a page takes one round,
/// and a second one where something is.
fn page<'l>(cx: &mut Context<'_>, receiver: &Task, lives: &'l [Life], most: u32) -> Flow<Page<'l>> {
    let tenant = cx.tenant();
    let fresh = |life: &&Life| cx.now < life.expires;
    for life in fill(lives.iter().filter(fresh), most).0 {
        cx.want(message::COLLECTION, &Life::id(tenant, &life.message, &life.sender));
    }
    let mut judged = Vec::new();
    for life in lives {
        judged.push(actionable(cx, receiver, life));
    }
    let judged = judged.into_iter().collect::<Flow<Vec<_>>>()?;
    let actionable = lives.iter().zip(&judged).filter(|(_, actionable)| **actionable).map(|(life, _)| life);
    let (shown, more) = fill(actionable, most);
    for life in &shown {
        cx.want(message::COLLECTION, &Life::id(tenant, &life.message, &life.sender));
    }
    cx.fetch(&[])?;
    let last = if more { shown.last().copied() } else { lives.last() };
    Ok(Page { next: last.map(|life| life.cursor), shown, more })
}

/// As many lives as a page takes, and whether there are more.
fn fill<'l>(lives: impl Iterator<Item = &'l Life>, most: u32) -> (Vec<&'l Life>, bool) {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let (mut taken, mut bytes) = (Vec::new(), 0_i64);
    for life in lives {
        bytes = bytes.saturating_add(life.size.unwrap_or(0));
        if taken.len() == most || (bytes > PAGE_BYTES && !taken.is_empty()) {
            return (taken, true);
        }
        taken.push(life);
    }
    (taken, false)
}

/// Whether the receiver of a message may still act on it.
fn actionable(cx: &mut Context<'_>, receiver: &Task, life: &Life) -> Flow<bool> {
    if cx.now >= life.expires {
        return Ok(false);
    }
    let grant = &life.binding.grant;
    let sender = cx.lookup(task::COLLECTION, &life.sender.key(cx.tenant()));
    let granted = if grant.is_empty() { Ok(None) } else { cx.lookup(grant::COLLECTION, grant) };
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
    Ok(gate.judge().is_ok())
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
