//! The grants behind links: found, compared, issued, revoked.

use crate::failure::Failure;
use crate::mesh::{Mesh, fresh_key};
use crate::names::Named;
use crate::time;
use serde_json::{Value, json};
use threadmesh_server::tokens::random_id;

/// What a link is to mean.
pub struct Wanted {
    /// The relationship type.
    pub kind: String,
    /// Intents and delivery modes, sorted.
    pub intents: Vec<String>,
    pub modes: Vec<String>,
    /// What the source may see of the target.
    pub shows: String,
    /// For how many milliseconds it holds, if not until it is revoked.
    pub lives: Option<u64>,
}

/// Makes the link, or finds it there. Refused (`stands-otherwise`) where a link of this relationship means something else,
/// unless it is to be changed: then a new version replaces it.
pub fn link(
    mesh: &mut dyn Mesh,
    [from, to]: [&Named; 2],
    relationship: &str,
    wanted: &Wanted,
    change: bool,
) -> Result<Value, Failure> {
    let known = between(mesh, from, to)?;
    let same: Vec<&Value> = known.iter().filter(|item| item["grant"]["relationshipId"] == relationship).collect();
    if let Some(item) = same.iter().find(|item| stands(item)) {
        let differs = differences(&item["grant"], wanted);
        if differs.is_empty() {
            return Ok(report(from, to, &item["grant"], true));
        }
        if !change {
            let (from, to) = (&from.task.task, &to.task.task);
            let detail = format!("the link from {from} to {to} stands otherwise: {}", differs.join("; "));
            let next = format!("leave it, replace it with --change, or withdraw it: `threadmesh unlink {from} {to}`");
            return Err(Failure::refused("stands-otherwise", detail, next));
        }
    }
    let last = same.iter().filter_map(|item| item["grant"]["grantVersion"].as_u64()).max();
    let params = grant(from, to, relationship, wanted, last.map_or(1, |last| last + 1));
    let issued = mesh.value("relationships.grant", &params).map_err(|failure| advise(failure, from, to))?;
    Ok(report(from, to, &issued, false))
}

/// Revokes every grant that stands from one to the other; those of one relationship, if it is named.
pub fn unlink(mesh: &mut dyn Mesh, [from, to]: [&Named; 2], only: Option<&str>) -> Result<Vec<Value>, Failure> {
    let mut revoked = Vec::new();
    for item in between(mesh, from, to)?.iter().filter(|item| stands(item)) {
        let grant = &item["grant"];
        if only.is_some_and(|only| grant["relationshipId"] != only) {
            continue;
        }
        let mut params = json!({
            "grantId": grant["grantId"],
            "expectedGrantVersion": grant["grantVersion"],
            "idempotencyKey": fresh_key(),
        });
        let issuer = &grant["grantedBy"];
        if let (Some(kind), Some(id)) = (issuer["actorType"].as_str(), issuer["actorId"].as_str()) {
            params["owner"] = json!(format!("{kind}:{id}"));
        }
        let answer = mesh.value("relationships.revoke", &params)?;
        let mut link = report(from, to, grant, false);
        link["invalidatedMessages"] = answer["invalidatedMessages"].clone();
        revoked.push(link);
    }
    Ok(revoked)
}

/// Every grant from one to the other, whatever has become of it.
fn between(mesh: &mut dyn Mesh, from: &Named, to: &Named) -> Result<Vec<Value>, Failure> {
    let mut params = json!({"task": from.task.to_json(), "limit": 100});
    if let Some(owner) = &from.owner {
        params["owner"] = json!(owner);
    }
    let mut found = Vec::new();
    let mut after = 0;
    loop {
        let page = mesh.value("relationships.list", &params).map_err(|failure| advise(failure, from, to))?;
        let target = |item: &&Value| {
            let end = &item["grant"]["target"];
            item["side"] == "source"
                && end["taskId"] == to.task.task.as_str()
                && end["incarnationId"] == to.task.incarnation.as_str()
        };
        found.extend(page["items"].as_array().into_iter().flatten().filter(target).cloned());
        match page["nextCursor"].as_u64().filter(|next| *next > after) {
            Some(next) => after = next,
            None => return Ok(found),
        }
        params["afterCursor"] = json!(after);
    }
}

