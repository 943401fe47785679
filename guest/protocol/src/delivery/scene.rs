//! A message with everyone concerned: loaded together, judged together, saved together.

use crate::Rule;
use crate::authority::{
    gate::Gate,
    grant::{self, Grant},
    task::{self, Task},
};
use crate::delivery::{
    life::{self, Life},
    message::{self, Message},
    names::MessageName,
};
use crate::kernel::{
    PrincipalKind, Query, Stored,
    boxes::{self, Box},
    context::Context,
    flow::{Flow, damaged, not_visible},
    keys,
    names::only,
    records::Row,
};
use crate::rules::check;
use alloc::{string::String, vec::Vec};

/// Asks for more about a message, by its row.
pub(crate) type More = fn(&mut Context<'_>, &str);

/// Nothing beside the message and its parties is needed.
pub(crate) fn nothing_more(_: &mut Context<'_>, _: &str) {}

/// The message itself is needed too.
pub(crate) fn with_message(cx: &mut Context<'_>, life: &str) {
    cx.want(message::COLLECTION, life);
}

/// A message and its parties.
pub(crate) struct Scene {
    /// The message's life.
    pub life: Row<Life>,
    /// The sender's task.
    pub sender: Option<Row<Task>>,
    /// The receiver's task.
    pub receiver: Option<Row<Task>>,
    /// The grant that the message is bound to.
    pub grant: Option<Row<Grant>>,
    /// The sender's box.
    pub sender_box: Row<Box>,
    /// The receiver's box.
    pub receiver_box: Row<Box>,
}

/// Who may look at or act on a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The receiving task itself.
    Receiver,
    /// The sending task itself.
    Sender,
    /// A later incarnation of the receiving task.
    Successor,
    /// The user that owns the receiving task.
    ReceiverOwner,
    /// The user that owns the sending task.
    SenderOwner,
    /// A policy principal.
    Policy,
    /// The operator.
    Operator,
    /// The host itself.
    Host,
}

impl Context<'_> {
    /// The queries that bring a message and both ends in one round, where the caller is one of them.
    pub fn scene_queries(&self, name: MessageName<'_>) -> Vec<Query> {
        let (tenant, MessageName { message, sender, .. }) = (self.tenant(), name);
        let mut queries = alloc::vec![
            Life::find(tenant, message, sender),
            Task::find_incarnation(tenant, sender),
            Box::find_incarnation(tenant, sender),
        ];
        if let Some(own) = self.principal.incarnation.as_deref().filter(|own| *own != sender) {
            let id = self.caller_row().unwrap_or_default();
            queries.push(keys::row(task::COLLECTION, &id));
            queries.push(Box::find(&id));
            queries.push(Grant::find_route(tenant, own, sender));
        }
        queries
    }

    /// The message with its parties, and what the caller is to it. Without any part in it, nothing is visible. Owners may
    /// use the same ids: without an owner, a name means what the caller's own side sent under them, or else the only
    /// message that it has a part in.
    pub fn scene(&mut self, name: MessageName<'_>) -> Flow<(Scene, Role)> {
        self.scene_with(name, nothing_more)
    }

    /// As [`scene`](Self::scene), and asks for more in the round that brings everyone concerned.
    pub fn scene_with(&mut self, name: MessageName<'_>, more: More) -> Flow<(Scene, Role)> {
        let queries = self.scene_queries(name);
        self.fetch(&queries.iter().collect::<Vec<_>>())?;
        let mut seen = Vec::new();
        for row in self.crowd(&Life::find(self.tenant(), name.message, name.sender))? {
            let life = Life::read(row)?;
            if let Some(role) = self.role(&life.record) {
                seen.push((life, role));
            }
        }
        if name.owner.is_none() && seen.iter().any(|(life, _)| self.sent(&life.record)) {
            seen.retain(|(life, _)| self.sent(&life.record));
        }
        let (life, role) = only(seen, name.owner, |(life, _)| &life.record.sender.owner)?;
        Ok((self.assemble(life, more)?, role))
    }

    /// Whether the caller sent a message itself, or owns the task that did.
    fn sent(&self, life: &Life) -> bool {
        match self.principal.kind {
            PrincipalKind::Task => self.is_party(&life.sender),
            _ => self.own_scope().as_ref() == Some(&life.sender.owner),
        }
    }

    /// A life with its parties, and what the caller is to it; nothing is visible without any part in it.
    pub fn scene_of(&mut self, life: Row<Life>, more: More) -> Flow<(Scene, Role)> {
        let role = self.role(&life.record).ok_or_else(not_visible)?;
        Ok((self.assemble(life, more)?, role))
    }

    /// Loads everyone concerned by a life.
    fn assemble(&mut self, life: Row<Life>, more: More) -> Flow<Scene> {
        more(self, &life.id);
        self.tell("message", &life.record.message);
        self.tell("sender", &life.record.sender.incarnation);
        self.tell("receiver", &life.record.receiver.incarnation);
        let (sender, receiver) = (life.record.sender.key(self.tenant()), life.record.receiver.key(self.tenant()));
        let grant = life.record.binding.grant.clone();
        // Ask for all that is missing at once.
        let tasks = (self.lookup(task::COLLECTION, &sender), self.lookup(task::COLLECTION, &receiver));
        let boxes = (self.lookup(boxes::COLLECTION, &sender), self.lookup(boxes::COLLECTION, &receiver));
        let granted = if grant.is_empty() { Ok(None) } else { self.lookup(grant::COLLECTION, &grant) };
        let read_box = |row: Option<&Stored>, id: String| row.map_or_else(|| Ok(Box::fresh(id)), Box::read);
        Ok(Scene {
            life,
            sender: tasks.0?.map(Task::read).transpose()?,
            receiver: tasks.1?.map(Task::read).transpose()?,
            grant: granted?.map(Grant::read).transpose()?,
            sender_box: read_box(boxes.0?, sender)?,
            receiver_box: read_box(boxes.1?, receiver)?,
        })
    }

    fn role(&self, life: &Life) -> Option<Role> {
        let principal = self.principal;
        match principal.kind {
            PrincipalKind::Task if self.is_party(&life.receiver) => Some(Role::Receiver),
            PrincipalKind::Task if self.is_party(&life.sender) => Some(Role::Sender),
            PrincipalKind::Task if self.succeeds(&life.receiver) => Some(Role::Successor),
            PrincipalKind::Task => None,
            PrincipalKind::User if self.owner_scope() == life.receiver.owner => Some(Role::ReceiverOwner),
            PrincipalKind::User if self.owner_scope() == life.sender.owner => Some(Role::SenderOwner),
            PrincipalKind::User => None,
            PrincipalKind::Policy => Some(Role::Policy),
            PrincipalKind::Operator => Some(Role::Operator),
            PrincipalKind::Host => Some(Role::Host),
        }
    }
}

