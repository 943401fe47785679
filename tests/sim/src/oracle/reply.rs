//! What an answer may say, and to whom.

use super::{Context, Oracle, party};
use serde_json::Value;
use threadmesh_runtime::{
    Reply,
    wit::{PrincipalKind, Status},
};

impl Oracle {
    /// A live process got an answer; it made `committed` commits on the way.
    pub fn answered(&mut self, context: &Context, reply: &Reply, body: &Value, committed: u64) {
        let Context { who, operation, params, .. } = context;
        let name = || format!("{operation} by {}", crate::cast::name(who));
        let keyed = params.get("idempotencyKey").is_some();
        if keyed && reply.status != Status::Refused {
            self.once(context, reply.status);
        }
        if reply.status != Status::Refused {
            self.lives_on(context, &reply.body);
        }
        match reply.status {
            Status::Accepted if keyed => {
                self.demand(committed > 0, || format!("{} is accepted without a commit", name()));
            }
            Status::Accepted => {}
            Status::Refused | Status::Replayed => {
                self.demand(committed == 0, || format!("{} is {:?} and commits", name(), reply.status));
                self.demand(reply.calls.is_empty(), || format!("{} is {:?} and calls", name(), reply.status));
            }
        }
        for call in &reply.calls {
            let mine = self.begun.get(&call.key).is_some_and(|begun| begun.process == context.process);
            let twice = !self.dispatched.insert(call.key.clone());
            self.demand(mine && !twice, || format!("{}: the call {} is handed out", name(), call.key));
        }
        if reply.status == Status::Accepted {
            self.says_what_stands(context, &body["value"]["value"]);
        }
        self.discreet(context, body);
    }

    /// A key stands for one request, which is accepted once.
    fn once(&mut self, context: &Context, status: Status) {
        let Context { who, operation, params, .. } = context;
        let name = || format!("{operation} by {}", crate::cast::name(who));
        let scope = format!("{:?} {} {:?} {:?}", who.kind, who.id, who.incarnation, who.owner);
        // Only some operations count the worker, so that another one may be answered with a replay.
        let key = (format!("{scope} {operation} {}", params["idempotencyKey"]), who.worker.clone());
        let known = self.accepted.get(&key);
        let (again, same) = (known.is_some(), known.is_none_or(|known| known == params));
        self.demand(same, || format!("{} is {status:?} under a key that stands for something else", name()));
        self.demand(!again || status == Status::Replayed, || format!("{} is accepted twice under one key", name()));
        self.accepted.insert(key, params.clone());
    }

    /// A task that is retired is told nothing any more.
    fn lives_on(&mut self, context: &Context, body: &str) {
        let who = &context.who;
        let own = crate::cast::owned(who);
        let retired = self.row("task", &party(&own)).is_some_and(|task| task.get("retiredAt").is_some());
        // A batch is answered message by message, here with nothing but refusals.
        let told = context.operation != "messages.sendBatch" || body.contains("\"disposition\"");
        let dead = who.kind == PrincipalKind::Task && retired && told;
        self.demand(!dead, || {
            format!("{} answers a task that is retired: {}", context.operation, crate::cast::name(who))
        });
    }

    /// An accepted change answers with what was committed.
    fn says_what_stands(&mut self, context: &Context, value: &Value) {
        if let Some(submission) =
            value["submission"]["submissionId"].as_str().filter(|_| value.get("dispatch").is_some())
        {
            let twice = !self.dispatched.insert(submission.to_owned());
            self.demand(!twice, || format!("the dispatch of {submission} is handed out twice"));
        }
        let told = if value.get("decision").is_some() { value } else { &value["disposition"] };
        let (message, sender) = (&context.params["messageId"], &context.params["senderIncarnationId"]);
        let named = |life: &Value| life["messageId"] == *message && life["sender"]["incarnationId"] == *sender;
        let stands =
            |life: &Value| ["revision", "delivery", "decision", "outcome"].iter().all(|it| life[*it] == told[*it]);
        if told.is_null() || message.is_null() {
            return;
        }
        let right = self.rows("life").any(|(_, life)| named(life) && stands(life));
        self.demand(right, || format!("{} answers {told}, which is not what is stored", context.operation));
    }
}
