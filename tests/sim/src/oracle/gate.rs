//! Along which edges a record moves, and what must stand when somebody acts on a message.

use super::{Context, Oracle, attempts, party, text, urgent};
use serde_json::Value;

impl Oracle {
    /// Notes an edge.
    pub(super) fn took(&mut self, machine: &str, state: &str, event: &str) {
        *self.seen.edges.entry((machine.into(), state.into(), event.into())).or_default() += 1;
    }

    /// Takes the way of a machine from one state to another.
    pub(super) fn walked(&mut self, id: &str, machine: &str, from: &str, to: &str, passes: impl Fn(&str) -> bool) {
        let machines = std::sync::Arc::clone(&self.machines);
        match machines.named(machine).way(from, to, |edge| passes(&edge.event)) {
            Some(way) => way.iter().for_each(|edge| self.took(machine, &edge.from, &edge.event)),
            None => self.violation(format!("{id}: {machine} goes from {from} to {to}")),
        }
    }

    /// The states of all machines move along edges.
    pub(super) fn states(&mut self, context: Option<&Context>, id: &str, old: &Value, new: &Value, time: i64) {
        for machine in ["delivery", "decision", "outcome"] {
            let (from, to) = (text(old, machine), text(new, machine));
            if from != to {
                self.walked(id, machine, from, to, |_| true);
            }
        }
        self.claim(context, id, old, new, time);
        self.submission(id, old, new);
    }

    fn claim(&mut self, context: Option<&Context>, id: &str, old: &Value, new: &Value, time: i64) {
        let (before, after) = (&old["claim"], &new["claim"]);
        let state = |claim: &Value| claim["state"].as_str().unwrap_or("free").to_owned();
        let (from, to) = (state(before), state(after));
        let fence = |claim: &Value| claim["fence"].as_i64().unwrap_or(0);
        self.demand(fence(after) >= fence(before), || format!("{id}: the claim's fence goes back"));
        if from == "claimed" && to == "claimed" {
            if before["token"] != after["token"] {
                let over = before["until"].as_i64() <= Some(time) && fence(after) > fence(before);
                self.demand(over, || format!("{id}: a running claim is taken over: {before} by {after}"));
                self.took("claim", "claimed", "take-over");
            }
            return;
        }
        if from == to {
            return;
        }
        let runs = before["until"].as_i64() > Some(time);
        let own = context.is_some_and(|context| context.who.worker.as_deref().unwrap_or("") == text(before, "worker"));
        let releases = text(new, "decision") == "deferred" && runs && own;
        self.walked(id, "claim", &from, &to, |event| match event {
            "release" => releases,
            "lapse" => !releases,
            _ => true,
        });
        if to == "acknowledged" && from == "claimed" {
            self.demand(runs && own, || format!("{id}: a claim is acknowledged that does not run"));
        }
    }

    fn submission(&mut self, id: &str, old: &Value, new: &Value) {
        let (before, after) = (&old["attempt"], &new["attempt"]);
        let known = |attempt: &Value| attempts(old).find(|known| known["id"] == attempt["id"]);
        for attempt in attempts(new) {
            let (state, from) = (text(attempt, "state"), known(attempt).map(|known| text(known, "state")));
            match from {
                Some(from) if from != state => self.walked(id, "submission", from, state, |_| true),
                None if !before.is_null() => {
                    // A new attempt takes the place of the one before it.
                    self.walked(id, "submission", text(before, "state"), "prepared", |event| event == "replace");
                    self.begins(id, state);
                }
                None => self.begins(id, state),
                Some(_) => {}
            }
        }
        let gone: Vec<&Value> = attempts(old).filter(|old| attempts(new).all(|new| new["id"] != old["id"])).collect();
        let lost = gone.iter().find(|attempt| text(attempt, "state") != "prepared").map(|it| text(it, "id").to_owned());
        self.demand(lost.is_none(), || format!("{id}: the attempt {lost:?} is gone"));
        if !gone.is_empty() && known(after).is_some() {
            self.walked(id, "submission", "prepared", text(after, "state"), |event| event == "contradict");
        }
    }

    fn begins(&mut self, id: &str, state: &str) {
        if state != "prepared" {
            self.walked(id, "submission", "prepared", state, |event| event == "begin");
        }
    }

    /// Whether somebody may act on the message at `time`, by what is stored of everyone concerned.
    pub(super) fn authorised(&mut self, id: &str, life: &Value, time: i64, what: &str) {
        if let Err(why) = self.gate(life, time) {
            self.violation(format!("{id} {what} although {why}: {life}"));
        }
    }

    /// Why nobody may act on the message at `time`.
    pub(super) fn gate(&self, life: &Value, time: i64) -> Result<(), &'static str> {
        let live = |end: &str| {
            let task = self.row("task", &party(&life[end]));
            task.filter(|task| task.get("retiredAt").is_none()).ok_or("one end is not live")
        };
        live("sender")?;
        let receiver = live("receiver")?;
        let when = |value: &Value| value.as_i64();
        if when(&life["expires"]).is_none_or(|end| end <= time) {
            return Err("it is expired");
        }
        let binding = text(&life["binding"], "grant");
        if !binding.is_empty() {
            let grant = self.row("grant", binding).ok_or("its grant is not there")?;
            if !super::asked::holds(grant, time) {
                return Err("its grant is not current");
            }
            let lists = |name: &str, word: &Value| grant[name].as_array().is_some_and(|words| words.contains(word));
            let kind = !urgent(life) || matches!(text(grant, "kind"), "supervisor" | "parent");
            if !(kind && lists("intents", &life["intent"]) && lists("modes", &life["mode"])) {
                return Err("its grant does not allow it");
            }
        }
        let freshness = &life["freshness"];
        let same = |expected: &str, now: &str| freshness.get(expected).is_none_or(|value| *value == receiver[now]);
        let fresh = same("expectedRunId", "runId")
            && same("expectedObjectiveVersion", "objectiveVersion")
            && same("expectedCheckpoint", "checkpoint");
        if urgent(life) && !fresh { Err("it is stale") } else { Ok(()) }
    }
}
