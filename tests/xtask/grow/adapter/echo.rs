//! Takes every call over by itself, and finds every call that it is asked about.

use std::time::Instant;
use threadmesh_runtime::adapter::{Adapter, Outcome, Query, QueryOutcome, Receipt, Submission};

/// The adapter.
pub(crate) struct Echo;

fn receipt(key: &str) -> Receipt {
    Receipt {
        adapter_operation_id: key.to_owned(),
        accepted_at: "2026-05-04T08:00:00Z".to_owned(),
        evidence_refs: vec![format!("echo:{key}")],
    }
}

impl Adapter for Echo {
    fn submit(&self, call: &Submission, _: Instant) -> Outcome {
        Outcome::Submitted(receipt(&call.idempotency_key))
    }

    fn query(&self, query: &Query, _: Instant) -> QueryOutcome {
        QueryOutcome::Found(receipt(&query.idempotency_key))
    }
}
