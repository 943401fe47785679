//! Scenarios of task summaries: who publishes, who reads how much, and that nothing is read any more once its grant does
//! not stand.

use super::cast::{BUILDER, DAY, MINUTE, WRITER, bound, builder, grant, task_input, task_ref, with, without, writer};
use super::policy::rotate;
use super::story::{Step, Story, absent};
use super::time;
use serde_json::{Value, json};

const PUBLISH: &str = "tasks.publishSummary";
const GET: &str = "tasks.getSummary";

pub(super) fn stories() -> Vec<Story> {
    vec![
        published(),
        projected(),
        audience(),
        readers(),
        publishers(),
        under_a_grant(),
        as_the_grant_shows(),
        versions(),
        names(),
        hidden_again(),
        replayed(),
        ends(),
    ]
}

fn showing(visibility: &str, version: u32) -> Value {
    with(grant("peer", version), "/summaryVisibility", visibility)
}

/// Both tasks, with a grant from writer to builder that shows so much of builder.
fn granted(name: &str, visibility: &str) -> Story {
    let mut story = Story::tasks(name);
    story.grant(showing(visibility, 1));
    story
}

/// A summary of builder with everything that the visibility takes, for the source of the first grant.
pub(super) fn summary(visibility: &str, version: u32) -> Value {
    let mut summary = json!({
        "specVersion": "0.0-draft", "summaryId": "sum_builder-1", "summaryVersion": version, "task": builder(),
        "projection": {
            "relationshipId": "rel_work", "grantId": "grant_work-1", "grantVersion": 1,
            "summaryVisibility": visibility,
        },
        "state": "running", "coordination": {"intents": ["suggest"], "deliveryModes": ["checkpoint-offer"]},
        "sensitivity": "relationship-scoped",
        "audience": {"visibility": "relationship-scoped", "relationshipIds": ["rel_other", "rel_work"]},
        "updatedAt": time(0),
    });
    if visibility != "state-only" {
        summary["activeRunId"] = "run-1".into();
        summary["blockerHint"] = "Waits for the schema.".into();
        summary["dependencyHints"] = json!(["The parser."]);
    }
    if visibility == "objective-hint" {
        summary["objective"] = json!({"hint": "Ship the parser.", "version": 4});
    }
    summary
}

/// `summary` without what only its own side sees.
fn bare(summary: Value) -> Value {
    let hidden = ["activeRunId", "blockerHint", "dependencyHints", "objective"];
    hidden.iter().fold(summary, |summary, name| with(summary, &format!("/{name}"), absent()))
}

/// `summary` as the source of the grant sees it: of the relationships, its own.
fn for_writer(summary: Value) -> Value {
    with(summary, "/audience/relationshipIds", json!(["rel_work"]))
}

fn publish<'a>(story: &'a mut Story, caller: &str, summary: Value, previous: Option<u32>) -> &'a mut Step {
    story.call(caller, PUBLISH, json!({"summary": summary, "expectedPreviousVersion": previous}))
}

fn get(task: Value) -> Value {
    json!({"task": task, "relationshipId": "rel_work"})
}

