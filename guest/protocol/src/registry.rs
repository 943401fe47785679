//! What the domains do in each other's commits, and what is asked before a step: static lists, put together above all of
//! them. A domain that joins adds its functions here; none of those below it changes.

use crate::authority::{
    hooks::{Revoked, Rotated, RuntimeChanged},
    purge as authority, relationships, runtime,
};
use crate::delivery::{
    admit,
    guard::{self, Guard},
    holder, hooks, mailbox, purge as delivery, relabel, respond, submit,
};
use crate::events::{capabilities, hooks as threads, resume};
use crate::kernel::{context::Context, flow::Flow, records::NamedTask};
use crate::retention::purge::EmptiedMessage;
use crate::retention::{
    content, expiry,
    hooks::{Content, Expiring, Purged, ask_nothing, choose_all},
};
use crate::submission::{begin, holder::Kind, list, receipt, resolve};
use alloc::string::String;

/// Asked before a message is claimed, decided, prepared, begun or admitted.
const GUARDS: &[Guard] = &[guard::policy, threads::guard];

/// What is registered for messages.
const MESSAGES: holder::Hooks = holder::Hooks { guards: GUARDS, resolved: &[relabel::apply_pending] };

/// What carries attempts.
pub(crate) const HOLDERS: &[Kind] = &[holder::kind(|cx, row, payload| holder::open(cx, MESSAGES, row, payload))];

/// What a revoked grant reaches.
const REVOKED: &[Revoked] = &[Revoked { find: hooks::bound, apply: hooks::revoked }];

/// What the end of an incarnation reaches.
const ROTATED: &[Rotated] = &[
    Rotated { find: hooks::undecided, apply: hooks::rotated },
    Rotated { find: threads::thread, apply: threads::rotated },
];

/// What the end of an incarnation reaches where its thread goes on.
const RESUMED: &[Rotated] = &[Rotated { find: hooks::undecided, apply: threads::resumed }];

/// What a task's new runtime reaches.
const RUNTIME_CHANGED: &[RuntimeChanged] = &[RuntimeChanged { find: hooks::urgent, apply: hooks::runtime_changed }];

/// What expires.
const EXPIRING: &[Expiring] =
    &[Expiring { due: crate::delivery::life::Life::find_due, load: hooks::load_expiring, expire: hooks::expire }];

/// What still needs the session of a retired task.
const HELD: &[authority::Held] = &[delivery::held];

/// How many summaries with hints are looked at, the oldest first, to find those that are over.
const SUMMARIES: u32 = 200;

/// What a purge removes, in the order in which it does.
const CONTENTS: &[Content] = &[
    Content {
        scan: None,
        due: delivery::due,
        ask: delivery::ask,
        choose: choose_all,
        load: delivery::load,
        empty: delivery::empty,
        note: |purge, (sender, message)| purge.messages.push(EmptiedMessage { sender, message }),
    },
    Content {
        scan: None,
        due: authority::due_tasks,
        ask: |cx, _, rows| authority::ask_tasks(cx, HELD, rows),
        choose: |cx, _, rows| authority::choose_tasks(cx, HELD, rows),
        load: authority::load_tasks,
        empty: authority::empty_tasks,
        note: |purge, (task, incarnation)| purge.tasks.push(NamedTask { task, incarnation }),
    },
    Content {
        scan: None,
        due: authority::due_proposals,
        ask: ask_nothing,
        choose: choose_all,
        load: authority::load_proposals,
        empty: authority::empty_proposals,
        note: |purge, (proposal, _)| purge.proposals.push(proposal),
    },
    Content {
        scan: Some(SUMMARIES),
        due: authority::due_summaries,
        ask: authority::ask_summaries,
        choose: authority::choose_summaries,
        load: authority::load_summaries,
        empty: authority::empty_summaries,
        note: |purge, (summary, _)| purge.summaries.push(summary),
    },
];

/// What is told when a purge is done.
const PURGED: &[Purged] = &[Purged { pending: delivery::pending, done: delivery::purged }];

/// `relationships.revoke`.
pub(crate) fn revoke(cx: &mut Context<'_>) -> Flow<String> {
    relationships::revoke(cx, REVOKED)
}

