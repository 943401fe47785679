//! What is committed and not in the tables yet, as this process knows it: the journal, read once and kept up to date.
//!
//! Whoever reads sees the tables through it. Both must be of the same moment: a reader holds the lock while it takes its
//! snapshot, so that nothing known here can be newer than the snapshot, and catches up where the snapshot is newer. Whoever
//! keeps a snapshot ([`Moment`]) shares what was known with it, and holds no lock: commits lie over that as levels of their
//! own until nobody shares what is below.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rusqlite::Connection;
use threadmesh_runtime::store::{Query, Row};

use crate::counters::{Counters, Format};
use crate::delta::Delta;
use crate::journal::{self, Place};
use crate::looked::{ById, Found, Looked};
use crate::settle::{At, Carried};
use crate::view::View;

/// How many bytes the texts of remembered answers may have together.
const REMEMBERED: usize = 2 << 20;
/// How many rows a remembered answer may have.
const ROWS: usize = 2;
/// And how many bytes their texts may have.
const BYTES: usize = 8_192;

/// See the module.
#[derive(Debug)]
pub(crate) struct Recent {
    /// As it was when the file was opened.
    format: Format,
    state: RwLock<State>,
}

#[derive(Debug)]
struct State {
    place: Place,
    /// What the half that is being filled holds, the topmost last; never empty. Each has more than twice what is in the one
    /// over it.
    levels: Vec<Arc<Delta>>,
    /// What the other half holds until all of it is carried over, and how far it is.
    old: Arc<Carried>,
    at: At,
    /// Of the tables under all of `old`: which part of it they hold already makes no difference.
    memory: Arc<Memory>,
}

/// What a process knew at a moment, for as long as a snapshot of then is read.
#[derive(Debug)]
pub(crate) struct Moment {
    levels: Vec<Arc<Delta>>,
    old: Arc<Carried>,
    memory: Arc<Memory>,
}

impl Moment {
    /// Looks at the tables of the snapshot that this was told of.
    pub fn through<T>(&self, conn: &Connection, what: impl FnOnce(&View<'_>) -> T) -> T {
        let levels = levels(None, &self.levels, &self.old);
        what(&View { conn, levels: &levels, memory: &self.memory, looked: None })
    }
}

impl Recent {
    /// Of a file that was opened with `format`; nothing is known yet.
    pub fn new(format: Format) -> Self {
        // A turn that no file has, so that the first one to look reads the journal.
        Self { format, state: RwLock::new(State::new(Place { settled: -1, ..Place::default() }, Arc::default())) }
    }

