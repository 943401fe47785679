//! Which operation can end how. A code that is not here is out of reach, and finding it is a fault as well: either the
//! table or the core is wrong.

use std::collections::BTreeSet;

/// How every operation can end, beside being accepted.
const ALWAYS: &[&str] = &[
    "accepted",
    "authentication-required",
    "json-depth",
    "json-duplicate-member",
    "json-encoding",
    "json-integer-range",
    "json-members",
    "json-number",
    "json-size",
    "json-surrogate",
    "json-syntax",
    "params-invalid",
];

/// How every operation with an idempotency key can end.
const KEYED: &[&str] = &["idempotency-conflict", "replayed"];

/// Whether an operation takes a key, and how else it can end.
type Ends = (&'static str, bool, &'static [&'static str]);

/// What else is possible. Not here, since other checks come first: a message that expired under a living claim (the lease
/// ends with it), a claim on a message that was decided (the decision ends it), and an attempt that is begun at the
/// revision of its preparation but can no longer be submitted (whatever prevents it moves the revision).
const REACHABLE: &[Ends] = &[
    (
        "adapter.acceptAndBegin",
        true,
        &[
            "adapter-incapable",
            "adapter-not-bound",
            "mailbox-busy",
            "mailbox-claim-expired",
            "mailbox-claim-invalid",
            "not-visible",
            "policy-denied",
            "revision-conflict",
            "task-retired",
        ],
    ),
    (
        "adapter.beginSubmission",
        true,
        &[
            "adapter-incapable",
            "adapter-not-bound",
            "adapter-ref-changed",
            "message-expired",
            "not-visible",
            "policy-denied",
            "revision-conflict",
            "submission-state",
            "task-retired",
            "transition-illegal",
        ],
    ),
    ("adapter.getSubmission", false, &["not-visible", "task-retired"]),
    ("adapter.listUnresolved", false, &["method-not-found"]),
    (
        "adapter.prepareSubmission",
        true,
        &[
            "adapter-incapable",
            "adapter-not-bound",
            "mailbox-busy",
            "message-expired",
            "not-visible",
            "policy-denied",
            "revision-conflict",
            "state-conflict",
            "submission-in-flight",
            "task-retired",
        ],
    ),
    (
        "adapter.reconcileSubmission",
        true,
        &[
            "not-visible",
            "receipt-conflict",
            "reconciliation-authority",
            "reconciliation-evidence-required",
            "reconciliation-invalid",
            "revision-conflict",
            "submission-settling",
            "submission-state",
            "task-retired",
        ],
    ),
    (
        "adapter.recordQuery",
        true,
        &[
            "method-not-found",
            "not-visible",
            "receipt-conflict",
            "reconciliation-authority",
            "reconciliation-invalid",
            "submission-settling",
            "submission-state",
        ],
    ),
    (
        "adapter.recordReceipt",
        true,
        &[
            "not-visible",
            "receipt-conflict",
            "reconciliation-authority",
            "revision-conflict",
            "submission-settling",
            "submission-state",
            "task-retired",
        ],
    ),
    ("adapters.declare", true, &["capabilities-invalid", "operator-required"]),
    ("audit.list", false, &["not-visible", "task-retired"]),
    (
        "mailbox.ack",
        true,
        &[
            "decision-reason-invalid",
            "mailbox-busy",
            "mailbox-claim-expired",
            "mailbox-claim-invalid",
            "not-visible",
            "policy-denied",
            "revision-conflict",
            "task-retired",
            "transition-illegal",
        ],
    ),
    (
        "mailbox.claim",
        true,
        &[
            "mailbox-busy",
            "mailbox-claim-expired",
            "mailbox-not-before",
            "message-expired",
            "not-visible",
            "policy-denied",
            "revision-conflict",
            "state-conflict",
            "task-retired",
        ],
    ),
    ("mailbox.listPending", false, &["not-visible", "task-retired"]),
    ("maintenance.expireDue", true, &["control-plane-required"]),
    (
        "messages.failDelivery",
        true,
        &[
            "external-outcome-unknown",
            "mailbox-busy",
            "not-visible",
            "revision-conflict",
            "task-retired",
            "transition-illegal",
        ],
    ),
    ("messages.getDisposition", false, &["not-visible", "task-retired"]),
    (
        "messages.respond",
        true,
        &[
            "decision-reason-invalid",
            "external-outcome-unknown",
            "mailbox-busy",
            "message-expired",
            "message-not-expired",
            "not-visible",
            "policy-denied",
            "revision-conflict",
            "state-conflict",
            "task-retired",
            "transition-illegal",
        ],
    ),
    (
        "messages.send",
        true,
        &[
            "backpressure",
            "consent-denied",
            "envelope-invalid",
            "lifetime-exceeded",
            "message-expired",
            "not-visible",
            "policy-denied",
            "principal-mismatch",
            "sender-actor-denied",
            "task-retired",
        ],
    ),
    (
        "relationships.grant",
        true,
        &["control-plane-required", "grant-invalid", "grant-scope-denied", "grant-version-order", "task-retired"],
    ),
    (
        "relationships.revoke",
        true,
        &["control-plane-required", "grant-revoke-denied", "not-visible", "revision-conflict"],
    ),
    ("tasks.attach", true, &["control-plane-required", "not-visible", "revision-conflict", "task-retired"]),
    ("tasks.get", false, &["not-visible", "task-retired"]),
    ("tasks.register", true, &["control-plane-required", "incarnation-conflict", "task-live"]),
    (
        "tasks.rotateIncarnation",
        true,
        &[
            "control-plane-required",
            "incarnation-conflict",
            "not-visible",
            "revision-conflict",
            "task-retired",
            "task-rotation-mismatch",
        ],
    ),
    ("tasks.setConsent", true, &["control-plane-required", "not-visible", "revision-conflict", "task-retired"]),
    (
        "tasks.updateRuntime",
        true,
        &["control-plane-required", "not-visible", "revision-conflict", "runtime-regression", "task-retired"],
    ),
    ("tasks.wait", false, &["not-visible", "task-retired"]),
];

/// Checks that all of it happened, and nothing else did. `operations` are those of the core.
pub fn check(operations: &[String], ended: &BTreeSet<(String, String)>) {
    let known: BTreeSet<&str> = REACHABLE.iter().map(|(operation, ..)| *operation).collect();
    let named: BTreeSet<&str> = operations.iter().map(String::as_str).collect();
    assert_eq!(known, named, "the table is not about the core's operations");
    let mut possible = BTreeSet::new();
    for (operation, keyed, codes) in REACHABLE {
        let keyed: &[&str] = if *keyed { KEYED } else { &[] };
        possible
            .extend(ALWAYS.iter().chain(keyed).chain(*codes).map(|code| ((*operation).to_owned(), (*code).to_owned())));
    }
    let all: BTreeSet<_> = ended.iter().filter(|(operation, _)| operations.contains(operation)).cloned().collect();
    println!(
        "{} of {} ways for {} operations to end",
        all.intersection(&possible).count(),
        possible.len(),
        known.len()
    );
    let missing: Vec<_> = possible.difference(&all).collect();
    let surprising: Vec<_> = all.difference(&possible).collect();
    assert!(missing.is_empty(), "these never happened: {missing:?}");
    assert!(surprising.is_empty(), "these should be out of reach: {surprising:?}");
}