/// `tasks.rotateIncarnation`.
pub(crate) fn rotate(cx: &mut Context<'_>) -> Flow<String> {
    runtime::rotate(cx, ROTATED)
}

/// `threads.resume`.
pub(crate) fn resume_thread(cx: &mut Context<'_>) -> Flow<String> {
    resume::resume(cx, RESUMED)
}

/// `capabilities.revoke`.
pub(crate) fn revoke_capability(cx: &mut Context<'_>) -> Flow<String> {
    capabilities::revoke(cx)
}

/// `tasks.updateRuntime`.
pub(crate) fn update_runtime(cx: &mut Context<'_>) -> Flow<String> {
    runtime::update(cx, RUNTIME_CHANGED)
}

/// `maintenance.expireDue`.
pub(crate) fn expire_due(cx: &mut Context<'_>) -> Flow<String> {
    expiry::expire_due(cx, EXPIRING)
}

/// `maintenance.purgeContent`.
pub(crate) fn purge_content(cx: &mut Context<'_>) -> Flow<String> {
    content::purge_content(cx, CONTENTS)
}

/// `maintenance.recordScrub`.
pub(crate) fn record_scrub(cx: &mut Context<'_>) -> Flow<String> {
    content::record_scrub(cx, PURGED)
}

/// `mailbox.claim`.
pub(crate) fn claim(cx: &mut Context<'_>) -> Flow<String> {
    mailbox::claim(cx, GUARDS)
}

/// `mailbox.ack`.
pub(crate) fn ack(cx: &mut Context<'_>) -> Flow<String> {
    mailbox::ack(cx, GUARDS)
}

/// `messages.respond`.
pub(crate) fn respond_to(cx: &mut Context<'_>) -> Flow<String> {
    respond::respond(cx, GUARDS)
}

/// `adapter.prepareSubmission`.
pub(crate) fn prepare_submission(cx: &mut Context<'_>) -> Flow<String> {
    submit::prepare(cx, MESSAGES)
}

/// `adapter.beginSubmission`.
pub(crate) fn begin_submission(cx: &mut Context<'_>) -> Flow<String> {
    begin::begin(cx, HOLDERS)
}

/// `adapter.acceptAndBegin`.
pub(crate) fn accept_and_begin(cx: &mut Context<'_>) -> Flow<String> {
    submit::accept_and_begin(cx, MESSAGES)
}

/// `adapter.getSubmission`.
pub(crate) fn get_submission(cx: &mut Context<'_>) -> Flow<String> {
    list::get_submission(cx, HOLDERS)
}

/// `adapter.listUnresolved`.
pub(crate) fn list_unresolved(cx: &mut Context<'_>) -> Flow<String> {
    list::list_unresolved(cx, HOLDERS)
}

/// `adapter.recordReceipt`.
pub(crate) fn record_receipt(cx: &mut Context<'_>) -> Flow<String> {
    receipt::record_receipt(cx, HOLDERS)
}

/// `adapter.recordQuery`.
pub(crate) fn record_query(cx: &mut Context<'_>) -> Flow<String> {
    resolve::record_query(cx, HOLDERS)
}

/// `adapter.reconcileSubmission`.
pub(crate) fn reconcile(cx: &mut Context<'_>) -> Flow<String> {
    resolve::reconcile(cx, HOLDERS)
}

/// `adapter.prepareContextAdmission`.
pub(crate) fn prepare_admission(cx: &mut Context<'_>) -> Flow<String> {
    admit::prepare(cx, MESSAGES)
}

/// `adapter.confirmContextAdmission`.
pub(crate) fn confirm_admission(cx: &mut Context<'_>) -> Flow<String> {
    admit::confirm(cx, MESSAGES)
}

/// `adapter.recoverContextAdmission`.
pub(crate) fn recover_admission(cx: &mut Context<'_>) -> Flow<String> {
    admit::recover(cx, MESSAGES)
}

/// `adapter.admitContext`.
pub(crate) fn admit_context(cx: &mut Context<'_>) -> Flow<String> {
    admit::admit_context(cx, MESSAGES)
}