/// A task lets the source of a grant know something (behaviours 149 and 152).
fn published() -> Story {
    let mut story = granted("a task lets a related task know something", "coordination");
    story.call("writer", GET, get(builder())).named("unseen").error("not-visible");
    let first = summary("coordination", 0);
    publish(&mut story, "builder", first.clone(), None)
        .rules(&["SM-1", "SM-2", "SM-3", "SM-4", "SM-5", "SM-6"])
        .ok(first.clone());
    story.call("writer", GET, get(builder())).ok(for_writer(first.clone()));
    story.call("builder", GET, get(builder())).ok(first.clone());
    story.call("bob", GET, get(builder())).ok(first);
    let second = with(summary("coordination", 7), "/state", "blocked");
    publish(&mut story, "bob", second.clone(), Some(0)).at(MINUTE).rules(&["SM-4", "SM-5"]).ok(second.clone());
    story.call("writer", GET, get(builder())).ok(for_writer(second));
    // Its own side may say whose it is.
    story.call("builder", GET, with(get(builder()), "/owner", "user:bob")).ok(json!({"summaryVersion": 7}));
    story.call("builder", GET, with(get(builder()), "/owner", "user:alice")).error("not-visible").same_as("unseen");
    // Through another relationship there is nothing.
    let other = with(get(builder()), "/relationshipId", "rel_other");
    story.call("writer", GET, other.clone()).error("not-visible").same_as("unseen");
    story.call("builder", GET, other).error("not-visible").same_as("unseen");
    let nobody = get(task_ref("nobody", "inc_nobody-0001"));
    story.call("writer", GET, nobody).error("not-visible").same_as("unseen");
    let event = |cursor: u32, version: &str| json!({"cursor": cursor, "eventType": "task-summary-published", "revision": version.parse::<u32>().expect("a number"), "relationshipId": "rel_work", "detail": {"summaryId": "sum_builder-1", "summaryVersion": version, "summaryDigest": absent()}});
    story
        .call("writer", "tasks.wait", json!({"task": writer(), "timeoutMs": 0, "afterCursor": 2}))
        .ok(json!({"events": [event(3, "0"), event(4, "7")]}));
    story
}

/// Field by field, as the grant shows it (behaviours 49 and 50, weaknesses B13).
fn projected() -> Story {
    let mut story = Story::tasks("a summary is projected field by field");
    for (version, visibility) in ["state-only", "coordination", "objective-hint"].into_iter().enumerate() {
        let version = u32::try_from(version).expect("few") + 1;
        story.grant(showing(visibility, version));
        let of = |summary: Value| {
            let named = with(summary, "/projection/grantId", format!("grant_work-{version}"));
            with(named, "/projection/grantVersion", version)
        };
        let previous = (version > 1).then(|| version - 1);
        if visibility == "state-only" {
            for (pointer, value) in [
                ("/activeRunId", json!("run-1")),
                ("/blockerHint", json!("Waits.")),
                ("/dependencyHints", json!(["The parser."])),
                ("/objective", json!({"hint": "Ship.", "version": 4})),
            ] {
                let more = with(of(summary(visibility, version)), pointer, value);
                publish(&mut story, "builder", more, previous).error("task-summary-invalid");
            }
        }
        if visibility == "coordination" {
            let more = with(of(summary(visibility, version)), "/objective", json!({"hint": "Ship.", "version": 4}));
            publish(&mut story, "builder", more, previous).error("task-summary-invalid");
        }
        let whole = of(summary(visibility, version));
        publish(&mut story, "builder", whole.clone(), previous).rules(&["SM-2"]).ok(whole.clone());
        let mut seen = for_writer(whole.clone());
        for name in ["activeRunId", "blockerHint", "dependencyHints", "objective"] {
            seen[name] = whole.get(name).cloned().unwrap_or_else(absent);
        }
        story.call("writer", GET, get(builder())).ok(seen);
        story.call("guard", GET, get(builder())).ok(bare(whole));
    }
    story
}

