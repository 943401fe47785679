//! `messages.send`: authorship, identity, times, policy, consent, budgets, and only then the mailbox. `messages.forward` and
//! `messages.sendBatch` go the same way.

use crate::authority::{
    budget::{Budget, charge},
    gate::{self, Gate},
    grant::Grant,
    task::{self, Task},
};
use crate::delivery::{
    life::{self, Binding, EventPart, Life},
    message::{self, Forwarding, Message},
    scene::Scene,
};
use crate::documents::{Document, Kind};
use crate::generated::limits;
use crate::generated::machines::{Decision, Delivery, DeliveryEvent, Outcome};
use crate::json::{Value, Writer};
use crate::kernel::{
    PrincipalKind, Query, Stored,
    audit::detail,
    boxes::{self, Box},
    context::Context,
    fields::Fields,
    flow::{Flow, Stop, damaged, not_visible},
    keys,
    names::{TaskName, only},
    records::{Party, Row},
};
use crate::rules::check;
use crate::{Rule, time};
use alloc::{string::String, vec::Vec};

/// The members of an envelope that the operation works with.
pub(crate) struct Envelope<'a> {
    text: &'a str,
    /// The digest of the whole.
    pub digest: &'a str,
    /// `messageId`.
    pub message: &'a str,
    /// Intent.
    pub intent: &'a str,
    /// Requested delivery mode.
    pub mode: &'a str,
    sender: Value<'a>,
    source: (&'a str, &'a str),
    target: (&'a str, &'a str),
    relationship: &'a str,
    freshness: Option<String>,
    /// `parentMessageId`.
    pub parent: Option<String>,
    hop_count: Option<i64>,
    created: i64,
    /// When it ends.
    pub expires: i64,
}

/// Where a message that is passed on comes from, if it may be; nothing for a message of its sender's own.
pub(crate) type Provenance = fn(&mut Context<'_>, &Envelope<'_>, &Party) -> Flow<Option<Forwarding>>;

/// `messages.send`.
pub(crate) fn send(cx: &mut Context<'_>) -> Flow<String> {
    let document = cx.shaped.document(Kind::Envelope, "envelope")?.ok_or_else(|| damaged("envelope"))?;
    let envelope = read(&document)?;
    author(cx, &envelope)?;
    prefetch(cx, &envelope)?;
    // Only when the facts are there: the digest is the dearest part of a round.
    if cx.owner_in("owner").is_none() {
        cx.content_digest(document.digest());
    }
    take(cx, envelope, document.digest(), |_, _, _| Ok(None))
}

/// A message whose facts were asked for: seen before, refused, or stored.
pub(crate) fn take(cx: &mut Context<'_>, envelope: Envelope<'_>, digest: &str, from: Provenance) -> Flow<String> {
    let envelope = Envelope { digest, ..envelope };
    cx.tell("message", envelope.message);
    cx.tell("sender", envelope.source.1);
    cx.tell("receiver", envelope.target.1);
    cx.tell("digest", digest);
    let sender = live_sender(cx, &envelope)?;
    let party = sender.record.party.clone();
    let sent = deliver(cx, &envelope, sender, from);
    if matches!(sent, Err(Stop::Needs)) {
        complete(cx, &envelope, &party);
    }
    sent
}

/// The answer for a message that was sent before; nothing where it was not.
pub(crate) fn seen(cx: &mut Context<'_>, envelope: Envelope<'_>, digest: &str) -> Flow<Option<String>> {
    let envelope = Envelope { digest, ..envelope };
    let sender = live_sender(cx, &envelope)?;
    known(cx, &envelope, &sender.record.party)
}

fn live_sender(cx: &mut Context<'_>, envelope: &Envelope<'_>) -> Flow<Row<Task>> {
    let sender = cx.own_task(source(cx, envelope))?;
    check(Rule::OP4, sender.record.live())?;
    Ok(sender)
}

/// The sending task, as the envelope and the params name it.
fn source<'n, 'c: 'n>(cx: &Context<'c>, envelope: &Envelope<'n>) -> TaskName<'n> {
    let (task, incarnation) = envelope.source;
    TaskName { task, incarnation, owner: cx.owner_in("owner") }
}

