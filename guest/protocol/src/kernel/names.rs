//! From a reference in a request to what it means: ids live in the scope of their owner, so a reference is resolved in
//! the caller's own scope, or in that of the owner that it names.

use crate::Rule;
use crate::authority::task::{self, Task};
use crate::delivery::scene::not_visible;
use crate::json::Value;
use crate::kernel::{
    PrincipalKind,
    context::Context,
    fields::Fields,
    flow::Flow,
    records::{Party, Row},
};
use crate::rules::check;
use alloc::{string::String, vec::Vec};

/// A task as a request names it.
#[derive(Clone, Copy)]
pub(crate) struct TaskName<'a> {
    /// Task id.
    pub task: &'a str,
    /// Incarnation id.
    pub incarnation: &'a str,
    /// Whose task it is, where the request says so.
    pub owner: Option<&'a str>,
}

impl<'a> TaskName<'a> {
    /// A TaskRef, of an owner where one is named.
    pub fn read(reference: Value<'a>, owner: Option<&'a str>) -> Flow<Self> {
        Ok(Self { task: reference.text("taskId")?, incarnation: reference.text("incarnationId")?, owner })
    }
}

/// A message as a request names it.
#[derive(Clone, Copy)]
pub(crate) struct MessageName<'a> {
    /// Message id.
    pub message: &'a str,
    /// The incarnation that sent it.
    pub sender: &'a str,
    /// The owner of that incarnation, where the request says so.
    pub owner: Option<&'a str>,
}

impl<'a> MessageName<'a> {
    /// From the members of an object.
    pub fn read(value: Value<'a>) -> Flow<Self> {
        Ok(Self {
            message: value.text("messageId")?,
            sender: value.text("senderIncarnationId")?,
            owner: value.get("owner").and_then(|owner| owner.as_str()),
        })
    }
}

impl<'a> Context<'a> {
    /// The owner that the params name in `member`.
    pub fn owner_in(&self, member: &str) -> Option<&'a str> {
        self.params.get(member).and_then(|owner| owner.as_str())
    }

    /// The task in the member `member` of the params, of the owner that they name.
    pub fn task_in(&self, member: &str) -> Flow<TaskName<'a>> {
        TaskName::read(self.params.member(member)?, self.owner_in("owner"))
    }

    /// The message that the params name.
    pub fn message_in_params(&self) -> Flow<MessageName<'a>> {
        MessageName::read(self.params)
    }
}

impl Context<'_> {
    /// The scope that the caller's own tasks are registered in, where it is known without looking.
    pub fn own_scope(&self) -> Option<String> {
        match self.principal.kind {
            PrincipalKind::User | PrincipalKind::Policy => Some(self.owner_scope()),
            PrincipalKind::Task => self.principal.owner.clone(),
            PrincipalKind::Operator | PrincipalKind::Host => None,
        }
    }

    /// Whether the caller sees what any owner has.
    fn of_office(&self) -> bool {
        matches!(self.principal.kind, PrincipalKind::Policy | PrincipalKind::Operator | PrincipalKind::Host)
    }

    /// What a name stands for without looking: in the scope that it names, or else in the caller's own.
    pub fn own_party(&self, name: TaskName<'_>) -> Option<Party> {
        let owner = name.owner.map(Into::into).or_else(|| self.own_scope())?;
        Some(Party { task: name.task.into(), incarnation: name.incarnation.into(), owner })
    }

    /// The row of [`own_party`](Self::own_party). Other scopes may use the same ids, so that nobody's row can be crowded
    /// out of an answer.
    pub fn own_row(&self, name: TaskName<'_>) -> Option<String> {
        self.own_party(name).map(|party| party.key(self.tenant()))
    }

    /// The row of the calling task, where a task calls.
    pub fn caller_row(&self) -> Option<String> {
        let incarnation = self.principal.incarnation.as_deref()?;
        self.own_row(TaskName { task: &self.principal.id, incarnation, owner: None })
    }

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
}

/// The one of `found` that a reference means, all of which the caller may see under these ids: that of the owner who is
/// named, or the only one. Several are none: no order of theirs says which was meant.
pub(crate) fn only<T>(mut found: Vec<T>, owner: Option<&str>, owner_of: impl Fn(&T) -> &str) -> Flow<T> {
    if let Some(owner) = owner {
        found.retain(|one| owner_of(one) == owner);
    }
    check(Rule::OP10, found.len() <= 1)?;
    found.into_iter().next().ok_or_else(not_visible)
}
