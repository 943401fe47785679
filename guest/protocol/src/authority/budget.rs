//! What one authenticated principal sent in the current window, counted whatever names stood in the payloads.

pub(crate) use crate::generated::records::budget::{Budget, COLLECTION};

use crate::Rule;
use crate::digest::{hex, sha256};
use crate::generated::limits::{self, BUDGET_WINDOW_MS};
use crate::kernel::{Query, Stored, context::Context, flow::Flow, keys, records::Row};
use crate::rules::check;
use alloc::{string::String, vec::Vec};

impl Budget {
    /// The budget of a principal's scope.
    pub fn find(scope: &str) -> Query {
        keys::row(COLLECTION, scope)
    }

    /// The one in a row; one that counts nothing yet where there is no row.
    pub(crate) fn read_or_new(id: String, row: Option<&Stored>) -> Flow<Row<Self>> {
        row.map_or_else(|| Ok(Row { id, revision: 0, record: Self::default() }), |row| Row::read(row, Self::parse))
    }

    /// Counts one message at `now`.
    pub fn count(&mut self, now: i64, urgent: bool, root: bool, receiver: &str) {
        if now.saturating_sub(self.window) >= BUDGET_WINDOW_MS {
            *self = Self { window: now, ..Self::default() };
        }
        self.sends = self.sends.saturating_add(1);
        if urgent {
            self.urgent = self.urgent.saturating_add(1);
        }
        if root {
            self.roots = self.roots.saturating_add(1);
        }
        if !self.receivers.iter().any(|known| known == receiver) {
            self.receivers.push(receiver.into());
        }
    }
}

/// Counts something that goes out against the caller's budgets: `root` where it answers nothing, `receiver` whom it is for.
pub(crate) fn charge(cx: &mut Context<'_>, urgent: bool, root: bool, receiver: &str) -> Flow<()> {
    let scope = cx.scope();
    let stored = cx.one(&Budget::find(&scope))?;
    let mut row = Budget::read_or_new(scope, stored)?;
    let short: String = hex(&sha256(receiver.as_bytes())).chars().take(16).collect();
    row.record.count(cx.now, urgent, root, &short);
    let budget = &row.record;
    check(Rule::BU2, budget.sends <= limits::SENDER_RATE_MAX)?;
    check(Rule::BU7, budget.roots <= limits::ROOT_RATE_MAX)?;
    check(Rule::BU3, budget.urgent <= limits::URGENT_RATE_MAX)?;
    check(Rule::BU4, i64::try_from(budget.receivers.len()).unwrap_or(i64::MAX) <= limits::FAN_OUT_MAX)?;
    cx.write(COLLECTION, &row.id, row.revision, row.record.text(), Vec::new());
    Ok(())
}