/// The audience and the sensitivity hold at every read (weaknesses A3).
fn audience() -> Story {
    let mut story = granted("a summary is for its audience", "coordination");
    let to = |version: u32, sensitivity: &str, audience: &str| {
        let summary = with(summary("coordination", version), "/sensitivity", sensitivity);
        let audience = match audience {
            "relationship-scoped" => json!({"visibility": audience, "relationshipIds": ["rel_work"]}),
            _ => json!({"visibility": audience}),
        };
        with(summary, "/audience", audience)
    };
    let mut previous = None;
    for (version, (sensitivity, audience, reads)) in [
        ("restricted", "owner-only", false),
        ("public-metadata", "public", true),
        ("relationship-scoped", "owner-only", false),
        ("relationship-scoped", "relationship-scoped", true),
        ("public-metadata", "owner-only", false),
        ("public-metadata", "relationship-scoped", true),
    ]
    .into_iter()
    .enumerate()
    {
        let version = u32::try_from(version).expect("few");
        let summary = to(version, sensitivity, audience);
        publish(&mut story, "builder", summary.clone(), previous).ok(summary.clone());
        previous = Some(version);
        let step = story.call("writer", GET, get(builder()));
        match reads {
            true => step.ok(summary.clone()),
            false => step.error("not-visible"),
        };
        story.call("bob", GET, get(builder())).ok(summary.clone());
        story.call("builder", GET, get(builder())).ok(summary.clone());
        story.call("guard", GET, get(builder())).ok(bare(summary));
    }
    for (sensitivity, audience) in
        [("restricted", "public"), ("restricted", "relationship-scoped"), ("relationship-scoped", "public")]
    {
        publish(&mut story, "builder", to(9, sensitivity, audience), previous).error("task-summary-invalid");
    }
    let elsewhere =
        with(to(9, "relationship-scoped", "relationship-scoped"), "/audience/relationshipIds", json!(["rel_other"]));
    publish(&mut story, "builder", elsewhere, previous).error("task-summary-invalid");
    story
}

/// Nobody else reads it: not the source's owner, not a later incarnation of the source, not who has no grant.
fn readers() -> Story {
    let mut story = granted("who reads a summary", "coordination");
    story.register("carol", task_input("stranger", "inc_stranger-0001"));
    publish(&mut story, "builder", summary("coordination", 1), None).ok(json!({"summaryVersion": 1}));
    story.call("carol", GET, get(builder())).named("unseen").error("not-visible");
    for caller in ["alice", "stranger", "writer-next", "builder-next"] {
        story.call(caller, GET, get(builder())).error("not-visible").same_as("unseen");
    }
    let full = json!({"blockerHint": "Waits for the schema."});
    story.call("bob", GET, get(builder())).ok(full.clone());
    story.call("writer", GET, get(builder())).ok(full);
    for caller in ["guard", "ops"] {
        story.call(caller, GET, get(builder())).ok(bare(json!({"summaryVersion": 1, "state": "running"})));
    }
    // The other direction needs a grant of its own.
    story.call("builder", GET, get(writer())).error("not-visible").same_as("unseen");
    story
}

/// Rule TK-5 again: the task itself, its owner or a policy publishes; a policy reads no hints even so.
fn publishers() -> Story {
    let mut story = granted("who publishes a summary", "coordination");
    for caller in ["ops", "host"] {
        publish(&mut story, caller, summary("coordination", 1), None).refused("control-plane-required", "TK-5");
    }
    publish(&mut story, "carol", summary("coordination", 1), None).named("unseen").error("not-visible");
    for caller in ["writer", "alice", "stranger", "builder-next"] {
        publish(&mut story, caller, summary("coordination", 1), None).error("not-visible").same_as("unseen");
    }
    let mut previous = None;
    for (version, caller) in ["builder", "bob", "guard"].into_iter().enumerate() {
        let version = u32::try_from(version).expect("few");
        let whole = summary("coordination", version);
        let seen = if caller == "guard" { bare(whole.clone()) } else { whole.clone() };
        publish(&mut story, caller, whole, previous).rules(&["TK-5"]).ok(seen);
        previous = Some(version);
    }
    story
}

