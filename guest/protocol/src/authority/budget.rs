//! What one authenticated principal sent in the current window, counted whatever names stood in the payloads.

use crate::Rule;
use crate::digest::{hex, sha256};
use crate::generated::limits::{self, BUDGET_WINDOW_MS};
use crate::json::Writer;
use crate::kernel::{
    Query, Stored,
    context::Context,
    fields::Fields,
    flow::{Flow, damaged},
    keys,
    records::{Row, parse},
};
use crate::rules::check;
use alloc::{string::String, vec::Vec};

/// The collection.
pub(crate) const COLLECTION: &str = "budget";

/// The counters of one principal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget {
    /// Start of the window.
    pub window: i64,
    /// Messages in it.
    pub sends: i64,
    /// Steers and interrupts in it.
    pub urgent: i64,
    /// Messages without a parent in it.
    pub roots: i64,
    /// Its receivers, as short digests.
    pub receivers: Vec<String>,
}

impl Budget {
    /// The budget of a principal's scope.
    pub fn find(scope: &str) -> Query {
        keys::row(COLLECTION, scope)
    }

    pub(crate) fn read(id: String, row: Option<&Stored>) -> Flow<Row<Self>> {
        let Some(row) = row else { return Ok(Row { id, revision: 0, record: Self::default() }) };
        let tree = parse(&row.body)?;
        let value = tree.root();
        let mut receivers = Vec::new();
        for receiver in value.member("receivers")?.items() {
            receivers.push(receiver.as_str().ok_or_else(|| damaged("receivers"))?.into());
        }
        let record = Self {
            window: value.int("window")?,
            sends: value.int("sends")?,
            urgent: value.int("urgent")?,
            roots: value.int("roots")?,
            receivers,
        };
        Ok(Row { id, revision: row.revision, record })
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

    /// The stored text.
    pub fn text(&self) -> String {
        let mut w = Writer::new();
        w.begin_object();
        w.member_int("window", self.window);
        w.member_int("sends", self.sends);
        w.member_int("urgent", self.urgent);
        w.member_int("roots", self.roots);
        w.key("receivers");
        w.begin_array();
        for receiver in &self.receivers {
            w.string(receiver);
        }
        w.end_array();
        w.end_object();
        w.finish()
    }
}

/// Counts something that goes out against the caller's budgets: `root` where it answers nothing, `receiver` whom it is for.
pub(crate) fn charge(cx: &mut Context<'_>, urgent: bool, root: bool, receiver: &str) -> Flow<()> {
    let scope = cx.scope();
    let stored = cx.one(&Budget::find(&scope))?;
    let mut row = Budget::read(scope, stored)?;
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
