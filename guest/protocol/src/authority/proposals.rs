//! `relationships.propose`, `.listProposals`, `.rejectProposal`, `.withdrawProposal`: a task asks for a grant, and what
//! becomes of that. Granting it is in `relationships`.
//!
//! Nothing here tells a target that exists from one that does not: the answer, the budgets and the source's own events
//! are the same. Only what the target's side does with a proposal shows that there is one.

use crate::authority::{
    budget::{Budget, charge},
    gate::not_ahead,
    grant::Grant,
    own::page_of,
    proposal::{self, Proposal},
    task::{self, Task},
};
use crate::documents::{Document, Kind};
use crate::generated::limits;
use crate::generated::machines::{self, ProposalEvent};
use crate::json::{self, Value, Writer};
use crate::kernel::{
    PrincipalKind,
    audit::{Event, detail},
    boxes::Box,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged, not_visible},
    keys,
    names::{TaskName, only},
    pages::page,
    records::{NamedTask, Party, Row},
    streams::Streams,
};
use crate::rules::{check, check_at};
use crate::{Rule, time};
use alloc::{string::String, vec::Vec};

/// The ids of a TaskRef.
pub(crate) fn ids(reference: Value<'_>) -> Flow<(&str, &str)> {
    Ok((reference.text("taskId")?, reference.text("incarnationId")?))
}

/// `relationships.propose`: by the source task itself. The same proposal again answers with what became of it.
pub(crate) fn propose(cx: &mut Context<'_>) -> Flow<String> {
    let document = cx.shaped.document(Kind::RelationshipProposal, "proposal")?.ok_or_else(|| damaged("proposal"))?;
    let value = document.value();
    let (source, target) = (ids(value.member("source")?)?, ids(value.member("target")?)?);
    let principal = cx.principal;
    let itself = principal.kind == PrincipalKind::Task
        && (principal.id.as_str(), principal.incarnation.as_deref()) == (source.0, Some(source.1));
    check(Rule::PP1, itself)?;
    let proposal_id = value.text("proposalId")?;
    let name = TaskName { task: source.0, incarnation: source.1, owner: None };
    if let Some(own) = cx.own_party(name) {
        prefetch(cx, &own, target, proposal_id);
    }
    cx.content_digest(document.digest());
    let own = cx.exact_task(name)?;
    check(Rule::OP4, own.record.live())?;
    let replayed = cx.replayed()?;
    let id = Proposal::id(cx.tenant(), proposal_id, &own.record.party.owner);
    if let Some(row) = cx.lookup(proposal::COLLECTION, &id)? {
        let known = Proposal::read(row)?;
        check(Rule::PP2, known.record.digest == document.digest())?;
        if !replayed {
            cx.resource = Some((id, 0));
        }
        return answer(cx, &known.record, Some(true));
    }
    let times = times(value, cx.now)?;
    let party = resolve(cx, &own.record.party, target)?;
    spend(cx, &own.record.party, target)?;
    store(cx, Row { id, revision: 0, record: made(cx, &document, own.record.party, party, times)? })
}

/// Asks for everything in one round.
fn prefetch(cx: &mut Context<'_>, own: &Party, target: (&str, &str), proposal_id: &str) {
    let tenant = cx.tenant();
    let (task, incarnation) = target;
    let sibling = Party { task: task.into(), incarnation: incarnation.into(), owner: own.owner.clone() };
    for query in [
        Proposal::find_row(&Proposal::id(tenant, proposal_id, &own.owner)),
        Proposal::find_open(tenant, own, cx.now),
        Proposal::find_aimed(tenant, &own.owner, target, cx.now),
        Box::find(&own.key(tenant)),
        keys::row(task::COLLECTION, &sibling.key(tenant)),
        Task::find(tenant, task, incarnation),
        Grant::find_route(tenant, incarnation, &own.incarnation),
        Budget::find(&cx.scope()),
    ] {
        cx.hint(&query);
    }
}

/// Not expired, not from the future, and no longer than allowed; when it expires.
fn times(proposal: Value<'_>, now: i64) -> Flow<i64> {
    let (created, expires) = (time::parse(proposal.text("createdAt")?)?, time::parse(proposal.text("expiresAt")?)?);
    check(Rule::PP3, now < expires)?;
    not_ahead(Rule::PP4, created, now, || "/proposal/createdAt".into())?;
    let lives = expires.saturating_sub(created.min(now));
    check_at(Rule::PP5, lives <= limits::PROPOSAL_LIFETIME_MS_MAX, || "/proposal/expiresAt".into())?;
    Ok(expires)
}

