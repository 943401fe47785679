//! What a host owes whoever relies on it, beside what the rules see to: whom it asks and when, what it vouches for, and that
//! it goes on with what it began.

use super::{Oracle, attempts, party, text, urgent};
use serde_json::Value;

/// The time from which others than its owner may ask about an attempt.
fn settled(attempt: &Value) -> i64 {
    let end = |name: &str| attempt["call"][name].as_i64().unwrap_or(0);
    end("settleAt").max(end("leaseUntil"))
}

impl Oracle {
    /// `process`, whose clock says `wall`, asks a target about an attempt.
    pub fn asked(&mut self, submission: &str, process: u64, wall: i64) {
        let owner = self.begun.get(submission).map(|begun| begun.process);
        let attempt = self
            .life_of(submission)
            .and_then(|(_, life)| attempts(life).find(|attempt| attempt["id"] == submission).cloned());
        let over = attempt.is_some_and(|attempt| self.last_time.max(wall) >= settled(&attempt));
        self.demand(owner == Some(process) || over, || {
            format!("{submission} of process {owner:?} is asked about by {process} before it is settled")
        });
    }

    /// `process` says that a call will never take effect. `keeps`: whether its target keeps its word about that;
    /// `flying`: whether the call is still on its way.
    pub fn absent_for_good(&mut self, submission: &str, process: u64, keeps: bool, flying: bool) {
        self.demand(keeps, || format!("{submission} is called absent for good, and its target promises no such thing"));
        let own = self.begun.get(submission).is_some_and(|begun| begun.process == process);
        self.demand(!(own && flying), || format!("{submission} is called absent for good while it is on its way"));
    }

    /// What a read answered under which somebody committed: what was true before or after that, and no mixture.
    pub fn read_at_one_moment(&mut self, operation: &str, answer: &str, moments: &[String; 2]) {
        let [before, after] = moments;
        self.demand(answer == before || answer == after, || {
            format!("{operation} answers {answer}, which was never true: {before} and then {after}")
        });
    }

    /// What commits left to do is done, whoever began it and whatever became of its process: no order rests on a grant
    /// that was revoked, and nothing waits for a task that is retired.
    pub fn followed(&mut self) {
        let left = self.rows("life").filter(|(_, life)| waits(life)).find_map(|(id, life)| {
            let over = |collection: &str, id: &str, end: &str| {
                self.row(collection, id).is_some_and(|row| row.get(end).is_some())
            };
            let revoked = urgent(life) && over("grant", text(&life["binding"], "grant"), "revoked");
            let retired = over("task", &party(&life["receiver"]), "retiredAt");
            (revoked || retired).then(|| format!("{id} waits for what is over: {life}"))
        });
        if let Some(left) = left {
            self.violation(left);
        }
    }
}

/// Whether nobody has decided yet.
fn waits(life: &Value) -> bool {
    let over = matches!(text(life, "delivery"), "failed" | "expired");
    matches!(text(life, "decision"), "pending" | "deferred") && !over
}
