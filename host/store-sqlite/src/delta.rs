//! Changes that are not in the tables: rows as they will be, and the keys that come and go.
//!
//! Two of them lie over the tables: what the journal holds, and over it what an open batch has applied.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use threadmesh_runtime::store::Query;

use crate::keys::Key;

/// A row as it will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    /// As in the table.
    pub revision: u32,
    /// The number of the collection's index without a name.
    pub name: i64,
    /// As in the table.
    pub id: String,
    /// See [`crate::keys`].
    pub keys: Vec<u8>,
    /// As in the table.
    pub body: String,
    /// Whether it is not to be seen below.
    pub new: bool,
}

/// That a key of the row `stamp` comes, or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Whose key.
    pub stamp: i64,
    /// INVARIANT: where it comes, it is not to be seen below; where it goes, it is.
    pub there: bool,
}

/// The marks of one key: nearly always one, which is kept without an allocation of its own.
#[derive(Debug)]
enum Marks {
    One([Mark; 1]),
    /// In the order of stamps; may be empty.
    Many(Vec<Mark>),
}

/// The changes of one or more batches.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    facts: HashMap<i64, Option<Fact>>,
    marks: BTreeMap<i64, BTreeMap<String, Marks>>,
}

impl Delta {
    /// What becomes of the row `stamp`: nothing where it stays as it is below, `Some(None)` where it goes.
    pub fn fact(&self, stamp: i64) -> Option<Option<&Fact>> {
        self.facts.get(&stamp).map(Option::as_ref)
    }

    /// All rows that change, in the order in which they were made.
    pub fn facts(&self) -> Vec<(i64, Option<&Fact>)> {
        let mut facts: Vec<_> = self.facts.iter().map(|(stamp, fact)| (*stamp, fact.as_ref())).collect();
        facts.sort_unstable_by_key(|(stamp, _)| *stamp);
        facts
    }

    /// All keys that change, in the order of the table.
    pub fn marks(&self) -> impl Iterator<Item = (Key<'_>, Mark)> {
        self.marks.iter().flat_map(|(name, keys)| {
            keys.iter()
                .flat_map(move |(key, marks)| marks.as_slice().iter().map(move |mark| ((*name, key.as_str()), *mark)))
        })
    }

    /// What changes under one key.
    pub fn at(&self, (name, key): Key<'_>) -> &[Mark] {
        self.marks.get(&name).and_then(|keys| keys.get(key)).map_or(&[], Marks::as_slice)
    }

    /// What changes under the keys that `query` asks for, in ascending order.
    pub fn range<'d>(&'d self, name: i64, query: &Query) -> impl DoubleEndedIterator<Item = (&'d str, Mark)> + use<'d> {
        let start = query.start.as_str();
        let bounds = match query.end.as_deref() {
            None => Some((Bound::Included(start), Bound::Included(start))),
            Some(end) => (start < end).then_some((Bound::Included(start), Bound::Excluded(end))),
        };
        let keys = bounds.and_then(|bounds| Some(self.marks.get(&name)?.range::<str, _>(bounds)));
        let marks =
            |(key, marks): (&'d String, &'d Marks)| marks.as_slice().iter().map(move |mark| (key.as_str(), *mark));
        keys.into_iter().flatten().flat_map(marks)
    }

    /// Writes a row, whether it is there or not.
    pub fn put(&mut self, stamp: i64, fact: Fact) {
        let new = match self.facts.get(&stamp) {
            Some(Some(before)) => before.new,
            _ => fact.new,
        };
        self.facts.insert(stamp, Some(Fact { new, ..fact }));
    }

    /// Removes a row that is there. Its keys go by themselves.
    pub fn remove(&mut self, stamp: i64) {
        if matches!(self.facts.get(&stamp), Some(Some(fact)) if fact.new) {
            self.facts.remove(&stamp);
        } else {
            self.facts.insert(stamp, None);
        }
    }

    /// A key that is not there comes.
    pub fn add_key(&mut self, key: Key<'_>, stamp: i64) {
        self.mark(key, Mark { stamp, there: true });
    }

    /// A key that is there goes.
    pub fn remove_key(&mut self, key: Key<'_>, stamp: i64) {
        self.mark(key, Mark { stamp, there: false });
    }

    /// Adds what lay over this one.
    pub fn absorb(&mut self, upper: Self) {
        for (stamp, fact) in upper.facts {
            match fact {
                Some(fact) => self.put(stamp, fact),
                None => self.remove(stamp),
            }
        }
        for (name, keys) in upper.marks {
            let here = self.marks.entry(name).or_default();
            for (key, marks) in keys {
                match here.get_mut(&key) {
                    None => drop(here.insert(key, marks)),
                    Some(known) => {
                        marks.as_slice().iter().for_each(|mark| known.place(*mark));
                        if known.as_slice().is_empty() {
                            here.remove(&key);
                        }
                    }
                }
            }
        }
    }

    fn mark(&mut self, (name, key): Key<'_>, mark: Mark) {
        let keys = self.marks.entry(name).or_default();
        match keys.get_mut(key) {
            None => drop(keys.insert(key.to_owned(), Marks::One([mark]))),
            Some(known) => {
                known.place(mark);
                if known.as_slice().is_empty() {
                    keys.remove(key);
                }
            }
        }
    }
}

impl Marks {
    fn as_slice(&self) -> &[Mark] {
        match self {
            Self::One(mark) => mark,
            Self::Many(marks) => marks,
        }
    }

    /// Puts a mark among the others; coming and going cancel each other out.
    fn place(&mut self, mark: Mark) {
        let mut marks = match std::mem::replace(self, Self::Many(Vec::new())) {
            Self::One(mark) => mark.to_vec(),
            Self::Many(marks) => marks,
        };
        match marks.binary_search_by_key(&mark.stamp, |known| known.stamp) {
            Ok(place) => drop(marks.remove(place)),
            Err(place) => marks.insert(place, mark),
        }
        *self = Self::Many(marks);
    }
}
