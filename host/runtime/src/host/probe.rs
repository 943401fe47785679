//! A real read and a real write that change nothing that anybody looks at: whether this host could serve now.

use super::{Host, HostError, decider::misuse};
use crate::store::{ApplyError, Changes, Query, ReadSet, Write};
use serde_json::json;

const COLLECTION: &str = "host";
const ID: &str = "probe";

impl Host {
    /// Reads and writes one row of the host's own, and waits until it is on the disk. The committed time does not move.
    ///
    /// Errors: those that an operation that writes would meet now, the clock's among them.
    pub fn probe(&self) -> Result<(), HostError> {
        let probed = self.read_and_write();
        if let Err(error) = &probed {
            self.tell_fault(error);
        }
        probed
    }

    fn read_and_write(&self) -> Result<(), HostError> {
        let inner = &self.0;
        inner.time_for_reading()?;
        let mut batch = inner.store.begin()?;
        let last = batch.last_time()?;
        let now = inner.watch.for_writing(last)?;
        let at = batch.epoch();
        let (collection, index, start) = (COLLECTION.into(), String::new(), ID.into());
        let query = Query { collection, index, start, end: None, reverse: false, limit: 1, bytes: 0 };
        let answers = batch.read(&[query])?;
        let row = answers.first().and_then(|answer| answer.rows.first());
        let (expected, body) = (row.map_or(0, |row| row.revision), json!({"at": now}).to_string());
        let write = Write { collection: COLLECTION.into(), id: ID.into(), expected, body: Some(body), entries: vec![] };
        let changes = Changes { time: last, writes: vec![write], ..Changes::default() };
        batch.apply(&ReadSet::at(at), &changes).map_err(|error| match error {
            ApplyError::Store(error) => error.into(),
            ApplyError::Conflict(conflict) => misuse(conflict.to_string()),
        })?;
        Ok(batch.commit()?)
    }
}