    /// As it was when the file was opened.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Reads with `conn` in one snapshot, which `what` sees through the journal.
    pub fn read<T>(
        &self,
        conn: &Connection,
        what: impl FnOnce(&View<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let result = self.snapshot(conn).and_then(|moment| moment.through(conn, what));
        let ended = end(conn);
        result.and_then(|value| ended.map(|()| value))
    }

    /// Begins a snapshot of `conn`, which [`end`] ends, also where this fails; and what is known of the moment.
    pub fn snapshot(&self, conn: &Connection) -> rusqlite::Result<Moment> {
        {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            begin(conn)?;
            if state.place == self.place(conn)? {
                return Ok(state.moment());
            }
            conn.prepare_cached("ROLLBACK")?.execute([])?;
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        // Somebody may have come further than that snapshot; nobody does while this lock is held.
        begin(conn)?;
        state.catch_up(conn, self.place(conn)?)?;
        Ok(state.moment())
    }

    /// Where the snapshot of `conn` stands, if this store may read it.
    fn place(&self, conn: &Connection) -> rusqlite::Result<Place> {
        Ok(Counters::load_as(conn, self.format)?.place)
    }

    /// Learns what was committed up to `place`, which is that of the transaction of `conn`.
    pub fn catch_up(&self, conn: &Connection, place: Place) -> rusqlite::Result<()> {
        if self.state.read().unwrap_or_else(PoisonError::into_inner).place == place {
            return Ok(());
        }
        self.state.write().unwrap_or_else(PoisonError::into_inner).catch_up(conn, place)
    }

    /// Looks at the tables through the journal and `layer`, in a transaction that has caught up.
    pub fn through<T>(
        &self,
        conn: &Connection,
        layer: &Delta,
        looked: &Looked,
        what: impl FnOnce(&View<'_>) -> T,
    ) -> T {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let levels = levels(Some(layer), &state.levels, &state.old);
        what(&View { conn, levels: &levels, memory: &state.memory, looked: Some(looked) })
    }

    /// Calls `what` with the half of the journal that is carried over, and how far it is.
    pub fn with_old<T>(&self, what: impl FnOnce(&Carried, &At) -> T) -> T {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        what(&state.old, &state.at)
    }

    /// What the half holds that is being filled.
    pub fn whole(&self) -> Arc<Delta> {
        self.state.write().unwrap_or_else(PoisonError::into_inner).whole()
    }

    /// `layer` was committed and led from one place to another one, and the half that is carried over at that one is so up to
    /// `at`. A reader may have learned of it already.
    pub fn advance(&self, layer: Delta, from: Place, to: Place, at: At) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.place != from {
            return;
        }
        let went_on = from.settled != to.settled;
        let mut let_go = None;
        if went_on || from.before > 0 && to.before == 0 {
            // The tables have a new ground.
            let full = if went_on && to.before > 0 { Arc::new(Carried::new(state.whole())) } else { Arc::default() };
            let levels = if went_on { std::mem::replace(&mut state.levels, vec![Arc::default()]) } else { Vec::new() };
            let_go = Some((levels, std::mem::replace(&mut state.old, full), std::mem::take(&mut state.memory)));
        }
        if !went_on || to.before > 0 {
            state.push(layer);
        }
        (state.place, state.at) = (to, at);
        drop(state);
        drop(let_go);
    }
}

impl State {
    /// Of the half that is being filled at `place` nothing is known.
    fn new(place: Place, old: Arc<Carried>) -> Self {
        let (at, place) = (At::behind(place.carried), Place { slots: 0, ..place });
        Self { place, levels: vec![Arc::default()], old, at, memory: Arc::default() }
    }

    fn moment(&self) -> Moment {
        Moment { levels: self.levels.clone(), old: Arc::clone(&self.old), memory: Arc::clone(&self.memory) }
    }

    /// Adds what lies over all that is known. What somebody shares is copied, and then only when as much again has come: so
    /// levels are few, and each row is copied a few times at most however many snapshots there are.
    fn push(&mut self, layer: Delta) {
        let mut upper = layer;
        while let Some(mut below) = self.levels.pop() {
            let shared = Arc::get_mut(&mut below).is_none();
            if shared && below.len() > 2 * upper.len() {
                self.levels.push(below);
                break;
            }
            let mut joined = Arc::unwrap_or_clone(below);
            joined.absorb(upper);
            upper = joined;
        }
        self.levels.push(Arc::new(upper));
    }

    /// All that is known, as one.
    fn whole(&mut self) -> Arc<Delta> {
        let mut levels = std::mem::take(&mut self.levels).into_iter();
        let mut whole = levels.next().unwrap_or_default();
        for level in levels {
            Arc::make_mut(&mut whole).absorb(Arc::unwrap_or_clone(level));
        }
        self.levels.push(Arc::clone(&whole));
        whole
    }

    fn catch_up(&mut self, conn: &Connection, place: Place) -> rusqlite::Result<()> {
        let goes_on = self.place.settled == place.settled && self.place.slots <= place.slots;
        if !goes_on || (place.before != self.place.before && place.before > 0) {
            let mut old = Delta::default();
            journal::load(conn, place.settled - 1, 0, place.before, |layer| old.absorb(layer))?;
            *self = Self::new(place, Arc::new(Carried::new(Arc::new(old))));
        } else if place.before != self.place.before {
            (self.old, self.memory) = (Arc::default(), Arc::default());
        }
        let mut layers = Vec::new();
        journal::load(conn, place.settled, self.place.slots, place.slots, |layer| layers.push(layer))?;
        layers.into_iter().for_each(|layer| self.push(layer));
        if self.at.done != place.carried {
            self.at = At::behind(place.carried);
        }
        self.place = place;
        Ok(())
    }
}

/// What lies over the tables, the topmost first.
fn levels<'a>(layer: Option<&'a Delta>, levels: &'a [Arc<Delta>], old: &'a Carried) -> Vec<&'a Delta> {
    layer.into_iter().chain(levels.iter().rev().map(Arc::as_ref)).chain([&*old.delta]).collect()
}

fn begin(conn: &Connection) -> rusqlite::Result<()> {
    conn.prepare_cached("BEGIN")?.execute([]).map(|_| ())
}

/// Ends the snapshot of `conn`, if it has one.
pub(crate) fn end(conn: &Connection) -> rusqlite::Result<()> {
    if conn.is_autocommit() { Ok(()) } else { conn.prepare_cached("ROLLBACK")?.execute([]).map(|_| ()) }
}

/// Answers of the tables. What is laid over them has all that changes in them, until a half of the journal is carried over.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    bytes: usize,
    /// By the number of the index and the first key.
    answers: HashMap<i64, HashMap<String, Vec<Remember>>>,
    rows: ById<Arc<Found>>,
}

/// An answer and the rest of its query.
#[derive(Debug)]
struct Remember {
    end: Option<String>,
    reverse: bool,
    limit: u32,
    rows: Vec<Row>,
}

impl Memory {
    /// The remembered answer of the index with the number `name` to `query` with another limit.
    pub fn get(&self, name: i64, query: &Query, limit: u32) -> Option<Vec<Row>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |one: &&Remember| one.limit == limit && one.reverse == query.reverse && one.end == query.end;
        known.answers.get(&name)?.get(&query.start)?.iter().find(same).map(|one| one.rows.clone())
    }

    /// The row with `id`, if it is remembered.
    pub fn found(&self, name: i64, id: &str) -> Option<Arc<Found>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).rows.get(name, id)
    }

    /// Remembers a row under its id, if it is small, unless there are enough.
    pub fn keep_found(&self, name: i64, id: &str, found: &Arc<Found>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.takes(size(&found.row) + found.keys.len()) {
            known.rows.put(name, id, Arc::clone(found));
        }
    }

    /// Remembers an answer that is small, unless there are enough.
    pub fn keep(&self, name: i64, query: &Query, limit: u32, rows: &[Row]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !(1..=ROWS).contains(&rows.len()) || !known.takes(rows.iter().map(size).sum()) {
            return;
        }
        let one = Remember { end: query.end.clone(), reverse: query.reverse, limit, rows: rows.to_vec() };
        known.answers.entry(name).or_default().entry(query.start.clone()).or_default().push(one);
    }
}

impl Remembered {
    /// Whether there is room for so many bytes, which are then counted.
    fn takes(&mut self, bytes: usize) -> bool {
        let takes = bytes <= BYTES && self.bytes + bytes <= REMEMBERED;
        self.bytes += if takes { bytes } else { 0 };
        takes
    }
}

/// What a row takes: also what is around the texts, namely keys, ids and the tables that hold them.
fn size(row: &Row) -> usize {
    row.body.len() + row.id.len() + row.key.len() + 256
}