/// Whether the grant allows something, or will once it is consented to.
fn stands(item: &Value) -> bool {
    item["status"] == "current" || item["status"] == "awaiting-consent"
}

/// In what a grant differs from what is wanted, as clauses.
fn differences(grant: &Value, wanted: &Wanted) -> Vec<String> {
    let sorted = |value: &Value| {
        let mut words: Vec<String> =
            value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        words.sort();
        words.join(", ")
    };
    let text = |name: &str| grant[name].as_str().unwrap_or_default().to_owned();
    let ends = |value: bool| if value { "ends" } else { "does not end" }.to_owned();
    let pairs = [
        ("the relationship type", text("relationshipType"), wanted.kind.clone()),
        ("what may be sent", sorted(&grant["allowedIntents"]), wanted.intents.join(", ")),
        ("the delivery modes", sorted(&grant["allowedDeliveryModes"]), wanted.modes.join(", ")),
        ("what is shown", text("summaryVisibility"), wanted.shows.clone()),
        ("its time", ends(grant["expiresAt"].is_string()), ends(wanted.lives.is_some())),
    ];
    let mut differs: Vec<_> = pairs.into_iter().filter(|(_, is, asked)| is != asked).collect();
    if differs.iter().any(|(what, ..)| *what == "what may be sent") {
        // The modes follow from what may be sent.
        differs.retain(|(what, ..)| *what != "the delivery modes");
    }
    differs.into_iter().map(|(what, is, asked)| format!("{what}: is {is}, was asked to be {asked}")).collect()
}

fn grant(from: &Named, to: &Named, relationship: &str, wanted: &Wanted, version: u64) -> Value {
    let (id, now) = (random_id(), time::now_ms());
    let mut grant = json!({
        "specVersion": "0.0-draft",
        "grantId": format!("grant_{id}"),
        "grantVersion": version,
        "relationshipId": relationship,
        "relationshipType": wanted.kind,
        "source": from.task.to_json(),
        "target": to.task.to_json(),
        "allowedIntents": wanted.intents,
        "allowedDeliveryModes": wanted.modes,
        "summaryVisibility": wanted.shows,
        "structuredGateResponses": false,
        "createdAt": time::format(now),
    });
    if let Some(lives) = wanted.lives {
        grant["expiresAt"] = json!(time::format(now.saturating_add(lives)));
    }
    let mut params = json!({
        "grant": grant,
        "decision": {"decisionId": format!("decision_{id}")},
        "idempotencyKey": fresh_key(),
    });
    for (name, end) in [("sourceOwner", from), ("targetOwner", to)] {
        if let Some(owner) = &end.owner {
            params[name] = json!(owner);
        }
    }
    params
}

/// What to do where it is refused.
fn advise(failure: Failure, from: &Named, to: &Named) -> Failure {
    let owner = |end: &Named| end.owner.clone().unwrap_or_else(|| "somebody unknown here".to_owned());
    let next = match failure.code.as_str() {
        "grant-invalid" => {
            "a steer or an interrupt takes --as supervisor or --as parent; an observer only notifies".to_owned()
        }
        "grant-scope-denied" | "not-visible" => format!(
            "a user links its own registered tasks (`threadmesh task list`), a policy any: {} is of {}, {} of {}",
            from.task.task,
            owner(from),
            to.task.task,
            owner(to)
        ),
        _ => failure.next.clone(),
    };
    Failure { next, ..failure }
}

fn report(from: &Named, to: &Named, grant: &Value, replay: bool) -> Value {
    json!({
        "from": from.task.task,
        "to": to.task.task,
        "relationshipId": grant["relationshipId"],
        "relationshipType": grant["relationshipType"],
        "allowedIntents": grant["allowedIntents"],
        "allowedDeliveryModes": grant["allowedDeliveryModes"],
        "summaryVisibility": grant["summaryVisibility"],
        "expiresAt": grant["expiresAt"],
        "grantId": grant["grantId"],
        "grantVersion": grant["grantVersion"],
        "replay": replay,
    })
}
