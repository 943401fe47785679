//! What was seen of a message, in a row beside its life: the evidence of its outcome, and what an interrupt did. The life
//! holds digests and states only; this is what a purge has to reach.

use crate::delivery::names::MessageName;
use crate::json::Writer;
use crate::kernel::{
    Query, Stored,
    context::Context,
    fields::Fields,
    flow::Flow,
    keys,
    records::{Row, parse, put_raw},
};
use alloc::{string::String, vec::Vec};

/// The collection.
pub(crate) const COLLECTION: &str = "evidence";
/// The evidence of the outcome.
pub(crate) const OUTCOME: &str = "outcome";
/// The interruption result.
pub(crate) const INTERRUPTION: &str = "interruption";

/// Evidence of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    /// `observed`, `asserted` or `attested`.
    pub source: String,
    /// When it was recorded.
    pub at: i64,
    /// `evidenceRefs`, raw.
    pub refs: Option<String>,
    /// `verificationAttestations`, raw.
    pub attestations: Option<String>,
    /// The interruption result, raw.
    pub result: Option<String>,
}

impl Evidence {
    /// The row of one kind of evidence about a life.
    pub fn id(life: &str, kind: &str) -> String {
        [life, "/", kind].concat()
    }

    /// All evidence about a message of a sender incarnation, whoever owns it.
    pub fn find(tenant: &str, name: MessageName<'_>) -> Query {
        keys::under(COLLECTION, "", &[tenant, name.message, name.sender], 16)
    }

    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        let tree = parse(&row.body)?;
        let value = tree.root();
        let record = Self {
            source: value.text("source")?.into(),
            at: value.int("at")?,
            refs: value.maybe_raw("evidenceRefs"),
            attestations: value.maybe_raw("verificationAttestations"),
            result: value.maybe_raw("result"),
        };
        Ok(Row { id: row.id.clone(), revision: row.revision, record })
    }

    /// The stored text.
    pub fn text(&self) -> String {
        let mut w = Writer::new();
        w.begin_object();
        w.member_str("source", &self.source);
        w.member_int("at", self.at);
        put_raw(&mut w, "evidenceRefs", self.refs.as_deref());
        put_raw(&mut w, "verificationAttestations", self.attestations.as_deref());
        put_raw(&mut w, "result", self.result.as_deref());
        w.end_object();
        w.finish()
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
