//! Single steps of `decide` that hand out a secret: it comes from the entropy of the call and from nothing else, so that
//! the same call under other entropy gets another one, and nobody works it out from what was asked.

use super::super::attestation::digest;
use super::cast::{adapter_ref, envelope, message_at, message_id, profile, with, without};
use super::facts::{
    BUILDER_ROW, GRANT_ROW, ROUTE, answer, builder_party, counters, grant, key_row_of, life, message_row, row, secret,
    stored, stored_at, task, under,
};
use super::steps::{Vector, args, first_look, second_look};
use serde_json::{Value, json};

/// The key of both calls.
const KEY: &str = "idem_secret-0001";

pub(super) fn vectors() -> Vec<Vector> {
    let mut all = Vec::new();
    for number in [1_u32, 2] {
        let entropy = format!("{number:064}");
        all.push(drawn(
            "the token of a claim",
            number,
            &entropy,
            "mailbox.claim",
            claimable(),
            json!({
                "claimToken": secret("claim", &entropy),
            }),
        ));
        let operation = "adapter.prepareContextAdmission";
        all.push(drawn(
            "the token and the nonce of an admission",
            number,
            &entropy,
            operation,
            admissible(),
            json!({
                "admissionToken": secret("admission", &entropy), "nonce": secret("admission-nonce", &entropy),
            }),
        ));
    }
    all
}

/// The same call of the receiver, over the same facts, under this entropy.
fn drawn(what: &str, number: u32, entropy: &str, operation: &str, facts: Vec<Value>, value: Value) -> Vector {
    let params = with(message_at(1, 0), "/idempotencyKey", KEY);
    let key = key_row_of("default/task/builder/inc_builder-0001/user:bob", operation, KEY);
    let facts = [facts, vec![answer(row("replay", &key), vec![])]].concat();
    let args = with(args("builder", operation, &params, facts), "/entropy", entropy);
    let response = json!({"$json": {"method": operation, "value": {"operationReplay": false, "value": value}}});
    let decision = json!({"status": "accepted", "response": response});
    Vector::new(&format!("{what}, under entropy {number}"), &[], "decide", args)
        .has(json!({"kind": "ready", "decision": decision}))
}

/// Message 1 and what it rests on, as its receiver asks for them.
fn facts(life: &Value, receiver: &Value) -> Vec<Value> {
    let mut all = [first_look(), second_look()].concat();
    all[0]["rows"] = json!([stored(&message_row(), life)]);
    all[3]["rows"] = json!([stored(BUILDER_ROW, receiver)]);
    let own = under("task", "", "default/inc_builder-0001", 8);
    all.push(answer(own, vec![stored(BUILDER_ROW, receiver)]));
    let own = under("box", "", "default/inc_builder-0001", 8);
    all.push(answer(own, vec![stored(BUILDER_ROW, &counters(1, 0))]));
    let route = under("grant", "route", "default/inc_builder-0001/inc_writer-0001", 16);
    all.push(answer(route, vec![stored_at(GRANT_ROW, ROUTE, &grant())]));
    all
}

/// The message waits for a decision.
fn claimable() -> Vec<Value> {
    let mut all = facts(&life(), &task(builder_party()));
    all.push(itself(&envelope(1, "suggest", 0)));
    all
}

/// The message itself.
fn itself(envelope: &Value) -> Value {
    let message = json!({"envelope": envelope, "ancestors": [], "purged": false});
    let named = under("message", "", &format!("default/{}/inc_writer-0001", message_id(1)), 8);
    answer(named, vec![stored(&message_row(), &message)])
}

/// The message was accepted, and its receiver's adapter can show it to a model.
fn admissible() -> Vec<Value> {
    let accepted = with(with(life(), "/decision", "accepted"), "/delivery", "receiver-notified");
    let receiver = with(task(builder_party()), "/adapterRef", adapter_ref());
    let mut known = with(with(profile(), "/name", "loop"), "/hosted", false);
    known["capabilities"]["features"]["contextAdmission"] = "receiver-mediated".into();
    let known = with(known, "/contextAdmission", json!({"evidence": "mcp-session"}));
    let known = without(without(known, "/profile"), "/executor");
    let envelope = envelope(1, "suggest", 0);
    let accepted = with(accepted, "/digest", digest(&envelope));
    let mut all = facts(&accepted, &receiver);
    all.push(answer(under("profile", "", "default", 16), vec![stored("default/loop", &known)]));
    all.push(itself(&envelope));
    all
}
