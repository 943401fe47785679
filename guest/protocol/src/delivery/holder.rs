//! The life of a message as the holder of its attempts: one intent, which is to hand the message to the receiver's harness.

use crate::Rule;
use crate::delivery::{
    guard::{self, Guard},
    life::{self, Life, disposition},
    message::Message,
    relabel::{Resolved, release},
    scene::{Role, Scene, nothing_more, with_message},
    target,
};
use crate::generated::machines::{Decision, DeliveryEvent, OutcomeEvent};
use crate::json::Writer;
use crate::kernel::{Stored, context::Context, flow::Flow, guard::Moment, records::put_raw};
use crate::rules::check;
use crate::submission::{
    holder::{Attempts, AttemptsMut, Fact, Holder, Kind, Part, Payload, Resolution, Target},
    list::put_item,
};
use alloc::{boxed::Box, string::String};

/// The kind of what is handed over.
const ENVELOPE: &str = "envelope";

/// What is registered for messages: guards, and what happens once nothing about a message is open any more.
#[derive(Clone, Copy)]
pub(crate) struct Hooks {
    /// Asked before a step.
    pub guards: &'static [Guard],
    /// Told when the attempt or the admission is resolved.
    pub resolved: &'static [Resolved],
}

/// A message with everyone concerned, opened for the caller.
pub(crate) struct Carried {
    /// The message and its parties.
    pub scene: Scene,
    /// What the caller is to it.
    pub role: Role,
    /// What is registered.
    pub hooks: Hooks,
    /// Whether it was undecided when it was read.
    pub was_open: bool,
}

/// Opens the life that carries a submission.
pub(crate) fn open(cx: &mut Context<'_>, hooks: Hooks, row: &Stored, payload: bool) -> Flow<Box<dyn Holder>> {
    let (scene, role) = cx.scene_of(Life::read(row)?, if payload { with_message } else { nothing_more })?;
    Ok(Box::new(Carried { scene, role, hooks, was_open: false }))
}

/// One item of the list of unresolved attempts.
pub(crate) fn list(w: &mut Writer, tenant: &str, row: &Stored) -> Flow<()> {
    let life = Life::read(row)?.record;
    if let Some(attempt) = &life.attempt {
        w.begin_object();
        put_item(w, tenant, attempt, life.revision);
        w.member_str("envelopeDigest", &life.digest);
        w.member_str("messageId", &life.message);
        w.member_str("senderIncarnationId", &life.sender.incarnation);
        w.end_object();
    }
    Ok(())
}

