//! The journal: committed batches as they come, before they are carried over into the tables.
//!
//! A batch touches many pages of the tables and few of the journal, which is what a commit writes and waits for. The slots
//! are rows of one page each; a batch takes the next ones, and they are overwritten in place after they were carried
//! over. So nothing is freed and cleared at every turn; [`clear`] does that where no trace may be left.
//!
//! There are two halves. While commits fill one of them, each takes a slice of the other one over into the tables, so that
//! no commit has to carry over all of it (`settle.rs`).

use rusqlite::{Connection, params};

use crate::delta::{Delta, Fact, Mark, Record};
use crate::keys::{self, Key, put_number, take_number};
use crate::sum::Sum;

/// Bytes of a slot: with its number and the headers, a page of 4096 holds exactly one.
const SLOT: usize = 4_000;
/// The turn, the length and the sum, in front of a batch.
const HEAD: usize = 24;

const CHANGED: u8 = 0;
const NEW: u8 = 1;
const GONE: u8 = 2;

/// How many slots a half may have.
pub(crate) const HALF_MAX: i64 = (1 << 20) - 1;

/// Where a snapshot stands: which turn of the journal, how many slots are in use, and how far the turn before is carried
/// over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    /// How often the journal has gone on in its other half.
    pub settled: i64,
    /// Slots in use of this half.
    pub slots: i64,
    /// Slots in use of the other half; 0 where all of it is carried over.
    pub before: i64,
    /// How many changes of the other half are carried over.
    pub carried: i64,
}

impl Place {
    /// Nothing is carried over of this half, and the other one has room.
    pub fn next(self) -> Self {
        Self { settled: self.settled + 1, slots: 0, before: self.slots, carried: 0 }
    }

    /// In front of the slots of a turn.
    fn first(turn: i64) -> i64 {
        if turn & 1 == 0 { 0 } else { HALF_MAX + 1 }
    }
}

/// A batch as it is written: whole slots. [`seal`] says of which turn.
pub(crate) fn encode(layer: &Delta) -> Vec<u8> {
    let mut bytes = vec![0; HEAD];
    let facts = layer.facts();
    put_number(&mut bytes, facts.len() as u64);
    for (stamp, fact) in facts {
        put_fact(&mut bytes, stamp, fact);
    }
    let records = layer.all_records();
    put_number(&mut bytes, records.len() as u64);
    for (number, (position, record)) in records.enumerate() {
        // The others follow it.
        if number == 0 {
            put_number(&mut bytes, position.cast_unsigned());
        }
        put_bytes(&mut bytes, &record.keys);
        put_bytes(&mut bytes, record.body.as_bytes());
    }
    // The keys of new rows and of audit records follow from them.
    let is_new = |stamp| matches!(layer.fact(stamp), Some(Some(fact)) if fact.new);
    let marks: Vec<(Key<'_>, Mark)> = layer.keys(false).marks().filter(|(_, mark)| !is_new(mark.stamp)).collect();
    put_number(&mut bytes, marks.len() as u64);
    for ((name, key), mark) in marks {
        put_number(&mut bytes, name.cast_unsigned());
        put_bytes(&mut bytes, key.as_bytes());
        put_number(&mut bytes, mark.stamp.cast_unsigned());
        bytes.push(u8::from(mark.there));
    }
    let length = (bytes.len() - HEAD) as u64;
    bytes[8..16].copy_from_slice(&length.to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(SLOT), 0);
    bytes
}

/// Makes an encoded batch one of the turn `settled`.
fn seal(bytes: &mut [u8], settled: i64) {
    let length = number(bytes, 8).and_then(|length| usize::try_from(u64::from_le_bytes(length)).ok()).unwrap_or(0);
    let sum = Sum::new().number(settled).bytes(&bytes[HEAD..HEAD + length]).value();
    bytes[..8].copy_from_slice(&settled.to_le_bytes());
    bytes[16..HEAD].copy_from_slice(&sum.to_le_bytes());
}

fn number(bytes: &[u8], from: usize) -> Option<[u8; 8]> {
    bytes.get(from..from + 8).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok())
}

/// How many slots an encoded batch takes.
pub(crate) fn slots(bytes: &[u8]) -> i64 {
    (bytes.len() / SLOT) as i64
}

/// Writes an encoded batch behind the slots that are in use at `place`.
pub(crate) fn append(conn: &Connection, place: Place, bytes: &mut [u8]) -> rusqlite::Result<()> {
    seal(bytes, place.settled);
    let used = Place::first(place.settled) + place.slots;
    // Replaces the slot of an earlier turn, in place since it has the same size.
    let mut put = conn.prepare_cached("INSERT OR REPLACE INTO journal (slot, chunk) VALUES (?1, ?2)")?;
    for (slot, chunk) in (used + 1..).zip(bytes.chunks(SLOT)) {
        put.execute(params![slot, chunk])?;
    }
    Ok(())
}

