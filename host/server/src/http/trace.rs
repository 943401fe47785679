//! Where a request belongs in a trace (W3C Trace Context).

use axum::http::HeaderMap;
use threadmesh_runtime::wit::Fact;

/// The header fields that name the place of a request in a trace.
const TRACE: [&str; 2] = ["traceparent", "tracestate"];
/// The longest of them that goes with a call: `context_fact_bytes_max` of spec/limits.md.
const FACT_BYTES_MAX: usize = 512;

/// The facts that go with every call of a request with these header fields. Nobody judges what they say; what is larger
/// than a context may be is left out, as is what is no text.
pub(crate) fn of(headers: &HeaderMap) -> Vec<Fact> {
    let facts = TRACE.iter().filter_map(|name| {
        let fields: Option<Vec<&str>> = headers.get_all(*name).iter().map(|field| field.to_str().ok()).collect();
        let value = fields.filter(|fields| !fields.is_empty())?.join(",");
        (value.len() <= FACT_BYTES_MAX).then(|| Fact { name: (*name).to_owned(), value })
    });
    facts.collect()
}