/// Messages as a kind of holder.
pub(crate) const fn kind(open: fn(&mut Context<'_>, &Stored, bool) -> Flow<Box<dyn Holder>>) -> Kind {
    Kind { collection: life::COLLECTION, open, list }
}

impl Carried {
    fn life(&self) -> &Life {
        &self.scene.life.record
    }
}

impl Holder for Carried {
    fn row(&self) -> &str {
        &self.scene.life.id
    }

    fn revision(&self) -> i64 {
        self.life().revision
    }

    fn name(&self) -> (&'static str, &str) {
        ("message", &self.scene.life.id)
    }

    fn revision_member(&self) -> &'static str {
        "expectedDispositionRevision"
    }

    fn intents(&self) -> usize {
        1
    }

    fn attempts(&self, intent: usize) -> Option<Attempts<'_>> {
        let life = self.life();
        (intent == 0).then_some(Attempts { current: life.attempt.as_ref(), past: &life.past })
    }

    fn attempts_mut(&mut self, intent: usize) -> Option<AttemptsMut<'_>> {
        let life = &mut self.scene.life.record;
        (intent == 0).then_some(AttemptsMut { current: &mut life.attempt, past: &mut life.past })
    }

    fn part(&self) -> Part {
        match self.role {
            Role::Receiver => Part::Performer,
            Role::Host => Part::Host,
            Role::Sender | Role::SenderOwner => Part::Onlooker,
            Role::Successor | Role::ReceiverOwner | Role::Policy | Role::Operator => Part::Witness,
        }
    }

    /// The operator's.
    fn establishes(&self, _: Fact) -> bool {
        self.role == Role::Operator
    }

    fn reads(&self, cx: &mut Context<'_>) -> Flow<()> {
        self.scene.reads(cx, self.role)
    }

    fn begins(&self, _: &mut Context<'_>) -> Flow<()> {
        self.scene.receiver_acts(self.role)
    }

    fn guard(&self, cx: &mut Context<'_>, moment: Moment) -> Flow<()> {
        guard::ask(cx, self.hooks.guards, moment, &self.scene)?;
        self.scene.unexpired(cx.now)?;
        if moment == Moment::Prepare {
            check(Rule::CX6, self.life().admission.is_none())?;
        }
        Ok(())
    }

    /// Its receiver accepted it, and it can still be handed to an adapter.
    fn submittable(&self, _: usize) -> bool {
        let life = self.life();
        life.decision == Decision::Accepted && life.delivery.step(DeliveryEvent::Submit).is_some()
    }

    fn target(&self, cx: &mut Context<'_>, _: usize) -> Flow<Target> {
        self.scene.not_busy(cx)?;
        target::adapter(cx, &self.scene)
    }

    fn scope(&self, _: usize) -> Option<String> {
        None
    }

    fn purpose(&self, _: usize) -> String {
        self.scene.life.id.clone()
    }

    fn payload_name(&self, _: usize) -> (&'static str, &str) {
        (ENVELOPE, &self.life().digest)
    }

    fn payload(&self, cx: &mut Context<'_>, _: usize) -> Flow<Payload> {
        let Message { envelope: text, context, .. } = self.scene.message(cx)?;
        Ok(Payload { kind: ENVELOPE, text, digest: self.life().digest.clone(), context })
    }

    fn put_subject(&self, w: &mut Writer, _: usize) {
        let life = self.life();
        w.member_str("messageId", &life.message);
        w.member_str("senderIncarnationId", &life.sender.incarnation);
        life.receiver.put_ref(w, "receiver");
        w.member_str("envelopeDigest", &life.digest);
    }

    fn put_name(&self, w: &mut Writer, _: usize) {
        w.member_str("messageId", &self.life().message);
        w.member_str("senderIncarnationId", &self.life().sender.incarnation);
    }

    fn put_payload(&self, w: &mut Writer, payload: &Payload) {
        w.member_str("envelopeDigest", &payload.digest);
        w.member_raw("envelope", &payload.text);
        put_raw(w, "context", payload.context.as_deref());
    }

    fn put_state(&self, w: &mut Writer) {
        w.member_raw("disposition", &disposition(&self.scene.life));
    }

    fn put_dispatch(&self, cx: &mut Context<'_>, w: &mut Writer, _: usize) -> Flow<()> {
        let message = self.scene.message(cx)?;
        let reference = self.scene.receiver.as_ref().and_then(|row| row.record.adapter_ref.clone());
        w.member_raw("adapterRef", reference.as_deref().unwrap_or("null"));
        w.member_raw("envelope", &message.envelope);
        put_raw(w, "context", message.context.as_deref());
        Ok(())
    }

    fn resolved(&mut self, _: usize, resolution: Resolution) -> Flow<()> {
        let Resolution::Submitted { observed } = resolution else { return Ok(()) };
        let life = &mut self.scene.life.record;
        life.delivery = life.delivery.apply(DeliveryEvent::Submit)?;
        // That a harness took an interrupt says nothing about what it stopped: its interruption result does.
        if observed && life.intent != "interrupt" {
            life.outcome = life.outcome.apply(OutcomeEvent::Observe)?;
        }
        life.revision = life.revision.saturating_add(1);
        Ok(())
    }

    fn release(&mut self, cx: &mut Context<'_>) -> Flow<()> {
        release(cx, &mut self.scene, self.hooks.resolved)
    }

    fn record(&mut self, cx: &mut Context<'_>, kind: &str, detail: String) -> Flow<()> {
        self.scene.record(cx, kind, detail)
    }

    fn save(&mut self, cx: &mut Context<'_>) -> Flow<()> {
        self.scene.write(cx, self.was_open)
    }
}
