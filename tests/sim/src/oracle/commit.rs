//! What a commit may change.

use super::{Begun, Context, Mirror, Oracle, attempts, text, unresolved};
use crate::outside::{Outside, Truth};
use serde_json::Value;
use threadmesh_runtime::store::{Changes, Write};

impl Oracle {
    /// The store has taken `changes`.
    pub fn committed(&mut self, context: Option<&Context>, changes: &Changes, truth: &Outside) {
        if changes.writes.iter().any(|write| write.collection == "host") {
            // The operator accepts a clock that is behind: committed times may be earlier from here on.
            (self.rewound, self.last_time) = (true, changes.time);
        }
        let (earlier, last) = (changes.time < self.last_time && !self.rewound, self.last_time);
        self.demand(!earlier, || format!("committed at {} after {last}", changes.time));
        self.last_time = self.last_time.max(changes.time);
        // Grants and tasks first: what a message rests on is what stands beside it in the same commit.
        for write in changes.writes.iter().filter(|write| write.collection != "life") {
            self.written(context, write, changes.time, truth);
        }
        for write in changes.writes.iter().filter(|write| write.collection == "life") {
            self.written(context, write, changes.time, truth);
        }
    }

    fn written(&mut self, context: Option<&Context>, write: &Write, time: i64, truth: &Outside) {
        let Some(name) = super::COLLECTIONS.iter().find(|name| **name == write.collection) else {
            self.emptied_row(context, write);
            return self.counted(context, write);
        };
        let old = self.rows.get_mut(name).and_then(|rows| rows.remove(&write.id));
        let revision = old.as_ref().map_or(0, |row| row.revision);
        self.demand(revision == write.expected, || {
            format!("{}/{} is written at revision {} over {revision}", write.collection, write.id, write.expected)
        });
        let Some(body) = &write.body else { return };
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let before = old.map(|row| row.body);
        match *name {
            "life" => self.life(context, &write.id, before.as_ref(), &body, time, truth),
            "task" => self.task(&write.id, before.as_ref(), &body),
            "proposal" => self.proposal(context, &write.id, before.as_ref(), &body, time),
            "summary" => self.summary(context, &write.id, before.as_ref(), &body, time),
            "grant" => {
                self.grant(&write.id, before.as_ref(), &body);
                self.granted(context, &write.id, before.as_ref(), &body);
            }
            _ => {}
        }
        if let Some(rows) = self.rows.get_mut(name) {
            rows.insert(write.id.clone(), Mirror { revision: revision + 1, body });
        }
    }

    fn counted(&mut self, context: Option<&Context>, write: &Write) {
        let key = (write.collection.clone(), write.id.clone());
        let revision = self.others.get(&key).copied().unwrap_or(0);
        self.demand(revision == write.expected, || format!("{key:?} is written at {} over {revision}", write.expected));
        let purges = context.is_some_and(|context| context.operation == "maintenance.purgeContent");
        let once = match write.collection.as_str() {
            "message" => revision == 0 || purges,
            "replay" => revision == 0,
            _ => true,
        };
        self.demand(once, || format!("{key:?} is written again"));
        if write.body.is_some() {
            self.others.insert(key, revision + 1);
        } else {
            self.others.remove(&key);
        }
    }

    fn task(&mut self, id: &str, old: Option<&Value>, new: &Value) {
        if let Some(old) = old {
            let number = |value: &Value, name: &str| value[name].as_i64().unwrap_or(-1);
            let grows =
                ["revision", "objectiveVersion", "retiredAt"].iter().all(|name| number(new, name) >= number(old, name));
            self.demand(grows, || format!("task {id} goes back: {old} to {new}"));
        }
        if new.get("retiredAt").is_none() {
            let same = |task: &Value| {
                task.get("retiredAt").is_none() && task["taskId"] == new["taskId"] && task["owner"] == new["owner"]
            };
            let another = self.rows("task").any(|(known, task)| known != id && same(task));
            self.demand(!another, || format!("task {id} has two live incarnations"));
        }
    }

    fn grant(&mut self, id: &str, old: Option<&Value>, new: &Value) {
        let current = |grant: &Value| grant["superseded"] == false;
        if let Some(old) = old {
            let back =
                (old.get("revoked").is_some() && new.get("revoked").is_none()) || (!current(old) && current(new));
            self.demand(!back, || format!("grant {id} comes back"));
        }
        if current(new) {
            let ends = |grant: &Value| [&grant["relationship"], &grant["source"], &grant["target"]].map(Clone::clone);
            let newer = |(known, grant): &(&String, &Value)| {
                *known != id
                    && ends(grant) == ends(new)
                    && (current(grant) || grant["version"].as_i64() >= new["version"].as_i64())
            };
            let beside = self.rows("grant").find(newer).map(|(known, _)| known.clone());
            // A revoked grant that was current is written once more, beside nothing newer.
            self.demand(beside.is_none(), || format!("grant {id} stands beside {beside:?}"));
        }
    }

