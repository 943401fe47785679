//! An adapter profile that the operator's configuration declared: what the gate needs to know of it.

pub(crate) use crate::generated::records::profile::{COLLECTION, Evidenced, Profile};

use crate::json::Value;
use crate::kernel::{
    Query, Stored,
    fields::Fields,
    flow::Flow,
    keys,
    records::{Row, parse},
};

impl Profile {
    /// The record of a row. Error: `record-damaged`, for what the core did not write.
    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        Row::read(row, Self::parse)
    }

    /// All profiles of a tenant; few, since an operator configures them.
    pub fn find_all(tenant: &str) -> Query {
        keys::under(COLLECTION, "", &[tenant], 16)
    }

    /// The one with this name.
    pub fn find(tenant: &str, name: &str) -> Query {
        keys::row(COLLECTION, &keys::key(&[tenant, name]))
    }

    /// As `adapters.declare` names it.
    pub fn from_params(params: Value<'_>) -> Flow<Self> {
        let evidenced = |admission: Value<'_>| -> Flow<Evidenced> {
            let evidence = admission.text("evidence")?.into();
            Ok(Evidenced { evidence, snapshot: admission.maybe_text("snapshotDigest") })
        };
        Ok(Self {
            name: params.text("profile")?.into(),
            digest: params.text("digest")?.into(),
            hosted: params.text("executor")? == "host",
            capabilities: params.member("capabilities")?.raw().into(),
            deadline_ms: params.int("deadlineMs")?,
            settle_ms: params.int("settleMs")?,
            can_query: params.flag("canQuery"),
            absent_final: params.flag("absentFinal"),
            admission: params.get("contextAdmission").map(evidenced).transpose()?,
        })
    }

    /// Whether it is declared for messages of this intent, in this delivery mode.
    pub fn takes(&self, intent: &str, mode: &str) -> Flow<bool> {
        let tree = parse(&self.capabilities)?;
        let declared = |name: &str, word: &str| -> Flow<bool> {
            Ok(tree.root().member(name)?.items().any(|item| item.as_str() == Some(word)))
        };
        Ok(declared("intents", intent)? && declared("deliveryModes", mode)?)
    }

    /// Whether it says that it puts content before a model.
    pub fn admits(&self) -> Flow<bool> {
        Ok(parse(&self.capabilities)?.root().member("features")?.text("contextAdmission")? != "none")
    }
}
