//! Who may make which change, and from what he must have known.

use super::{Context, Oracle, asked::belongs, attempts, party, text, urgent};
use serde_json::Value;
use threadmesh_runtime::wit::PrincipalKind;

/// Operations that name the revision at which they know a message.
const REVISED: &[&str] = &[
    "adapter.confirmContextAdmission",
    "adapter.prepareContextAdmission",
    "adapter.reconcileSubmission",
    "adapter.recoverContextAdmission",
    "mailbox.ack",
    "mailbox.claim",
    "messages.failDelivery",
    "messages.recordDelivery",
    "messages.recordInterruptionResult",
    "messages.recordOutcome",
    "messages.respond",
];

/// Whether a receipt is brought for a call that was called absent: that is evidence, whatever its bringer knew.
fn contradicts(params: &Value, old: &Value) -> bool {
    let absent = |attempt: &Value| {
        attempt["id"] == params["submissionId"] && text(attempt, "state") == "confirmed-not-submitted"
    };
    params["reconciliation"].get("receipt").is_some() && attempts(old).any(absent)
}

impl Oracle {
    /// What is passed on was accepted by whoever passes it on, and is what was sent to him, no stronger and no longer.
    fn passed_on(&mut self, context: &Context, id: &str, new: &Value) {
        let named = &context.params["original"];
        let original = self.rows("life").map(|(_, life)| life).find(|life| {
            life["messageId"] == named["messageId"]
                && life["sender"]["incarnationId"] == named["senderIncarnationId"]
                && party(&life["receiver"]) == party(&new["sender"])
        });
        let rank = |intent: &Value| ["notify", "suggest", "steer", "interrupt"].iter().position(|word| intent == word);
        let fits = original.is_some_and(|original| {
            text(original, "decision") == "accepted"
                && rank(&new["intent"]) <= rank(&original["intent"])
                && new["expires"].as_i64() <= original["expires"].as_i64()
                && party(&original["sender"]) != party(&new["receiver"])
        });
        let content = text(&context.params["envelope"], "content");
        let number = text(named, "messageId").trim_start_matches("msg_").parse().unwrap_or(0);
        let carried = |of: u32| self.carried.get(&of).is_some_and(|ids| ids.contains(text(named, "messageId")));
        let same = content == crate::cast::secret(number) || carried(super::intents::content(content));
        self.demand(fits && same, || format!("{id} passes on what it should not: {}", context.params));
    }

    /// A new message: from who says so, to somebody who takes it.
    pub(super) fn sent(&mut self, context: Option<&Context>, id: &str, new: &Value, time: i64) {
        let Some(context) = context else { return };
        let who = &context.who;
        if context.operation == "messages.forward" {
            self.passed_on(context, id, new);
        }
        let author = who.kind != PrincipalKind::Task || party(&crate::cast::owned(who)) == party(&new["sender"]);
        self.demand(author, || format!("{id} is sent by {}", crate::cast::name(who)));
        let why = self.gate(new, time).err();
        self.demand(why.is_none(), || format!("{id} is sent although {why:?}"));
        let receiver = self.row("task", &party(&new["receiver"])).cloned().unwrap_or_default();
        let quiet = receiver["quietUntil"].as_i64().is_some_and(|until| time < until);
        let takes = receiver["mute"] != true && !(urgent(new) && quiet);
        self.demand(takes, || format!("{id} is sent to somebody who takes nothing: {receiver}"));
    }

    /// A change of a message.
    pub(super) fn handled(&mut self, context: Option<&Context>, id: &str, old: &Value, new: &Value, time: i64) {
        let Some(context) = context else { return };
        let Context { who, operation, params, .. } = context;
        let name = || format!("{id}: {operation} by {}", crate::cast::name(who));
        if REVISED.contains(&operation.as_str()) {
            let knows = params["expectedRevision"] == old["revision"] || contradicts(params, old);
            self.demand(knows, || {
                format!("{} knows revision {}, not {}", name(), params["expectedRevision"], old["revision"])
            });
        }
        if operation.starts_with("tasks.") || operation == "maintenance.purgeContent" {
            return;
        }
        let outsider = matches!(who.kind, PrincipalKind::Task | PrincipalKind::User)
            && ["adapter.", "mailbox.", "messages."].iter().any(|of| operation.starts_with(of))
            && !belongs(who, &old["receiver"]);
        self.demand(!outsider, || format!("{} has no part in it", name()));
        let worker = who.worker.as_deref().unwrap_or("");
        let claim = &old["claim"];
        let runs = claim["state"] == "claimed" && claim["until"].as_i64() > Some(time);
        if matches!(operation.as_str(), "mailbox.ack" | "adapter.acceptAndBegin") {
            let holds = runs && params["claimToken"] == claim["token"] && text(claim, "worker") == worker;
            self.demand(holds, || format!("{} does not hold the claim", name()));
        }
        if who.kind == PrincipalKind::Task
            && runs
            && operation != "adapter.recordReceipt"
            && self.acts_as_receiver(who, old)
        {
            self.demand(text(claim, "worker") == worker, || {
                format!("{} acts beside the claim of another worker", name())
            });
        }
        if operation == "mailbox.claim" && claim["token"] != new["claim"]["token"] {
            let early = old["notBefore"].as_i64().is_some_and(|begin| time < begin);
            self.demand(!early, || format!("{} before its time", name()));
        }
        self.resolved(context, id, old, new, time);
    }

