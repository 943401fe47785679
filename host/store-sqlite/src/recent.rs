//! What is committed and not in the tables yet, as this process knows it: the journal, read once and kept up to date.
//!
//! Whoever reads sees the tables through it. Both must be of the same moment: a reader holds the lock while it takes its
//! snapshot, so that nothing known here can be newer than the snapshot, and catches up where the snapshot is newer. Whoever
//! keeps a snapshot ([`Moment`]) shares what was known with it, and holds no lock: commits lie over that as levels of their
//! own until nobody shares what is below.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rusqlite::Connection;
use threadmesh_runtime::store::{Query, Row};

use crate::counters::{Counters, Format};
use crate::delta::Delta;
use crate::journal::{self, Place};
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
    /// The topmost last; never empty. Each has more than twice what is in the one over it.
    levels: Vec<Arc<Delta>>,
    memory: Arc<Memory>,
}

/// What a process knew at a moment, for as long as a snapshot of then is read.
#[derive(Debug)]
pub(crate) struct Moment {
    levels: Vec<Arc<Delta>>,
    memory: Arc<Memory>,
}

impl Moment {
    /// Looks at the tables of the snapshot that this was told of.
    pub fn through<T>(&self, conn: &Connection, what: impl FnOnce(&View<'_>) -> T) -> T {
        let levels: Vec<&Delta> = self.levels.iter().rev().map(Arc::as_ref).collect();
        what(&View { conn, levels: &levels, memory: &self.memory, absent: None })
    }
}

impl Recent {
    /// Of a file that was opened with `format`; nothing is known yet.
    pub fn new(format: Format) -> Self {
        // A turn that no file has, so that the first one to look reads the journal.
        Self { format, state: RwLock::new(State::new(Place { settled: -1, slots: 0 })) }
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
        absent: &Absent,
        what: impl FnOnce(&View<'_>) -> T,
    ) -> T {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let levels: Vec<&Delta> = std::iter::once(layer).chain(state.levels.iter().rev().map(Arc::as_ref)).collect();
        what(&View { conn, levels: &levels, memory: &state.memory, absent: Some(absent) })
    }

    /// Calls `what` with the journal.
    pub fn with<T>(&self, what: impl FnOnce(&Delta) -> T) -> T {
        let journal = self.state.write().unwrap_or_else(PoisonError::into_inner).whole();
        what(&journal)
    }

    /// `layer` was committed and led from one place to another one. A reader may have learned of it already.
    pub fn advance(&self, layer: Delta, from: Place, to: Place) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.place != from {
            return;
        }
        state.place = to;
        if from.settled == to.settled {
            state.push(layer);
            return;
        }
        let old = std::mem::replace(&mut *state, State::new(to));
        drop(state);
        drop(old);
    }
}

impl State {
    /// Nothing is known at `place`.
    fn new(place: Place) -> Self {
        Self { place, levels: vec![Arc::default()], memory: Arc::default() }
    }

    fn moment(&self) -> Moment {
        Moment { levels: self.levels.clone(), memory: Arc::clone(&self.memory) }
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
        if self.place.settled != place.settled || self.place.slots > place.slots {
            *self = Self::new(Place { slots: 0, ..place });
        }
        let (used, mut layers) = (self.place.slots, Vec::new());
        journal::load(conn, used, place, |layer| layers.push(layer))?;
        layers.into_iter().for_each(|layer| self.push(layer));
        self.place = place;
        Ok(())
    }
}

fn begin(conn: &Connection) -> rusqlite::Result<()> {
    conn.prepare_cached("BEGIN")?.execute([]).map(|_| ())
}

/// Ends the snapshot of `conn`, if it has one.
pub(crate) fn end(conn: &Connection) -> rusqlite::Result<()> {
    if conn.is_autocommit() { Ok(()) } else { conn.prepare_cached("ROLLBACK")?.execute([]).map(|_| ()) }
}

/// Answers of the tables, which stay as they are until the journal is carried over.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    bytes: usize,
    /// By the number of the index and the first key.
    answers: HashMap<i64, HashMap<String, Vec<Remember>>>,
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

    /// Remembers an answer that is small, unless there are enough.
    pub fn keep(&self, name: i64, query: &Query, limit: u32, rows: &[Row]) {
        // Also what is around the texts: keys, ids and the tables that hold them.
        let bytes = rows.iter().map(|row| row.body.len() + row.id.len() + row.key.len() + 256).sum::<usize>();
        let small = (1..=ROWS).contains(&rows.len()) && bytes <= BYTES;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !small || known.bytes + bytes > REMEMBERED {
            return;
        }
        known.bytes += bytes;
        let one = Remember { end: query.end.clone(), reverse: query.reverse, limit, rows: rows.to_vec() };
        known.answers.entry(name).or_default().entry(query.start.clone()).or_default().push(one);
    }
}

/// Ids that a batch has looked for in the tables in vain; what a batch asks for it writes soon after.
#[derive(Debug, Default)]
pub(crate) struct Absent(RefCell<HashMap<i64, HashSet<String>>>);

impl Absent {
    /// Whether it was looked for.
    pub fn has(&self, name: i64, id: &str) -> bool {
        self.0.borrow().get(&name).is_some_and(|ids| ids.contains(id))
    }

    /// It is not there.
    pub fn note(&self, name: i64, id: &str) {
        self.0.borrow_mut().entry(name).or_default().insert(id.to_owned());
    }
}
