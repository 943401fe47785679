//! Pages: of lists that a caller reads, and of what one commit changes of many rows.

use crate::generated::limits;
use crate::kernel::{Stored, context::Context, fields::Fields, flow::Flow, keys};

/// How many rows one commit changes for another one's sake; the rest follows in further ones.
pub(crate) const PAGE: u32 = limits::RELABEL_PAGE as u32;

/// The cursor that a host sets when the time of a waiting call has come.
const TIMEOUT: &str = "timeout";

/// The page that the params ask for: after which cursor, and how many.
pub(crate) fn page(cx: &Context<'_>) -> (i64, u32) {
    let after = cx.params.maybe_int("afterCursor").unwrap_or(0);
    let limit = cx.params.maybe_int("limit").unwrap_or(50).clamp(1, limits::PAGE_MAX);
    (after, u32::try_from(limit).unwrap_or(1))
}

/// How many rows are looked at for a page of `limit` rows of a list in which some are hidden from the caller.
pub(crate) fn scan(limit: u32) -> u32 {
    let most = u32::try_from(limits::PAGE_MAX).unwrap_or(u32::MAX);
    limit.saturating_mul(2).clamp(16, most)
}

/// How many bytes the documents of a page may have; one alone may have more.
pub(crate) const PAGE_BYTES: i64 = limits::DOCUMENT_BYTES_MAX;

/// Until when a read with nothing to tell waits: nothing where the caller does not wait, or the time is over.
pub(crate) fn patience(cx: &Context<'_>) -> Option<i64> {
    let timeout = cx.params.maybe_int("timeoutMs").unwrap_or(0).clamp(0, limits::WAIT_MS_MAX);
    let over = timeout == 0 || cx.request.cursor.as_deref() == Some(TIMEOUT);
    (!over).then(|| cx.now.saturating_add(timeout))
}

/// The number of an event in the list that its row was found in.
pub(crate) fn cursor(row: &Stored) -> Flow<i64> {
    keys::last_number(&row.key)
}
