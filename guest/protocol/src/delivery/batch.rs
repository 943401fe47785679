//! `messages.sendBatch`: up to 64 messages in one commit. Each is decided as if it were sent alone, in order, and sees
//! what those before it wrote: the same mailboxes, budgets and streams.

use crate::delivery::send;
use crate::documents::{Document, Kind};
use crate::generated::errors;
use crate::json::{Value, Writer};
use crate::kernel::{
    Answer, Stored, Write,
    context::Context,
    decide::error_object,
    fields::Fields,
    flow::{Flow, Stop},
};
use crate::{Code, Error};
use alloc::collections::BTreeMap;
use alloc::{string::String, vec::Vec};

/// What one message came to: its answer, or why it was refused and whether the rule may be told.
type Item = Result<String, (Error, bool)>;

/// What the messages so far change together.
#[derive(Default)]
struct Staged {
    writes: Vec<Write>,
    /// The place in `writes` of each row.
    places: BTreeMap<(String, String), usize>,
}

/// `messages.sendBatch`.
pub(crate) fn send_batch(cx: &mut Context<'_>) -> Flow<String> {
    let envelopes: Vec<Value<'_>> = cx.params.member("envelopes")?.items().collect();
    let mut answers = cx.checked_answers()?.to_vec();
    let mut staged = Staged::default();
    let mut items = Vec::new();
    // Before all facts are there, this only finds out what is missing, for all messages at once.
    for envelope in &envelopes {
        items.push(one(cx, *envelope, &mut answers, &mut staged)?);
    }
    cx.fetch(&[])?;
    if let Some(past) = cx.past()? {
        cx.audit.clear();
        cx.topics.clear();
        return replayed(cx, &envelopes, &past.resource);
    }
    let taken: Vec<Item> = items.into_iter().flatten().collect();
    if let Some(Err((error, disclose))) = taken.first().filter(|_| taken.iter().all(Result::is_err)) {
        cx.disclose = *disclose;
        return Err(Stop::Refuse(error.clone()));
    }
    cx.writes.append(&mut staged.writes);
    let codes: Vec<&str> =
        taken.iter().map(|item| item.as_ref().err().map_or("", |(error, _)| error.code.name())).collect();
    cx.resource = Some((codes.join(","), 0));
    Ok(list(&taken))
}

/// Decides one message over `answers`, which its changes go into. Nothing where facts are missing.
fn one(cx: &mut Context<'_>, envelope: Value<'_>, answers: &mut [Answer], staged: &mut Staged) -> Flow<Option<Item>> {
    let mut own = cx.over(answers);
    let sent = sent(&mut own, envelope);
    let lacks = own.lacks();
    let Context { missing, unevaluated, writes, audit, topics, disclose, facts, .. } = own;
    for query in &missing {
        cx.hint(query);
    }
    cx.unevaluated.extend(unevaluated);
    for fact in &facts {
        cx.tell(&fact.name, &fact.value);
    }
    match sent {
        _ if lacks => Ok(None),
        Err(Stop::Refuse(error)) => Ok(Some(Err((error, disclose)))),
        Err(stop) => Err(stop),
        Ok(answer) => {
            cx.audit.extend(audit);
            for topic in topics {
                if !cx.topics.contains(&topic) {
                    cx.topics.push(topic);
                }
            }
            for write in writes {
                show(answers, &write);
                staged.add(write);
            }
            Ok(Some(Ok(answer)))
        }
    }
}

fn sent(cx: &mut Context<'_>, envelope: Value<'_>) -> Flow<String> {
    let document = Document::from_value(Kind::Envelope, envelope)?;
    let envelope = send::read(&document)?;
    send::author(cx, &envelope)?;
    send::prefetch(cx, &envelope)?;
    send::take(cx, envelope, document.digest(), |_, _, _| Ok(None))
}

impl Staged {
    /// A row that is written again keeps the revision that it was read at.
    fn add(&mut self, write: Write) {
        let place = (write.collection.clone(), write.id.clone());
        match self.places.get(&place).and_then(|at| self.writes.get_mut(*at)) {
            Some(known) => *known = Write { expected: known.expected, ..write },
            None => {
                self.places.insert(place, self.writes.len());
                self.writes.push(write);
            }
        }
    }
}

/// Shows a row that is going to be written in every answer that its id belongs to.
fn show(answers: &mut [Answer], write: &Write) {
    let Some(body) = &write.body else { return };
    for answer in answers.iter_mut().filter(|answer| answer.query.collection == write.collection) {
        if let Some(row) = answer.rows.iter_mut().find(|row| row.id == write.id) {
            row.body.clone_from(body);
            continue;
        }
        let id = &write.id;
        // A page that is not the whole range stays as it is: whoever needs more asks for more.
        if answer.covers(id) && !answer.more {
            let row = Stored { id: id.clone(), key: id.clone(), revision: 1, body: body.clone() };
            let at = answer.rows.binary_search_by(|known| known.id.cmp(id)).unwrap_or_else(|at| at);
            answer.rows.insert(at, row);
        }
    }
}

/// The answer of a batch that was sent before: what is there as it stands now, and why the rest was refused then.
fn replayed(cx: &mut Context<'_>, envelopes: &[Value<'_>], codes: &str) -> Flow<String> {
    let mut items = Vec::new();
    for (envelope, code) in envelopes.iter().zip(codes.split(',')) {
        let document = Document::from_value(Kind::Envelope, *envelope);
        let item = match document.map_err(Stop::from).and_then(|document| {
            let envelope = send::read(&document)?;
            send::author(cx, &envelope)?;
            send::seen(cx, envelope, document.digest())
        }) {
            Ok(Some(answer)) if code.is_empty() => Ok(answer),
            Ok(_) => Err((refused(code), false)),
            Err(Stop::Refuse(error)) => Err((error, false)),
            Err(stop) => return Err(stop),
        };
        items.push(item);
    }
    Ok(list(&items))
}

/// What was refused then is told by its code alone.
fn refused(code: &str) -> Error {
    let code = errors::ALL.iter().copied().find(|known| known.name() == code);
    Error::new(code.unwrap_or(Code::NotVisible), "", "refused when the batch was sent")
}

fn list(items: &[Item]) -> String {
    let mut w = Writer::new();
    w.begin_object();
    w.key("results");
    w.begin_array();
    for item in items {
        match item {
            Ok(answer) => w.raw(answer),
            Err((error, disclose)) => {
                w.begin_object();
                w.member_raw("error", &error_object(error, *disclose));
                w.end_object();
            }
        }
    }
    w.end_array();
    w.end_object();
    w.finish()
}