    fn acts_as_receiver(&self, who: &threadmesh_runtime::wit::Principal, life: &Value) -> bool {
        life["receiver"]["incarnationId"].as_str() == who.incarnation.as_deref()
    }

    /// What is established about a call: by whom, and when he may.
    fn resolved(&mut self, context: &Context, id: &str, old: &Value, new: &Value, time: i64) {
        let who = &context.who;
        for attempt in attempts(new) {
            let Some(before) = attempts(old).find(|known| known["id"] == attempt["id"]) else { continue };
            let (from, to) = (text(before, "state"), text(attempt, "state"));
            let submission = text(attempt, "id");
            let name = || format!("{id}: {submission} goes from {from} to {to} by {}", crate::cast::name(who));
            let kept = before.get("receipt").is_none() || before["receipt"] == attempt["receipt"];
            self.demand(kept, || format!("{}: its receipt changes", name()));
            if from == to {
                continue;
            }
            if from == "manual-reconciliation" {
                self.demand(who.kind == PrincipalKind::Operator, name);
            }
            if to == "confirmed-not-submitted" {
                self.demand(matches!(who.kind, PrincipalKind::Operator | PrincipalKind::Host), name);
            }
            if from == "outcome-unknown" {
                let settled = ["settleAt", "leaseUntil"].iter().all(|it| before["call"][*it].as_i64() <= Some(time));
                let begun = self.begun.get(submission).map(|begun| begun.process);
                let own = match who.kind {
                    PrincipalKind::Host => begun == Some(context.process) && before["hosted"] == true,
                    PrincipalKind::Task => before["hosted"] == false && self.acts_as_receiver(who, old),
                    _ => false,
                };
                self.demand(settled || own, || format!("{} before it is settled", name()));
            }
        }
    }

    /// A call begins: by the adapter that the receiver is bound to now, which can do it.
    pub(super) fn bound(&mut self, id: &str, life: &Value) {
        let attempt = &life["attempt"];
        let receiver = self.row("task", &party(&life["receiver"])).cloned().unwrap_or_default();
        let reference = &receiver["adapterRef"];
        let same = reference["kind"] == attempt["profile"] && reference.get("session") == attempt.get("session");
        self.demand(same, || format!("{id} begins a call of {attempt}, and is bound to {reference}"));
        let profile = format!("{}/{}", crate::cast::TENANT, text(attempt, "profile"));
        let profile = self.row("profile", &profile).cloned().unwrap_or_default();
        let lists = |name: &str, word: &Value| {
            profile["capabilities"][name].as_array().is_some_and(|words| words.contains(word))
        };
        let able = lists("intents", &life["intent"]) && lists("deliveryModes", &life["mode"]);
        let current = profile["digest"] == attempt["profileDigest"];
        self.demand(able && current, || format!("{id} begins a call of a profile that is not the one: {profile}"));
    }

    /// A grant is made or withdrawn.
    pub(super) fn granted(&mut self, context: Option<&Context>, id: &str, old: Option<&Value>, new: &Value) {
        let Some(context) = context else { return };
        let who = &context.who;
        let scope = format!("user:{}", who.id);
        let name = crate::cast::name(who);
        let may = match who.kind {
            _ if context.operation == "relationships.consent" => {
                let same = |old: &Value| old.get("consent").is_some() && old["document"] == new["document"];
                belongs(who, &new["target"]) && old.is_some_and(same)
            }
            PrincipalKind::Policy => true,
            PrincipalKind::User if new.get("revoked").is_some() => {
                [&new["issuer"], &new["target"]["owner"]].iter().any(|owner| **owner == scope.as_str())
            }
            PrincipalKind::User => {
                [&new["source"]["owner"], &new["target"]["owner"]].iter().all(|owner| **owner == scope.as_str())
            }
            _ => false,
        };
        // Somebody who makes another grant ends the one before it.
        let superseded = old.is_some() && new["superseded"] == true;
        self.demand(may || superseded, || format!("grant {id} is changed by {name}: {new}"));
    }
}
