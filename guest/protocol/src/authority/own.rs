//! The tasks that a caller may act for or look at as its own.

use crate::Rule;
use crate::authority::task::{self, Task};
use crate::kernel::{
    PrincipalKind, Query,
    context::Context,
    flow::{Flow, not_visible},
    names::{TaskName, only},
    pages::page,
    records::{Party, Row},
};
use crate::rules::check;
use alloc::vec::Vec;

impl Context<'_> {
    /// The calling task.
    pub fn caller_task(&mut self) -> Flow<Row<Task>> {
        let principal = self.principal;
        let incarnation = principal.incarnation.as_deref().unwrap_or_default();
        self.own_task(TaskName { task: &principal.id, incarnation, owner: None })
    }

    /// The task that the caller may act for or look at as its own: itself, one that it owns, or, for policies, the
    /// operator and the host, that of the owner who is named, or the only one of the tenant with these ids. Missing,
    /// foreign and ambiguous look the same.
    pub fn own_task(&mut self, name: TaskName<'_>) -> Flow<Row<Task>> {
        self.tell("task", name.task);
        self.tell("incarnation", name.incarnation);
        let own = self.own_scope();
        let free = name.owner.is_none() || self.of_office() || name.owner == own.as_deref();
        check(Rule::OP10, free)?;
        let policy = self.principal.kind == PrincipalKind::Policy && name.owner.is_none();
        if let Some(id) = self.own_row(name) {
            // A policy may mean somebody else's: ask for both at once.
            if policy {
                self.hint(&Task::find(self.tenant(), name.task, name.incarnation));
            }
            let known = self.lookup(task::COLLECTION, &id)?.map(Task::read).transpose()?;
            let mine = |row: &Row<Task>| self.principal.kind != PrincipalKind::Task || self.is_party(&row.record.party);
            match known.filter(mine) {
                Some(row) => return Ok(row),
                None if !policy => return Err(not_visible()),
                None => {}
            }
        }
        let query = Task::find(self.tenant(), name.task, name.incarnation);
        let rows = self.rows(&query)?.iter().map(Task::read).collect::<Flow<Vec<_>>>()?;
        only(rows, None, |row| &row.record.party.owner)
    }

    /// As [`own_task`](Self::own_task), and the incarnation is live.
    pub fn own_live_task(&mut self, name: TaskName<'_>) -> Flow<Row<Task>> {
        let row = self.own_task(name)?;
        check(Rule::OP4, row.record.live())?;
        Ok(row)
    }

    /// The caller is this task itself.
    pub fn exact_task(&mut self, name: TaskName<'_>) -> Flow<Row<Task>> {
        if self.principal.kind != PrincipalKind::Task {
            return Err(not_visible());
        }
        self.own_task(name)
    }

    /// Whether the calling task is live itself.
    pub fn self_live(&mut self) -> Flow<bool> {
        Ok(self.caller_task()?.record.live())
    }
}

/// The task that a list is about, for itself while it is live, its owner, policies and the operator; and the page that
/// `find` asks for by tenant, task, cursor and limit, which is asked for with the task where it can be.
pub(crate) fn page_of(cx: &mut Context<'_>, find: fn(&str, &Party, i64, u32) -> Query) -> Flow<(Party, Query)> {
    let name = cx.task_in("task")?;
    let (after, limit) = page(cx);
    if let Some(own) = cx.own_party(name) {
        cx.hint(&find(cx.tenant(), &own, after, limit));
    }
    let own = cx.own_task(name)?.record;
    check(Rule::OP4, cx.principal.kind != PrincipalKind::Task || own.live())?;
    let query = find(cx.tenant(), &own.party, after, limit);
    Ok((own.party, query))
}
