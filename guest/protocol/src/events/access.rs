//! The threads that a caller may look at or act for: its own, and those that a capability of its thread shows.

use crate::Rule;
use crate::events::{
    capability::Capability,
    thread::{self, Thread, ThreadName},
};
use crate::kernel::{
    PrincipalKind,
    context::Context,
    flow::{Flow, not_visible},
    names::only,
    records::Row,
};
use crate::rules::check;
use alloc::{string::String, vec::Vec};

impl Context<'_> {
    /// The thread of the calling task, where a task calls.
    pub fn caller_thread(&self) -> Option<ThreadName> {
        let task = self.principal.kind == PrincipalKind::Task;
        let owner = self.principal.owner.clone().filter(|_| task)?;
        Some(ThreadName { thread: self.principal.id.clone(), owner })
    }

    /// A thread that the caller may act for or look at as its own: that of the calling task, one of the caller's scope,
    /// or, for policies, the operator and the host, that of the owner who is named, or the only one of the tenant with
    /// this id. Missing, foreign and ambiguous look the same.
    pub fn own_thread(&mut self, thread: &str, owner: Option<&str>) -> Flow<Row<Thread>> {
        self.tell("thread", thread);
        let scope = self.own_scope();
        let free = owner.is_none() || self.of_office() || owner == scope.as_deref();
        check(Rule::OP10, free)?;
        if self.principal.kind == PrincipalKind::Task && self.principal.id != thread {
            return Err(not_visible());
        }
        let policy = self.principal.kind == PrincipalKind::Policy && owner.is_none();
        if let Some(owner) = owner.map(String::from).or(scope) {
            if policy {
                self.hint(&Thread::find(self.tenant(), thread));
            }
            let id = ThreadName { thread: thread.into(), owner }.id(self.tenant());
            match self.lookup(thread::COLLECTION, &id)? {
                Some(row) => return self.mine(Thread::read(row)?),
                None if !policy => return Err(not_visible()),
                None => {}
            }
        }
        let query = Thread::find(self.tenant(), thread);
        let rows = self.crowd(&query)?.iter().map(Thread::read).collect::<Flow<Vec<_>>>()?;
        only(rows, None, |row| &row.record.name.owner)
    }

    /// A task speaks for its thread only as its live incarnation.
    fn mine(&self, row: Row<Thread>) -> Flow<Row<Thread>> {
        let live = self.principal.incarnation.as_deref() == Some(row.record.incarnation.as_str());
        check(Rule::OP4, self.principal.kind != PrincipalKind::Task || live)?;
        Ok(row)
    }

    /// The thread that the params name: the caller's own, or one with which the thread of the calling task has a
    /// capability of this kind that stands. With it, whether it is the caller's own.
    pub fn thread_for(&mut self, kind: &str) -> Flow<(Row<Thread>, bool)> {
        use crate::kernel::fields::Fields;
        let (thread, owner) = (self.params.text("threadId")?, self.owner_in("owner"));
        let Some(own) = self.caller_thread() else { return Ok((self.own_thread(thread, owner)?, true)) };
        if own.thread == thread && owner.is_none_or(|owner| owner == own.owner) {
            return Ok((self.own_thread(thread, owner)?, true));
        }
        self.tell("thread", thread);
        let route = Capability::find_routes(self.tenant(), &own, thread);
        self.hint(&Thread::find_row(self.tenant(), &own));
        let page = self.rows(&route)?;
        let caller = self.lookup(thread::COLLECTION, &own.id(self.tenant()))?.ok_or_else(not_visible)?;
        self.mine(Thread::read(caller)?)?;
        let mut owners: Vec<String> = Vec::new();
        for row in page {
            let capability = Capability::read(row)?.record;
            let allows = capability.kind == kind && capability.stands(self.now);
            if allows && !owners.contains(&capability.target.owner) {
                owners.push(capability.target.owner);
            }
        }
        let owner = only(owners, owner, |owner| owner)?;
        let id = ThreadName { thread: thread.into(), owner }.id(self.tenant());
        let row = self.lookup(thread::COLLECTION, &id)?.ok_or_else(not_visible)?;
        Ok((Thread::read(row)?, false))
    }
}
