//! From a reference in a request to what it means: ids live in the scope of their owner, so a reference is resolved in
//! the caller's own scope, or in that of the owner that it names.

use crate::Rule;
use crate::json::Value;
use crate::kernel::{
    PrincipalKind,
    context::Context,
    fields::Fields,
    flow::{Flow, not_visible},
    records::Party,
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

impl<'a> Context<'a> {
    /// The owner that the params name in `member`.
    pub fn owner_in(&self, member: &str) -> Option<&'a str> {
        self.params.get(member).and_then(|owner| owner.as_str())
    }

    /// The task in the member `member` of the params, of the owner that they name.
    pub fn task_in(&self, member: &str) -> Flow<TaskName<'a>> {
        TaskName::read(self.params.member(member)?, self.owner_in("owner"))
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
    pub fn of_office(&self) -> bool {
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

    /// Whether the caller is this very task incarnation.
    pub fn is_party(&self, party: &Party) -> bool {
        let principal = self.principal;
        principal.kind == PrincipalKind::Task
            && principal.id == party.task
            && principal.incarnation.as_deref() == Some(&party.incarnation)
            && principal.owner.as_deref() == Some(&party.owner)
    }

    /// Whether the caller is another incarnation of this task. If it is live, this one is retired.
    pub fn succeeds(&self, party: &Party) -> bool {
        let principal = self.principal;
        principal.id == party.task && principal.owner.as_deref() == Some(&party.owner)
    }

    /// The scope that tasks of this caller are registered in: `kind:id`.
    pub fn owner_scope(&self) -> String {
        [self.principal.kind.name(), ":", &self.principal.id].concat()
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
