//! What an answer may say, and to whom.

use super::{Context, Oracle, party, text};
use serde_json::Value;
use threadmesh_runtime::{
    Reply,
    wit::{Principal, PrincipalKind, Status},
};

impl Oracle {
    /// A live process got an answer; it made `committed` commits on the way.
    pub fn answered(&mut self, context: &Context, reply: &Reply, committed: u64) {
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
        let body: Value = serde_json::from_str(&reply.body).unwrap_or_default();
        if reply.status == Status::Accepted {
            self.says_what_stands(context, &body["value"]["value"]);
        }
        self.discreet(context, &reply.body);
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
        let own = serde_json::json!({"taskId": who.id, "incarnationId": who.incarnation, "owner": who.owner});
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

    /// Nobody reads what is not for him.
    fn discreet(&mut self, context: &Context, body: &str) {
        for (at, _) in body.match_indices("secret-") {
            let number = body.get(at + 7..at + 12).and_then(|digits| digits.parse::<u32>().ok());
            let Some(number) = number else { continue };
            let id = crate::cast::message_id(number);
            let lives = self.rows("life").filter(|(_, life)| life["messageId"] == id);
            // Decisions are at no earlier time than the last committed one, unless a clock was accepted.
            let time = if self.rewound { 0 } else { self.last_time };
            let inspects = context.operation == "inspector.snapshot";
            let reads = |life: &Value| receiver(&context.who, life) || (inspects && concerned(&context.who, life));
            let may = lives.into_iter().any(|(_, life)| reads(life) && self.gate(life, time).is_ok());
            self.demand(may, || shown(context, &format!("the content of {id}")));
        }
        for (at, _) in body.match_indices("\"adp_") {
            let key = body.get(at + 1..at + 37).unwrap_or_default();
            let owner = self.rows("life").find(|(_, life)| super::attempts(life).any(|attempt| attempt["key"] == key));
            let may = owner.is_none_or(|(_, life)| handles(&context.who, life));
            self.demand(may, || shown(context, &format!("the adapter key {key}")));
        }
        for (at, _) in body.match_indices("\"claimToken\":\"") {
            let token = body.get(at + 14..at + 85).unwrap_or_default();
            let holder = self.rows("life").find(|(_, life)| life["claim"]["token"] == token);
            let worker = context.who.worker.as_deref().unwrap_or("");
            let may =
                holder.is_none_or(|(_, life)| receiver(&context.who, life) && text(&life["claim"], "worker") == worker);
            self.demand(may, || shown(context, "a claim's token"));
        }
    }
}

fn shown(context: &Context, what: &str) -> String {
    format!("{} shows {what} to {}", context.operation, crate::cast::name(&context.who))
}

/// Whether `who` is the receiving task itself.
fn receiver(who: &Principal, life: &Value) -> bool {
    let own = serde_json::json!({"taskId": who.id, "incarnationId": who.incarnation, "owner": who.owner});
    who.kind == PrincipalKind::Task && party(&own) == party(&life["receiver"])
}

/// Whether `who` is one end of the message, or owns one.
fn concerned(who: &Principal, life: &Value) -> bool {
    ["sender", "receiver"].iter().any(|end| {
        let end = &life[*end];
        let own = serde_json::json!({"taskId": who.id, "incarnationId": who.incarnation, "owner": who.owner});
        match who.kind {
            PrincipalKind::Task => party(&own) == party(end),
            PrincipalKind::User => text(end, "owner") == format!("user:{}", who.id),
            _ => false,
        }
    })
}

/// Whether `who` may know by which key the target knows the call.
fn handles(who: &Principal, life: &Value) -> bool {
    let (task, owner) = (text(&life["receiver"], "taskId"), text(&life["receiver"], "owner"));
    match who.kind {
        PrincipalKind::Task => who.id == task && who.owner.as_deref() == Some(owner),
        PrincipalKind::User => format!("user:{}", who.id) == owner,
        _ => true,
    }
}