/// Rule SM-1: under the grant that it names, which is current and towards its task.
fn under_a_grant() -> Story {
    let mut story = Story::tasks("a summary is published under a current grant");
    publish(&mut story, "builder", summary("coordination", 1), None).named("unseen").error("not-visible");
    story.grant(with(showing("coordination", 1), "/expiresAt", time(MINUTE)));
    for (pointer, value) in [
        ("/projection/grantId", json!("grant_work-9")),
        ("/projection/grantVersion", json!(2)),
        ("/projection/relationshipId", json!("rel_other")),
    ] {
        let other = with(summary("coordination", 1), pointer, value);
        publish(&mut story, "builder", other, None).error("not-visible").same_as("unseen");
    }
    // A grant from the task is none towards it.
    let back = with(with(summary("coordination", 1), "/task", writer()), "/summaryId", "sum_writer-1");
    publish(&mut story, "writer", back, None).error("not-visible").same_as("unseen");
    publish(&mut story, "builder", summary("coordination", 1), None).at(MINUTE).refused("grant-not-active", "SM-1");
    story.grant(showing("coordination", 2));
    let second = |version: u32| {
        let named = with(summary("coordination", version), "/projection/grantId", "grant_work-2");
        with(named, "/projection/grantVersion", 2)
    };
    publish(&mut story, "builder", second(1), None).rules(&["SM-1"]).ok(json!({"summaryVersion": 1}));
    story.grant(showing("coordination", 3));
    publish(&mut story, "builder", second(2), Some(1)).refused("grant-not-active", "SM-1");
    let third = |version: u32| {
        let named = with(summary("coordination", version), "/projection/grantId", "grant_work-3");
        with(named, "/projection/grantVersion", 3)
    };
    publish(&mut story, "builder", third(2), Some(1)).rules(&["SM-1"]).ok(json!({"summaryVersion": 2}));
    let revoke = json!({"grantId": "grant_work-3", "expectedGrantVersion": 3});
    story.call("guard", "relationships.revoke", revoke).ok(json!({"replay": false}));
    publish(&mut story, "builder", third(3), Some(2)).refused("grant-not-active", "SM-1");
    let decision = json!({"decisionId": "decision_work-1", "requiresConsent": true});
    story
        .call("guard", "relationships.grant", json!({"grant": showing("coordination", 4), "decision": decision}))
        .ok(json!({}));
    let fourth = with(summary("coordination", 3), "/projection/grantId", "grant_work-4");
    let fourth = with(fourth, "/projection/grantVersion", 4);
    publish(&mut story, "builder", fourth.clone(), Some(2)).refused("grant-not-active", "SM-1");
    let consent = json!({"grantId": "grant_work-4", "expectedGrantVersion": 4, "consent": true});
    story.call("builder", "relationships.consent", consent).ok(json!({"consent": true}));
    publish(&mut story, "builder", fourth, Some(2)).rules(&["SM-1"]).ok(json!({"summaryVersion": 3}));
    story
}

/// Rule SM-2: neither more nor less than the grant shows.
fn as_the_grant_shows() -> Story {
    let mut story = Story::tasks("a summary shows what the grant shows");
    let visibilities = ["none", "state-only", "coordination", "objective-hint"];
    for (version, shown) in visibilities.into_iter().enumerate() {
        let version = u32::try_from(version).expect("few") + 1;
        story.grant(showing(shown, version));
        for projection in ["state-only", "coordination", "objective-hint"] {
            let named = with(summary(projection, version), "/projection/grantId", format!("grant_work-{version}"));
            let named = with(named, "/projection/grantVersion", version);
            let previous = (version > 2).then(|| version - 1);
            let step = publish(&mut story, "builder", named, previous);
            match shown == projection {
                true => step.rules(&["SM-2"]).ok(json!({"summaryVersion": version})),
                false => step.refused("summary-projection-denied", "SM-2"),
            };
        }
    }
    story
}

/// Rules SM-4 to SM-6: one version after the other, and none of tomorrow.
fn versions() -> Story {
    let mut story = granted("versions of a summary grow", "coordination");
    let (conflict, order) = (Some(("revision-conflict", "SM-4")), Some(("summary-version-order", "SM-5")));
    for (version, previous, refusal) in [
        (3, Some(2), conflict),
        (3, None, None),
        (4, None, conflict),
        (4, Some(2), conflict),
        (3, Some(3), order),
        (2, Some(3), order),
        (4, Some(3), None),
        (5, Some(3), conflict),
    ] {
        let step = publish(&mut story, "builder", summary("coordination", version), previous);
        match refusal {
            Some((code, rule)) => step.refused(code, rule),
            None => step.rules(&["SM-4", "SM-5"]).ok(json!({"summaryVersion": version})),
        };
    }
    let dated = |offset: i64| with(summary("coordination", 5), "/updatedAt", time(offset));
    publish(&mut story, "builder", dated(5_001), Some(4)).refused("task-summary-invalid", "SM-6");
    publish(&mut story, "builder", dated(DAY), Some(4)).refused("task-summary-invalid", "SM-6");
    publish(&mut story, "builder", dated(5_000), Some(4)).rules(&["SM-6"]).ok(json!({"summaryVersion": 5}));
    story
}

