//! Which events an operation asks for, whatever comes of it.

use super::{Context, Oracle, attempts, party, text, urgent};
use serde_json::Value;

/// The event of the decision machine that leads to a decision.
fn decision(word: &str) -> &'static str {
    match word {
        "rejected" => "reject",
        "deferred" => "defer",
        "stale" => "mark-stale",
        "expired" => "expire",
        "unsupported" => "mark-unsupported",
        "revoked" => "revoke",
        _ => "accept",
    }
}

impl Oracle {
    /// Somebody asks for an operation at the true time `now`.
    pub fn attempted(&mut self, context: &Context, now: i64) {
        let params = &context.params;
        let (message, sender) = (text(params, "messageId"), text(params, "senderIncarnationId"));
        let named = |life: &Value| life["messageId"] == message && life["sender"]["incarnationId"] == sender;
        let submission = text(params, "submissionId");
        let of = |life: &Value| attempts(life).any(|attempt| attempt["id"] == submission);
        let word = text(params, "decision");
        let mut asked = Vec::new();
        for (_, life) in self.rows("life") {
            let mut ask =
                |machine: &'static str, event: &'static str| asked.push(pair(life, submission, machine, event));
            match context.operation.as_str() {
                "messages.respond" if named(life) => ask("decision", decision(word)),
                "mailbox.claim" if named(life) => {
                    let held = life["claim"]["state"] == "claimed";
                    ask("claim", if held { "take-over" } else { "claim" });
                }
                "mailbox.ack" if named(life) => {
                    ask("decision", decision(word));
                    ask("claim", if word == "deferred" { "release" } else { "acknowledge" });
                }
                "adapter.acceptAndBegin" if named(life) => {
                    ask("decision", "accept");
                    ask("claim", "acknowledge");
                    ask("submission", "begin");
                }
                "messages.recordDelivery" if named(life) => match text(params, "delivery") {
                    "durably-received" => ask("delivery", "persist"),
                    "receiver-notified" => ask("delivery", "notify"),
                    _ => ask("delivery", "offer"),
                },
                "messages.recordOutcome" if named(life) => match text(params, "outcome") {
                    "effect-observed" => ask("outcome", "observe"),
                    "externally-verified" => ask("outcome", "verify"),
                    _ => ask("outcome", "fail"),
                },
                "messages.recordInterruptionResult" if named(life) => {
                    ask("outcome", "observe");
                    ask("outcome", "fail");
                }
                "adapter.admitContext" | "adapter.confirmContextAdmission" if named(life) => ask("delivery", "admit"),
                "adapter.recoverContextAdmission" if named(life) && params.get("evidence").is_some() => {
                    ask("delivery", "admit");
                }
                "messages.failDelivery" if named(life) => ask("delivery", "fail"),
                "adapter.prepareSubmission" if named(life) => ask("submission", "replace"),
                "adapter.beginSubmission" if of(life) => ask("submission", "begin"),
                "adapter.recordReceipt" | "adapter.reconcileSubmission" | "adapter.recordQuery" if of(life) => {
                    about_a_call(context, &mut ask);
                }
                _ => beside(context, life, now, &mut ask),
            }
        }
        self.asked_of_proposals(context, now, &mut asked);
        if context.operation == "messages.forward" {
            self.carries(params);
        }
        for key in asked {
            *self.seen.pairs.entry(key).or_default() += 1;
        }
    }
}

impl Oracle {
    fn asked_of_proposals(&self, context: &Context, now: i64, asked: &mut Vec<(String, String, String)>) {
        let params = &context.params;
        let (event, named) = match context.operation.as_str() {
            "relationships.rejectProposal" => ("reject", &params["proposalId"]),
            "relationships.withdrawProposal" => ("withdraw", &params["proposalId"]),
            "relationships.grant" => ("approve", &params["decision"]["proposalId"]),
            _ => return,
        };
        for (_, row) in self.rows("proposal").filter(|(_, row)| row["proposalId"] == *named) {
            let over = row["expires"].as_i64() <= Some(now);
            let state = match text(row, "state") {
                "pending" if over => "expired",
                state => state,
            };
            asked.push(("proposal".into(), state.into(), event.into()));
        }
    }

    /// A content is in the message that passes it on as well.
    fn carries(&mut self, params: &Value) {
        let envelope = &params["envelope"];
        let id = text(envelope, "messageId").to_owned();
        self.carried.entry(content(text(envelope, "content"))).or_default().insert(id);
    }
}

/// The number of a content; the greatest there is for all that have none.
pub(super) fn content(text: &str) -> u32 {
    text.get(2..7).and_then(|digits| digits.parse().ok()).unwrap_or(u32::MAX)
}

/// What happens to messages when something else does.
fn beside(context: &Context, life: &Value, now: i64, ask: &mut impl FnMut(&'static str, &'static str)) {
    let params = &context.params;
    match context.operation.as_str() {
        "maintenance.expireDue" if life["expires"].as_i64() <= Some(now) => {
            ask("delivery", "expire");
            ask("decision", "expire");
        }
        "relationships.revoke" if urgent(life) && life["binding"]["grantId"] == params["grantId"] => {
            ask("decision", "revoke");
            ask("claim", "lapse");
        }
        "tasks.updateRuntime" if urgent(life) && receives(life, &params["task"]) => ask("decision", "mark-stale"),
        "tasks.rotateIncarnation" if receives(life, &params["previous"]) => {
            ask("decision", "mark-stale");
            ask("claim", "lapse");
        }
        _ => {}
    }
}

/// What somebody says became of a call.
fn about_a_call(context: &Context, ask: &mut impl FnMut(&'static str, &'static str)) {
    let params = &context.params;
    match (text(&params["reconciliation"], "resolution"), text(params, "result")) {
        ("confirmed-not-submitted", _) | (_, "absent-final" | "not-submitted") => ask("submission", "confirm-absent"),
        ("manual-required", _) | (_, "unanswerable") => ask("submission", "quarantine"),
        (_, "absent-now") => {}
        _ => receipt(context, ask),
    }
}

/// A receipt moves the attempt and, with it, the delivery and what is observed.
fn receipt(context: &Context, ask: &mut impl FnMut(&'static str, &'static str)) {
    ask("submission", "record-receipt");
    ask("submission", "contradict");
    ask("delivery", "submit");
    if context.who.kind == threadmesh_runtime::wit::PrincipalKind::Host {
        ask("outcome", "observe");
    }
}

fn receives(life: &Value, task: &Value) -> bool {
    let receiver = &life["receiver"];
    let key = party(receiver);
    receiver["taskId"] == task["taskId"] && key.contains(text(task, "incarnationId"))
}

fn pair(life: &Value, submission: &str, machine: &str, event: &str) -> (String, String, String) {
    let state = match machine {
        "submission" => {
            let named = attempts(life).find(|attempt| attempt["id"] == submission);
            let current = named.unwrap_or(&life["attempt"]);
            current["state"].as_str().unwrap_or("prepared")
        }
        "claim" => life["claim"]["state"].as_str().unwrap_or("free"),
        name => text(life, name),
    };
    (machine.to_owned(), state.to_owned(), event.to_owned())
}