/// The message of a live sender task: seen before, refused, or stored.
fn deliver(cx: &mut Context<'_>, envelope: &Envelope<'_>, sender: Row<Task>, from: Provenance) -> Flow<String> {
    if let Some(known) = known(cx, envelope, &sender.record.party)? {
        return Ok(known);
    }
    times(envelope, cx.now)?;
    let (receiver, grant) = route(cx, envelope, &sender.record.party)?;
    let task = judge(cx, envelope, &sender, &receiver, grant.as_ref())?;
    let (hops, ancestors) = causality(cx, envelope, &sender.record.party)?;
    let forwarding = from(cx, envelope, &sender.record.party)?;
    check(Rule::FW6, forwarding.as_ref().is_none_or(|known| !known.passed(&receiver)))?;
    let told = received(envelope, grant.as_ref(), forwarding.as_ref());
    let taken = Taken { sender, receiver, task, grant, hops, ancestors, forwarding, event: None, asks: false };
    let mut scene = store(cx, envelope, taken)?;
    scene.record(cx, "message-durably-received", told)?;
    let scene = scene.save(cx, false)?;
    Ok(view(&scene.life.record, false))
}

/// A message that may be sent: its ends, under what grant, and where it comes from.
pub(crate) struct Taken {
    /// The sending task.
    pub sender: Row<Task>,
    /// For whom.
    pub receiver: Party,
    /// The receiving task, if it exists.
    pub task: Option<Row<Task>>,
    /// The grant.
    pub grant: Option<Row<Grant>>,
    /// Length of the causal chain before it.
    pub hops: i64,
    /// The rows of that chain.
    pub ancestors: Vec<String>,
    /// Where it was passed on from.
    pub forwarding: Option<Forwarding>,
    /// Where it is a cross-thread event.
    pub event: Option<EventPart>,
    /// Whether it asks for something to be done, though it is neither steer nor interrupt: it is counted as they are.
    pub asks: bool,
}

/// Counts a message against the budgets and puts it into the receiver's mailbox: everything but its life, its audit and
/// the boxes, which [`Scene::save`] writes.
pub(crate) fn store(cx: &mut Context<'_>, envelope: &Envelope<'_>, taken: Taken) -> Flow<Scene> {
    let Taken { sender, receiver, task, grant, hops, ancestors, forwarding, event, asks } = taken;
    let sender_box = cx.load_box(&sender.record.party.key(cx.tenant()))?;
    let mut receiver_box = cx.load_box(&receiver.key(cx.tenant()))?;
    spend(cx, envelope, asks, &receiver, &mut receiver_box.record)?;
    receiver_box.record.cursor = receiver_box.record.cursor.saturating_add(1);
    receiver_box.record.open = receiver_box.record.open.saturating_add(1);
    let place = (receiver_box.record.cursor, hops);
    let life = Life { event, ..life(cx, envelope, sender.record.party.clone(), receiver, grant.as_ref(), place)? };
    let id = Life::id(cx.tenant(), &life.message, &life.sender);
    let context = message::trace(&cx.request.context);
    let body = Message { envelope: envelope.text.into(), ancestors, forwarding, context, purged: false }.text();
    cx.write(message::COLLECTION, &id, 0, body, Vec::new());
    let life = Row { id, revision: 0, record: life };
    Ok(Scene { life, sender: Some(sender), receiver: task, grant, sender_box, receiver_box })
}

/// What the audit says of a message that came in.
fn received(envelope: &Envelope<'_>, grant: Option<&Row<Grant>>, forwarding: Option<&Forwarding>) -> String {
    let grant_id = grant.map_or("", |row| row.record.grant_id.as_str());
    let authority = if grant_id.is_empty() { "owner" } else { "grant" };
    let mut told = alloc::vec![("authority", authority), ("envelopeDigest", envelope.digest), ("grantId", grant_id)];
    told.extend(forwarding.map(|known| ("originDigest", known.digest.as_str())));
    told.extend(envelope.parent.as_deref().map(|parent| ("parentMessageId", parent)));
    detail(&told)
}

