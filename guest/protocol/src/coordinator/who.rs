//! From a reference in a request to a registered task: only what the caller's own scope resolves.

use super::PrincipalKind;
use super::context::{Context, Flow};
use super::records::{Row, task::Task};
use super::scene::not_visible;
use crate::Rule;
use crate::rules::check;
use alloc::vec::Vec;

impl Context<'_> {
    /// The task that the caller may act for or look at as its own: itself, one that it owns, or, for policies, the
    /// operator and the host, any one of the tenant. Missing, foreign and ambiguous look the same.
    pub fn own_task(&mut self, task: &str, incarnation: &str) -> Flow<Row<Task>> {
        let query = Task::find(self.tenant(), task, incarnation);
        let rows = self.rows(&query)?.iter().map(Task::read).collect::<Flow<Vec<_>>>()?;
        let mut mine = rows.into_iter().filter(|row| match self.principal.kind {
            PrincipalKind::Task => self.is_party(&row.record.party),
            PrincipalKind::User => row.record.party.owner == self.owner_scope(),
            PrincipalKind::Policy | PrincipalKind::Operator | PrincipalKind::Host => true,
        });
        match (mine.next(), mine.next()) {
            (Some(row), None) => Ok(row),
            _ => Err(not_visible()),
        }
    }

    /// As [`own_task`](Self::own_task), and the incarnation is live.
    pub fn own_live_task(&mut self, task: &str, incarnation: &str) -> Flow<Row<Task>> {
        let row = self.own_task(task, incarnation)?;
        check(Rule::OP4, row.record.live())?;
        Ok(row)
    }

    /// The caller is this task itself.
    pub fn exact_task(&mut self, task: &str, incarnation: &str) -> Flow<Row<Task>> {
        if self.principal.kind != PrincipalKind::Task {
            return Err(not_visible());
        }
        self.own_task(task, incarnation)
    }
}
