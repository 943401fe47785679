//! The operations table, above all domains: names, what they are, and the function behind each.

use crate::Error;
use crate::authority::{
    adapters, anchors, denials, policies, proposals, related, relationships, runtime, summaries, tasks,
};
use crate::delivery::{admit, batch, facts, forward, inspect, interrupt, mailbox, outcome, reads, respond, send};
use crate::kernel::operation::{Entry, Run};
use crate::kernel::{Answer, Evaluated, Operation, Request, Step, decide as framed};
use crate::retention::{content, expiry};
use crate::submission::{prepare, resolve};
const fn write(name: &'static str, run: Run, summary: &'static str) -> Entry {
    let operation = Operation { name, read_only: false, internal: false, summary, keyed: true, by_worker: false };
    Entry { operation, run }
}

const fn worker(name: &'static str, run: Run, summary: &'static str) -> Entry {
    let entry = write(name, run, summary);
    Entry { operation: Operation { by_worker: true, ..entry.operation }, ..entry }
}

const fn read(name: &'static str, run: Run, summary: &'static str) -> Entry {
    let operation = Operation { name, read_only: true, internal: false, summary, keyed: false, by_worker: false };
    Entry { operation, run }
}

const fn internal(entry: Entry) -> Entry {
    Entry { operation: Operation { internal: true, ..entry.operation }, ..entry }
}

/// All operations, sorted by name.
pub(crate) const TABLE: &[Entry] = &[
    worker(
        "adapter.acceptAndBegin",
        prepare::accept_and_begin,
        "Accept a claimed message and begin its submission, in one commit.",
    ),
    worker(
        "adapter.admitContext",
        admit::admit_context,
        "Read an accepted message into a model's context: prepare and confirm, in one commit.",
    ),
    worker("adapter.beginSubmission", prepare::begin, "Cross the boundary: commit that the call is about to happen."),
    worker("adapter.confirmContextAdmission", admit::confirm, "Establish that a rendering was put before a model."),
    read("adapter.getSubmission", resolve::get_submission, "One submission."),
    internal(read("adapter.listUnresolved", resolve::list_unresolved, "Attempts whose outcome is unknown.")),
    worker("adapter.prepareContextAdmission", admit::prepare, "Take the rendering of an accepted message, to show it."),
    worker("adapter.prepareSubmission", prepare::prepare, "Prepare handing an accepted message to the harness."),
    write("adapter.reconcileSubmission", resolve::reconcile, "Establish what became of an attempt, with evidence."),
    internal(write("adapter.recordQuery", resolve::record_query, "What an adapter answered about an attempt.")),
    write("adapter.recordReceipt", resolve::record_receipt, "Record the harness's receipt."),
    write("adapter.recoverContextAdmission", admit::recover, "Say what became of an admission whose token was lost."),
    write("adapters.declare", adapters::declare, "Declare an adapter profile of the operator's configuration."),
    write("anchors.declare", anchors::declare, "Declare the trust anchors that attestations are verified against."),
    read("audit.list", reads::audit_list, "The events of a message."),
    internal(write("audit.recordDenials", denials::record, "How often callers were denied, minute by minute.")),
    read("inspector.snapshot", inspect::snapshot, "One message, as the caller may see it."),
    worker("mailbox.ack", mailbox::ack, "Decide a claimed message."),
    worker("mailbox.claim", mailbox::claim, "Claim a message for this worker."),
    read("mailbox.listPending", mailbox::list_pending, "Undecided messages, in order."),
    write("maintenance.expireDue", expiry::expire_due, "Expire what is past its time."),
    write("maintenance.purgeContent", content::purge_content, "Remove content that is past its retention."),
    internal(write("maintenance.recordScrub", content::record_scrub, "Whether nothing is left of purged content.")),
    write("messages.failDelivery", respond::fail_delivery, "Give up on delivering a message."),
    write("messages.forward", forward::forward, "Pass on an accepted message, with its provenance."),
    read("messages.getDisposition", respond::get_disposition, "The three states of a message."),
    write("messages.recordDelivery", facts::record_delivery, "Record that a message was notified of or offered."),
    write("messages.recordInterruptionResult", interrupt::record, "Record what an interrupt did to each target."),
    write("messages.recordOutcome", outcome::record_outcome, "Record what was seen to happen, with evidence."),
    write("messages.respond", respond::respond, "Decide a message without a claim."),
    write("messages.send", send::send, "Send a message under a grant."),
    write("messages.sendBatch", batch::send_batch, "Send up to 64 messages in one commit."),
    internal(read("policy.evaluate", policies::evaluate, "What a policy says about an input.")),
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
    let none = Operation { name: "", read_only: true, internal: true, summary: "", keyed: false, by_worker: false };
    let mut out = [none; N];
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
static OPERATIONS: &[Operation] = &public::<{ TABLE.len() }>();

/// The operation with this name.
pub(crate) fn find(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.operation.name == name)
}

/// The operations table.
pub fn operations() -> &'static [Operation] {
    OPERATIONS
}

/// One step of an operation. See the WIT of `decide`.
///
/// `now` is whole milliseconds since the Unix epoch; anything else is misuse. `entropy` is 64 hex digits.
pub fn decide(
    request: &Request,
    answers: &[Answer],
    evaluated: &[Evaluated],
    now: f64,
    entropy: &str,
) -> Result<Step, Error> {
    framed::decide(find, request, framed::Given { answers, evaluated }, now, entropy)
}

#[cfg(test)]
mod tests;
