//! What the tables say about ids, so that no id is looked up twice.
//!
//! The tables stay as they are until the journal is carried over, and while a batch is open. So a batch remembers every id
//! that it has looked for, those that are not there too: what a decision reads it writes soon after.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use threadmesh_runtime::store::Row;

/// A row as it stands in the tables.
#[derive(Debug)]
pub(crate) struct Found {
    /// Under its id.
    pub row: Row,
    /// See [`crate::keys`].
    pub keys: Vec<u8>,
}

/// By the number of the collection's index without a name, and the id.
#[derive(Debug)]
pub(crate) struct ById<T>(HashMap<i64, HashMap<String, T>>);

impl<T> Default for ById<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Clone> ById<T> {
    /// What is kept for an id.
    pub fn get(&self, name: i64, id: &str) -> Option<T> {
        self.0.get(&name)?.get(id).cloned()
    }

    /// Keeps it.
    pub fn put(&mut self, name: i64, id: &str, value: T) {
        self.0.entry(name).or_default().insert(id.to_owned(), value);
    }
}

/// The ids that an open batch has looked for in the tables, with what is there.
#[derive(Debug, Default)]
pub(crate) struct Looked(RefCell<ById<Option<Arc<Found>>>>);

impl Looked {
    /// Nothing where it was not looked for; `Some(None)` where it is not there.
    pub fn get(&self, name: i64, id: &str) -> Option<Option<Arc<Found>>> {
        self.0.borrow().get(name, id)
    }

    /// This was found.
    pub fn note(&self, name: i64, id: &str, found: Option<Arc<Found>>) {
        self.0.borrow_mut().put(name, id, found);
    }
}
