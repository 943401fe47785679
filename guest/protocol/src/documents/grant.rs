//! The effective relationship grant: rules GR-1 to GR-10, and its integrity digest.

use super::part::Part;
use super::shared;
use crate::digest::sha256_text;
use crate::json::{Value, Writer};
use crate::{Error, Rule};
use alloc::string::String;
use alloc::vec::Vec;

pub(super) fn rules(grant: Part<'_>) -> Result<(), Error> {
    shared::coherence(grant, "/allowedIntents", "/allowedDeliveryModes")?;
    relationship(grant)?;
    let decided = grant.text("/authorization/decidedAt") == grant.text("/createdAt");
    grant.must(Rule::GR4, decided, "/authorization/decidedAt")?;
    grant.in_order(Rule::GR5, true, "/createdAt", "/expiresAt")?;
    grant.in_order(Rule::GR6, false, "/createdAt", "/revokedAt")?;
    const DIGEST: &str = "/authorization/integrity/digest";
    grant.must(Rule::GR7, grant.text(DIGEST) == integrity_digest(grant.value()), DIGEST)?;
    grant.must(Rule::GR8, !grant.same_task("/source", "/target"), "/target")?;
    const PRINCIPAL: &str = "/authorization/principal";
    let policy = grant.is("/authorization/authority", &["policy"]);
    let by_policy = grant.is("/authorization/principal/actorType", &["policy"]);
    grant.must(Rule::GR9, !policy || by_policy, PRINCIPAL)?;
    let same = match (grant.get(PRINCIPAL), grant.get("/grantedBy")) {
        (Some(principal), Some(granter)) => principal.same(granter),
        _ => true,
    };
    grant.must(Rule::GR10, same, "/grantedBy")
}

/// What each relationship allows at most. The modes follow from the intents by DC-6 to DC-8.
fn relationship(grant: Part<'_>) -> Result<(), Error> {
    let relationship = grant.text("/relationshipType");
    let advisory = matches!(relationship, "child" | "peer" | "dependency");
    let urgent = grant.lists_any("/allowedIntents", &["steer", "interrupt"]);
    grant.must(Rule::GR1, !advisory || !urgent, "/allowedIntents")?;
    let observer = relationship == "observer";
    let more = urgent || grant.lists("/allowedIntents", "suggest");
    grant.must(Rule::GR2, !observer || !more, "/allowedIntents")?;
    let shows = grant.is("/summaryVisibility", &["coordination", "objective-hint"]);
    grant.must(Rule::GR3, !observer || !shows, "/summaryVisibility")
}

/// The members of a grant that its integrity digest covers, in canonical order. `revokedAt` is outside.
const COVERED: &[&str] = &[
    "allowedDeliveryModes",
    "allowedIntents",
    "createdAt",
    "expiresAt",
    "grantId",
    "grantVersion",
    "grantedBy",
    "relationshipId",
    "relationshipType",
    "source",
    "specVersion",
    "structuredGateResponses",
    "summaryVisibility",
    "target",
];

/// The digest of the canonical `{"authorization": …, "grant": …}`: the authorization without `integrity`, and the
/// covered members of the grant. It binds the parts to each other and proves nothing about who made them.
pub fn integrity_digest(grant: Value<'_>) -> String {
    let mut out = Writer::new();
    out.begin_object();
    out.member_raw("authorization", &without(grant.get("authorization"), &["integrity"]));
    out.key("grant");
    out.begin_object();
    for name in COVERED {
        if let Some(value) = grant.get(name) {
            out.member_raw(name, &value.canonical());
        }
    }
    out.end_object();
    out.end_object();
    sha256_text(out.finish().as_bytes())
}

/// The canonical form of an object without some of its members.
pub(super) fn without(object: Option<Value<'_>>, names: &[&str]) -> String {
    let Some(object) = object else { return String::from("{}") };
    // Names of documents are few and ASCII, whose order is the canonical one.
    let mut members: Vec<(&str, Value<'_>)> = Vec::new();
    for (name, value) in object.members().filter(|(name, _)| !names.contains(name)) {
        let place = members.iter().take_while(|(before, _)| *before < name).count();
        members.insert(place, (name, value));
    }
    let mut out = Writer::new();
    out.begin_object();
    for (name, value) in members {
        out.member_raw(name, &value.canonical());
    }
    out.end_object();
    out.finish()
}
