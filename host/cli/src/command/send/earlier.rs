//! A message id that was used before: the same message again, or another one.

use super::owned;
use crate::failure::Failure;
use crate::mesh::Mesh;
use serde_json::{Value, json};

/// What `messages.send` would answer to the same envelope again, where the message of this id means the same; its times do
/// not count, since a repetition comes later. Otherwise `conflict`, saying what differs.
pub fn same(mesh: &mut dyn Mesh, envelope: &Value, owner: Option<&str>, conflict: Failure) -> Result<Value, Failure> {
    let message = &envelope["messageId"];
    let about = json!({"senderIncarnationId": envelope["sender"]["incarnationId"], "messageId": message});
    let known = mesh.value("inspector.snapshot", &owned(owner, about))?;
    let differs = differences(envelope, &known);
    if differs.is_empty() {
        return Ok(json!({
            "replay": true,
            "envelopeDigest": known["provenance"]["envelopeDigest"],
            "disposition": known["disposition"],
        }));
    }
    let message = message.as_str().unwrap_or_default();
    let detail = format!("{message} was sent before, and is another message: it differs in {}", differs.join(", "));
    let next = "leave out --message-id for a new message, or give it another id".to_owned();
    Err(Failure { detail, next, ..conflict })
}

/// In what the envelope differs from the message that is known, as far as that is shown.
fn differences(envelope: &Value, known: &Value) -> Vec<String> {
    let about = &known["provenance"];
    let end = |end: &Value| json!([end["taskId"], end["incarnationId"]]);
    let visible = known["content"]["state"] == "visible";
    let refs = match &envelope["evidenceRefs"] {
        Value::Null => json!([]),
        refs => refs.clone(),
    };
    let pairs = [
        (true, "the text", &envelope["content"], &known["content"]["value"]),
        (true, "the reason", &envelope["reason"], &known["content"]["reason"]),
        (true, "the evidence", &refs, &known["evidence"]["refs"]),
        (false, "the receiver", &end(&envelope["target"]), &end(&about["target"])),
        (false, "the relationship", &envelope["relationshipId"], &about["relationshipId"]),
        (false, "the intent", &envelope["intent"], &about["intent"]),
        (false, "the mode", &envelope["delivery"]["requestedMode"], &about["requestedMode"]),
        (false, "the type", &envelope["messageType"], &about["messageType"]),
        (false, "the parent or trace", &envelope["causality"], &about["causality"]),
        (false, "what it expects of the receiver", &envelope["freshness"], &about["freshness"]),
    ];
    let differs = pairs.iter().filter(|(content, _, new, old)| (visible || !content) && new != old);
    let name = |(_, name, _, old): &(bool, &str, &Value, &Value)| match old.is_null() {
        true => format!("{name}, of which the record shows nothing"),
        false => (*name).to_owned(),
    };
    differs.map(name).collect()
}
