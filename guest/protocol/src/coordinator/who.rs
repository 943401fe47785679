//! From a reference in a request to a registered task: only what the caller's own scope resolves.

use super::PrincipalKind;
use super::context::{Context, Flow};
use super::records::{
    Party, Row,
    task::{self, Task},
};
use super::scene::not_visible;
use crate::Rule;
use crate::rules::check;
use alloc::{string::String, vec::Vec};

impl Context<'_> {
    /// The scope that the caller's own tasks are registered in, where it is known without looking.
    pub fn own_scope(&self) -> Option<String> {
        match self.principal.kind {
            PrincipalKind::User | PrincipalKind::Policy => Some(self.owner_scope()),
            PrincipalKind::Task => self.principal.owner.clone(),
            PrincipalKind::Operator | PrincipalKind::Host => None,
        }
    }

    /// What these ids name in the caller's own scope.
    pub fn own_party(&self, task: &str, incarnation: &str) -> Option<Party> {
        let owner = self.own_scope()?;
        Some(Party { task: task.into(), incarnation: incarnation.into(), owner })
    }

    /// The row of the task that these ids name in the caller's own scope. Other scopes may use the same ids, so that
    /// nobody's row can be crowded out of an answer.
    pub fn own_row(&self, task: &str, incarnation: &str) -> Option<String> {
        self.own_party(task, incarnation).map(|party| party.key(self.tenant()))
    }

    /// The task that the caller may act for or look at as its own: itself, one that it owns, or, for policies, the
    /// operator and the host, the only one of the tenant with these ids. Missing, foreign and ambiguous look the same.
    pub fn own_task(&mut self, task: &str, incarnation: &str) -> Flow<Row<Task>> {
        if let Some(id) = self.own_row(task, incarnation) {
            // A policy may mean somebody else's: ask for both at once.
            if self.principal.kind == PrincipalKind::Policy {
                self.hint(&Task::find(self.tenant(), task, incarnation));
            }
            let own = self.lookup(task::COLLECTION, &id)?.map(Task::read).transpose()?;
            let mine = |row: &Row<Task>| self.principal.kind != PrincipalKind::Task || self.is_party(&row.record.party);
            match own.filter(mine) {
                Some(row) => return Ok(row),
                None if self.principal.kind != PrincipalKind::Policy => return Err(not_visible()),
                None => {}
            }
        }
        let query = Task::find(self.tenant(), task, incarnation);
        let rows = self.rows(&query)?.iter().map(Task::read).collect::<Flow<Vec<_>>>()?;
        let task = self.principal.kind == PrincipalKind::Task;
        let mut mine = rows.into_iter().filter(|row| !task || self.is_party(&row.record.party));
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
