//! A store in memory, as small as it can be: rows, index keys and the order of the boundary.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use threadmesh_protocol::kernel::{Answer, AuditRecord, Decision, Entry, Query, Stored, Write};

/// Where audit records stand.
const AUDIT: &str = "audit";

#[derive(Clone, Debug)]
struct Row {
    revision: u32,
    body: String,
    entries: Vec<Entry>,
}

/// Rows, and where their keys lead.
#[derive(Clone, Debug, Default)]
pub struct Store {
    rows: HashMap<(String, String), Row>,
    /// Per collection and index: keys with the ids of the rows.
    keys: HashMap<(String, String), BTreeMap<String, BTreeSet<String>>>,
    audits: u64,
}

impl Store {
    /// The revision of a row; 0 where there is none.
    pub fn revision(&self, collection: &str, id: &str) -> u32 {
        self.rows.get(&(collection.to_owned(), id.to_owned())).map_or(0, |row| row.revision)
    }

    /// What is stored for `query`.
    pub fn answer(&self, query: &Query) -> Answer {
        let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
        let place = (query.collection.clone(), query.index.clone());
        let mut found = Vec::new();
        if let Some(keys) = self.keys.get(&place) {
            let fits = |key: &str| match &query.end {
                None => key == query.start,
                Some(end) => key < end.as_str(),
            };
            let range = keys.range(query.start.clone()..).take_while(|(key, _)| fits(key));
            let pairs = range.flat_map(|(key, ids)| ids.iter().map(move |id| (key, id)));
            let rows = pairs.filter_map(|(key, id)| self.stored(&query.collection, key, id));
            found = if query.reverse { rows.collect() } else { rows.take(limit.saturating_add(1)).collect() };
            if query.reverse {
                found.reverse();
            }
        }
        let more = found.len() > limit;
        found.truncate(limit);
        Answer { query: query.clone(), rows: found, more }
    }

    fn stored(&self, collection: &str, key: &str, id: &str) -> Option<Stored> {
        let row = self.rows.get(&(collection.to_owned(), id.to_owned()))?;
        Some(Stored { id: id.to_owned(), key: key.to_owned(), revision: row.revision, body: row.body.clone() })
    }

    /// Commits a decision. Panics where a write expects another revision than the row has.
    pub fn commit(&mut self, decision: &Decision) {
        for write in &decision.writes {
            self.write(write);
        }
        for AuditRecord { body, entries } in &decision.audit {
            self.audits += 1;
            let (collection, id) = (AUDIT.to_owned(), format!("{:016}", self.audits));
            self.write(&Write { collection, id, expected: 0, body: Some(body.clone()), entries: entries.clone() });
        }
    }

    fn write(&mut self, write: &Write) {
        let place = (write.collection.clone(), write.id.clone());
        let old = self.rows.remove(&place);
        let revision = old.as_ref().map_or(0, |row| row.revision);
        assert_eq!(revision, write.expected, "a write to {place:?} expects another revision than was read");
        if let Some(old) = old {
            self.index(write, "", &write.id, false);
            old.entries.iter().for_each(|entry| self.index(write, &entry.index, &entry.key, false));
        }
        let Some(body) = &write.body else { return };
        self.index(write, "", &write.id, true);
        write.entries.iter().for_each(|entry| self.index(write, &entry.index, &entry.key, true));
        let row = Row { revision: revision + 1, body: body.clone(), entries: write.entries.clone() };
        self.rows.insert(place, row);
    }

    fn index(&mut self, write: &Write, index: &str, key: &str, add: bool) {
        let keys = self.keys.entry((write.collection.clone(), index.to_owned())).or_default();
        let ids = keys.entry(key.to_owned()).or_default();
        if add {
            ids.insert(write.id.clone());
        } else {
            ids.remove(&write.id);
        }
    }
}