/// The task that the target's ids stand for: a sibling of the source; or the target of a grant that the source holds;
/// or the only live task of the tenant with these ids. Where there is doubt, nobody.
fn resolve(cx: &mut Context<'_>, source: &Party, (task, incarnation): (&str, &str)) -> Flow<Option<Party>> {
    let sibling = Party { task: task.into(), incarnation: incarnation.into(), owner: source.owner.clone() };
    if let Some(row) = cx.lookup(task::COLLECTION, &sibling.key(cx.tenant()))? {
        check(Rule::OP4, Task::read(row)?.record.live())?;
        return Ok(Some(sibling));
    }
    let mut known: Vec<Party> = Vec::new();
    for row in cx.rows(&Grant::find_route(cx.tenant(), incarnation, &source.incarnation))? {
        let Grant { source: holder, target, .. } = Grant::read(row)?.record;
        if holder == *source && target.is(task, incarnation) && !known.contains(&target) {
            known.push(target);
        }
    }
    if !known.is_empty() {
        return Ok(only(known, None, |party| &party.owner).ok());
    }
    let [row] = cx.rows(&Task::find(cx.tenant(), task, incarnation))? else { return Ok(None) };
    let only = Task::read(row)?.record;
    Ok(only.live().then_some(only.party))
}

/// Counts the proposal against the budgets of the caller and of the target that it names, before anything is stored.
fn spend(cx: &mut Context<'_>, source: &Party, target: (&str, &str)) -> Flow<()> {
    let count = |rows: usize| i64::try_from(rows).unwrap_or(i64::MAX);
    let open = cx.rows(&Proposal::find_open(cx.tenant(), source, cx.now))?.len();
    check(Rule::PP6, count(open) < limits::PROPOSALS_OPEN_MAX)?;
    let aimed = cx.rows(&Proposal::find_aimed(cx.tenant(), &source.owner, target, cx.now))?.len();
    check(Rule::PP7, count(aimed) < limits::PROPOSALS_TARGET_MAX)?;
    charge(cx, false, true, &keys::key(&[cx.tenant(), target.1, target.0]))
}

fn made(
    cx: &Context<'_>,
    document: &Document<'_>,
    source: Party,
    target: Option<Party>,
    expires: i64,
) -> Flow<Proposal> {
    let value = document.value();
    let (text, reason) = proposal::split(value)?;
    let (task, incarnation) = ids(value.member("target")?)?;
    Ok(Proposal {
        document: text,
        reason: Some(reason),
        digest: document.digest().into(),
        proposal_id: value.text("proposalId")?.into(),
        source,
        named: NamedTask { task: task.into(), incarnation: incarnation.into() },
        target,
        expires,
        proposed: cx.now,
        state: machines::Proposal::INITIAL,
        decided: None,
        reason_code: None,
        grant: None,
        source_place: 0,
        target_place: None,
    })
}

/// Stores a new proposal, with an event for each side.
fn store(cx: &mut Context<'_>, mut row: Row<Proposal>) -> Flow<String> {
    let mut streams = ends(cx, &row.record)?;
    let told = detail(&[("proposalDigest", &row.record.digest), ("proposalId", &row.record.proposal_id)]);
    tell(cx, &mut streams, &row.record, "relationship-proposed", 0, &told)?;
    let place = streams.get(&row.record.source.key(cx.tenant()))?.sequence;
    row.record.source_place = place;
    if let Some(target) = &row.record.target {
        row.record.target_place = Some(streams.get(&target.key(cx.tenant()))?.sequence);
    }
    streams.save(cx);
    cx.write(proposal::COLLECTION, &row.id, 0, row.record.text(), row.record.entries(cx.tenant()));
    cx.resource = Some((row.id, 0));
    answer(cx, &row.record, Some(false))
}

/// The boxes of both ends.
fn ends(cx: &mut Context<'_>, proposal: &Proposal) -> Flow<Streams> {
    let tenant = cx.tenant();
    let parties = [Some(&proposal.source), proposal.target.as_ref()];
    let ids: Vec<String> = parties.into_iter().flatten().map(|party| party.key(tenant)).collect();
    let mut streams = Streams::default();
    streams.load(cx, ids)?;
    Ok(streams)
}