/// The members of a checked envelope, without its digest.
pub(crate) fn read<'a>(document: &'a Document<'_>) -> Flow<Envelope<'a>> {
    let value = document.value();
    let (sender, target, delivery) = (value.member("sender")?, value.member("target")?, value.member("delivery")?);
    let causality = value.get("causality");
    Ok(Envelope {
        text: value.raw(),
        digest: "",
        message: value.text("messageId")?,
        intent: value.text("intent")?,
        mode: delivery.text("requestedMode")?,
        sender,
        source: (sender.text("taskId")?, sender.text("incarnationId")?),
        target: (target.text("taskId")?, target.text("incarnationId")?),
        relationship: value.text("relationshipId")?,
        freshness: value.maybe_raw("freshness"),
        parent: causality.and_then(|causality| causality.maybe_text("parentMessageId")),
        hop_count: causality.and_then(|causality| causality.maybe_int("hopCount")),
        created: time::parse(value.text("createdAt")?)?,
        expires: time::parse(value.text("expiresAt")?)?,
    })
}

/// The authenticated caller is who the envelope says wrote it.
pub(crate) fn author(cx: &Context<'_>, envelope: &Envelope<'_>) -> Flow<()> {
    let principal = cx.principal;
    let actor = envelope.sender.text("actorType")?;
    match principal.kind {
        PrincipalKind::Task => {
            check(Rule::MS1, actor == "agent")?;
            let (task, incarnation) = envelope.source;
            check(Rule::MS2, task == principal.id && Some(incarnation) == principal.incarnation.as_deref())?;
        }
        PrincipalKind::User | PrincipalKind::Policy => {
            check(Rule::MS1, matches!(actor, "user" | "policy"))?;
            let id = envelope.sender.maybe_text("actorId");
            check(Rule::MS2, actor == principal.kind.name() && id.as_ref() == Some(&principal.id))?;
        }
        PrincipalKind::Operator | PrincipalKind::Host => check(Rule::MS1, false)?,
    }
    Ok(())
}

/// Asks for everything in one round: every reference carries the incarnation that the rows are keyed by.
pub(crate) fn prefetch(cx: &mut Context<'_>, envelope: &Envelope<'_>) -> Flow<()> {
    let tenant = cx.tenant();
    let (name, (target, target_incarnation)) = (source(cx, envelope), envelope.target);
    let TaskName { task, incarnation, owner } = name;
    let mut queries = alloc::vec![
        Task::find(tenant, target, target_incarnation),
        Grant::find_route(tenant, target_incarnation, incarnation),
        Box::find_incarnation(tenant, target_incarnation),
        Budget::find(&cx.scope()),
    ];
    match cx.own_party(name) {
        Some(own) if owner.is_some() || cx.principal.kind != PrincipalKind::Policy => {
            queries.push(keys::row(task::COLLECTION, &own.key(tenant)));
            queries.push(keys::row(life::COLLECTION, &Life::id(tenant, envelope.message, &own)));
            queries.push(Box::find(&own.key(tenant)));
        }
        _ => {
            queries.push(Task::find(tenant, task, incarnation));
            queries.push(Life::find(tenant, envelope.message, incarnation));
            queries.push(Box::find_incarnation(tenant, incarnation));
        }
    }
    if let Some(parent) = &envelope.parent {
        queries.extend(own_parents(tenant, parent, incarnation, envelope.target.1));
    }
    cx.fetch(&queries.iter().collect::<Vec<_>>())
}

/// Asks together for all that the first answers lead to: the parent's chain, and exact rows where other scopes use the
/// same ids.
fn complete(cx: &mut Context<'_>, envelope: &Envelope<'_>, sender: &Party) {
    let tenant = cx.tenant();
    // Nothing that was answered is read while something is missing: what is, is set aside, and asked for as well.
    let mut missing = core::mem::take(&mut cx.missing);
    let parent = parent(cx, envelope, sender);
    missing.append(&mut cx.missing);
    let route = route(cx, envelope, sender);
    missing.append(&mut cx.missing);
    cx.want(life::COLLECTION, &Life::id(tenant, envelope.message, sender));
    cx.want(boxes::COLLECTION, &sender.key(tenant));
    if let Ok(Some(parent)) = &parent {
        cx.want(message::COLLECTION, &parent.id);
    }
    if let Ok((receiver, _)) = route {
        cx.want(task::COLLECTION, &receiver.key(tenant));
        cx.want(boxes::COLLECTION, &receiver.key(tenant));
    }
    for query in &missing {
        cx.hint(query);
    }
}

