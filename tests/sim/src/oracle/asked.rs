//! Proposals and summaries: by whom, and under what.

use super::{Context, Oracle, party, text};
use serde_json::Value;
use threadmesh_runtime::wit::{Principal, PrincipalKind};

/// Whether `who` is this task in whatever incarnation, or owns it.
pub(super) fn belongs(who: &Principal, end: &Value) -> bool {
    match who.kind {
        PrincipalKind::Task => who.id == text(end, "taskId") && who.owner.as_deref() == Some(text(end, "owner")),
        PrincipalKind::User => format!("user:{}", who.id) == text(end, "owner"),
        _ => false,
    }
}

impl Oracle {
    /// A proposal is made, decided or emptied.
    pub(super) fn proposal(
        &mut self,
        context: Option<&Context>,
        id: &str,
        old: Option<&Value>,
        new: &Value,
        time: i64,
    ) {
        let Some(Context { who, operation, params, .. }) = context else {
            return self.violation(format!("proposal {id} is changed by nobody"));
        };
        let name = || format!("proposal {id}: {operation} by {}: {new}", crate::cast::name(who));
        let open = new["expires"].as_i64() > Some(time);
        let Some(old) = old else {
            let own = who.kind == PrincipalKind::Task && party(&crate::cast::owned(who)) == party(&new["source"]);
            return self.demand(own && open && text(new, "state") == "pending", name);
        };
        let kept = ["document", "digest", "source", "target", "expires", "proposalId"];
        let same = kept.iter().all(|name| old.get(*name) == new.get(*name));
        self.demand(same, || format!("{}: what was asked for changes", name()));
        if old.get("reason") != new.get("reason") {
            let purged = operation == "maintenance.purgeContent" && new.get("reason").is_none();
            self.demand(purged, || format!("{}: its reason changes", name()));
        }
        let (from, to) = (text(old, "state"), text(new, "state"));
        if from == to {
            return;
        }
        self.walked(id, "proposal", from, to, |_| true);
        let target = new.get("target").is_some_and(|target| belongs(who, target));
        let may = match to {
            "rejected" => who.kind == PrincipalKind::Policy || (who.kind == PrincipalKind::User && target),
            "withdrawn" => who.kind == PrincipalKind::Policy || belongs(who, &new["source"]),
            _ => operation == "relationships.grant" && params["decision"]["proposalId"] == new["proposalId"],
        };
        self.demand(may && open, name);
        if to == "approved" {
            let (grant, asked) = (&params["grant"], &new["document"]);
            let same = [
                ("relationshipType", "relationshipType"),
                ("allowedIntents", "requestedIntents"),
                ("allowedDeliveryModes", "requestedDeliveryModes"),
                ("summaryVisibility", "requestedSummaryVisibility"),
            ];
            let as_asked = same.iter().all(|(granted, wanted)| grant[*granted] == asked[*wanted]);
            self.demand(as_asked, || format!("{}: more or less is granted: {grant}", name()));
        }
    }

    /// A summary is published or emptied.
    pub(super) fn summary(&mut self, context: Option<&Context>, id: &str, old: Option<&Value>, new: &Value, time: i64) {
        let Some(Context { who, operation, .. }) = context else {
            return self.violation(format!("summary {id} is changed by nobody"));
        };
        let name = || format!("summary {id}: {operation} by {}: {new}", crate::cast::name(who));
        let hint = |row: &Value| row["document"].get("blockerHint").cloned();
        if operation == "maintenance.purgeContent" {
            let emptied = hint(new).is_none() && old.is_some_and(|old| old["version"] == new["version"]);
            return self.demand(emptied, name);
        }
        let grows = old.is_none_or(|old| old["version"].as_i64() < new["version"].as_i64());
        let may = who.kind == PrincipalKind::Policy || belongs(who, &new["task"]);
        self.demand(grows && may && operation == "tasks.publishSummary", name);
        let grant = self.row("grant", text(new, "grant")).cloned().unwrap_or_default();
        let shown = text(&new["document"]["projection"], "summaryVisibility");
        let under = holds(&grant, time) && shown == text(&grant["document"], "summaryVisibility") && shown != "none";
        self.demand(under, || format!("{} under {grant}", name()));
    }
}

/// Whether a grant allows and shows anything at `time`.
pub(super) fn holds(grant: &Value, time: i64) -> bool {
    grant.get("revoked").is_none()
        && grant["superseded"] == false
        && grant.get("consent").is_none_or(|consent| *consent == true)
        && grant["expires"].as_i64().is_none_or(|end| time < end)
}
