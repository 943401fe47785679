//! What is committed and not in the tables yet, as this process knows it: the journal, read once and kept up to date.
//!
//! Whoever reads sees the tables through it. Both must be of the same moment: a reader holds the lock while it takes its
//! snapshot, so that nothing known here can be newer than the snapshot, and catches up where the snapshot is newer.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError, RwLock};

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
    delta: Delta,
    memory: Memory,
}

impl Recent {
    /// Of a file that was opened with `format`; nothing is known yet.
    pub fn new(format: Format) -> Self {
        // A turn that no file has, so that the first one to look reads the journal.
        let place = Place { settled: -1, slots: 0 };
        Self { format, state: RwLock::new(State { place, delta: Delta::default(), memory: Memory::default() }) }
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
        let result = self.in_snapshot(conn, what);
        // Nothing is open where the snapshot could not be taken.
        let ended = if conn.is_autocommit() { Ok(0) } else { conn.prepare_cached("ROLLBACK")?.execute([]) };
        result.and_then(|value| ended.map(|_| value))
    }

    fn in_snapshot<T>(
        &self,
        conn: &Connection,
        what: impl FnOnce(&View<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            begin(conn)?;
            if state.place == self.place(conn)? {
                return what(&View { conn, levels: &[&state.delta], memory: &state.memory, absent: None });
            }
            conn.prepare_cached("ROLLBACK")?.execute([])?;
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        // Somebody may have come further than that snapshot; nobody does while this lock is held.
        begin(conn)?;
        state.catch_up(conn, self.place(conn)?)?;
        what(&View { conn, levels: &[&state.delta], memory: &state.memory, absent: None })
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
        what(&View { conn, levels: &[layer, &state.delta], memory: &state.memory, absent: Some(absent) })
    }

    /// Calls `what` with the journal.
    pub fn with<T>(&self, what: impl FnOnce(&Delta) -> T) -> T {
        what(&self.state.read().unwrap_or_else(PoisonError::into_inner).delta)
    }

    /// `layer` was committed and led from one place to another one. A reader may have learned of it already.
    pub fn advance(&self, layer: Delta, from: Place, to: Place) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.place != from {
            return;
        }
        state.place = to;
        if from.settled == to.settled {
            state.delta.absorb(layer);
            return;
        }
        let old = (std::mem::take(&mut state.delta), std::mem::take(&mut state.memory));
        drop(state);
        drop(old);
    }
}

impl State {
    fn catch_up(&mut self, conn: &Connection, place: Place) -> rusqlite::Result<()> {
        if self.place.settled != place.settled || self.place.slots > place.slots {
            *self = Self { place: Place { slots: 0, ..place }, delta: Delta::default(), memory: Memory::default() };
        }
        let (used, mut layers) = (self.place.slots, Vec::new());
        journal::load(conn, used, place, |layer| layers.push(layer))?;
        layers.into_iter().for_each(|layer| self.delta.absorb(layer));
        self.place = place;
        Ok(())
    }
}

fn begin(conn: &Connection) -> rusqlite::Result<()> {
    conn.prepare_cached("BEGIN")?.execute([]).map(|_| ())
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