/// The answer for a message that is there already: the same content is a replay, other content a conflict.
fn known(cx: &mut Context<'_>, envelope: &Envelope<'_>, sender: &Party) -> Flow<Option<String>> {
    let replayed = cx.replayed()?;
    let id = Life::id(cx.tenant(), envelope.message, sender);
    let Some(row) = cx.lookup(life::COLLECTION, &id)? else { return Ok(None) };
    let life = Life::read(row)?;
    check(Rule::MS4, life.record.digest == envelope.digest)?;
    if !replayed {
        cx.resource = Some((life.id.clone(), life.record.revision));
    }
    Ok(Some(view(&life.record, true)))
}

/// Not expired, not from the future, and no longer than its intent may live.
fn times(envelope: &Envelope<'_>, now: i64) -> Flow<()> {
    check(Rule::MS3, now < envelope.expires)?;
    check(Rule::MS5, envelope.created <= now.saturating_add(limits::FUTURE_SKEW_MS_MAX))?;
    let urgent = gate::urgent(envelope.intent);
    let most = if urgent { limits::STEER_LIFETIME_MS_MAX } else { limits::MESSAGE_LIFETIME_MS_MAX };
    check(Rule::MS6, envelope.expires.saturating_sub(envelope.created.min(now)) <= most)?;
    Ok(())
}

/// The receiver, and the current grant of the relationship. Without one, only an owner of both ends gets further; an
/// unknown recipient, a recipient without a grant and two recipients of the same ids look the same.
fn route(cx: &mut Context<'_>, envelope: &Envelope<'_>, sender: &Party) -> Flow<(Party, Option<Row<Grant>>)> {
    let ((target, incarnation), source) = (envelope.target, sender.incarnation.as_str());
    let page = cx.page(&Grant::find_route(cx.tenant(), incarnation, source))?;
    let mut rows = page.rows.as_slice();
    if page.more {
        rows = cx.rows(&Grant::find_relationship(cx.tenant(), incarnation, source, envelope.relationship))?;
    }
    let mut grants = rows.iter().map(Grant::read).collect::<Flow<Vec<_>>>()?;
    grants.retain(|Row { record, .. }| {
        record.relationship == envelope.relationship
            && record.source == *sender
            && record.target.is(target, incarnation)
    });
    if grants.iter().any(|row| row.record.current(cx.now)) {
        grants.retain(|row| row.record.current(cx.now));
    }
    if let Ok(grant) = only(grants, None, |row| &row.record.target.owner) {
        return Ok((grant.record.target.clone(), Some(grant)));
    }
    let owner = sender.owner.clone();
    Ok((Party { task: target.into(), incarnation: incarnation.into(), owner }, None))
}

/// Policy and consent; the receiver's task.
fn judge(
    cx: &mut Context<'_>,
    envelope: &Envelope<'_>,
    sender: &Row<Task>,
    receiver: &Party,
    grant: Option<&Row<Grant>>,
) -> Flow<Option<Row<Task>>> {
    let task = cx.lookup(task::COLLECTION, &receiver.key(cx.tenant()))?.map(Task::read).transpose()?;
    cx.disclose = grant.is_some();
    Gate {
        sender: Some(&sender.record),
        receiver: task.as_ref().map(|row| &row.record),
        grant,
        event: false,
        owner: grant.is_none() && owns_both(cx, &sender.record.party, receiver),
        intent: envelope.intent,
        mode: envelope.mode,
        freshness: envelope.freshness.as_deref(),
        now: cx.now,
    }
    .judge()?;
    if let Some(Row { record: task, .. }) = &task {
        check(Rule::CN1, !task.mute)?;
        let disturbs = gate::urgent(envelope.intent) || envelope.mode == "wake-idle";
        check(Rule::CN2, !disturbs || task.quiet_until.is_none_or(|until| cx.now >= until))?;
    }
    Ok(task)
}

/// Whoever owns both ends may act without a grant, and only as itself (settled point 13).
fn owns_both(cx: &Context<'_>, sender: &Party, receiver: &Party) -> bool {
    let owner = cx.owner_scope();
    cx.principal.kind == PrincipalKind::User && sender.owner == owner && receiver.owner == owner
}

