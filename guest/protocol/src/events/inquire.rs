//! `inquiries.listDue`, `inquiries.begin`, `inquiries.record`: what the host is asked to look at, and what it found. The
//! index makes it certain that somebody asks; asking twice harms nobody.

use crate::Rule;
use crate::delivery::{
    life::{self, EventPart, Inquiry, Life},
    scene::{Scene, with_message},
};
use crate::documents::{self, Kind};
use crate::events::{
    asking::{next, put},
    event::Event,
    judge::{self, Choice, Fact},
    receive,
    resolvers::{self, Resolver},
    show,
};
use crate::generated::limits;
use crate::generated::machines::Verification;
use crate::json::{self, Writer};
use crate::kernel::{
    Query,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged},
    keys,
    names::only,
    pages::page,
    records::Row,
};
use crate::rules::check;
use alloc::{string::String, vec::Vec};

/// The events that are examined and whose inquiry may be asked by `now`.
fn find_due(tenant: &str, now: i64, limit: u32) -> Query {
    keys::numbered(life::COLLECTION, "inquiry", &[tenant], 0, Some(now.saturating_add(1)), limit)
}

/// `inquiries.listDue`.
pub(crate) fn list_due(cx: &mut Context<'_>) -> Flow<String> {
    let limit = page(cx).1;
    let mut w = Writer::new();
    w.begin_object();
    w.key("items");
    w.begin_array();
    for row in cx.rows(&find_due(cx.tenant(), cx.now, limit))? {
        let life = Life::read(row)?;
        if let Some(inquiry) = life.record.event.as_ref().and_then(|part| part.inquiry.as_ref()) {
            put(&mut w, &life, inquiry);
        }
    }
    w.end_array();
    w.end_object();
    Ok(w.finish())
}

/// The event that the params name, whose inquiry stands. The resolver and what the stages need are asked for with it.
fn standing(cx: &mut Context<'_>) -> Flow<Scene> {
    let name = cx.message_in_params()?;
    let query = Life::find(cx.tenant(), name.message, name.sender);
    let lives = cx.crowd(&query)?.iter().map(Life::read).collect::<Flow<Vec<_>>>()?;
    let life = only(lives, name.owner, |life| &life.record.sender.owner)?;
    for (collection, id) in receive::rows(cx, &life.record) {
        cx.want(collection, &id);
    }
    if let Some(inquiry) = life.record.event.as_ref().and_then(|part| part.inquiry.as_ref()) {
        let id = Resolver::id(cx.tenant(), &inquiry.resolver);
        cx.want(resolvers::COLLECTION, &id);
    }
    Ok(cx.scene_of(life, with_message)?.0)
}

/// Rule IQ-3: the inquiry that the params answer is the one that stands.
fn answered(cx: &Context<'_>, part: Option<&EventPart>) -> Flow<Inquiry> {
    let fence = cx.params.int("fence")?;
    let examined = part.filter(|part| part.verification == Verification::Examining);
    let inquiry = examined.and_then(|part| part.inquiry.clone());
    check(Rule::IQ3, inquiry.as_ref().is_some_and(|inquiry| inquiry.fence == fence))?;
    inquiry.or_else(|| part.and_then(|part| part.inquiry.clone())).ok_or_else(|| damaged("inquiry"))
}

/// `inquiries.begin`: counts one more asking, and says when the next one may follow; where it was asked often enough, the
/// event is deferred.
pub(crate) fn begin(cx: &mut Context<'_>) -> Flow<String> {
    let mut scene = standing(cx)?;
    if cx.replayed()? {
        return Ok(show::view(&scene.life, true));
    }
    let inquiry = answered(cx, scene.life.record.event.as_ref())?;
    if inquiry.asked >= limits::INQUIRY_ATTEMPTS_MAX {
        return settle(cx, scene, Fact::Unreachable);
    }
    if let Some(known) = scene.life.record.event.as_mut().and_then(|part| part.inquiry.as_mut()) {
        known.asked = known.asked.saturating_add(1);
        known.next = next(cx.now, known.asked);
    }
    let scene = scene_saved(cx, &mut scene)?;
    Ok(show::view(scene, true))
}

/// Writes an event of which nothing but the inquiry changed: no step, no audit record.
fn scene_saved<'s>(cx: &mut Context<'_>, scene: &'s mut Scene) -> Flow<&'s Row<Life>> {
    let life = &mut scene.life;
    let entries = life.record.entries(cx.tenant(), &cx.names);
    cx.write(life::COLLECTION, &life.id, life.revision, life.record.text(), entries);
    cx.resource = Some((life.id.clone(), life.record.revision));
    Ok(life)
}

/// `inquiries.record`: a fact about the outside, which decides the event. Nothing that was found is kept.
pub(crate) fn record(cx: &mut Context<'_>) -> Flow<String> {
    let mut scene = standing(cx)?;
    if cx.replayed()? {
        return Ok(show::view(&scene.life, true));
    }
    let inquiry = answered(cx, scene.life.record.event.as_ref())?;
    let now = Resolver::id(cx.tenant(), &inquiry.resolver);
    let declared = cx.lookup(resolvers::COLLECTION, &now)?.map(Resolver::read).transpose()?;
    let digest = cx.params.text("resolverDigest")?;
    let same = digest == inquiry.resolver_digest && declared.is_some_and(|row| row.record.digest == digest);
    check(Rule::IQ4, same)?;
    let fact = match cx.params.text("result")? {
        "found" => found(cx, &scene, &inquiry)?,
        "unreachable" => {
            let scene = scene_saved(cx, &mut scene)?;
            return Ok(show::view(scene, true));
        }
        _ => Fact::Absent,
    };
    settle(cx, scene, fact)
}

/// Whether what was found says the same as the payload.
fn found(cx: &mut Context<'_>, scene: &Scene, inquiry: &Inquiry) -> Flow<Fact> {
    use crate::events::state::at;
    let message = scene.message(cx)?;
    let envelope = json::parse(&message.envelope)?;
    let content = json::parse(envelope.root().text("content")?)?;
    let wanted = content.root().get("payload").and_then(|payload| at(payload, &inquiry.payload));
    let value = cx.params.get("value");
    let same = wanted.is_some_and(|wanted| value.is_some_and(|value| value.same(wanted)));
    Ok(match (same, cx.now < inquiry.visible_at) {
        (true, _) => Fact::Met,
        (false, true) => Fact::Absent,
        (false, false) => Fact::Contrary,
    })
}

/// Decides an event by a fact.
fn settle(cx: &mut Context<'_>, mut scene: Scene, fact: Fact) -> Flow<String> {
    let facts = receive::facts(cx, &scene)?;
    let message = scene.message(cx)?;
    let envelope = json::parse(&message.envelope)?;
    let document = documents::parse(Kind::CrossThreadEvent, envelope.root().text("content")?)?;
    let event = Event::read(&document.document())?;
    judge::decide(cx, &mut scene, &event, facts, (Choice::Accept, Some(fact)))?;
    let scene = scene.save(cx, true)?;
    Ok(show::view(&scene.life, true))
}
