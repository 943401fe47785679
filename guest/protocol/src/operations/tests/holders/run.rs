//! A second holder: a run of steps that is no message. It has two intents in one row, a scope that outlives attempts, its
//! own owner as the one who establishes what became of a call, and may pass its attempts on to a successor row.

use crate::authority::{profile::Profile, task::Task};
use crate::digest::sha256_text;
use crate::generated::machines::Submission;
use crate::json::{Value, Writer, record};
use crate::kernel::{
    Entry, PrincipalKind, Stored,
    audit::Event,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged, not_visible},
    guard::Moment,
    keys,
    records::{Row, parse},
    streams::Streams,
};
use crate::rules::check;
use crate::submission::{
    attempt::Attempt,
    begin,
    holder::{Attempts, AttemptsMut, Fact, Holder, Kind, Part, Payload, Resolution, Target, current},
    list::put_item,
    view,
};
use crate::{Rule, authority::profile};
use alloc::{boxed::Box, format, string::String, vec::Vec};

pub(super) const COLLECTION: &str = "run";
/// Runs as a kind of holder.
pub(super) const KIND: Kind = Kind { collection: COLLECTION, open, list };

struct Intent {
    attempt: Option<Attempt>,
    past: Vec<Attempt>,
}

pub(super) struct Run {
    id: String,
    stored: u32,
    revision: i64,
    /// Whether something waits for all intents.
    waits: bool,
    /// How often what waited was applied.
    released: i64,
    intents: Vec<Intent>,
    part: Part,
    owner: bool,
    stream: String,
    streams: Streams,
}

/// The row of the run, or of the one that took its attempts over.
fn id(cx: &Context<'_>, number: usize) -> String {
    keys::key(&[cx.tenant(), &format!("run-{number}")])
}

fn attempt_of(value: Value<'_>) -> Flow<Attempt> {
    record::parse(value.raw(), Attempt::take).map_err(|damage| damaged(damage.member()))
}

fn read(cx: &mut Context<'_>, id: String, row: Option<&Stored>) -> Flow<Run> {
    let mut intents = Vec::new();
    let (mut stored, mut revision, mut waits, mut released) = (0, 1, false, 0);
    if let Some(row) = row {
        let tree = parse(&row.body)?;
        let value = tree.root();
        (stored, revision) = (row.revision, value.int("revision")?);
        (waits, released) = (value.flag("waits"), value.int("released")?);
        for intent in value.member("intents")?.items() {
            let past = intent.member("past")?.items().map(attempt_of).collect::<Flow<Vec<_>>>()?;
            intents.push(Intent { attempt: intent.get("attempt").map(attempt_of).transpose()?, past });
        }
    }
    intents.resize_with(2, || Intent { attempt: None, past: Vec::new() });
    let principal = cx.principal;
    let part = match principal.kind {
        PrincipalKind::Task if principal.id == "bridge" => Part::Performer,
        PrincipalKind::Host => Part::Host,
        PrincipalKind::User | PrincipalKind::Policy | PrincipalKind::Operator => Part::Witness,
        PrincipalKind::Task => Part::Onlooker,
    };
    let owner = principal.kind == PrincipalKind::User;
    let stream = keys::key(&[cx.tenant(), "inc_bridge-0001", "bridge", "user:alice"]);
    let mut streams = Streams::default();
    streams.load(cx, [stream.clone()])?;
    Ok(Run { id, stored, revision, waits, released, intents, part, owner, stream, streams })
}

fn open(cx: &mut Context<'_>, row: &Stored, _: bool) -> Flow<Box<dyn Holder>> {
    Ok(Box::new(read(cx, row.id.clone(), Some(row))?))
}

fn list(w: &mut Writer, tenant: &str, row: &Stored) -> Flow<()> {
    let tree = parse(&row.body)?;
    for intent in tree.root().member("intents")?.items() {
        let Some(attempt) = intent.get("attempt").map(attempt_of).transpose()? else { continue };
        if row.key.ends_with(&attempt.id) {
            w.begin_object();
            put_item(w, tenant, &attempt, tree.root().int("revision")?);
            w.end_object();
        }
    }
    Ok(())
}

