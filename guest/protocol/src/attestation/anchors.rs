//! Trust anchors: what an operator configured, loaded and checked as a whole before anything is verified.
//!
//! A fault in any anchor is an error of the list. Skipping a bad anchor would turn a typing error into "denied", or
//! into trust in the anchor after it.

use super::{algorithm::Algorithm, key::Key};
use crate::{
    Error, Rule,
    generated::limits,
    json::{self, Kind, Tree, Value},
    rules::check_at,
    time,
};
use alloc::{format, vec::Vec};

const REQUIRED: [&str; 6] = ["keyId", "algorithm", "actorId", "trustDomain", "policyId", "publicKeyPem"];
const OPTIONAL: [&str; 4] = ["notBefore", "notAfter", "revokedAt", "claimTypes"];
const CLAIM_TYPES: [&str; 4] = ["external-effect", "interruption-target-state", "artifact-state", "resource-state"];

/// A public key, and what the operator trusts it for. Times are milliseconds since the Unix epoch.
#[derive(Debug)]
pub(super) struct Anchor<'a> {
    pub key_id: &'a str,
    pub algorithm: Algorithm,
    pub actor_id: &'a str,
    pub trust_domain: &'a str,
    pub policy_id: &'a str,
    /// The first instant at which the anchor stands.
    pub not_before: Option<i64>,
    /// The first instant at which it stands no more.
    pub not_after: Option<i64>,
    /// From this instant on nothing that the key signed counts, whenever it says that it was signed.
    pub revoked_at: Option<i64>,
    /// The claim types that it stands for; all of them without.
    pub claim_types: Option<Vec<&'a str>>,
    pub key: Key,
}

impl Anchor<'_> {
    /// Whether `time` lies in the window from notBefore (included) to notAfter (excluded).
    pub(super) fn stands_at(&self, time: i64) -> bool {
        self.not_before.is_none_or(|start| start <= time) && self.not_after.is_none_or(|end| time < end)
    }
}

/// Parses the text of a list of anchors. Error: `anchor-invalid`, with the place and the reason. Rule AT-3.
pub(super) fn parse(text: &str) -> Result<Tree<'_>, Error> {
    json::parse_document(text).map_err(|fault| {
        let detail = format!("{}: {} ({})", Rule::AT3.id(), Rule::AT3.text(), fault.detail);
        Error::new(Rule::AT3.code(), fault.pointer, detail)
    })
}

/// Loads every anchor of a parsed list; the first broken rule of AT-3 to AT-16 otherwise.
pub(super) fn load<'a>(list: Value<'a>) -> Result<Vec<Anchor<'a>>, Error> {
    let at = || list.pointer();
    check_at(Rule::AT3, list.kind() == Kind::Array, at)?;
    check_at(Rule::AT4, i64::try_from(list.len()).is_ok_and(|count| count <= limits::ANCHORS_MAX), at)?;
    let mut anchors: Vec<Anchor<'a>> = Vec::with_capacity(list.len());
    for item in list.items() {
        anchors.push(anchor(item, &anchors)?);
    }
    Ok(anchors)
}

fn anchor<'a>(item: Value<'a>, earlier: &[Anchor<'a>]) -> Result<Anchor<'a>, Error> {
    closed(item)?;
    let key_id = string(item, "keyId", 500)?;
    let actor_id = string(item, "actorId", 200)?;
    let trust_domain = string(item, "trustDomain", 500)?;
    let policy_id = string(item, "policyId", 500)?;
    let algorithm = Algorithm::from_name(text(item, "algorithm"))
        .ok_or_else(|| Error::broken(Rule::AT7, member(item, "algorithm")))?;
    let (not_before, not_after) = (instant(item, "notBefore")?, instant(item, "notAfter")?);
    let revoked_at = instant(item, "revokedAt")?;
    let ordered = not_before.zip(not_after).is_none_or(|(start, end)| start < end);
    check_at(Rule::AT9, ordered, || member(item, "notAfter"))?;
    let claim_types = claim_types(item)?;
    let distinct = earlier.iter().all(|anchor| anchor.key_id != key_id);
    check_at(Rule::AT11, distinct, || member(item, "keyId"))?;
    let key = Key::from_pem(algorithm, text(item, "publicKeyPem"))
        .map_err(|broken| broken.at(member(item, "publicKeyPem")))?;
    Ok(Anchor {
        key_id,
        algorithm,
        actor_id,
        trust_domain,
        policy_id,
        not_before,
        not_after,
        revoked_at,
        claim_types,
        key,
    })
}

/// Rule AT-5.
fn closed(item: Value<'_>) -> Result<(), Error> {
    check_at(Rule::AT5, item.kind() == Kind::Object, || item.pointer())?;
    for (name, value) in item.members() {
        let known = REQUIRED.contains(&name) || OPTIONAL.contains(&name);
        check_at(Rule::AT5, known, || value.pointer())?;
    }
    for name in REQUIRED {
        check_at(Rule::AT5, item.get(name).is_some(), || member(item, name))?;
    }
    Ok(())
}

/// Rule AT-6.
fn string<'a>(item: Value<'a>, name: &str, chars_max: usize) -> Result<&'a str, Error> {
    let text = text(item, name);
    check_at(Rule::AT6, (1..=chars_max).contains(&text.chars().count()), || member(item, name))?;
    Ok(text)
}

/// Rule AT-8.
fn instant(item: Value<'_>, name: &str) -> Result<Option<i64>, Error> {
    let Some(value) = item.get(name) else { return Ok(None) };
    let instant = value.as_str().and_then(|text| time::parse(text).ok());
    check_at(Rule::AT8, instant.is_some(), || value.pointer())?;
    Ok(instant)
}

/// Rule AT-10.
fn claim_types<'a>(item: Value<'a>) -> Result<Option<Vec<&'a str>>, Error> {
    let Some(list) = item.get("claimTypes") else { return Ok(None) };
    check_at(Rule::AT10, list.kind() == Kind::Array && !list.is_empty(), || list.pointer())?;
    let mut types = Vec::with_capacity(list.len().min(CLAIM_TYPES.len()));
    for element in list.items() {
        let name = element.as_str().unwrap_or_default();
        check_at(Rule::AT10, CLAIM_TYPES.contains(&name) && !types.contains(&name), || element.pointer())?;
        types.push(name);
    }
    Ok(Some(types))
}

/// The text of a string member; nothing where there is none.
fn text<'a>(item: Value<'a>, name: &str) -> &'a str {
    item.get(name).and_then(|value| value.as_str()).unwrap_or_default()
}

/// Where a member stands, or would.
fn member(item: Value<'_>, name: &str) -> alloc::string::String {
    format!("{}/{name}", item.pointer())
}