/// Reads the batches of the turn `turn` in the slots behind `used` up to `slots`, in their order.
pub(crate) fn load(
    conn: &Connection,
    turn: i64,
    used: i64,
    slots: i64,
    mut take: impl FnMut(Delta),
) -> rusqlite::Result<()> {
    let first = Place::first(turn);
    let (used, slots) = (first + used, first + slots);
    let mut statement =
        conn.prepare_cached("SELECT slot, chunk FROM journal WHERE slot > ?1 AND slot <= ?2 ORDER BY slot")?;
    let mut rows = statement.query([used, slots])?;
    let (mut last, mut bytes): (i64, Vec<u8>) = (used, Vec::new());
    while let Some(row) = rows.next()? {
        let (slot, chunk) = (row.get::<_, i64>(0)?, row.get_ref(1)?.as_blob()?);
        if slot != last + 1 || chunk.len() != SLOT {
            return Err(damaged("a slot of the journal is missing or cut short"));
        }
        last = slot;
        bytes.extend_from_slice(chunk);
        if let Some(layer) = complete(&bytes, turn)? {
            bytes.clear();
            take(layer);
        }
    }
    if last == slots && bytes.is_empty() { Ok(()) } else { Err(damaged("the journal ends too early")) }
}

/// Removes all slots, and what they held; how many there were.
pub(crate) fn clear(conn: &Connection) -> rusqlite::Result<usize> {
    conn.execute("DELETE FROM journal", [])
}

/// The batch in `bytes`, once all of it is there.
fn complete(bytes: &[u8], settled: i64) -> rusqlite::Result<Option<Delta>> {
    let malformed = || damaged("the journal is malformed");
    let number = |from| number(bytes, from);
    let (turn, length) = (number(0).map(i64::from_le_bytes), number(8).map(u64::from_le_bytes));
    let length = length.and_then(|length| usize::try_from(length).ok()).ok_or_else(malformed)?;
    if turn != Some(settled) {
        return Err(damaged("a slot of the journal is of another turn"));
    }
    let end = length.checked_add(HEAD).ok_or_else(malformed)?;
    match bytes.get(HEAD..end) {
        Some(batch) if number(16) == Some(Sum::new().number(settled).bytes(batch).value().to_le_bytes()) => {
            decode(batch).ok_or_else(malformed).map(Some)
        }
        Some(_) => Err(damaged("a batch of the journal is not what was written")),
        None => Ok(None),
    }
}

fn decode(mut bytes: &[u8]) -> Option<Delta> {
    let (bytes, mut layer) = (&mut bytes, Delta::default());
    for _ in 0..take_number(bytes)? {
        take_fact(bytes, &mut layer)?;
    }
    let records = i64::try_from(take_number(bytes)?).ok()?;
    let first = if records > 0 { take_number(bytes)?.cast_signed() } else { 0 };
    for position in first..first.checked_add(records)? {
        let keys = take_bytes(bytes)?;
        let body = take_text(bytes)?.to_owned();
        layer.add_record(position, Record { keys: keys.to_vec(), body }, keys::decode(keys).ok()?);
    }
    for _ in 0..take_number(bytes)? {
        let name = take_number(bytes)?.cast_signed();
        let key = take_text(bytes)?;
        let stamp = take_number(bytes)?.cast_signed();
        match take_byte(bytes)? {
            0 => layer.remove_key((name, key), stamp),
            1 => layer.add_key((name, key), stamp),
            _ => return None,
        }
    }
    bytes.is_empty().then_some(layer)
}

fn put_fact(bytes: &mut Vec<u8>, stamp: i64, fact: Option<&Fact>) {
    put_number(bytes, stamp.cast_unsigned());
    let Some(fact) = fact else { return bytes.push(GONE) };
    bytes.push(if fact.new { NEW } else { CHANGED });
    put_number(bytes, u64::from(fact.revision));
    put_number(bytes, fact.name.cast_unsigned());
    put_bytes(bytes, fact.id.as_bytes());
    put_bytes(bytes, &fact.keys);
    put_bytes(bytes, fact.body.as_bytes());
}

fn take_fact(bytes: &mut &[u8], layer: &mut Delta) -> Option<()> {
    let stamp = take_number(bytes)?.cast_signed();
    let new = match take_byte(bytes)? {
        GONE => {
            layer.remove(stamp);
            return Some(());
        }
        kind => kind == NEW,
    };
    let revision = u32::try_from(take_number(bytes)?).ok()?;
    let name = take_number(bytes)?.cast_signed();
    let id = take_text(bytes)?;
    let keys = take_bytes(bytes)?;
    let body = take_text(bytes)?.to_owned();
    if new {
        layer.add_key((name, id), stamp);
        keys::decode(keys).ok()?.into_iter().for_each(|key| layer.add_key(key, stamp));
    }
    layer.put(stamp, Fact { revision, name, id: id.to_owned(), keys: keys.to_vec(), body, new });
    Some(())
}

fn put_bytes(bytes: &mut Vec<u8>, more: &[u8]) {
    put_number(bytes, more.len() as u64);
    bytes.extend_from_slice(more);
}

fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_number(bytes)?).ok()?;
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn take_text<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    std::str::from_utf8(take_bytes(bytes)?).ok()
}

fn take_byte(bytes: &mut &[u8]) -> Option<u8> {
    let (byte, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*byte)
}

/// What [`crate::error::store_error`] takes for damage.
pub(crate) fn damaged(what: &'static str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(1, rusqlite::types::Type::Blob, what.into())
}