/// Records an event in each side's stream, and never one in both: the id of a shared event would tell the source
/// whether there is a target.
fn tell(
    cx: &mut Context<'_>,
    streams: &mut Streams,
    proposal: &Proposal,
    kind: &str,
    revision: i64,
    told: &str,
) -> Flow<()> {
    for party in [Some(&proposal.source), proposal.target.as_ref()].into_iter().flatten() {
        let event = Event { kind, revision, detail: told.into(), ..Event::default() };
        streams.record(cx, &[&party.key(cx.tenant())], &event)?;
    }
    Ok(())
}

/// What the source's side, a deciding owner or a policy is answered.
fn answer(cx: &Context<'_>, proposal: &Proposal, replay: Option<bool>) -> Flow<String> {
    let mut w = Writer::new();
    w.begin_object();
    if let Some(replay) = replay {
        w.member_bool("replay", replay);
    }
    proposal.view(&mut w, true, cx.now)?;
    w.end_object();
    Ok(w.finish())
}

/// `relationships.listProposals`: those from and to a task, in the order in which it learned of them. A task is shown no
/// free text of a peer: that is for whoever decides.
pub(crate) fn list(cx: &mut Context<'_>) -> Flow<String> {
    let (own, query) = page_of(cx, Proposal::find_of)?;
    let rows = cx.rows(&query)?;
    let kind = cx.principal.kind;
    let mut w = Writer::new();
    let mut next = page(cx).0;
    w.begin_object();
    w.key("items");
    w.begin_array();
    for row in rows {
        next = keys::last_number(&row.key)?;
        let proposal = Proposal::read(row)?.record;
        let source = proposal.source == own;
        let decides = matches!(kind, PrincipalKind::User | PrincipalKind::Policy);
        w.begin_object();
        w.member_int("cursor", next);
        w.member_str("side", if source { "source" } else { "target" });
        proposal.view(&mut w, decides || (source && kind == PrincipalKind::Task), cx.now)?;
        w.end_object();
    }
    w.end_array();
    w.member_int("nextCursor", next);
    w.end_object();
    Ok(w.finish())
}

/// `relationships.rejectProposal`: by the owner of the target or a policy.
pub(crate) fn reject(cx: &mut Context<'_>) -> Flow<String> {
    cx.control_plane()?;
    let may = |cx: &Context<'_>, proposal: &Proposal| policy(cx) || belongs(cx, proposal.target.as_ref());
    let row = named(cx, may)?;
    check(Rule::PP9, may(cx, &row.record))?;
    let reason = cx.params.maybe_text("reasonCode").unwrap_or_else(|| "policy-denied".into());
    settle(cx, row, ProposalEvent::Reject, "relationship-proposal-rejected", Some(reason))
}

/// `relationships.withdrawProposal`: by the source, a later incarnation of it, its owner or a policy.
pub(crate) fn withdraw(cx: &mut Context<'_>) -> Flow<String> {
    if let Some(own) = cx.caller_row() {
        cx.hint(&keys::row(task::COLLECTION, &own));
    }
    let may = |cx: &Context<'_>, proposal: &Proposal| policy(cx) || belongs(cx, Some(&proposal.source));
    let row = named(cx, may)?;
    check(Rule::OP4, cx.principal.kind != PrincipalKind::Task || cx.self_live()?)?;
    check(Rule::PP10, may(cx, &row.record))?;
    settle(cx, row, ProposalEvent::Withdraw, "relationship-proposal-withdrawn", None)
}

fn policy(cx: &Context<'_>) -> bool {
    cx.principal.kind == PrincipalKind::Policy
}

/// Whether the caller is this task, in whatever incarnation, or owns it.
fn belongs(cx: &Context<'_>, party: Option<&Party>) -> bool {
    let Some(party) = party else { return false };
    match cx.principal.kind {
        PrincipalKind::Task => cx.succeeds(party),
        _ => cx.owner_scope() == party.owner,
    }
}

/// The proposal that the params name, among those that the caller sees; those that it may decide come first.
fn named(cx: &mut Context<'_>, may: impl Fn(&Context<'_>, &Proposal) -> bool) -> Flow<Row<Proposal>> {
    let (source, owner) = (cx.params.get("source").map(ids).transpose()?, cx.owner_in("owner"));
    let query = Proposal::find(cx.tenant(), cx.params.text("proposalId")?);
    let mut seen = cx.crowd(&query)?.iter().map(Proposal::read).collect::<Flow<Vec<_>>>()?;
    seen.retain(|row| {
        let proposal = &row.record;
        let meant = source.is_none_or(|(task, incarnation)| proposal.source.is(task, incarnation))
            && owner.is_none_or(|owner| proposal.source.owner == owner);
        let sides = belongs(cx, Some(&proposal.source)) || belongs(cx, proposal.target.as_ref());
        meant && (policy(cx) || sides)
    });
    if seen.iter().any(|row| may(cx, &row.record)) {
        seen.retain(|row| may(cx, &row.record));
    }
    only(seen, None, |row| &row.record.source.owner)
}

