//! Asking about attempts whose outcome nobody knows: at the start, periodically, and after own calls that ended unknown.
//!
//! Nothing here ever performs a call. Other instances' attempts are left alone until both their `settleAt` and their
//! lease are over (settled point 2); an own attempt may be asked about as soon as its call has ended. Only a final
//! absence that the operator vouches for counts as one (settled point 3); everything else stays unknown, and after the
//! profile's number of attempts it is left to people.

mod ask;
mod plan;
mod sweep;

pub(super) use ask::Ask;
pub(super) use plan::Backlog;
pub(super) use sweep::{Signal, Sweeper};

use super::{Caller, Refusal};
use crate::adapter::Holder;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// Attempts per page.
const PAGE: u32 = 100;
/// Pages per sweep: a bound against a list that never ends.
const PAGES_MAX: u32 = 1000;

/// An attempt that waits for an answer. Members that a later core may add are ignored.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Unresolved {
    pub submission_id: String,
    pub adapter_idempotency_key: String,
    pub tenant: String,
    pub profile: String,
    pub profile_digest: String,
    pub session: Option<String>,
    pub settle_at: f64,
    pub lease_until: f64,
    #[serde(default)]
    pub queries: u32,
    pub expected_revision: u32,
    /// Absent where it is the key.
    pub scope: Option<String>,
    /// Of a message: the digest of its envelope.
    pub envelope_digest: Option<String>,
    /// Of anything else: what was handed over.
    pub payload: Option<Handed>,
    /// Of a message.
    pub message_id: Option<String>,
    /// Of a message.
    pub sender_incarnation_id: Option<String>,
    /// Of anything else.
    pub holder: Option<Named>,
}

impl Unresolved {
    /// Whose call it is; a record without a name where the core does not tell it.
    pub(super) fn holder(&self) -> Holder {
        let known = holder(self.holder.clone(), self.message_id.clone(), self.sender_incarnation_id.clone());
        known.unwrap_or(Holder::Other { kind: String::new(), id: String::new() })
    }

    /// The digest of what was handed over; empty where the core does not tell it.
    pub(super) fn digest(&self) -> String {
        let digest = self.envelope_digest.as_ref().or(self.payload.as_ref().map(|payload| &payload.digest));
        digest.cloned().unwrap_or_default()
    }
}

/// What was handed over, by its digest.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Handed {
    pub digest: String,
}

/// A record that is no message.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Named {
    kind: String,
    id: String,
}

/// Whose call it is: a message has members of its own, everything else is a `holder`; nothing where there is neither.
pub(super) fn holder(holder: Option<Named>, message: Option<String>, sender: Option<String>) -> Option<Holder> {
    if let Some(Named { kind, id }) = holder {
        return Some(Holder::Other { kind, id });
    }
    let (id, sender_incarnation_id) = message.zip(sender)?;
    Some(Holder::Message { id, sender_incarnation_id })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    items: Vec<Unresolved>,
    next_cursor: Option<String>,
}

/// Visits the unresolved attempts until `visit` says no.
fn each_unresolved(
    caller: &dyn Caller,
    tenant: &str,
    mut visit: impl FnMut(Unresolved) -> bool,
) -> Result<(), Refusal> {
    let mut cursor: Option<String> = None;
    for _ in 0..PAGES_MAX {
        let mut params = json!({"limit": PAGE});
        if let Some(cursor) = &cursor {
            params["cursor"] = json!(cursor);
        }
        let page: Page = read(&caller.call(tenant, "adapter.listUnresolved", &params.to_string())?)?;
        for item in page.items {
            if !visit(item) {
                return Ok(());
            }
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(());
        }
    }
    Ok(())
}

/// The revision that a receipt for this attempt must name now; none if it is not unresolved any more.
pub(super) fn current_revision(caller: &dyn Caller, tenant: &str, id: &str) -> Result<Option<u32>, Refusal> {
    let mut found = None;
    each_unresolved(caller, tenant, |item| {
        found = (item.submission_id == id).then_some(item.expected_revision);
        found.is_none()
    })?;
    Ok(found)
}

/// Reads a result, bare or in the `value` member of the draft's result wrapping.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Refusal> {
    let unreadable = |error: serde_json::Error| Refusal {
        code: "host-misuse".into(),
        detail: format!("unreadable result: {error}"),
        retryable: false,
    };
    let mut value: Value = serde_json::from_str(text).map_err(unreadable)?;
    if let Some(inner) = value.get_mut("value") {
        value = inner.take();
    }
    serde_json::from_value(value).map_err(unreadable)
}
