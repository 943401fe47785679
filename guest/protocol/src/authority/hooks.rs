//! What other domains do in the commits of this one: a grant is revoked, an incarnation is rotated, a task moves on.
//!
//! A hook names the rows that such a change reaches and changes a page of them; what one commit cannot hold follows in
//! further ones. The lists are static and handed in by `registry`, which sits above all domains.

use crate::authority::{grant::Grant, task::Task};
use crate::kernel::{
    Query, Stored,
    context::Context,
    flow::{Flow, no_cursor},
    pages::cursor,
    records::{Party, Row},
    streams::Streams,
};
use alloc::{
    string::{String, ToString},
    vec::Vec,
};

/// The part of another domain in a change of a record `T`, which is known by `K` before it is read.
pub(crate) struct Hook<K: ?Sized, T> {
    /// The rows that the change reaches, by tenant, from an order number on: at most a page.
    pub find: fn(&str, &K, i64) -> Query,
    /// Changes a page of them, in the streams of the commit; how many it changed.
    pub apply: fn(&mut Context<'_>, &mut Streams, &Row<T>, &[Stored]) -> Flow<i64>,
}

/// A grant, by its row, is revoked.
pub(crate) type Revoked = Hook<str, Grant>;
/// An incarnation is retired, and the next one registered.
pub(crate) type Rotated = Hook<Party, Task>;
/// A live task reports what it is at.
pub(crate) type RuntimeChanged = Hook<Party, Task>;

/// A page of what one hook found.
pub(crate) struct Page<'a> {
    /// The rows.
    pub rows: &'a [Stored],
    /// Whether there is more.
    pub more: bool,
}

/// The first pages of all hooks.
pub(crate) fn queries<K: ?Sized, T>(tenant: &str, hooks: &[Hook<K, T>], about: &K) -> Vec<Query> {
    hooks.iter().map(|hook| (hook.find)(tenant, about, 0)).collect()
}

/// The pages that `queries` ask for.
pub(crate) fn pages<'a>(cx: &mut Context<'a>, queries: &[Query]) -> Flow<Vec<Page<'a>>> {
    cx.fetch(&queries.iter().collect::<Vec<_>>())?;
    let mut pages = Vec::new();
    for query in queries {
        let page = cx.page(query)?;
        pages.push(Page { rows: &page.rows, more: page.more });
    }
    Ok(pages)
}

/// As [`pages`], with nothing for a hook that is done.
pub(crate) fn pages_of<'a>(cx: &mut Context<'a>, queries: &[Option<Query>]) -> Flow<Vec<Page<'a>>> {
    let mut found = Vec::new();
    for query in queries {
        match query {
            Some(query) => found.extend(pages(cx, core::slice::from_ref(query))?),
            None => found.push(Page { rows: &[], more: false }),
        }
    }
    Ok(found)
}

/// Lets every hook change its page; how much they changed.
pub(crate) fn apply<K: ?Sized, T>(
    cx: &mut Context<'_>,
    streams: &mut Streams,
    hooks: &[Hook<K, T>],
    row: &Row<T>,
    pages: &[Page<'_>],
) -> Flow<i64> {
    let mut changed = 0_i64;
    for (hook, page) in hooks.iter().zip(pages) {
        changed = changed.saturating_add((hook.apply)(cx, streams, row, page.rows)?);
    }
    Ok(changed)
}

/// Where the pages of hooks end whose rows stay in their index: the order numbers, one for each hook and none for one
/// that is done; nothing where all are.
pub(crate) fn places(pages: &[Page<'_>]) -> Flow<Option<String>> {
    let mut places = Vec::new();
    for page in pages {
        let last = page.rows.last().filter(|_| page.more).map(cursor).transpose()?;
        places.push(last.map(|last| last.to_string()).unwrap_or_default());
    }
    Ok(pages.iter().any(|page| page.more).then(|| places.join(",")))
}

/// The order numbers that [`places`] wrote; misuse where these are none of `hooks`.
pub(crate) fn read_places<K: ?Sized, T>(hooks: &[Hook<K, T>], places: &str) -> Flow<Vec<Option<i64>>> {
    let numbers: Option<Vec<Option<i64>>> = places
        .split(',')
        .map(|place| if place.is_empty() { Some(None) } else { place.parse::<i64>().ok().map(Some) })
        .collect();
    numbers.filter(|numbers| numbers.len() == hooks.len()).ok_or_else(no_cursor)
}

/// The pages after `places`; nothing to find for a hook that is done.
pub(crate) fn queries_after<K: ?Sized, T>(
    tenant: &str,
    hooks: &[Hook<K, T>],
    about: &K,
    places: &[Option<i64>],
) -> Vec<Option<Query>> {
    let next = |place: i64| place.saturating_add(1);
    hooks.iter().zip(places).map(|(hook, place)| place.map(|place| (hook.find)(tenant, about, next(place)))).collect()
}