/// Stands in for `adapter.prepareSubmission`: the message id names the intent by its last figure.
pub(super) fn prepare(cx: &mut Context<'_>) -> Flow<String> {
    let intent = if cx.params.text("messageId")?.ends_with('1') { 1 } else { 0 };
    let id = id(cx, 1);
    cx.hint(&Profile::find_all(cx.tenant()));
    let row = cx.lookup(COLLECTION, &id)?;
    let mut run = read(cx, id, row)?;
    let replayed = cx.replayed()?;
    let target = run.target(cx, intent)?;
    let crossed = current(&run, intent).is_some_and(|attempt| attempt.state != Submission::Prepared && !replayed);
    let over = current(&run, intent).is_none_or(|attempt| attempt.state == Submission::ConfirmedNotSubmitted);
    if crossed && !over {
        return view::begun(cx, &run, intent, true, false);
    }
    begin::prepare(cx, &mut run, intent, &target, true)?;
    run.save(cx)?;
    view::begun(cx, &run, intent, false, false)
}

/// Stands in for `maintenance.expireDue`: something is to happen to the run once nothing of it is open.
pub(super) fn wait(cx: &mut Context<'_>) -> Flow<String> {
    let id = id(cx, 1);
    let row = cx.lookup(COLLECTION, &id)?;
    let mut run = read(cx, id, row)?;
    cx.replayed()?;
    run.waits = true;
    run.release(cx)?;
    run.save(cx)?;
    Ok("{}".into())
}

/// Stands in for `maintenance.purgeContent`: a successor row takes the attempts over as they are.
pub(super) fn succeed(cx: &mut Context<'_>) -> Flow<String> {
    let first = id(cx, 1);
    let row = cx.lookup(COLLECTION, &first)?;
    let mut old = read(cx, first, row)?;
    cx.replayed()?;
    let intents = core::mem::take(&mut old.intents);
    let next = Run { id: id(cx, 2), stored: 0, intents, ..read(cx, String::new(), None)? };
    cx.write(COLLECTION, &next.id, 0, next.text(), next.entries(cx.tenant()));
    let Run { id, stored, .. } = &old;
    cx.write(COLLECTION, id, *stored, old.text(), old.entries(cx.tenant()));
    Ok("{}".into())
}

impl Run {
    fn text(&self) -> String {
        let mut w = Writer::new();
        w.begin_object();
        w.member_int("revision", self.revision);
        w.member_bool("waits", self.waits);
        w.member_int("released", self.released);
        w.key("intents");
        w.begin_array();
        for intent in &self.intents {
            w.begin_object();
            if let Some(attempt) = &intent.attempt {
                w.key("attempt");
                w.raw(&record::text(attempt, Attempt::put));
            }
            w.key("past");
            w.begin_array();
            intent.past.iter().for_each(|attempt| w.raw(&record::text(attempt, Attempt::put)));
            w.end_array();
            w.end_object();
        }
        w.end_array();
        w.end_object();
        w.finish()
    }

    fn entries(&self, tenant: &str) -> Vec<Entry> {
        let mut entries = Vec::new();
        for intent in &self.intents {
            for attempt in intent.attempt.iter().chain(&intent.past) {
                let key = keys::key(&[tenant, &attempt.id, &self.id]);
                entries.push(Entry { index: "submission".into(), key });
            }
            let open = intent.attempt.iter().filter(|attempt| attempt.state == Submission::OutcomeUnknown);
            for attempt in open {
                let key = keys::key(&[tenant, &keys::number(attempt.settled_at()), &attempt.id]);
                entries.push(Entry { index: "unresolved".into(), key });
            }
        }
        entries
    }

    fn open(&self) -> bool {
        self.intents.iter().filter_map(|intent| intent.attempt.as_ref()).any(Attempt::unresolved)
    }
}

