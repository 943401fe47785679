//! What carries attempts. An attempt belongs to nobody here: a *holder* is the row that it stands in, and says what the
//! attempt is about, who may do what with it, and what its end means.
//!
//! A holder has one or more *intents*, each with the attempts to have it done. Of one intent at most one attempt is open;
//! of several intents several may be. A holder may pass its attempts on to another row while they are unresolved: they are
//! found by the index `submission` of whatever collection carries them.

use crate::authority::profile::Profile;
use crate::json::Writer;
use crate::kernel::{
    Query, Stored,
    context::Context,
    flow::{Flow, damaged, not_visible},
    guard::Moment,
    keys,
    records::{Row, put_raw, put_text},
};
use crate::submission::attempt::Attempt;
use alloc::{boxed::Box, string::String, vec::Vec};

/// The attempts of one intent.
pub(crate) struct Attempts<'a> {
    /// The current one.
    pub current: Option<&'a Attempt>,
    /// Earlier ones, all confirmed as not submitted.
    pub past: &'a [Attempt],
}

/// The same, to be changed.
pub(crate) struct AttemptsMut<'a> {
    /// The current one.
    pub current: &'a mut Option<Attempt>,
    /// Earlier ones.
    pub past: &'a mut Vec<Attempt>,
}

/// What the caller is to the calls of a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// It performs calls that are not the host's.
    Performer,
    /// It is the host itself: what it says was observed.
    Host,
    /// It may say what became of a call, with evidence.
    Witness,
    /// It looks, and no more; it does not see the key of a call.
    Onlooker,
}

/// What somebody wants to establish on his own word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    /// That a call did not happen and never will.
    Absent,
    /// Whatever ends a quarantine.
    Quarantined,
}

/// What was established about the current attempt of an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// The call happened.
    Submitted {
        /// The host saw it itself; otherwise somebody asserts it.
        observed: bool,
    },
    /// It did not, and never will.
    Absent,
    /// A receipt says that it did, against what was established.
    Contradicted,
    /// It is left to people.
    Quarantined,
}

/// Where a call goes.
pub(crate) struct Target {
    /// The digest of the reference that names it.
    pub digest: String,
    /// The session that the reference names.
    pub session: Option<String>,
    /// The operator's profile.
    pub profile: Row<Profile>,
}

/// What is handed over by a call.
pub(crate) struct Payload {
    /// What kind of text it is.
    pub kind: &'static str,
    /// The text.
    pub text: String,
    /// Its digest.
    pub digest: String,
    /// Where it belongs in a trace: outside the digest.
    pub context: Option<String>,
}

/// A row that carries attempts, opened for the caller of an operation.
pub(crate) trait Holder {
    /// The id of the row.
    fn row(&self) -> &str;
    /// The revision of its record: what `expectedRevision` names.
    fn revision(&self) -> i64;
    /// What kind of holder it is, and its id.
    fn name(&self) -> (&'static str, &str);
    /// The member in which an attempt tells the revision that it was prepared at.
    fn revision_member(&self) -> &'static str {
        "expectedRevision"
    }
    /// How many intents it has.
    fn intents(&self) -> usize;
    /// The attempts of an intent; nothing where there is no such intent.
    fn attempts(&self, intent: usize) -> Option<Attempts<'_>>;
    /// The same, to be changed.
    fn attempts_mut(&mut self, intent: usize) -> Option<AttemptsMut<'_>>;

