//! Looking at the tables through changes that lie over them.

use std::sync::Arc;

use rusqlite::Connection;
use threadmesh_runtime::store::{Answer, Query, Row, audit_id};

use crate::delta::{Delta, Fact, Mark, Record};
use crate::journal::damaged;
use crate::keys::Key;
use crate::looked::{Found, Looked};
use crate::names::Index;
use crate::position;
use crate::query::{self, Current};
use crate::recent::Memory;

/// The tables of one snapshot, and the changes over them, the topmost first.
pub(crate) struct View<'a> {
    pub conn: &'a Connection,
    pub levels: &'a [&'a Delta],
    pub memory: &'a Memory,
    /// Of an open batch.
    pub looked: Option<&'a Looked>,
}

impl View<'_> {
    /// What `query` finds in `index`.
    pub fn answer(&self, index: Index, query: &Query) -> rusqlite::Result<Answer> {
        if query.limit > 0 && query.index.is_empty() && query.end.is_none() {
            // An id stands for one row: there is never more.
            return Ok(Answer { rows: self.rows(index, query)?, more: false });
        }
        let beyond = Query { limit: query.limit.saturating_add(1), ..query.clone() };
        Ok(Answer::of(query, self.rows(index, &beyond)?))
    }

    /// The first rows, up to its limit, that `query` finds in `index`. Where their texts have more bytes than it asks for, and
    /// there are two, the rest may be missing, or may not be the rows that come next.
    fn rows(&self, index: Index, query: &Query) -> rusqlite::Result<Vec<Row>> {
        if index.audit && query.index.is_empty() {
            return self.by_position(query);
        }
        if query.index.is_empty() && query.end.is_none() {
            let row = if query.limit > 0 { self.by_id(index.number, &query.start)? } else { None };
            return Ok(row.into_iter().collect());
        }
        let changed = self.levels.iter().flat_map(|level| level.keys(index.audit).range(index.number, query));
        let more = u32::try_from(changed.filter(|(_, mark)| !mark.there).count()).unwrap_or(u32::MAX);
        let rows = self.stored(index, query, query.limit.saturating_add(more))?;
        self.merge(index, query, rows)
    }

    /// Audit records by their ids: those of the table, and behind them those of each level, the topmost last.
    fn by_position(&self, query: &Query) -> rusqlite::Result<Vec<Row>> {
        let positions = position::range(query);
        // Some of those that come may be in the table already.
        let first =
            self.levels.iter().filter_map(|level| level.all_records().next()).map(|(position, _)| position).min();
        let below = positions.start..positions.end.min(first.unwrap_or(i64::MAX));
        let make = |(position, one)| record(None, position, one);
        let mut budget = Budget::new(query);
        let limit = query.limit as usize;
        if query.reverse {
            let above = self.levels.iter().flat_map(|level| level.records(positions.clone()).rev());
            let mut rows: Vec<Row> = above.take(limit).map(make).collect();
            let left = u32::try_from(limit - rows.len()).unwrap_or(u32::MAX);
            rows.iter().for_each(|row| budget.take(row));
            rows.extend(query::records(self.conn, below, true, left, |row| budget.is_spent_with(row))?);
            return Ok(rows);
        }
        let mut rows = query::records(self.conn, below, false, query.limit, |row| budget.is_spent_with(row))?;
        let above = self.levels.iter().rev().flat_map(|level| level.records(positions.clone()));
        rows.extend(above.take(limit - rows.len()).map(make));
        Ok(rows)
    }

    /// The row with `id` in the collection whose index without a name has the number `name`.
    fn by_id(&self, name: i64, id: &str) -> rusqlite::Result<Option<Row>> {
        if let Some(found) = self.recent(name, id) {
            return Ok(found.map(|(stamp, fact)| row(id, stamp, fact)));
        }
        let Some(found) = self.found(name, id)? else { return Ok(None) };
        let newer = self.newer(&found)?;
        Ok(Some(newer.map_or_else(|| found.row.clone(), |fact| row(id, found.row.stamp.cast_signed(), fact))))
    }

    /// The same as an update needs it.
    pub fn current(&self, name: i64, id: &str) -> rusqlite::Result<Option<Current>> {
        if let Some(found) = self.recent(name, id) {
            return Ok(found.map(|(stamp, fact)| Current { stamp, revision: fact.revision, keys: fact.keys.clone() }));
        }
        let Some(found) = self.found(name, id)? else { return Ok(None) };
        let newer = self.newer(&found)?.map(|fact| (fact.revision, &fact.keys));
        let (revision, keys) = newer.unwrap_or((found.row.revision, &found.keys));
        Ok(Some(Current { stamp: found.row.stamp.cast_signed(), revision, keys: keys.clone() }))
    }

    /// What the tables have under an id, each id looked up once.
    fn found(&self, name: i64, id: &str) -> rusqlite::Result<Option<Arc<Found>>> {
        if let Some(known) = self.looked.and_then(|looked| looked.get(name, id)) {
            return Ok(known);
        }
        let mut found = self.memory.found(name, id);
        if found.is_none() {
            found = query::by_id(self.conn, name, id)?.map(Arc::new);
            found.iter().for_each(|found| self.memory.keep_found(name, id, found));
        }
        self.looked.iter().for_each(|looked| looked.note(name, id, found.clone()));
        Ok(found)
    }

    /// How a row of the tables is, where it has changed; its id stays.
    fn newer(&self, found: &Found) -> rusqlite::Result<Option<&Fact>> {
        self.fact(found.row.stamp.cast_signed())
            .map(|fact| fact.ok_or_else(|| damaged("a row is gone, but not its id")))
            .transpose()
    }

    /// A key that comes though its row is gone.
    pub fn stray_key(&self) -> Option<&str> {
        let levels = self.levels.iter().enumerate();
        let mut marks = levels.flat_map(|(place, level)| level.keys(false).marks().map(move |mark| (place, mark)));
        let goes = |place: usize, (key, mark): (Key<'_>, Mark)| {
            let above = |level: &&Delta| level.keys(false).at(key).iter().any(|other| other.stamp == mark.stamp);
            self.levels[..place].iter().any(above)
        };
        let stray = |(place, (key, mark)): (usize, (Key<'_>, Mark))| {
            mark.there && matches!(self.fact(mark.stamp), Some(None)) && !goes(place, (key, mark))
        };
        marks.find(|mark| stray(*mark)).map(|(_, ((_, key), _))| key)
    }

    /// The positions of the audit records that come, in order; the first ones may be in the table already.
    pub fn coming(&self) -> impl Iterator<Item = i64> {
        self.levels.iter().rev().flat_map(|level| level.all_records().map(|(position, _)| position))
    }

    /// The changes some of which may be in the tables already.
    pub fn carried(&self) -> Option<&Delta> {
        self.levels.last().copied()
    }

    /// What the changes say about an id: nothing, that it is gone, or which row it is.
    fn recent(&self, name: i64, id: &str) -> Option<Option<(i64, &Fact)>> {
        let marks = self.levels.iter().map(|level| level.keys(false).at((name, id))).find(|marks| !marks.is_empty())?;
        let there = marks.iter().find(|mark| mark.there);
        // An id stands for one row: where one comes, those below are gone.
        Some(there.and_then(|mark| Some((mark.stamp, self.fact(mark.stamp)??))))
    }

    /// The topmost word on a row.
    fn fact(&self, stamp: i64) -> Option<Option<&Fact>> {
        self.levels.iter().find_map(|level| level.fact(stamp))
    }

    /// What the tables alone answer.
    fn stored(&self, index: Index, query: &Query, limit: u32) -> rusqlite::Result<Vec<Row>> {
        if let Some(rows) = self.memory.get(index.number, query, limit) {
            return Ok(rows);
        }
        let (mut budget, mut cut) = (Budget::new(query), false);
        let rows = query::rows(self.conn, index, query, limit, |row| {
            cut = self.is_as_stored(index, row) && budget.is_spent_with(row);
            cut
        })?;
        if !cut {
            self.memory.keep(index.number, query, limit, &rows);
        }
        Ok(rows)
    }

    /// Whether a row of the tables comes with this key and text, whatever else changes.
    fn is_as_stored(&self, index: Index, row: &Row) -> bool {
        let stamp = row.stamp.cast_signed();
        let marked = |level: &&Delta| {
            level.keys(index.audit).at((index.number, &row.key)).iter().any(|mark| mark.stamp == stamp)
        };
        !self.levels.iter().any(marked) && (index.audit || self.fact(stamp).is_none())
    }

    /// `rows` of the tables as corrected by the changes.
    fn merge(&self, index: Index, query: &Query, rows: Vec<Row>) -> rusqlite::Result<Vec<Row>> {
        let mut places: Vec<(&str, Mark)> = Vec::new();
        // From below, so that the topmost word on a key is the last one.
        for level in self.levels.iter().rev() {
            places.extend(level.keys(index.audit).range(index.number, query));
        }
        let order = |a: (&str, i64), b: (&str, i64)| if query.reverse { b.cmp(&a) } else { a.cmp(&b) };
        places.sort_by(|(key, mark), (other, against)| order((key, mark.stamp), (other, against.stamp)));
        let (mut stored, mut places) = (rows.into_iter().peekable(), places.into_iter().peekable());
        let mut merged = Vec::new();
        while merged.len() < query.limit as usize {
            let next = match (stored.peek(), places.peek()) {
                (None, None) => break,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (Some(row), Some((key, mark))) => order((&row.key, row.stamp.cast_signed()), (key, mark.stamp)).is_lt(),
            };
            if next {
                merged.extend(stored.next().map(|row| self.corrected(index, row)).transpose()?);
                continue;
            }
            let Some((key, mut mark)) = places.next() else { break };
            while let Some((_, above)) = places.next_if(|(other, above)| *other == key && above.stamp == mark.stamp) {
                mark = above;
            }
            let same = |row: &Row| row.key == key && row.stamp.cast_signed() == mark.stamp;
            let below = stored.next_if(same);
            if !mark.there {
                continue;
            }
            match (self.changed(index, key, mark.stamp), below) {
                (Some(Some(row)), _) => merged.push(row),
                (None, Some(below)) => merged.push(below),
                // The key of a row that is in the tables came, and the tables have another key of it.
                _ => return Err(damaged("a key leads to no row")),
            }
        }
        Ok(merged)
    }

    /// What the changes say about the row that a key leads to: nothing, that it is gone, or how it is.
    fn changed(&self, index: Index, key: &str, stamp: i64) -> Option<Option<Row>> {
        if index.audit {
            let found = self.levels.iter().find_map(|level| level.record(stamp))?;
            return Some(Some(record(Some(key), stamp, found)));
        }
        self.fact(stamp).map(|fact| fact.map(|fact| row(key, stamp, fact)))
    }

    /// A row of the tables as it is now.
    fn corrected(&self, index: Index, stored: Row) -> rusqlite::Result<Row> {
        match self.changed(index, &stored.key, stored.stamp.cast_signed()) {
            None => Ok(stored),
            Some(Some(row)) => Ok(row),
            Some(None) => Err(damaged("a row is gone, but not its key")),
        }
    }
}