impl Holder for Run {
    fn row(&self) -> &str {
        &self.id
    }

    fn revision(&self) -> i64 {
        self.revision
    }

    fn name(&self) -> (&'static str, &str) {
        (COLLECTION, &self.id)
    }

    fn intents(&self) -> usize {
        self.intents.len()
    }

    fn attempts(&self, intent: usize) -> Option<Attempts<'_>> {
        let intent = self.intents.get(intent)?;
        Some(Attempts { current: intent.attempt.as_ref(), past: &intent.past })
    }

    fn attempts_mut(&mut self, intent: usize) -> Option<AttemptsMut<'_>> {
        let intent = self.intents.get_mut(intent)?;
        Some(AttemptsMut { current: &mut intent.attempt, past: &mut intent.past })
    }

    fn part(&self) -> Part {
        self.part
    }

    fn establishes(&self, _: Fact) -> bool {
        self.owner
    }

    fn reads(&self, _: &mut Context<'_>) -> Flow<()> {
        Ok(())
    }

    fn begins(&self, _: &mut Context<'_>) -> Flow<()> {
        if self.part == Part::Performer { Ok(()) } else { Err(not_visible()) }
    }

    fn guard(&self, _: &mut Context<'_>, _: Moment) -> Flow<()> {
        Ok(())
    }

    fn submittable(&self, _: usize) -> bool {
        true
    }

    fn target(&self, cx: &mut Context<'_>, _: usize) -> Flow<Target> {
        let row = cx.lookup("task", &self.stream)?.map(Task::read).transpose()?;
        let reference = row.and_then(|row| row.record.adapter_ref);
        check(Rule::AD1, reference.is_some())?;
        let tree = parse(reference.as_deref().unwrap_or("{}"))?;
        let key = keys::key(&[cx.tenant(), tree.root().text("kind")?]);
        let profile: Row<Profile> =
            cx.lookup(profile::COLLECTION, &key)?.map(Profile::read).transpose()?.ok_or_else(|| damaged("profile"))?;
        Ok(Target { digest: tree.digest(), session: None, profile })
    }

    fn scope(&self, intent: usize) -> Option<String> {
        Some(sha256_text(format!("the run, step {intent}").as_bytes()))
    }

    fn purpose(&self, intent: usize) -> String {
        format!("run {intent}")
    }

    fn payload_name(&self, intent: usize) -> (&'static str, &str) {
        ("action", if intent == 0 { "sha256:0" } else { "sha256:1" })
    }

    fn payload(&self, _: &mut Context<'_>, intent: usize) -> Flow<Payload> {
        let (kind, digest) = self.payload_name(intent);
        Ok(Payload { kind, text: format!("{{\"intent\":{intent}}}"), digest: digest.into(), context: None })
    }

    fn put_state(&self, w: &mut Writer) {
        w.member_int("released", self.released);
    }

    fn resolved(&mut self, _: usize, resolution: Resolution) -> Flow<()> {
        if matches!(resolution, Resolution::Submitted { .. }) {
            self.revision = self.revision.saturating_add(1);
        }
        Ok(())
    }

    fn release(&mut self, _: &mut Context<'_>) -> Flow<()> {
        if self.waits && !self.open() {
            self.waits = false;
            self.released = self.released.saturating_add(1);
        }
        Ok(())
    }

    fn record(&mut self, cx: &mut Context<'_>, kind: &str, detail: String) -> Flow<()> {
        let event = Event { kind, revision: self.revision, detail, ..Event::default() };
        self.streams.record(cx, &[&self.stream], &event)
    }

    fn save(&mut self, cx: &mut Context<'_>) -> Flow<()> {
        cx.write(COLLECTION, &self.id, self.stored, self.text(), self.entries(cx.tenant()));
        self.streams.save(cx);
        cx.resource = Some((self.id.clone(), self.revision));
        Ok(())
    }
}
