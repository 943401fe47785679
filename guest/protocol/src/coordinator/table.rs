//! The operations table: names, what they are, and the function behind each.

use super::Operation;
use super::context::{Context, Flow};
use super::ops::{
    adapters, admission, anchors, batch, denials, facts, forward, inspect, interrupted, mailbox, maintenance, messages,
    outcome, proposals, purge, reads, related, relationships, resolve, runtime, send, submit, summaries, tasks,
};
use alloc::string::String;

/// The function of an operation: the JSON text of its value.
pub(crate) type Run = fn(&mut Context<'_>) -> Flow<String>;

/// How an operation is called.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// The public part.
    pub operation: Operation,
    /// Whether it takes an idempotency key.
    pub keyed: bool,
    /// Whether the worker is part of the key's scope.
    pub by_worker: bool,
    /// What runs.
    pub run: Run,
}

const fn write(name: &'static str, run: Run, summary: &'static str) -> Entry {
    let operation = Operation { name, read_only: false, internal: false, summary };
    Entry { operation, keyed: true, by_worker: false, run }
}

const fn worker(name: &'static str, run: Run, summary: &'static str) -> Entry {
    let entry = write(name, run, summary);
    Entry { by_worker: true, ..entry }
}

const fn read(name: &'static str, run: Run, summary: &'static str) -> Entry {
    let operation = Operation { name, read_only: true, internal: false, summary };
    Entry { operation, keyed: false, by_worker: false, run }
}

const fn internal(entry: Entry) -> Entry {
    Entry { operation: Operation { internal: true, ..entry.operation }, ..entry }
}

/// All operations, sorted by name.
pub(crate) const TABLE: &[Entry] = &[
    worker(
        "adapter.acceptAndBegin",
        submit::accept_and_begin,
        "Accept a claimed message and begin its submission, in one commit.",
    ),
    worker(
        "adapter.admitContext",
        admission::admit_context,
        "Read an accepted message into a model's context: prepare and confirm, in one commit.",
    ),
    worker("adapter.beginSubmission", submit::begin, "Cross the boundary: commit that the call is about to happen."),
    worker("adapter.confirmContextAdmission", admission::confirm, "Establish that a rendering was put before a model."),
    read("adapter.getSubmission", resolve::get_submission, "One submission."),
    internal(read("adapter.listUnresolved", resolve::list_unresolved, "Attempts whose outcome is unknown.")),
    worker(
        "adapter.prepareContextAdmission",
        admission::prepare,
        "Take the rendering of an accepted message, to show it.",
    ),
    worker("adapter.prepareSubmission", submit::prepare, "Prepare handing an accepted message to the harness."),
    write("adapter.reconcileSubmission", resolve::reconcile, "Establish what became of an attempt, with evidence."),
    internal(write("adapter.recordQuery", resolve::record_query, "What an adapter answered about an attempt.")),
    write("adapter.recordReceipt", resolve::record_receipt, "Record the harness's receipt."),
    write(
        "adapter.recoverContextAdmission",
        admission::recover,
        "Say what became of an admission whose token was lost.",
    ),
    write("adapters.declare", adapters::declare, "Declare an adapter profile of the operator's configuration."),
    write("anchors.declare", anchors::declare, "Declare the trust anchors that attestations are verified against."),
    read("audit.list", reads::audit_list, "The events of a message."),
    internal(write("audit.recordDenials", denials::record, "How often callers were denied, minute by minute.")),
    read("inspector.snapshot", inspect::snapshot, "One message, as the caller may see it."),
    worker("mailbox.ack", mailbox::ack, "Decide a claimed message."),
    worker("mailbox.claim", mailbox::claim, "Claim a message for this worker."),
    read("mailbox.listPending", mailbox::list_pending, "Undecided messages, in order."),
    write("maintenance.expireDue", maintenance::expire_due, "Expire what is past its time."),
    write("maintenance.purgeContent", purge::purge_content, "Remove content that is past its retention."),
    internal(write("maintenance.recordScrub", purge::record_scrub, "Whether nothing is left of purged content.")),
    write("messages.failDelivery", messages::fail_delivery, "Give up on delivering a message."),
    write("messages.forward", forward::forward, "Pass on an accepted message, with its provenance."),
    read("messages.getDisposition", messages::get_disposition, "The three states of a message."),
    write("messages.recordDelivery", facts::record_delivery, "Record that a message was notified of or offered."),
    write("messages.recordInterruptionResult", interrupted::record, "Record what an interrupt did to each target."),
    write("messages.recordOutcome", outcome::record_outcome, "Record what was seen to happen, with evidence."),
    write("messages.respond", messages::respond, "Decide a message without a claim."),
    write("messages.send", send::send, "Send a message under a grant."),
    write("messages.sendBatch", batch::send_batch, "Send up to 64 messages in one commit."),
    write("relationships.consent", related::consent, "Agree to a grant that asks for it."),
    write("relationships.grant", relationships::grant, "Allow one task to send to another."),
    read("relationships.list", related::list, "The grants from and to a task."),
    read("relationships.listProposals", proposals::list, "The proposals from and to a task."),
    write("relationships.propose", proposals::propose, "Ask for a grant."),
    write("relationships.rejectProposal", proposals::reject, "Refuse what was asked for."),
    write("relationships.revoke", relationships::revoke, "Withdraw a grant."),
    write("relationships.withdrawProposal", proposals::withdraw, "Take back what was asked for."),
    write("tasks.attach", tasks::attach, "Bind an adapter to a task."),
    read("tasks.get", tasks::get, "One task incarnation."),
    read("tasks.getSummary", summaries::get, "What a task lets a related task know."),
    read("tasks.listRelated", related::list_related, "The tasks that current grants relate a task to."),
    write("tasks.publishSummary", summaries::publish, "Let a related task know something."),
    write("tasks.register", tasks::register, "Register a task incarnation."),
    write("tasks.rotateIncarnation", runtime::rotate, "Retire an incarnation and register the next."),
    write("tasks.setConsent", tasks::set_consent, "Say what a task takes, and from when on."),
    write("tasks.updateRuntime", runtime::update, "Report what a task is at."),
    read("tasks.wait", reads::wait, "The events of a task, as soon as there are some."),
];

const fn public<const N: usize>() -> [Operation; N] {
    let mut out = [Operation { name: "", read_only: true, internal: true, summary: "" }; N];
    let mut position = 0;
    // INVARIANT: N is the table's length, so every position is in range; evaluated at compile time.
    #[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
    while position < N {
        out[position] = TABLE[position].operation;
        position += 1;
    }
    out
}

/// The public part of [`TABLE`].
pub(crate) static OPERATIONS: &[Operation] = &public::<{ TABLE.len() }>();

/// The operation with this name.
pub(crate) fn find(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.operation.name == name)
}