/// How many bytes the texts of an answer may have, while rows of the tables are read for it.
struct Budget {
    /// Nothing where there is no bound.
    left: Option<i64>,
    rows: u32,
}

impl Budget {
    fn new(query: &Query) -> Self {
        Self { left: (query.bytes > 0).then_some(query.bytes.into()), rows: 0 }
    }

    /// A row is in the answer.
    fn take(&mut self, row: &Row) {
        self.left = self.left.map(|left| left.saturating_sub_unsigned(row.body.len() as u64));
        self.rows += 1;
    }

    /// The same, and whether the answer ends in front of this row or an earlier one, which is never the first.
    fn is_spent_with(&mut self, row: &Row) -> bool {
        self.take(row);
        self.rows > 1 && self.left.is_some_and(|left| left < 0)
    }
}

fn row(key: &str, stamp: i64, fact: &Fact) -> Row {
    let (id, body) = (fact.id.clone(), fact.body.clone());
    Row { id, key: key.to_owned(), revision: fact.revision, body, stamp: stamp.cast_unsigned() }
}

/// An audit record as a row; without a key, by its id.
fn record(key: Option<&str>, position: i64, record: &Record) -> Row {
    let stamp = position.cast_unsigned();
    let id = audit_id(stamp);
    Row { key: key.map_or_else(|| id.clone(), str::to_owned), id, revision: 1, body: record.body.clone(), stamp }
}