/// The message that this one answers, if it names one that its sender sent or received. It is looked for first among what
/// the two of them sent, so that no third party can hide it behind messages of the same id.
fn parent(cx: &mut Context<'_>, envelope: &Envelope<'_>, sender: &Party) -> Flow<Option<Row<Life>>> {
    let Some(parent) = &envelope.parent else { return Ok(None) };
    for query in own_parents(cx.tenant(), parent, &sender.incarnation, envelope.target.1) {
        if let Some(life) = own(cx.crowd(&query)?, sender)? {
            return Ok(Some(life));
        }
    }
    let query = Life::find_message(cx.tenant(), parent);
    own(cx.crowd(&query)?, sender)
}

/// The lives among which most parents are: what the sender sent, and what the receiver did.
fn own_parents(tenant: &str, parent: &str, sender: &str, receiver: &str) -> [Query; 2] {
    [receiver, sender].map(|incarnation| Life::find(tenant, parent, incarnation))
}

/// The first of `rows` that `party` sent or received.
fn own(rows: &[Stored], party: &Party) -> Flow<Option<Row<Life>>> {
    for row in rows {
        let life = Life::read(row)?;
        if life.record.sender == *party || life.record.receiver == *party {
            return Ok(Some(life));
        }
    }
    Ok(None)
}

/// The place in the causal chain.
fn causality(cx: &mut Context<'_>, envelope: &Envelope<'_>, sender: &Party) -> Flow<(i64, Vec<String>)> {
    if envelope.parent.is_none() {
        check(Rule::MS8, envelope.hop_count.is_none_or(|hops| hops == 0))?;
        return Ok((0, Vec::new()));
    }
    let parent = parent(cx, envelope, sender)?.ok_or_else(not_visible)?;
    let hops = parent.record.hops.saturating_add(1);
    check(Rule::MS8, envelope.hop_count.is_none_or(|claimed| claimed == hops))?;
    check(Rule::BU6, hops <= limits::HOPS_MAX)?;
    let row = cx.lookup(message::COLLECTION, &parent.id)?;
    let mut ancestors = row.map(Message::read).transpose()?.map(|message| message.record.ancestors).unwrap_or_default();
    ancestors.push(parent.id);
    Ok((hops, ancestors))
}

/// Counts the message against the caller's and the receiver's budgets, before anything is stored.
fn spend(cx: &mut Context<'_>, envelope: &Envelope<'_>, asks: bool, receiver: &Party, mailbox: &mut Box) -> Flow<()> {
    check(Rule::BU1, mailbox.open < limits::MAILBOX_OPEN_MAX)?;
    let urgent = gate::urgent(envelope.intent);
    charge(cx, urgent || asks, envelope.parent.is_none(), &receiver.key(cx.tenant()))?;
    if urgent {
        check(Rule::BU5, mailbox.interrupt(cx.now) <= limits::INTERRUPTIONS_MAX)?;
    }
    Ok(())
}

fn life(
    cx: &Context<'_>,
    envelope: &Envelope<'_>,
    sender: Party,
    receiver: Party,
    grant: Option<&Row<Grant>>,
    (cursor, hops): (i64, i64),
) -> Flow<Life> {
    Ok(Life {
        message: envelope.message.into(),
        sender,
        receiver,
        relationship: envelope.relationship.into(),
        intent: envelope.intent.into(),
        mode: envelope.mode.into(),
        freshness: envelope.freshness.clone(),
        expires: envelope.expires,
        digest: envelope.digest.into(),
        size: i64::try_from(envelope.text.len()).ok(),
        cursor,
        hops,
        binding: Binding::to(grant),
        revision: 0,
        // The coordinator takes it and it is in the mailbox, in one commit.
        delivery: Delivery::INITIAL.apply(DeliveryEvent::Persist)?,
        decision: Decision::Pending,
        reason: None,
        outcome: Outcome::NotObserved,
        failure: None,
        updated: cx.now,
        not_before: None,
        claim: None,
        attempt: None,
        past: Vec::new(),
        admission: None,
        admitted: None,
        purged: None,
        pending_relabel: None,
        event: None,
        interruption: None,
        events: 0,
    })
}

fn view(life: &Life, replay: bool) -> String {
    let mut w = Writer::new();
    w.begin_object();
    w.member_bool("replay", replay);
    w.member_str("envelopeDigest", &life.digest);
    w.key("disposition");
    life.view(&mut w);
    w.end_object();
    w.finish()
}
