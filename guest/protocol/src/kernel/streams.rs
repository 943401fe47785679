//! The boxes that one commit changes: each is loaded once, counted in and written once, however many records it is
//! about.

use crate::kernel::{
    audit::Event,
    boxes::Box,
    context::Context,
    flow::{Flow, damaged},
    records::Row,
};
use alloc::collections::{BTreeMap, btree_map::Entry};
use alloc::{string::String, vec::Vec};

/// Boxes by the id of their party.
#[derive(Default)]
pub(crate) struct Streams(BTreeMap<String, Row<Box>>);

impl Streams {
    /// Loads those of `ids` that are not there yet, all in one round.
    pub fn load(&mut self, cx: &mut Context<'_>, ids: impl IntoIterator<Item = String>) -> Flow<()> {
        let mut stopped = None;
        for id in ids {
            let Entry::Vacant(place) = self.0.entry(id) else { continue };
            match cx.load_box(place.key()) {
                Ok(row) => drop(place.insert(row)),
                Err(stop) => stopped = Some(stop),
            }
        }
        stopped.map_or(Ok(()), Err)
    }

    /// The box of a party that was loaded.
    pub fn get(&mut self, id: &str) -> Flow<&mut Box> {
        self.0.get_mut(id).map(|row| &mut row.record).ok_or_else(|| damaged("box"))
    }

    /// Adds `event` to the streams of `ids`, in this order.
    pub fn record(&mut self, cx: &mut Context<'_>, ids: &[&str], event: &Event<'_>) -> Flow<()> {
        let mut rows = Vec::new();
        for id in ids {
            rows.push(self.0.remove(*id).ok_or_else(|| damaged("box"))?);
        }
        let recorded = cx.record(&mut rows.iter_mut().collect::<Vec<_>>(), event);
        for row in rows {
            self.0.insert(row.id.clone(), row);
        }
        recorded
    }

    /// Writes them all.
    pub fn save(&self, cx: &mut Context<'_>) {
        for row in self.0.values() {
            cx.save_box(row);
        }
    }
}