/// Rule SM-3: summary ids belong to the owner (weaknesses A9).
fn names() -> Story {
    let mut story = granted("a summary id belongs to its owner", "coordination");
    story.register("bob", task_input("tester", "inc_tester-0001"));
    story.principal(
        "tester",
        json!({"kind": "task", "id": "tester", "incarnation": "inc_tester-0001", "owner": "user:bob"}),
    );
    let back = with(with(showing("coordination", 1), "/source", builder()), "/target", writer());
    story.grant(with(with(back, "/relationshipId", "rel_back"), "/grantId", "grant_back-1"));
    let tested = with(showing("coordination", 1), "/target", task_ref("tester", "inc_tester-0001"));
    story.grant(with(tested, "/grantId", "grant_test-1"));
    publish(&mut story, "builder", summary("coordination", 1), None).rules(&["SM-3"]).ok(json!({"summaryVersion": 1}));
    let other = with(summary("coordination", 2), "/summaryId", "sum_builder-2");
    publish(&mut story, "builder", other, Some(1)).refused("idempotency-conflict", "SM-3");
    let tester = with(summary("coordination", 1), "/task", task_ref("tester", "inc_tester-0001"));
    let tester = with(tester, "/projection/grantId", "grant_test-1");
    publish(&mut story, "tester", tester.clone(), None).refused("idempotency-conflict", "SM-3");
    let tester = with(tester, "/summaryId", "sum_tester-1");
    publish(&mut story, "tester", tester, None).rules(&["SM-3"]).ok(json!({"summaryId": "sum_tester-1"}));
    // Alice may use Bob's name.
    let writers = with(summary("coordination", 1), "/task", writer());
    let writers = with(writers, "/projection/grantId", "grant_back-1");
    let writers = with(writers, "/projection/relationshipId", "rel_back");
    let writers = with(writers, "/audience/relationshipIds", json!(["rel_back"]));
    publish(&mut story, "writer", writers, None).rules(&["SM-3"]).ok(json!({"summaryId": "sum_builder-1"}));
    let seen = json!({"task": writer(), "audience": {"relationshipIds": ["rel_back"]}});
    story.call("builder", GET, with(get(writer()), "/relationshipId", "rel_back")).ok(seen);
    story
}

/// What was readable is hidden once the grant ends, is revoked, is superseded or is no longer consented to.
fn hidden_again() -> Story {
    let mut story = Story::tasks("a summary is hidden once its grant does not stand");
    story.grant(with(showing("coordination", 1), "/expiresAt", time(DAY)));
    publish(&mut story, "builder", summary("coordination", 1), None).ok(json!({"summaryVersion": 1}));
    story.call("writer", GET, get(builder())).at(DAY - 1).ok(json!({"summaryVersion": 1}));
    story.call("writer", GET, get(builder())).at(DAY).named("unseen").error("not-visible");
    story.call("bob", GET, get(builder())).ok(json!({"summaryVersion": 1}));
    // A newer version shows nothing that was published under the older one, even if it shows as much.
    story.grant(without(showing("coordination", 2), "/expiresAt"));
    story.call("writer", GET, get(builder())).error("not-visible").same_as("unseen");
    let second = with(summary("coordination", 2), "/projection/grantId", "grant_work-2");
    let second = with(second, "/projection/grantVersion", 2);
    publish(&mut story, "builder", second, Some(1)).ok(json!({"summaryVersion": 2}));
    story.call("writer", GET, get(builder())).ok(json!({"summaryVersion": 2}));
    let revoke = json!({"grantId": "grant_work-2", "expectedGrantVersion": 2});
    story.call("guard", "relationships.revoke", revoke).ok(json!({"replay": false}));
    story.call("writer", GET, get(builder())).error("not-visible").same_as("unseen");
    let decision = json!({"decisionId": "decision_work-1", "requiresConsent": true});
    story
        .call("guard", "relationships.grant", json!({"grant": showing("coordination", 3), "decision": decision}))
        .ok(json!({}));
    let consent = |consent: bool| json!({"grantId": "grant_work-3", "expectedGrantVersion": 3, "consent": consent});
    story.call("bob", "relationships.consent", consent(true)).ok(json!({}));
    let third = with(summary("coordination", 3), "/projection/grantId", "grant_work-3");
    let third = with(third, "/projection/grantVersion", 3);
    publish(&mut story, "builder", third, Some(2)).ok(json!({"summaryVersion": 3}));
    story.call("writer", GET, get(builder())).ok(json!({"summaryVersion": 3}));
    story.call("bob", "relationships.consent", consent(false)).ok(json!({}));
    story.call("writer", GET, get(builder())).error("not-visible").same_as("unseen");
    story.call("builder", GET, get(builder())).ok(json!({"summaryVersion": 3}));
    story
}

