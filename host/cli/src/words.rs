//! How the program speaks of messages. One place, because of one rule: that a message is queued is never worded as if its
//! receiver had accepted it. The states are printed as the core says them, and never looked at.

use serde_json::Value;

/// The three states of a message, each under its own name.
pub fn states(disposition: &Value) -> Vec<String> {
    let text = |member: &str| disposition[member].as_str().unwrap_or("?").to_owned();
    let with = |state: String, extra: &str| match disposition[extra].as_str() {
        Some(extra) => format!("{state} ({extra})"),
        None => state,
    };
    vec![
        format!("  delivery           {}", with(text("delivery"), "deliveryFailureReason")),
        format!("  receiver decision  {}", with(text("decision"), "decisionReasonCode")),
        format!("  outcome            {}", text("outcome")),
        format!("  revision           {}", disposition["revision"]),
    ]
}

/// What is said after a message was handed over.
pub fn queued(message: &str, target: &str, replay: bool) -> String {
    match replay {
        true => format!("{message} for {target} is here already; nothing was sent twice"),
        false => format!("{message} is queued for {target}; what the receiver decides is yet to come"),
    }
}

/// Whether the receiver has decided: every decision carries a reason code, and there is none before.
pub fn decided(disposition: &Value) -> bool {
    disposition["decisionReasonCode"].is_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn queueing_is_never_worded_as_acceptance() {
        for replay in [false, true] {
            let text = queued("msg_0000001", "b@inc_0000002", replay).to_lowercase();
            for word in ["accept", "agreed", "approved", "confirmed", "acknowledged", "done", "success", " ok"] {
                assert!(!text.contains(word), "{text:?} contains {word:?}");
            }
        }
        let open =
            json!({"delivery": "durably-received", "decision": "pending", "outcome": "not-observed", "revision": 0});
        let text = states(&open).join("\n");
        assert!(!text.contains("accept") && !decided(&open));
        assert!(text.contains("receiver decision  pending"), "the three states stand apart");
    }
}
