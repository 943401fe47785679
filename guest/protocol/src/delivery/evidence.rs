//! What was seen of a message, in a row beside its life: the evidence of its outcome, and what an interrupt did. The life
//! holds digests and states only; this is what a purge has to reach.

pub(crate) use crate::generated::records::evidence::{COLLECTION, Evidence};

use crate::delivery::names::MessageName;
use crate::kernel::{Query, Stored, context::Context, flow::Flow, keys, records::Row};
use alloc::{string::String, vec::Vec};

/// The evidence of the outcome.
pub(crate) const OUTCOME: &str = "outcome";
/// The interruption result.
pub(crate) const INTERRUPTION: &str = "interruption";

impl Evidence {
    /// The record of a row. Error: `record-damaged`, for what the core did not write.
    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        Row::read(row, Self::parse)
    }

    /// The row of one kind of evidence about a life.
    pub fn id(life: &str, kind: &str) -> String {
        [life, "/", kind].concat()
    }

    /// All evidence about a message of a sender incarnation, whoever owns it.
    pub fn find(tenant: &str, name: MessageName<'_>) -> Query {
        keys::under(COLLECTION, "", &[tenant, name.message, name.sender], 16)
    }
}

impl Context<'_> {
    /// The evidence of a kind about a life.
    pub fn evidence(&mut self, life: &str, kind: &str) -> Flow<Option<Row<Evidence>>> {
        self.lookup(COLLECTION, &Evidence::id(life, kind))?.map(Evidence::read).transpose()
    }

    /// Asks in the first round for the evidence about the message that the params name; [`with_evidence`] does in the
    /// second, where other scopes use the same ids.
    pub fn hint_evidence(&mut self, name: MessageName<'_>) {
        self.hint(&Evidence::find(self.tenant(), name));
    }

    /// Writes evidence in place of what `known` is.
    pub fn save_evidence(&mut self, life: &str, kind: &str, known: Option<&Row<Evidence>>, evidence: &Evidence) {
        let revision = known.map_or(0, |row| row.revision);
        self.write(COLLECTION, &Evidence::id(life, kind), revision, evidence.text(), Vec::new());
    }
}

/// All evidence about a message is needed with it.
pub(crate) fn with_evidence(cx: &mut Context<'_>, life: &str) {
    cx.want(COLLECTION, &Evidence::id(life, OUTCOME));
    cx.want(COLLECTION, &Evidence::id(life, INTERRUPTION));
}