/// A replay passes today's authorisation, and answers with what stands there now.
fn replayed() -> Story {
    let mut story = granted("a summary is published once", "coordination");
    let keyed = json!({
        "summary": summary("coordination", 1), "expectedPreviousVersion": null, "idempotencyKey": "idem_publish-1",
    });
    story.call("builder", PUBLISH, keyed.clone()).ok(summary("coordination", 1));
    story.call("builder", PUBLISH, keyed.clone()).at(MINUTE).replayed(summary("coordination", 1));
    let other = with(keyed.clone(), "/summary/state", "idle");
    story.call("builder", PUBLISH, other).refused("idempotency-conflict", "OP-6");
    publish(&mut story, "builder", summary("coordination", 2), Some(1)).ok(summary("coordination", 2));
    story.call("builder", PUBLISH, keyed.clone()).replayed(summary("coordination", 2));
    rotate(&mut story, "bob", builder(), bound("builder", "inc_builder-0002"));
    story.call("builder", PUBLISH, keyed).refused("task-retired", "OP-4");
    story
}

/// Rule OP-4: both ends are live (behaviour 150).
fn ends() -> Story {
    let mut story = granted("a summary is between two live tasks", "coordination");
    publish(&mut story, "builder", summary("coordination", 1), None).ok(json!({"summaryVersion": 1}));
    rotate(&mut story, "bob", builder(), bound("builder", "inc_builder-0002"));
    story.call("writer", GET, get(builder())).refused("task-retired", "OP-4");
    story.call("builder", GET, get(builder())).refused("task-retired", "OP-4");
    publish(&mut story, "bob", summary("coordination", 2), Some(1)).refused("task-retired", "OP-4");
    story.call("bob", GET, get(builder())).rules(&["OP-4"]).ok(json!({"summaryVersion": 1}));
    let next = task_ref("builder", "inc_builder-0002");
    story.call("writer", GET, get(next.clone())).error("not-visible");
    let draft = with(with(showing("coordination", 1), "/target", next.clone()), "/grantId", "grant_next-1");
    story.grant(draft);
    let named = with(with(summary("coordination", 1), "/task", next.clone()), "/projection/grantId", "grant_next-1");
    let named = with(named, "/summaryId", "sum_builder-2");
    rotate(&mut story, "alice", writer(), task_input("writer", "inc_writer-0002"));
    publish(&mut story, "bob", named, None).refused("task-retired", "OP-4");
    story.call("writer", GET, get(next)).refused("task-retired", "OP-4");
    story.call("bob", "tasks.get", json!({"task": task_ref("builder", BUILDER)})).ok(json!({"state": "archived"}));
    story.call("alice", "tasks.get", json!({"task": task_ref("writer", WRITER)})).ok(json!({"state": "archived"}));
    story
}
