//! What is removed stays removed, and nobody reads what is not for him.

use super::{
    Context, Oracle,
    asked::{belongs, holds},
    party, text,
};
use crate::cast::{self, MARK};
use serde_json::Value;
use threadmesh_runtime::{
    store::Write,
    wit::{Principal, PrincipalKind},
};

/// Visits every text below `value` with the name of its member.
fn texts<'v>(name: &'v str, value: &'v Value, visit: &mut impl FnMut(&'v str, &'v str)) {
    match value {
        Value::String(text) => visit(name, text),
        Value::Object(members) => members.iter().for_each(|(name, member)| texts(name, member, visit)),
        Value::Array(items) => items.iter().for_each(|item| texts(name, item, visit)),
        _ => {}
    }
}

/// The marked contents in a text: the kind, and the number.
fn marked(text: &str) -> impl Iterator<Item = (char, u32)> + '_ {
    text.match_indices(MARK).filter_map(|(at, mark)| {
        let rest = text.get(at + mark.len()..at + mark.len() + 7)?;
        let kind = rest.chars().next().filter(char::is_ascii_lowercase)?;
        let number = rest.get(1..6)?.parse().ok()?;
        rest.ends_with(MARK).then_some((kind, number))
    })
}

impl Oracle {
    /// A row that holds content is written: a message that was emptied keeps nothing of it.
    pub(super) fn emptied_row(&mut self, context: Option<&Context>, write: &Write) {
        let purges = context.is_some_and(|context| context.operation == "maintenance.purgeContent");
        if write.collection == "message" && purges {
            let left = write.body.as_deref().unwrap_or_default().contains(MARK);
            self.demand(!left, || format!("{} is purged, and its content is there: {:?}", write.id, write.body));
        }
    }

    /// Everything ended and was purged: what stands in the store then.
    pub fn emptied(&mut self, rows: &[(String, String)]) {
        for (id, body) in rows {
            let left = marked(body).find(|(kind, _)| *kind != 'h');
            self.demand(left.is_none(), || format!("stuck: {id} is over, and content is left in it: {body}"));
        }
        let unpurged = |(_, life): &(&String, &Value)| life["purged"].get("done").is_none();
        let left = self.rows("life").find(unpurged).map(|(id, life)| format!("stuck: {id} is not purged: {life}"));
        let open = self.rows("purge").find(|(_, purge)| purge.get("done").is_none());
        let open = open.map(|(id, purge)| format!("stuck: {id} is not done: {purge}"));
        self.violations.extend(left.into_iter().chain(open));
    }

    /// Nobody reads what is not for him.
    pub(super) fn discreet(&mut self, context: &Context, body: &Value) {
        let mut contents = Vec::new();
        let mut secrets = Vec::new();
        texts("", body, &mut |name, text| {
            contents.extend(marked(text));
            let secret = matches!(name, "claimToken" | "admissionToken" | "nonce") || text.starts_with("adp_");
            if secret {
                secrets.push((name, text));
            }
        });
        for (kind, number) in contents {
            let may = match kind {
                's' => self.reads_message(context, number),
                'm' => self.reads_motive(&context.who, number),
                _ => self.reads_hint(&context.who, number),
            };
            self.demand(may, || shown(context, &format!("the content {kind}{number}")));
        }
        for (name, text) in secrets {
            let may = match name {
                "claimToken" => self.holds(context, "claim", "token", text),
                "admissionToken" => self.holds(context, "admission", "token", text),
                "nonce" => self.holds(context, "admission", "nonce", text),
                _ => self.handles_key(context, text),
            };
            self.demand(may, || shown(context, &format!("{name} {text}")));
        }
    }

    /// Decisions are at no earlier time than the last committed one, unless a clock was accepted.
    fn time_at_least(&self) -> i64 {
        if self.rewound { 0 } else { self.last_time - self.slack }
    }

    fn reads_message(&self, context: &Context, number: u32) -> bool {
        let carried = self.carried.get(&number);
        let own = cast::message_id(number);
        let carries = |life: &Value| {
            let id = text(life, "messageId");
            id == own || carried.is_some_and(|carried| carried.contains(id))
        };
        let inspects = context.operation == "inspector.snapshot";
        let reads = |life: &Value| receiver(&context.who, life) || (inspects && concerned(&context.who, life));
        self.rows("life").any(|(_, life)| {
            carries(life)
                && reads(life)
                && life.get("purged").is_none()
                && self.gate(life, self.time_at_least()).is_ok()
        })
    }

    /// The reason of a proposal is for its source's side, for the owner of the target and for policies.
    fn reads_motive(&self, who: &Principal, number: u32) -> bool {
        let motive = cast::motive(number);
        let mut rows = self.rows("proposal");
        rows.any(|(_, row)| {
            let decides = who.kind == PrincipalKind::User && row.get("target").is_some_and(|end| belongs(who, end));
            text(row, "reason") == motive
                && (who.kind == PrincipalKind::Policy || decides || belongs(who, &row["source"]))
        })
    }

    /// A hint is for the task's own side, and for the source of the grant that shows it.
    fn reads_hint(&self, who: &Principal, number: u32) -> bool {
        let hint = cast::hint(number);
        let live = |end: &Value| self.row("task", &party(end)).is_some_and(|task| task.get("retiredAt").is_none());
        let mut rows = self.rows("summary");
        rows.any(|(_, row)| {
            let document = &row["document"];
            let grant = self.row("grant", text(row, "grant")).cloned().unwrap_or_default();
            let reads = who.kind == PrincipalKind::Task
                && party(&cast::owned(who)) == party(&row["reader"])
                && holds(&grant, self.time_at_least())
                && document["audience"]["visibility"] != "owner-only"
                && live(&row["task"])
                && live(&row["reader"]);
            text(document, "blockerHint") == hint && (belongs(who, &row["task"]) || reads)
        })
    }

    /// Whether the caller is the worker whose claim or admission has this secret, or nobody has it any more.
    fn holds(&self, context: &Context, of: &str, name: &str, secret: &str) -> bool {
        let holder = self.rows("life").find(|(_, life)| life[of][name] == secret);
        let worker = context.who.worker.as_deref().unwrap_or("");
        holder.is_none_or(|(_, life)| receiver(&context.who, life) && text(&life[of], "worker") == worker)
    }

    fn handles_key(&self, context: &Context, text: &str) -> bool {
        let owner = self.rows("life").find(|(_, life)| super::attempts(life).any(|attempt| attempt["key"] == text));
        owner.is_none_or(|(_, life)| handles(&context.who, life))
    }
}

fn shown(context: &Context, what: &str) -> String {
    format!("{} shows {what} to {}", context.operation, cast::name(&context.who))
}

/// Whether `who` is the receiving task itself.
fn receiver(who: &Principal, life: &Value) -> bool {
    who.kind == PrincipalKind::Task && party(&cast::owned(who)) == party(&life["receiver"])
}

/// Whether `who` is one end of the message, or owns one.
fn concerned(who: &Principal, life: &Value) -> bool {
    ["sender", "receiver"].iter().any(|end| match who.kind {
        PrincipalKind::Task => party(&cast::owned(who)) == party(&life[*end]),
        PrincipalKind::User => text(&life[*end], "owner") == format!("user:{}", who.id),
        _ => false,
    })
}

/// Whether `who` may know by which key the target knows the call.
fn handles(who: &Principal, life: &Value) -> bool {
    match who.kind {
        PrincipalKind::Task | PrincipalKind::User => belongs(who, &life["receiver"]),
        _ => true,
    }
}
