//! Which keys of one kind of rows come and go.

use std::collections::BTreeMap;
use std::ops::Bound;

use threadmesh_runtime::store::Query;

use crate::keys::Key;

/// That a key of the row `stamp` comes, or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Whose key: the stamp of a fact, or the position of an audit record.
    pub stamp: i64,
    /// INVARIANT: where it comes, it is not to be seen below; where it goes, it is.
    pub there: bool,
}

/// The marks of one key: nearly always one, which is kept without an allocation of its own.
#[derive(Debug, Clone)]
enum Marks {
    One([Mark; 1]),
    /// In the order of stamps; may be empty.
    Many(Vec<Mark>),
}

/// By the number of the index, then by the key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys(BTreeMap<i64, BTreeMap<String, Marks>>);

impl Keys {
    /// All keys that change, in the order of the table.
    pub fn marks(&self) -> impl Iterator<Item = (Key<'_>, Mark)> {
        self.0.iter().flat_map(|(name, keys)| keys.iter().flat_map(move |(key, marks)| under(*name, key, marks)))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.values().flat_map(BTreeMap::values).map(|marks| marks.as_slice().len()).sum()
    }

    /// The same as [`Keys::marks`], from behind the mark of the row `stamp` under `key` on.
    pub fn behind(&self, (name, key): Key<'_>, stamp: i64) -> impl Iterator<Item = (Key<'_>, Mark)> {
        let here = self.at((name, key)).iter().filter(move |mark| mark.stamp > stamp);
        let rest = (Bound::Excluded(key), Bound::Unbounded);
        let same = self.0.get_key_value(&name).into_iter().flat_map(move |(name, keys)| {
            let held = keys.get_key_value(key).map(|(key, _)| (*name, key.as_str()));
            let here = here.clone().filter_map(move |mark| Some((held?, *mark)));
            here.chain(keys.range::<str, _>(rest).flat_map(move |(key, marks)| under(*name, key, marks)))
        });
        let others = self.0.range((Bound::Excluded(name), Bound::Unbounded));
        same.chain(others.flat_map(|(name, keys)| keys.iter().flat_map(move |(key, marks)| under(*name, key, marks))))
    }

    /// What changes under one key.
    pub fn at(&self, (name, key): Key<'_>) -> &[Mark] {
        self.0.get(&name).and_then(|keys| keys.get(key)).map_or(&[], Marks::as_slice)
    }

    /// What changes under the keys that `query` asks for, in ascending order.
    pub fn range<'d>(&'d self, name: i64, query: &Query) -> impl DoubleEndedIterator<Item = (&'d str, Mark)> + use<'d> {
        let start = query.start.as_str();
        let bounds = match query.end.as_deref() {
            None => Some((Bound::Included(start), Bound::Included(start))),
            Some(end) => (start < end).then_some((Bound::Included(start), Bound::Excluded(end))),
        };
        let keys = bounds.and_then(|bounds| Some(self.0.get(&name)?.range::<str, _>(bounds)));
        let marks =
            |(key, marks): (&'d String, &'d Marks)| marks.as_slice().iter().map(move |mark| (key.as_str(), *mark));
        keys.into_iter().flatten().flat_map(marks)
    }

    /// A key comes or goes.
    pub fn mark(&mut self, (name, key): Key<'_>, mark: Mark) {
        let keys = self.0.entry(name).or_default();
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

    /// Adds what lay over these.
    pub fn absorb(&mut self, upper: Self) {
        for (name, keys) in upper.0 {
            let here = self.0.entry(name).or_default();
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
}

/// Each mark under a key.
fn under<'d>(name: i64, key: &'d str, marks: &'d Marks) -> impl Iterator<Item = (Key<'d>, Mark)> {
    marks.as_slice().iter().map(move |mark| ((name, key), *mark))
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
