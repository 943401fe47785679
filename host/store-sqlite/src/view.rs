//! Looking at the tables through changes that lie over them.

use rusqlite::Connection;
use threadmesh_runtime::store::{Answer, Query, Row};

use crate::delta::{Delta, Fact, Mark};
use crate::journal::damaged;
use crate::query::{self, Current};
use crate::recent::{Absent, Memory};

/// The tables of one snapshot, and the changes over them, the topmost first.
pub(crate) struct View<'a> {
    pub conn: &'a Connection,
    pub levels: &'a [&'a Delta],
    pub memory: &'a Memory,
    /// Of an open batch.
    pub absent: Option<&'a Absent>,
}

impl View<'_> {
    /// What `query` finds in the index with the number `name`.
    pub fn answer(&self, name: i64, query: &Query) -> rusqlite::Result<Answer> {
        if query.limit > 0 && query.index.is_empty() && query.end.is_none() {
            // An id stands for one row: there is never more.
            return Ok(Answer { rows: self.rows(name, query)?, more: false });
        }
        let beyond = Query { limit: query.limit.saturating_add(1), ..query.clone() };
        Ok(Answer::of(query, self.rows(name, &beyond)?))
    }

    /// The first rows, up to its limit, that `query` finds in the index with the number `name`.
    fn rows(&self, name: i64, query: &Query) -> rusqlite::Result<Vec<Row>> {
        let by_id = query.index.is_empty() && query.end.is_none();
        if by_id && let Some(found) = self.recent(name, &query.start) {
            let row = found.map(|(stamp, fact)| row(&query.start, stamp, fact)).filter(|_| query.limit > 0);
            return Ok(row.into_iter().collect());
        }
        let gone = self.levels.iter().flat_map(|level| level.range(name, query)).filter(|(_, mark)| !mark.there);
        let more = u32::try_from(gone.count()).unwrap_or(u32::MAX);
        let rows = self.stored(name, query, query.limit.saturating_add(more))?;
        if by_id && rows.is_empty() && query.limit > 0 {
            self.absent.iter().for_each(|absent| absent.note(name, &query.start));
        }
        self.merge(name, query, rows)
    }

    /// The row with `id` in the collection whose index without a name has the number `name`, as an update needs it.
    pub fn current(&self, name: i64, id: &str) -> rusqlite::Result<Option<Current>> {
        if let Some(found) = self.recent(name, id) {
            return Ok(found.map(|(stamp, fact)| Current { stamp, revision: fact.revision, keys: fact.keys.clone() }));
        }
        if self.absent.is_some_and(|absent| absent.has(name, id)) {
            return Ok(None);
        }
        let Some(stored) = query::current(self.conn, name, id)? else { return Ok(None) };
        // Its id stays, but the rest may be newer than the tables.
        Ok(Some(match self.fact(stored.stamp) {
            Some(Some(fact)) => Current { revision: fact.revision, keys: fact.keys.clone(), ..stored },
            Some(None) => return Err(damaged("a row is gone, but not its id")),
            None => stored,
        }))
    }

    /// A key that comes though its row is gone.
    pub fn stray_key(&self) -> Option<&str> {
        let mut marks = self.levels.iter().flat_map(|level| level.marks());
        let stray = marks.find(|(_, mark)| mark.there && matches!(self.fact(mark.stamp), Some(None)));
        stray.map(|((_, key), _)| key)
    }

    /// How many keys come in the index with the number `name`.
    pub fn coming(&self, name: i64) -> usize {
        let marks = self.levels.iter().flat_map(|level| level.marks());
        marks.filter(|((index, _), mark)| *index == name && mark.there).count()
    }

    /// What the changes say about an id: nothing, that it is gone, or which row it is.
    fn recent(&self, name: i64, id: &str) -> Option<Option<(i64, &Fact)>> {
        let marks = self.levels.iter().map(|level| level.at((name, id))).find(|marks| !marks.is_empty())?;
        let there = marks.iter().find(|mark| mark.there);
        // An id stands for one row: where one comes, those below are gone.
        Some(there.and_then(|mark| Some((mark.stamp, self.fact(mark.stamp)??))))
    }

    /// The topmost word on a row.
    fn fact(&self, stamp: i64) -> Option<Option<&Fact>> {
        self.levels.iter().find_map(|level| level.fact(stamp))
    }

    /// What the tables alone answer.
    fn stored(&self, name: i64, query: &Query, limit: u32) -> rusqlite::Result<Vec<Row>> {
        if let Some(rows) = self.memory.get(name, query, limit) {
            return Ok(rows);
        }
        let rows = query::rows(self.conn, name, query, limit)?;
        self.memory.keep(name, query, limit, &rows);
        Ok(rows)
    }

    /// `rows` of the tables as corrected by the changes.
    fn merge(&self, name: i64, query: &Query, rows: Vec<Row>) -> rusqlite::Result<Vec<Row>> {
        let mut places: Vec<(&str, Mark)> = Vec::new();
        // From below, so that the topmost word on a key is the last one.
        for level in self.levels.iter().rev() {
            places.extend(level.range(name, query));
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
                merged.extend(stored.next().map(|row| self.corrected(row)).transpose()?);
                continue;
            }
            let Some((key, mut mark)) = places.next() else { break };
            while let Some((_, above)) = places.next_if(|(other, above)| *other == key && above.stamp == mark.stamp) {
                mark = above;
            }
            let same = |row: &Row| row.key == key && row.stamp.cast_signed() == mark.stamp;
            let below = stored.next_if(same);
            match (mark.there, self.fact(mark.stamp), below) {
                (false, ..) => {}
                (true, Some(Some(fact)), _) => merged.push(row(key, mark.stamp, fact)),
                (true, None, Some(below)) => merged.push(below),
                // The key of a row that is in the tables came, and the tables have another key of it.
                (true, ..) => return Err(damaged("a key leads to no row")),
            }
        }
        Ok(merged)
    }

    /// A row of the tables as it is now.
    fn corrected(&self, stored: Row) -> rusqlite::Result<Row> {
        match self.fact(stored.stamp.cast_signed()) {
            None => Ok(stored),
            Some(Some(fact)) => Ok(row(&stored.key, stored.stamp.cast_signed(), fact)),
            Some(None) => Err(damaged("a row is gone, but not its key")),
        }
    }
}

fn row(key: &str, stamp: i64, fact: &Fact) -> Row {
    let (id, body) = (fact.id.clone(), fact.body.clone());
    Row { id, key: key.to_owned(), revision: fact.revision, body, stamp: stamp.cast_unsigned() }
}