    /// What the caller is to its calls.
    fn part(&self) -> Part;
    /// Whether the caller's word is enough.
    fn establishes(&self, fact: Fact) -> bool;
    /// The caller may read it.
    fn reads(&self, cx: &mut Context<'_>) -> Flow<()>;
    /// The caller may begin its calls.
    fn begins(&self, cx: &mut Context<'_>) -> Flow<()>;
    /// The guards of a step, and whatever else must hold of the holder.
    fn guard(&self, cx: &mut Context<'_>, moment: Moment) -> Flow<()>;
    /// Whether the intent may be submitted as things stand.
    fn submittable(&self, intent: usize) -> bool;

    /// Where calls of an intent go, for a caller that nobody else is in the way of.
    fn target(&self, cx: &mut Context<'_>, intent: usize) -> Flow<Target>;
    /// What every attempt of an intent is made for: the key of an idempotency that outlives attempts; nothing where the
    /// key of the attempt is that as well.
    fn scope(&self, intent: usize) -> Option<String>;
    /// What the identifiers of attempts are made from, with the request.
    fn purpose(&self, intent: usize) -> String;
    /// The kind and the digest of what an intent hands over.
    fn payload_name(&self, intent: usize) -> (&'static str, &str);
    /// What an intent hands over.
    fn payload(&self, cx: &mut Context<'_>, intent: usize) -> Flow<Payload>;

    /// Writes what an attempt of the intent is about, as members of the submission: of the document `call-attempt`, where
    /// the holder has no document of its own.
    fn put_subject(&self, w: &mut Writer, intent: usize) {
        self.put_name(w, intent);
        put_text(w, "scope", self.scope(intent).as_deref());
        let (kind, digest) = self.payload_name(intent);
        w.key("payload");
        w.begin_object();
        w.member_str("kind", kind);
        w.member_str("digest", digest);
        w.end_object();
    }
    /// Writes by what the holder is found again, as members of an effect or of a list.
    fn put_name(&self, w: &mut Writer, _: usize) {
        let (kind, id) = self.name();
        w.key("holder");
        w.begin_object();
        w.member_str("kind", kind);
        w.member_str("id", id);
        w.end_object();
    }
    /// Writes what is handed over, as members of an effect or of an answer.
    fn put_payload(&self, w: &mut Writer, payload: &Payload) {
        w.key("payload");
        w.begin_object();
        w.member_str("kind", payload.kind);
        w.member_str("text", &payload.text);
        w.member_str("digest", &payload.digest);
        w.end_object();
        put_raw(w, "context", payload.context.as_deref());
    }
    /// Writes how the holder stands, as members of an answer.
    fn put_state(&self, w: &mut Writer);
    /// Writes what a caller needs that performs the call itself, as members of its answer.
    fn put_dispatch(&self, cx: &mut Context<'_>, w: &mut Writer, intent: usize) -> Flow<()> {
        let payload = self.payload(cx, intent)?;
        self.put_payload(w, &payload);
        Ok(())
    }

    /// What a resolution means here.
    fn resolved(&mut self, intent: usize, resolution: Resolution) -> Flow<()>;
    /// Applies what waited for the attempts, once none of them is open.
    fn release(&mut self, cx: &mut Context<'_>) -> Flow<()>;
    /// Adds an audit record to the streams of everyone concerned.
    fn record(&mut self, cx: &mut Context<'_>, kind: &str, detail: String) -> Flow<()>;
    /// Writes the holder and the streams.
    fn save(&mut self, cx: &mut Context<'_>) -> Flow<()>;
}

/// A kind of holder: the collection that carries attempts, with the indexes `submission` (tenant, submission, …) and
/// `unresolved` (tenant, time from which others may judge, submission).
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// The collection.
    pub collection: &'static str,
    /// Opens a row for the caller, or says that there is nothing to see. What a call hands over is asked for with it where
    /// that is needed.
    pub open: fn(&mut Context<'_>, &Stored, bool) -> Flow<Box<dyn Holder>>,
    /// Writes an item of the list of unresolved attempts: that of the entry under which the row was found.
    pub list: fn(&mut Writer, &str, &Stored) -> Flow<()>,
}

/// The query for the row of `collection` that carries a submission.
pub(crate) fn find(collection: &str, tenant: &str, submission: &str) -> Query {
    keys::under(collection, "submission", &[tenant, submission], 1)
}

/// The holder of a submission, whatever its kind, and the intent that the submission belongs to.
pub(crate) fn open(
    cx: &mut Context<'_>,
    kinds: &[Kind],
    submission: &str,
    payload: bool,
) -> Flow<(Box<dyn Holder>, usize)> {
    let queries: Vec<Query> = kinds.iter().map(|kind| find(kind.collection, cx.tenant(), submission)).collect();
    cx.fetch(&queries.iter().collect::<Vec<_>>())?;
    for (kind, query) in kinds.iter().zip(&queries) {
        let Some(row) = cx.one(query)? else { continue };
        let holder = (kind.open)(cx, row, payload)?;
        let intent = intent_of(&*holder, submission).ok_or_else(|| damaged("submission"))?;
        return Ok((holder, intent));
    }
    Err(not_visible())
}

/// The intent that a submission belongs to.
fn intent_of(holder: &dyn Holder, submission: &str) -> Option<usize> {
    (0..holder.intents()).find(|intent| any(holder, *intent, submission).is_some())
}

/// The attempt with this id, current or past.
pub(crate) fn any<'a>(holder: &'a dyn Holder, intent: usize, submission: &str) -> Option<&'a Attempt> {
    let attempts = holder.attempts(intent)?;
    attempts.current.into_iter().chain(attempts.past).find(|attempt| attempt.id == submission)
}

/// The current attempt of an intent.
pub(crate) fn current(holder: &dyn Holder, intent: usize) -> Option<&Attempt> {
    holder.attempts(intent)?.current
}

/// The current attempt of an intent that must have one, to be changed.
pub(crate) fn current_mut(holder: &mut dyn Holder, intent: usize) -> Flow<&mut Attempt> {
    holder.attempts_mut(intent).and_then(|attempts| attempts.current.as_mut()).ok_or_else(|| damaged("attempt"))
}