impl Scene {
    /// The message itself.
    pub fn message(&self, cx: &mut Context<'_>) -> Flow<Message> {
        let row = cx.lookup(message::COLLECTION, &self.life.id)?.ok_or_else(|| damaged("message"))?;
        Ok(Message::read(row)?.record)
    }

    /// The receiver acts, and it is live.
    pub fn receiver_acts(&self, role: Role) -> Flow<()> {
        if role != Role::Receiver {
            return Err(not_visible());
        }
        Ok(check(Rule::OP4, self.receiver.as_ref().is_some_and(|task| task.record.live()))?)
    }

    /// The caller may read of the message: a task only while it is live, everybody else by its role.
    pub fn reads(&self, cx: &mut Context<'_>, role: Role) -> Flow<()> {
        let live = |row: &Option<Row<Task>>| row.as_ref().is_some_and(|task| task.record.live());
        let live = match role {
            Role::Receiver => live(&self.receiver),
            Role::Sender => live(&self.sender),
            Role::Successor => cx.self_live()?,
            _ => true,
        };
        Ok(check(Rule::OP4, live)?)
    }

    /// The relationship policy judges the message as it stands now.
    pub fn authorise(&self, cx: &mut Context<'_>) -> Flow<()> {
        cx.disclose = true;
        self.gate(cx.now).judge()
    }

    /// What the policy judges the message by.
    pub fn gate(&self, now: i64) -> Gate<'_> {
        let life = &self.life.record;
        Gate {
            sender: self.sender.as_ref().map(|row| &row.record),
            receiver: self.receiver.as_ref().map(|row| &row.record),
            grant: self.grant.as_ref(),
            owner: life.binding.grant.is_empty(),
            event: life.event.is_some(),
            intent: &life.intent,
            mode: &life.mode,
            freshness: life.freshness.as_deref(),
            now,
        }
    }

    /// The message is not past its expiry.
    pub fn unexpired(&self, now: i64) -> Flow<()> {
        Ok(check(Rule::MS3, now < self.life.record.expires)?)
    }

    /// The caller knows the record as it is.
    pub fn at_revision(&self, cx: &Context<'_>) -> Flow<()> {
        let expected = cx.params.get("expectedRevision").and_then(|value| value.as_int());
        Ok(check(Rule::OP7, expected == Some(self.life.record.revision))?)
    }

    /// No other worker's claim lives.
    pub fn not_busy(&self, cx: &Context<'_>) -> Flow<()> {
        let worker = cx.principal.worker.as_deref().unwrap_or("");
        let busy = self.life.record.claim.as_ref().is_some_and(|claim| claim.live(cx.now) && claim.worker != worker);
        Ok(check(Rule::MB1, !busy)?)
    }

    /// Adds an audit record to both ends' streams.
    pub fn record(&mut self, cx: &mut Context<'_>, kind: &str, detail: String) -> Flow<()> {
        let Self { life, sender_box, receiver_box, .. } = self;
        cx.record(&mut [sender_box, receiver_box], &life.event(kind, detail))
    }

    /// Writes the life and both boxes. `was_open` is whether the message was undecided when it was read.
    pub fn save(mut self, cx: &mut Context<'_>, was_open: bool) -> Flow<Self> {
        self.write(cx, was_open)?;
        Ok(self)
    }

    /// As [`save`](Self::save), for whoever holds it.
    pub fn write(&mut self, cx: &mut Context<'_>, was_open: bool) -> Flow<()> {
        let life = &mut self.life.record;
        life.updated = cx.now;
        if let Some(purged) = &mut life.purged {
            purged.changed = true;
        }
        life.end_examination()?;
        life.combination().check()?;
        if was_open && !life.open() {
            self.receiver_box.record.open = self.receiver_box.record.open.saturating_sub(1);
        }
        let entries = life.entries(cx.tenant(), &cx.names);
        cx.write(life::COLLECTION, &self.life.id, self.life.revision, self.life.record.text(), entries);
        cx.save_box(&self.sender_box);
        cx.save_box(&self.receiver_box);
        cx.resource = Some((self.life.id.clone(), self.life.record.revision));
        Ok(())
    }
}
