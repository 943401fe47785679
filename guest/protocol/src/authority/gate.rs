//! The relationship policy: whether a message may be sent, and whether it may still be acted on.
//!
//! One function for every place that asks: send, claim, decide, prepare and begin. The first rule that does not hold
//! is the reason; callers without a grant for the pair learn only that they were denied.

use crate::authority::{grant::Grant, task::Task};
use crate::generated::limits;
use crate::generated::machines::Reason;
use crate::json;
use crate::kernel::{fields::Fields, flow::Flow, records::Row};
use crate::rules::{check, check_at};
use crate::{Error, Rule};
use alloc::string::String;

/// Whether an intent interrupts: those are checked for freshness and counted against interruption budgets.
pub(crate) fn urgent(intent: &str) -> bool {
    matches!(intent, "steer" | "interrupt")
}

/// What is to be judged.
pub(crate) struct Gate<'a> {
    /// The sender's task, if it exists.
    pub sender: Option<&'a Task>,
    /// The receiver's task, if it exists.
    pub receiver: Option<&'a Task>,
    /// The grant that the message is or would be bound to.
    pub grant: Option<&'a Row<Grant>>,
    /// The owner of both ends acts itself.
    pub owner: bool,
    /// It is a cross-thread event: those bind threads and not incarnations, and their own stages judge them.
    pub event: bool,
    /// Intent.
    pub intent: &'a str,
    /// Requested delivery mode.
    pub mode: &'a str,
    /// The freshness object, raw.
    pub freshness: Option<&'a str>,
    /// Milliseconds.
    pub now: i64,
}

impl Gate<'_> {
    /// Nothing, or the first rule that does not hold.
    pub fn judge(&self) -> Flow<()> {
        if self.event {
            return Ok(());
        }
        self.incarnations()?;
        if !self.owner {
            self.grant()?;
        }
        self.fresh()?;
        Ok(())
    }

    fn incarnations(&self) -> Result<(), Error> {
        check(Rule::PO1, self.sender.is_some_and(Task::live) && self.receiver.is_some_and(Task::live))?;
        Ok(())
    }

    fn grant(&self) -> Result<(), Error> {
        check(Rule::PO2, self.grant.is_some())?;
        let Some(Row { record: grant, .. }) = self.grant else { return Ok(()) };
        check(Rule::PO3, grant.revoked.is_none())?;
        check(Rule::PO4, !grant.superseded)?;
        check(Rule::PO5, grant.expires.is_none_or(|end| self.now < end))?;
        check(Rule::PO12, grant.consent != Some(false))?;
        check(Rule::PO9, !urgent(self.intent) || matches!(grant.kind.as_str(), "supervisor" | "parent"))?;
        check(Rule::PO10, grant.intents.iter().any(|intent| intent == self.intent))?;
        check(Rule::PO11, grant.modes.iter().any(|mode| mode == self.mode))?;
        Ok(())
    }

    /// The freshness of a steer or interrupt against the receiver's registered runtime.
    pub fn fresh(&self) -> Result<(), Error> {
        let (true, Some(freshness), Some(task)) = (urgent(self.intent), self.freshness, self.receiver) else {
            return Ok(());
        };
        let fit = Fit::of(freshness, task)?;
        check(Rule::PO6, fit.run)?;
        check(Rule::PO7, fit.objective)?;
        check(Rule::PO8, fit.checkpoint)?;
        Ok(())
    }
}

/// Which expectations of a freshness object the receiver's registered runtime meets.
struct Fit {
    run: bool,
    objective: bool,
    checkpoint: bool,
}

impl Fit {
    fn of(freshness: &str, task: &Task) -> Result<Self, Error> {
        let tree = json::parse(freshness)?;
        let expected = tree.root();
        let same = |name: &str, actual: &Option<String>| match expected.maybe_text(name) {
            None => true,
            Some(text) => actual.as_deref() == Some(text.as_str()),
        };
        let objective = expected.maybe_int("expectedObjectiveVersion");
        Ok(Self {
            run: same("expectedRunId", &task.run),
            objective: objective.is_none() || objective == task.objective,
            checkpoint: same("expectedCheckpoint", &task.checkpoint),
        })
    }
}

/// Why a message with this freshness is stale for `task` as it is, if it is.
pub(crate) fn staleness(freshness: &str, task: &Task) -> Result<Option<Reason>, Error> {
    let fit = Fit::of(freshness, task)?;
    Ok(match fit {
        Fit { run: false, .. } => Some(Reason::StaleRun),
        Fit { objective: false, .. } | Fit { checkpoint: false, .. } => Some(Reason::StaleObjective),
        _ => None,
    })
}

/// Refuses a time further ahead of the host's clock than the allowed skew; `at` says where the time stands.
pub(crate) fn not_ahead(rule: Rule, time: i64, now: i64, at: impl FnOnce() -> String) -> Result<(), Error> {
    check_at(rule, time <= now.saturating_add(limits::FUTURE_SKEW_MS_MAX), at)
}
