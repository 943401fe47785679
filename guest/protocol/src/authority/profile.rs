//! An adapter profile that the operator's configuration declared: what the gate needs to know of it.

use crate::json::{Value, Writer};
use crate::kernel::{
    Query, Stored,
    fields::Fields,
    flow::Flow,
    keys,
    records::{Row, parse, put_text},
};
use alloc::{string::String, vec::Vec};

/// The collection.
pub(crate) const COLLECTION: &str = "profile";

/// What is declared of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Profile {
    /// Its name, which adapter references carry as `kind`.
    pub name: String,
    /// The digest of the configuration.
    pub digest: String,
    /// Whether the host performs the calls; otherwise the receiver does.
    pub hosted: bool,
    /// The capability document, raw.
    pub capabilities: String,
    /// Declared intents.
    pub intents: Vec<String>,
    /// Declared delivery modes.
    pub modes: Vec<String>,
    /// The deadline of a call.
    pub deadline_ms: i64,
    /// How long after it an effect may still arrive.
    pub settle_ms: i64,
    /// Whether it answers queries.
    pub can_query: bool,
    /// Whether its absences are final.
    pub absent_final: bool,
    /// Whether it says that it puts content before a model.
    pub admits: bool,
    /// Which evidence of that it gives, and the digest of what the harness says of itself.
    pub evidence: Option<(String, Option<String>)>,
}

impl Profile {
    /// All profiles of a tenant; few, since an operator configures them.
    pub fn find_all(tenant: &str) -> Query {
        keys::under(COLLECTION, "", &[tenant], 16)
    }

    /// The one with this name.
    pub fn find(tenant: &str, name: &str) -> Query {
        keys::row(COLLECTION, &keys::key(&[tenant, name]))
    }

    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        let tree = parse(&row.body)?;
        let value = tree.root();
        let record = Self::from_value(value, value.text("name")?, value.flag("hosted"))?;
        Ok(Row { id: row.id.clone(), revision: row.revision, record })
    }

    /// As `adapters.declare` names it.
    pub fn from_params(params: Value<'_>) -> Flow<Self> {
        Self::from_value(params, params.text("profile")?, params.text("executor")? == "host")
    }

    /// What the params of a declaration and the stored text have in common.
    fn from_value(value: Value<'_>, name: &str, hosted: bool) -> Flow<Self> {
        let capabilities = value.member("capabilities")?;
        let words = |name: &str| -> Flow<Vec<String>> {
            Ok(capabilities.member(name)?.items().filter_map(|item| item.as_str()).map(Into::into).collect())
        };
        let feature = capabilities.member("features")?.text("contextAdmission")?;
        let admission = value.get("contextAdmission");
        let evidence = |admission: Value<'_>| -> Flow<(String, Option<String>)> {
            Ok((admission.text("evidence")?.into(), admission.maybe_text("snapshotDigest")))
        };
        Ok(Self {
            name: name.into(),
            digest: value.text("digest")?.into(),
            hosted,
            capabilities: capabilities.raw().into(),
            intents: words("intents")?,
            modes: words("deliveryModes")?,
            deadline_ms: value.int("deadlineMs")?,
            settle_ms: value.int("settleMs")?,
            can_query: value.flag("canQuery"),
            absent_final: value.flag("absentFinal"),
            admits: feature != "none",
            evidence: admission.map(evidence).transpose()?,
        })
    }

    /// The stored text.
    pub fn text(&self) -> String {
        let mut w = Writer::new();
        w.begin_object();
        w.member_str("name", &self.name);
        w.member_str("digest", &self.digest);
        w.member_bool("hosted", self.hosted);
        w.member_raw("capabilities", &self.capabilities);
        w.member_int("deadlineMs", self.deadline_ms);
        w.member_int("settleMs", self.settle_ms);
        w.member_bool("canQuery", self.can_query);
        w.member_bool("absentFinal", self.absent_final);
        if let Some((evidence, snapshot)) = &self.evidence {
            w.key("contextAdmission");
            w.begin_object();
            w.member_str("evidence", evidence);
            put_text(&mut w, "snapshotDigest", snapshot.as_deref());
            w.end_object();
        }
        w.end_object();
        w.finish()
    }
}
