//! What a domain registers that has something that ends with time. `registry` holds the lists.

use crate::json::Writer;
use crate::kernel::{
    Query, Stored,
    context::Context,
    flow::Flow,
    purging::{Purging, Removed},
    streams::Streams,
};
use crate::retention::purge::Purge;
use alloc::vec::Vec;

/// What expires.
pub(crate) struct Expiring {
    /// What is due: by tenant, owner of both ends where one is given, time, and how many at most; the oldest first.
    pub due: fn(&str, Option<&str>, i64, u32) -> Query,
    /// Loads the boxes of everybody concerned.
    pub load: fn(&mut Context<'_>, &mut Streams, &[Stored]) -> Flow<()>,
    /// Expires them, and writes an item of the answer for each.
    pub expire: fn(&mut Context<'_>, &mut Streams, &[Stored], &mut Writer) -> Flow<()>,
}

/// Removes content in rows; what is named for each of them.
pub(crate) type Empty = fn(&mut Context<'_>, &mut Streams, Purging<'_>, &[&Stored]) -> Flow<Vec<Removed>>;

/// A kind of content that a purge removes.
pub(crate) struct Content {
    /// How many rows are looked at to find those that may go; the limit of the purge where nothing stands.
    pub scan: Option<u32>,
    /// What may be due: by tenant, cutoff, and how many at most; the oldest first.
    pub due: fn(&str, i64, u32) -> Vec<Query>,
    /// Asks for all that is needed beside the rows.
    pub ask: fn(&mut Context<'_>, i64, &[&Stored]),
    /// Which of the rows may go at this cutoff, in order.
    pub choose: for<'a> fn(&mut Context<'a>, i64, Vec<&'a Stored>) -> Flow<Vec<&'a Stored>>,
    /// Loads the boxes of everybody concerned.
    pub load: fn(&mut Context<'_>, &mut Streams, &[&Stored]) -> Flow<()>,
    /// Removes the content; what is named for each row.
    pub empty: Empty,
    /// Notes one of them in the record of the purge.
    pub note: fn(&mut Purge, Removed),
}

/// What is told once nothing is left on the disk of what a purge removed.
pub(crate) struct Purged {
    /// What the purge emptied: by tenant, purge, and how many at most.
    pub pending: fn(&str, &str, u32) -> Query,
    /// Calls it purged.
    pub done: fn(&mut Context<'_>, &mut Streams, Purging<'_>, &[Stored]) -> Flow<()>,
}

/// Nothing is needed beside the rows.
pub(crate) fn ask_nothing(_: &mut Context<'_>, _: i64, _: &[&Stored]) {}

/// All that is due may go.
pub(crate) fn choose_all<'a>(_: &mut Context<'a>, _: i64, rows: Vec<&'a Stored>) -> Flow<Vec<&'a Stored>> {
    Ok(rows)
}
