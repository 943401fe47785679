//! What is said to have happened, and by whom.

use super::{Context, Oracle, party, text};
use serde_json::Value;
use threadmesh_protocol::time;
use threadmesh_runtime::wit::PrincipalKind;

/// What a sound attestation is about.
#[derive(Clone, Debug)]
pub struct Sound {
    /// Whose key signed it.
    pub key: String,
    /// The message.
    pub message: Value,
    /// Its sender.
    pub sender: Value,
    /// Its receiver.
    pub receiver: Value,
    /// The evidence.
    pub evidence: Value,
    /// When it was verified.
    pub at: i64,
    /// Whether it claims what an interrupt did.
    pub interrupts: bool,
}

impl Oracle {
    /// A verifier vouched for something that is so.
    pub fn vouched(&mut self, attestation: &Value, sound: Sound) {
        self.sound.insert(attestation.as_str().unwrap_or_default().to_owned(), sound);
    }

    /// The outcome of a message changes, or what is told of an interrupt.
    pub(super) fn outcome(&mut self, context: Option<&Context>, id: &str, old: &Value, new: &Value) {
        let (was, is) = (text(old, "outcome"), text(new, "outcome"));
        let told = old.get("interruption") != new.get("interruption");
        let Some(Context { who, operation, params, .. }) = context else {
            return self.demand(was == is && !told, || format!("{id}: nobody says what it came to"));
        };
        let name = || format!("{id}: {operation} by {}: {params}", crate::cast::name(who));
        let hosts = who.kind == PrincipalKind::Host;
        let interrupt = text(new, "intent") == "interrupt";
        let receives = who.kind == PrincipalKind::Task && party(&crate::cast::owned(who)) == party(&new["receiver"]);
        let reports = operation == "messages.recordInterruptionResult";
        if told {
            let accepted = matches!(text(new, "decision"), "accepted" | "revoked");
            self.demand(reports && interrupt && accepted && (hosts || receives), name);
            let same = params["result"]["messageId"] == new["messageId"];
            let before = old.get("interruption");
            let open = before.is_none_or(|it| it["open"] == true || (hosts && it["observed"] == false));
            self.demand(same && open, || format!("{}, after {before:?}", name()));
        }
        if was == is {
            return;
        }
        let may = match is {
            "externally-verified" => return self.attested(context, id, new),
            "effect-observed" => hosts && interrupt == reports,
            "failed" if reports => hosts && interrupt,
            "failed" => (hosts || receives) && !interrupt,
            _ => false,
        };
        self.demand(may, || format!("{} makes it {is}", name()));
    }

    /// Everything that the outcome rests on is sound, about this message, and by somebody who is believed.
    fn attested(&mut self, context: Option<&Context>, id: &str, new: &Value) {
        let params = context.map(|context| &context.params).cloned().unwrap_or_default();
        let attestations = params["verificationAttestations"].as_array().cloned().unwrap_or_default();
        self.demand(!attestations.is_empty(), || format!("{id} is verified by nothing"));
        let believed: String = self.rows("anchors").map(|(_, row)| row.to_string()).collect();
        let began = new["attempt"]["call"]["started"].as_i64().unwrap_or(0);
        for attestation in attestations {
            let known = self.sound.get(text(&attestation, "attestationId"));
            let holds = known.is_some_and(|sound| {
                sound.message == new["messageId"]
                    && sound.sender == new["sender"]
                    && sound.receiver == new["receiver"]
                    && sound.evidence == params["evidenceRefs"]
                    && sound.interrupts == (text(new, "intent") == "interrupt")
                    && time::parse(text(&attestation, "verifiedAt")).is_ok_and(|at| at == sound.at && at >= began)
                    && believed.contains(&sound.key)
            });
            self.demand(holds, || format!("{id} is verified by {attestation}, which is not sound"));
        }
    }
}