    fn life(
        &mut self,
        context: Option<&Context>,
        id: &str,
        old: Option<&Value>,
        new: &Value,
        time: i64,
        truth: &Outside,
    ) {
        match old {
            None => {
                self.born(id, new);
                self.sent(context, id, new, time);
            }
            Some(old) => {
                self.handled(context, id, old, new, time);
                let kept =
                    ["messageId", "sender", "receiver", "intent", "mode", "digest", "expires", "cursor", "binding"];
                let changed = kept.iter().find(|name| old[**name] != new[**name]);
                self.demand(changed.is_none(), || format!("{id}: {changed:?} changes"));
                self.revisions(id, old, new);
                self.states(context, id, old, new, time);
                self.sticky(id, old, new);
                self.outcome(context, id, old, new);
                self.admission(context, id, old, new, time);
            }
        }
        self.attempts(context, id, old, new, time);
        self.stands(id, new, truth);
        if text(new, "decision") == "accepted" && old.is_none_or(|old| text(old, "decision") != "accepted") {
            self.authorised(id, new, time, "is accepted");
        }
    }

    fn born(&mut self, id: &str, new: &Value) {
        let fresh = text(new, "delivery") == "durably-received"
            && text(new, "decision") == "pending"
            && text(new, "outcome") == "not-observed"
            && attempts(new).count() == 0;
        self.demand(fresh, || format!("{id} begins as {new}"));
        self.took("delivery", "control-plane-accepted", "persist");
    }

    fn revisions(&mut self, id: &str, old: &Value, new: &Value) {
        let revision = |life: &Value| life["revision"].as_i64().unwrap_or(-1);
        let told = ["delivery", "decision", "outcome"].iter().any(|name| old[*name] != new[*name]);
        let grows = if told { revision(new) > revision(old) } else { revision(new) >= revision(old) };
        self.demand(grows, || format!("{id}: revision {} after {}", revision(new), revision(old)));
    }

    /// While nobody knows what became of a call or of an admission, nothing else is said about the message.
    fn sticky(&mut self, id: &str, old: &Value, new: &Value) {
        let holds = |life: &Value| (unresolved(life), life.get("admission").is_some());
        if holds(old) == holds(new) && holds(old) != (false, false) {
            let same = ["delivery", "decision", "outcome"].iter().all(|name| old[*name] == new[*name]);
            self.demand(same, || format!("{id} is relabelled while it is with a model or a harness: {old} to {new}"));
        }
    }

    /// What stands in the record is true, and does not contradict itself.
    fn stands(&mut self, id: &str, new: &Value, truth: &Outside) {
        let state = |machine: &str| match machine {
            "submission" => new["attempt"]["state"].as_str(),
            "claim" => new["claim"]["state"].as_str(),
            name => new[name].as_str(),
        };
        if let Some(rule) = self.machines.broken(state).map(str::to_owned) {
            self.violation(format!("{id} breaks {rule}: {new}"));
        }
        if self.misled.contains(id) {
            return;
        }
        let observed = text(new, "outcome") == "effect-observed";
        let happened = attempts(new).any(|attempt| truth.truth(text(attempt, "key")) == Truth::Happened);
        self.demand(!observed || happened, || format!("{id}: an effect is observed that did not take place"));
        let absent = |attempt: &&Value| text(attempt, "state") == "confirmed-not-submitted";
        let wrong = attempts(new).filter(absent).find(|attempt| truth.truth(text(attempt, "key")) != Truth::Never);
        let wrong = wrong.map(|attempt| text(attempt, "id").to_owned());
        self.demand(wrong.is_none(), || format!("{id}: {wrong:?} is called absent, and is not"));
    }

    /// Attempts that begin.
    fn attempts(&mut self, context: Option<&Context>, id: &str, old: Option<&Value>, new: &Value, time: i64) {
        let attempt = &new["attempt"];
        if text(attempt, "state") != "outcome-unknown" {
            return;
        }
        let submission = text(attempt, "id");
        let known = old.into_iter().flat_map(attempts).find(|known| known["id"] == submission);
        if known.is_some_and(|known| text(known, "state") == "outcome-unknown") {
            return;
        }
        self.authorised(id, new, time, "begins a call");
        self.bound(id, new);
        self.demand(text(new, "decision") == "accepted", || format!("{id} begins a call and is not accepted"));
        let shown = new.get("admission").is_some();
        self.demand(!shown, || format!("{id} begins a call while it is shown to a model"));
        let open =
            |attempt: &Value| text(attempt, "state") != "confirmed-not-submitted" || attempt["contested"] == true;
        let beside = new["past"].as_array().into_iter().flatten().any(open);
        self.demand(!beside, || format!("{id} begins a call beside an open one"));
        let process = context.map_or(0, |context| context.process);
        let begun = Begun { process, life: id.to_owned(), called: false };
        let twice = self.begun.insert(submission.to_owned(), begun).is_some();
        self.demand(!twice, || format!("{submission} begins twice"));
    }
}