/// Only a pending proposal that is not past its expiry is decided.
fn open(cx: &Context<'_>, proposal: &Proposal) -> Flow<()> {
    check(Rule::PP8, !proposal.state.terminal())?;
    Ok(check(Rule::PP3, cx.now < proposal.expires)?)
}

/// Ends a proposal without a grant.
fn settle(
    cx: &mut Context<'_>,
    mut row: Row<Proposal>,
    event: ProposalEvent,
    kind: &str,
    reason: Option<String>,
) -> Flow<String> {
    if cx.replayed()? {
        return answer(cx, &row.record, None);
    }
    open(cx, &row.record)?;
    let mut streams = ends(cx, &row.record)?;
    row.record.settle(event, cx.now)?;
    row.record.reason_code = reason;
    let mut told = alloc::vec![("proposalId", row.record.proposal_id.as_str())];
    told.extend(row.record.reason_code.as_deref().map(|reason| ("reasonCode", reason)));
    let told = detail(&told);
    tell(cx, &mut streams, &row.record, kind, 1, &told)?;
    streams.save(cx);
    save(cx, &row);
    answer(cx, &row.record, None)
}

fn save(cx: &mut Context<'_>, row: &Row<Proposal>) {
    cx.write(proposal::COLLECTION, &row.id, row.revision, row.record.text(), row.record.entries(cx.tenant()));
    cx.resource = Some((row.id.clone(), 1));
}

/// The proposal that a grant is to approve, if its decision names one: open, and the same in all that it asks for.
pub(crate) fn approvable(
    cx: &mut Context<'_>,
    draft: Value<'_>,
    source: &Party,
    target: &Party,
) -> Flow<Option<Row<Proposal>>> {
    let Some(proposal) = cx.params.member("decision")?.maybe_text("proposalId") else { return Ok(None) };
    let id = Proposal::id(cx.tenant(), &proposal, &source.owner);
    let row = cx.lookup(proposal::COLLECTION, &id)?.map(Proposal::read).transpose()?.ok_or_else(not_visible)?;
    open(cx, &row.record)?;
    let same = same(&row.record, draft, source, target)?;
    check_at(Rule::GA5, same, || "/decision/proposalId".into())?;
    Ok(Some(row))
}

/// Rule GA-5.
fn same(proposal: &Proposal, draft: Value<'_>, source: &Party, target: &Party) -> Flow<bool> {
    let tree = json::parse(&proposal.document)?;
    let asked = tree.root();
    let ends = proposal.source == *source
        && target.is(&proposal.named.task, &proposal.named.incarnation)
        && proposal.target.as_ref().is_none_or(|known| known == target);
    let text = |asks: &str, grants: &str| -> Flow<bool> { Ok(asked.text(asks)? == draft.text(grants)?) };
    // Neither holds anything twice.
    let set = |asks: &str, grants: &str| -> Flow<bool> {
        let (asks, grants) = (asked.member(asks)?, draft.member(grants)?);
        let all = asks.items().all(|item| grants.items().any(|other| item.same(other)));
        Ok(all && asks.len() == grants.len())
    };
    Ok(ends
        && text("relationshipType", "relationshipType")?
        && text("requestedSummaryVisibility", "summaryVisibility")?
        && set("requestedIntents", "allowedIntents")?
        && set("requestedDeliveryModes", "allowedDeliveryModes")?)
}

/// Approves a proposal by a grant, whose event is that of the approval: the target's side finds it from now on, if it
/// did not before.
pub(crate) fn approve(cx: &mut Context<'_>, mut row: Row<Proposal>, grant: &Grant) -> Flow<()> {
    let proposal = &mut row.record;
    proposal.settle(ProposalEvent::Approve, cx.now)?;
    proposal.grant = Some(grant.grant_id.clone());
    if proposal.target.is_none() {
        proposal.target = Some(grant.target.clone());
        proposal.target_place = Some(grant.target_place);
    }
    save(cx, &row);
    Ok(())
}
