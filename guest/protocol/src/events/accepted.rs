//! What a thread takes for the state of a subject: how an event becomes it, and what stands in the way.

pub(crate) use crate::generated::records::accepted::{Accepted, Blocker, COLLECTION, Floor, State};

use crate::Rule;
use crate::delivery::life::EventPart;
use crate::events::{capability::Capability, thread::ThreadName};
use crate::generated::limits;
use crate::json::{self, Writer};
use crate::kernel::{
    Query, Stored,
    context::Context,
    fields::Fields,
    flow::Flow,
    keys,
    records::{Party, Row},
};
use crate::rules::{Broken, check};
use crate::time;
use alloc::{string::String, vec::Vec};

/// How many sources are kept with one subject.
const SOURCES: usize = limits::STATE_SOURCES_MAX as usize;

impl Accepted {
    /// The record of a row; one of which nothing is known where there is no row.
    pub(crate) fn read_or_new(id: String, row: Option<&Stored>) -> Flow<Row<Self>> {
        let none = Self { version: 0, state: None, invalidated: false, floors: Vec::new(), blockers: Vec::new() };
        row.map_or_else(|| Ok(Row { id, revision: 0, record: none }), |row| Row::read(row, Self::parse))
    }

    /// The row of a subject on a trajectory of a thread; those who wait for it wait for this id.
    pub fn id(tenant: &str, thread: &ThreadName, trajectory: &str, subject: &str) -> String {
        keys::key(&[tenant, &thread.thread, trajectory, subject, &thread.owner])
    }

    /// The rows of a subject on a trajectory of threads with an id, whoever owns them.
    pub fn find(tenant: &str, thread: &str, trajectory: &str, subject: &str) -> Query {
        keys::under(COLLECTION, "", &[tenant, thread, trajectory, subject], 8)
    }

    /// The row of what an event is about, at its target.
    pub fn id_of(tenant: &str, target: &Party, part: &EventPart) -> String {
        Self::id(tenant, &ThreadName::of(target), &part.trajectory, &part.subject)
    }

    /// Whether a verified event of a source becomes the state: rules ST-1 to ST-3.
    pub fn takes(&self, part: &EventPart, source: &Party, capability: &Capability) -> Result<(), Broken> {
        let source = ThreadName::of(source);
        let floor = self.floors.iter().find(|floor| floor.source == source).map(|floor| floor.sequence);
        let newer = floor.is_none_or(|floor| part.sequence.is_some_and(|sequence| sequence > floor));
        check(Rule::ST1, newer)?;
        let current = self.state.as_ref();
        let named = part.supersedes.as_deref();
        let names = named == current.map(|state| state.event.as_str());
        let own = current.is_none_or(|state| state.source == source);
        let numbered = own && floor.is_some() && named.is_none();
        check(Rule::ST2, names || numbered)?;
        let listed = json::parse(&capability.document).is_ok_and(|tree| {
            let subjects = tree.root().get("allowed_subjects");
            subjects.is_some_and(|list| list.items().any(|item| item.as_str() == Some(part.subject.as_str())))
        });
        check(Rule::ST3, own || (listed && names))
    }

    /// The event is the state from here on, and what was in the way is not any more.
    pub fn apply(&mut self, part: &EventPart, source: &Party, payload: String, now: i64) {
        let source = ThreadName::of(source);
        self.version = self.version.saturating_add(1);
        self.invalidated = false;
        self.blockers.clear();
        if let Some(sequence) = part.sequence {
            self.floors.retain(|floor| floor.source != source);
            if self.floors.len() >= SOURCES {
                self.floors.remove(0);
            }
            self.floors.push(Floor { source: source.clone(), sequence });
        }
        self.state = Some(State { event: part.event.clone(), source, payload, at: now });
    }

    /// A source says that something stands in the way.
    pub fn block(&mut self, part: &EventPart, source: &Party, now: i64) {
        let source = ThreadName::of(source);
        self.blockers.retain(|blocker| blocker.source != source);
        if self.blockers.len() < SOURCES {
            self.blockers.push(Blocker { source, event: part.event.clone(), at: now });
        }
    }

    /// A source takes back what it said stood in the way, by naming it.
    pub fn unblock(&mut self, part: &EventPart, source: &Party) -> bool {
        let (before, source) = (self.blockers.len(), ThreadName::of(source));
        self.blockers.retain(|known| known.source != source || part.supersedes.as_ref() != Some(&known.event));
        before != self.blockers.len()
    }

    /// How it stands, as a word.
    pub fn status(&self) -> &'static str {
        match (&self.state, self.invalidated) {
            (Some(_), _) => "current",
            (None, true) => "invalidated",
            (None, false) => "none",
        }
    }

    /// The wire form.
    pub fn view(&self, w: &mut Writer) {
        w.begin_object();
        w.member_int("version", self.version);
        w.member_str("status", self.status());
        if let Some(state) = &self.state {
            w.member_str("eventId", &state.event);
            w.member_str("sourceThread", &state.source.thread);
            w.member_str("sourceOwner", &state.source.owner);
            w.member_raw("payload", &state.payload);
            w.member_str("acceptedAt", &time::format(state.at));
        }
        w.key("blockers");
        w.begin_array();
        for blocker in &self.blockers {
            w.begin_object();
            w.member_str("eventId", &blocker.event);
            w.member_str("sourceThread", &blocker.source.thread);
            w.member_str("sourceOwner", &blocker.source.owner);
            w.member_str("at", &time::format(blocker.at));
            w.end_object();
        }
        w.end_array();
        w.end_object();
    }
}

/// Writes accepted state, and wakes those who wait for it.
pub(crate) fn write(cx: &mut Context<'_>, row: &Row<Accepted>) {
    cx.write(COLLECTION, &row.id, row.revision, row.record.text(), Vec::new());
    cx.topics.push(row.id.clone());
}

/// The payload of an event, as it was received.
pub(crate) fn payload(event: json::Value<'_>) -> Flow<String> {
    Ok(event.member("payload")?.raw().into())
}
