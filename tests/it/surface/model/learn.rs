//! What answers tell of the world.

use super::{Made, Message, Model, TASKS, name, push};
use serde_json::Value;

impl Model {
    /// Takes note of an answer.
    pub fn learn(&mut self, made: &Made, result: &Value) {
        let value = match result["value"].get("operationReplay") {
            Some(_) => &result["value"]["value"],
            None => &result["value"],
        };
        let params = &made.params;
        match made.method.as_str() {
            "messages.send" | "messages.forward" => self.sent(&params["envelope"], value),
            "messages.sendBatch" => {
                let envelopes = params["envelopes"].as_array().into_iter().flatten();
                let answers = value["results"].as_array().into_iter().flatten();
                envelopes.zip(answers).for_each(|(envelope, answer)| self.sent(envelope, answer));
            }
            "relationships.revoke" => self.grants.retain(|grant| grant["grantId"] != params["grantId"]),
            "relationships.grant" => {
                let most = TASKS * 4;
                self.grants.push(params["grant"].clone());
                if self.grants.len() > most {
                    self.grants.remove(0);
                }
            }
            "relationships.propose" => push(&mut self.proposals, params["proposal"].clone()),
            "tasks.publishSummary" => {
                let (relationship, version) = (&value["projection"]["relationshipId"], &value["summaryVersion"]);
                self.summaries.retain(|(known, _)| known != relationship);
                self.summaries.push((relationship.clone(), version.as_u64().unwrap_or(1)));
            }
            _ => {}
        }
        if value["incarnationId"].is_string() && value["revision"].is_u64() {
            self.tasks.retain(|task| task["taskId"] != value["taskId"]);
            self.tasks.push(value.clone());
            // Tasks that have a token stay; of the others there are a few.
            let extras = self.tasks.iter().filter(|task| name(task).contains("extra")).count();
            let first = self.tasks.iter().position(|task| name(task).contains("extra"));
            if let Some(first) = first.filter(|_| extras > 4) {
                self.tasks.remove(first);
            }
        }
        self.moved(params, value);
    }

    fn sent(&mut self, envelope: &Value, answer: &Value) {
        let Some(revision) = answer["disposition"]["revision"].as_u64() else { return };
        let envelope = envelope.clone();
        let none = || Value::Null;
        let message = Message { envelope, revision, claim: none(), submission: none(), admission: none() };
        push(&mut self.messages, message);
    }

    /// Where a message stands after an answer about it.
    fn moved(&mut self, params: &Value, value: &Value) {
        let named = |message: &&mut Message| {
            message.envelope["messageId"] == params["messageId"]
                || (params["submissionId"].is_string() && message.submission == params["submissionId"])
        };
        let Some(message) = self.messages.iter_mut().find(named) else { return };
        let revisions = [&value["disposition"]["revision"], &value["revision"], &value["expectedRevision"]];
        if let Some(revision) = revisions.into_iter().find_map(Value::as_u64) {
            message.revision = revision;
        }
        if value["admissionToken"].is_string() {
            message.admission = value.clone();
        }
        for (place, found) in [
            (&mut message.claim, &value["claimToken"]),
            (&mut message.submission, &value["submission"]["submissionId"]),
        ] {
            if found.is_string() {
                *place = found.clone();
            }
        }
    }
}
