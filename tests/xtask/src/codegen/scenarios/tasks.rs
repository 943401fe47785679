//! Scenarios of what is registered, granted and declared, and of the views on it: tasks, relationships, adapters, audit.

use super::cast::{
    BUILDER, DAY, MINUTE, WRITER, adapter_ref, bound, builder, envelope, grant, message, profile, received, task_input,
    task_ref, with, without, writer,
};
use super::story::{Story, absent, not, var};
use super::time;
use serde_json::{Value, json};

pub(super) fn stories() -> Vec<Story> {
    vec![
        registration(),
        control_plane(),
        names(),
        same_messages(),
        one_live(),
        references(),
        who_changes(),
        runtime(),
        rotation(),
        rotation_of_others(),
        consent_carries_over(),
        grants(),
        grant_scope(),
        grant_identity(),
        grant_versions(),
        grant_documents(),
        revocation(),
        revocation_relabels(),
        profiles(),
    ]
}

/// A registration, and the same again.
fn registration() -> Story {
    let mut story = Story::new("a task is registered");
    let input = with(with(bound("builder", BUILDER), "/agentId", "agent-7"), "/role", "release");
    let shown = json!({
        "taskId": "builder", "incarnationId": BUILDER, "harness": "codex", "state": "idle", "agentId": "agent-7",
        "role": "release", "adapterRef": adapter_ref(), "revision": 0, "retiredAt": absent(),
        "runtime": {"runId": "run-1", "objectiveVersion": 4, "checkpoint": "half-way"}, "consent": {"mute": false},
    });
    story.register("bob", input.clone()).rules(&["OP-3", "TK-1", "TK-2", "TK-3", "TK-4"]).ok(with(
        shown.clone(),
        "/replay",
        false,
    ));
    story.register("bob", input.clone()).rules(&["TK-2", "TK-3"]).ok(with(shown.clone(), "/replay", true));
    story.register("bob", with(input.clone(), "/state", "idle")).rules(&["TK-3"]).ok(json!({"replay": true}));
    for (pointer, value) in [
        ("/harness", json!("gemini")),
        ("/state", json!("running")),
        ("/role", json!("review")),
        ("/runtime/objectiveVersion", json!(5)),
        ("/adapterRef/session", json!("session-2")),
    ] {
        story.register("bob", with(input.clone(), pointer, value)).refused("idempotency-conflict", "TK-3");
    }
    for caller in ["bob", "builder", "guard", "ops"] {
        story.call(caller, "tasks.get", json!({"task": builder()})).ok(shown.clone());
    }
    let later = json!({"task": builder(), "runtime": {"runId": "run-2"}, "expectedRevision": 0});
    story
        .call("builder", "tasks.updateRuntime", later)
        .ok(json!({"revision": 1, "runtime": {"runId": "run-2", "objectiveVersion": 4}}));
    story
        .register("bob", input)
        .rules(&["TK-3"])
        .ok(json!({"replay": true, "revision": 1, "runtime": {"runId": "run-2"}}));
    story
}

/// Rule OP-3: tasks and grants are made by users and policies.
fn control_plane() -> Story {
    let mut story = Story::granted("tasks and grants are made by users and policies", "peer");
    let required = "control-plane-required";
    for caller in ["writer", "ops", "host"] {
        story
            .call(caller, "tasks.register", json!({"task": task_input("editor", "inc_editor-0001")}))
            .refused(required, "OP-3");
        let params = json!({"grant": grant("peer", 2), "decision": {"decisionId": "decision_work-2"}});
        story.call(caller, "relationships.grant", params).refused(required, "OP-3");
        let revoke = json!({"grantId": "grant_work-1", "expectedGrantVersion": 1});
        story.call(caller, "relationships.revoke", revoke).refused(required, "OP-3");
        story.call(caller, "maintenance.expireDue", json!({})).refused(required, "OP-3");
        let next =
            json!({"previous": writer(), "next": task_input("writer", "inc_writer-0002"), "expectedRevision": 0});
        story.call(caller, "tasks.rotateIncarnation", next).refused(required, "OP-3");
    }
    story.register("guard", task_input("editor", "inc_editor-0001")).rules(&["OP-3"]).ok(json!({"replay": false}));
    story
}

/// Rule TK-2: an incarnation id stands for one task of its owner; other owners have names of their own (weaknesses A9).
fn names() -> Story {
    let mut story = Story::new("names belong to their owners");
    story.register("alice", task_input("writer", WRITER)).rules(&["TK-2", "TK-4"]).ok(json!({"replay": false}));
    story.register("alice", task_input("editor", WRITER)).refused("incarnation-conflict", "TK-2");
    story.register("alice", task_input("Writer", WRITER)).refused("incarnation-conflict", "TK-2");
    story.register("bob", task_input("writer", WRITER)).rules(&["TK-2", "TK-4"]).ok(json!({"replay": false}));
    story.register("guard", task_input("writer", WRITER)).rules(&["TK-2", "TK-4"]).ok(json!({"replay": false}));
    let update = |run: &str| json!({"task": writer(), "runtime": {"runId": run}, "expectedRevision": 0});
    story
        .call("alice", "tasks.updateRuntime", update("run-a"))
        .ok(json!({"revision": 1, "runtime": {"runId": "run-a"}}));
    story.call("bob", "tasks.get", json!({"task": writer()})).ok(json!({"revision": 0, "runtime": {"runId": "run-1"}}));
    story.call("writer", "tasks.get", json!({"task": writer()})).ok(json!({"revision": 1}));
    // The operator's reference is ambiguous: it names three tasks.
    story.call("ops", "tasks.get", json!({"task": writer()})).error("not-visible");
    story.call("guard", "tasks.get", json!({"task": writer()})).ok(json!({"revision": 0}));
    story
}

/// Somebody who uses the ids of others for tasks and messages of her own is not taken for them: whoever sees the messages
/// of all owners means neither, and the ends and their owners mean their own.
fn same_messages() -> Story {
    let mut story = Story::granted("the messages of two owners under the same ids", "peer");
    let number = story.sent("suggest", 0);
    let offices = ["ops", "guard"];
    let looks = ["messages.getDisposition", "audit.list", "inspector.snapshot"];
    for caller in offices {
        story.call(caller, looks[0], message(number)).ok(received(0, "pending", ""));
    }
    story.register("carol", task_input("writer", WRITER));
    story.register("carol", task_input("builder", BUILDER));
    let sender = with(with(envelope(number, "suggest", 0), "/sender/actorType", "user"), "/sender/actorId", "carol");
    story.call("carol", "messages.send", json!({"envelope": sender})).ok(json!({"replay": false}));
    for caller in offices {
        for look in looks {
            story.call(caller, look, message(number)).error("not-visible");
        }
    }
    story.respond(number, 0, "accepted").ok(received(1, "accepted", "accepted"));
    for caller in ["alice", "bob", "writer", "builder"] {
        story.call(caller, looks[0], message(number)).ok(received(1, "accepted", "accepted"));
    }
    story.call("carol", looks[0], message(number)).ok(received(0, "pending", ""));
    story
}

/// Rule TK-4: a task has one live incarnation.
fn one_live() -> Story {
    let mut story = Story::new("a task has one live incarnation");
    story.register("bob", task_input("builder", BUILDER));
    let next = task_input("builder", "inc_builder-0002");
    story.register("bob", next.clone()).refused("task-live", "TK-4");
    let rotate = json!({"previous": builder(), "next": next, "expectedRevision": 0});
    story.call("bob", "tasks.rotateIncarnation", rotate).ok(json!({}));
    story.register("bob", task_input("builder", "inc_builder-0003")).refused("task-live", "TK-4");
    story
        .register("bob", task_input("builder", BUILDER))
        .rules(&["TK-3"])
        .ok(json!({"replay": true, "retiredAt": time(0)}));
    story.register("bob", task_input("builder-2", "inc_builder-0003")).rules(&["TK-4"]).ok(json!({"replay": false}));
    story
}

/// Rule TK-1: an adapter reference names a profile and a session; never a command, a path, an address or a credential.
fn references() -> Story {
    let mut story = Story::new("an adapter reference names a profile and a session");
    for reference in [
        json!({"session": "session-1"}),
        json!({"kind": ""}),
        json!({"kind": "loop", "command": "/bin/sh"}),
        json!({"kind": "loop", "url": "http://localhost/"}),
        json!({"kind": "loop", "env": {"PATH": "/tmp"}}),
        json!({"kind": "loop", "session": {"id": "session-1"}}),
        json!({"kind": "loop", "session": ""}),
        json!({"kind": 1}),
    ] {
        let input = with(task_input("builder", BUILDER), "/adapterRef", reference.clone());
        story.call("bob", "tasks.register", json!({"task": input})).refused("params-invalid", "TK-1");
        let attach = json!({"task": builder(), "adapterRef": reference, "expectedRevision": 0});
        story.call("bob", "tasks.attach", attach).refused("params-invalid", "TK-1");
    }
    story.register("bob", bound("builder", BUILDER)).rules(&["TK-1"]).ok(json!({"adapterRef": adapter_ref()}));
    let attach = json!({"task": builder(), "adapterRef": {"kind": "other"}, "expectedRevision": 0});
    story
        .call("bob", "tasks.attach", attach)
        .rules(&["TK-1", "TK-5"])
        .ok(json!({"revision": 1, "adapterRef": {"kind": "other"}}));
    story
}

/// Rules TK-5 and OP-7: a task is changed by itself, its owner or a policy, at the revision that it has.
fn who_changes() -> Story {
    let mut story = Story::tasks("a task is changed by itself, its owner or a policy");
    let changes = |revision: u32| {
        [
            ("tasks.attach", json!({"task": builder(), "adapterRef": adapter_ref(), "expectedRevision": revision})),
            (
                "tasks.updateRuntime",
                json!({"task": builder(), "runtime": {"runId": "run-2"}, "expectedRevision": revision}),
            ),
            ("tasks.setConsent", json!({"task": builder(), "consent": {"mute": false}, "expectedRevision": revision})),
        ]
    };
    let mut revision = 0;
    for caller in ["builder", "bob", "guard"] {
        for index in 0..3 {
            let (method, params) = changes(revision)[index].clone();
            story.call(caller, method, params.clone()).rules(&["OP-7", "TK-5"]).ok(json!({"revision": revision + 1}));
            story.call(caller, method, params).refused("revision-conflict", "OP-7");
            revision += 1;
        }
    }
    for (method, params) in changes(revision) {
        for caller in ["ops", "host"] {
            story.call(caller, method, params.clone()).refused("control-plane-required", "TK-5");
        }
        for caller in ["writer", "alice", "stranger", "builder-next"] {
            story.call(caller, method, params.clone()).error("not-visible");
        }
    }
    story.call("bob", "tasks.get", json!({"task": builder()})).ok(json!({"revision": 9}));
    story
}

/// Rule TK-6: the objective never goes down, and what is not named stays (weaknesses B7).
fn runtime() -> Story {
    let mut story = Story::tasks("the objective never goes down");
    let update =
        |revision: u32, runtime: Value| json!({"task": builder(), "runtime": runtime, "expectedRevision": revision});
    let regress = "runtime-regression";
    story.call("builder", "tasks.updateRuntime", update(0, json!({"objectiveVersion": 3}))).refused(regress, "TK-6");
    story
        .call("bob", "tasks.updateRuntime", update(0, json!({"objectiveVersion": 0, "runId": "run-2"})))
        .refused(regress, "TK-6");
    story.call("guard", "tasks.updateRuntime", update(0, json!({"objectiveVersion": 3}))).refused(regress, "TK-6");
    let run = json!({"revision": 1, "runtime": {"runId": "run-2", "objectiveVersion": 4, "checkpoint": "half-way"}});
    story.call("builder", "tasks.updateRuntime", update(0, json!({"runId": "run-2"}))).rules(&["TK-6"]).ok(run);
    story
        .call("builder", "tasks.updateRuntime", update(1, json!({"objectiveVersion": 4})))
        .rules(&["TK-6"])
        .ok(json!({"revision": 2}));
    story
        .call("builder", "tasks.updateRuntime", update(2, json!({"objectiveVersion": 9})))
        .rules(&["TK-6"])
        .ok(json!({"revision": 3}));
    story.call("builder", "tasks.updateRuntime", update(3, json!({"objectiveVersion": 8}))).refused(regress, "TK-6");
    story.call("builder", "tasks.updateRuntime", update(3, json!({}))).error_at("params-invalid", "/runtime");
    story
}

/// Rules TK-7 and OP-4: one incarnation ends, the next begins; the old one acts no more (weaknesses B16).
fn rotation() -> Story {
    let mut story = Story::granted("one incarnation ends, the next begins", "peer");
    let number = story.sent("suggest", 0);
    let rotate =
        |next: Value, revision: u32| json!({"previous": builder(), "next": next, "expectedRevision": revision});
    let next = task_input("builder", "inc_builder-0002");
    let operation = "tasks.rotateIncarnation";
    story
        .call("bob", operation, rotate(task_input("other", "inc_builder-0002"), 0))
        .refused("task-rotation-mismatch", "TK-7");
    story.call("bob", operation, rotate(next.clone(), 1)).refused("revision-conflict", "OP-7");
    story.call("bob", operation, rotate(task_input("builder", BUILDER), 0)).refused("incarnation-conflict", "TK-2");
    let done = json!({
        "previous": {"taskId": "builder", "incarnationId": BUILDER, "revision": 1, "retiredAt": time(MINUTE)},
        "current": {"taskId": "builder", "incarnationId": "inc_builder-0002", "revision": 0, "adapterRef": null},
    });
    let keyed = with(rotate(next.clone(), 0), "/idempotencyKey", "idem_rotate-1");
    story.call("bob", operation, keyed.clone()).at(MINUTE).rules(&["OP-4", "TK-2", "TK-7"]).ok(done.clone());
    story.call("bob", operation, keyed).replayed(done);
    story.call("bob", operation, rotate(next, 1)).refused("task-retired", "OP-4");
    story.seen(number, received(1, "stale", "stale-incarnation"));
    let retired = "task-retired";
    story.call("builder", "tasks.get", json!({"task": builder()})).refused(retired, "OP-4");
    story.call("builder", "tasks.wait", json!({"task": builder(), "timeoutMs": 0})).refused(retired, "OP-4");
    story.call("builder", "messages.getDisposition", message(number)).refused(retired, "OP-4");
    story.call("builder", "audit.list", message(number)).refused(retired, "OP-4");
    story.claim("builder", number, 1).refused(retired, "OP-4");
    let update = json!({"task": builder(), "runtime": {"runId": "run-2"}, "expectedRevision": 1});
    story.call("builder", "tasks.updateRuntime", update.clone()).refused(retired, "OP-4");
    story.call("bob", "tasks.updateRuntime", update).refused(retired, "OP-4");
    let attach = json!({"task": builder(), "adapterRef": adapter_ref(), "expectedRevision": 1});
    story.call("bob", "tasks.attach", attach).refused(retired, "OP-4");
    let consent = json!({"task": builder(), "consent": {"mute": true}, "expectedRevision": 1});
    story.call("bob", "tasks.setConsent", consent).refused(retired, "OP-4");
    let fail = with(super::cast::message_at(number, 1), "/failureReason", "Retired.");
    story.call("builder", "messages.failDelivery", fail).refused(retired, "OP-4");
    let again = json!({"grant": grant("peer", 2), "decision": {"decisionId": "decision_work-2"}});
    story.call("guard", "relationships.grant", again).refused(retired, "OP-4");
    story
        .call("bob", "tasks.get", json!({"task": builder()}))
        .rules(&["OP-4"])
        .ok(json!({"state": "archived", "retiredAt": time(MINUTE)}));
    story
        .call("builder-next", "tasks.get", json!({"task": task_ref("builder", "inc_builder-0002")}))
        .rules(&["OP-4"])
        .ok(json!({"state": "idle"}));
    story
}

/// Only the owner or a policy rotates, and nobody rotates what is not its own.
fn rotation_of_others() -> Story {
    let mut story = Story::tasks("nobody rotates what is not its own");
    let rotate =
        json!({"previous": builder(), "next": task_input("builder", "inc_builder-0002"), "expectedRevision": 0});
    for caller in ["alice", "carol"] {
        story.call(caller, "tasks.rotateIncarnation", rotate.clone()).error("not-visible");
    }
    let done = json!({"current": {"taskId": "builder", "incarnationId": "inc_builder-0002"}});
    story.call("guard", "tasks.rotateIncarnation", rotate).rules(&["OP-3", "TK-7"]).ok(done);
    // It is still Bob's.
    story.call("bob", "tasks.get", json!({"task": task_ref("builder", "inc_builder-0002")})).ok(json!({"revision": 0}));
    story
        .call("guard", "tasks.register", json!({"task": task_input("builder", "inc_builder-0002")}))
        .ok(json!({"replay": false}));
    story
}

/// What a task consented to holds for its next incarnation; its grants do not.
fn consent_carries_over() -> Story {
    let mut story = Story::granted("consent goes on to the next incarnation", "peer");
    let quiet =
        json!({"task": builder(), "consent": {"mute": true, "doNotDisturbUntil": time(DAY)}, "expectedRevision": 0});
    story.call("bob", "tasks.setConsent", quiet).ok(json!({"consent": {"mute": true, "doNotDisturbUntil": time(DAY)}}));
    let rotate =
        json!({"previous": builder(), "next": task_input("builder", "inc_builder-0002"), "expectedRevision": 1});
    let current = json!({"consent": {"mute": true, "doNotDisturbUntil": time(DAY)}});
    story.call("bob", "tasks.rotateIncarnation", rotate).ok(json!({"current": current}));
    let next = task_ref("builder", "inc_builder-0002");
    let aimed = with(envelope(1, "suggest", 0), "/target", next.clone());
    story.send(aimed.clone()).rules(&["PO-2"]).error("policy-denied");
    story.grant(with(grant("peer", 2), "/target", next.clone()));
    story.send(aimed.clone()).refused("consent-denied", "CN-1");
    let open = json!({"task": next, "consent": {"mute": false, "doNotDisturbUntil": null}, "expectedRevision": 0});
    story
        .call("builder-next", "tasks.setConsent", open)
        .ok(json!({"consent": {"mute": false, "doNotDisturbUntil": absent()}}));
    story.send(aimed).rules(&["CN-1"]).ok(json!({"replay": false}));
    story
}

/// A grant is stamped by the server: who, when, under what authority, and a digest.
fn grants() -> Story {
    let mut story = Story::tasks("a grant is stamped by the server");
    let params = json!({"grant": with(grant("peer", 1), "/createdAt", time(-DAY)), "decision": {"decisionId": "decision_work-1"}});
    let stamped = json!({
        "grantId": "grant_work-1", "createdAt": time(MINUTE), "expiresAt": time(90 * DAY), "revokedAt": absent(),
        "grantedBy": {"actorType": "policy", "actorId": "guard"},
        "authorization": {
            "authority": "policy", "authenticationId": "authn_guard-session", "decisionId": "decision_work-1",
            "decidedAt": time(MINUTE), "principal": {"actorType": "policy", "actorId": "guard"},
            "integrity": {"algorithm": "sha-256", "digest": not(json!(""))}, "proposalId": absent(),
        },
    });
    let keyed = with(params, "/idempotencyKey", "idem_grant-1");
    story
        .call("guard", "relationships.grant", keyed.clone())
        .at(MINUTE)
        .keep("digest", "/authorization/integrity/digest")
        .rules(&["GA-1", "GA-2", "GA-3", "GA-4"])
        .ok(stamped.clone());
    let same = with(stamped, "/authorization/integrity/digest", var("digest"));
    story.call("guard", "relationships.grant", keyed).at(DAY).replayed(same);
    let proposed = json!({"grant": grant("peer", 2), "decision": {"decisionId": "decision_work-1", "proposalId": "proposal_work-1"}});
    story.call("guard", "relationships.grant", proposed).error("not-visible");
    let forged = with(grant("peer", 2), "/grantedBy", json!({"actorType": "user", "actorId": "bob"}));
    let params = json!({"grant": forged, "decision": {"decisionId": "decision_work-1"}});
    story.call("guard", "relationships.grant", params).error_at("params-invalid", "/grant/grantedBy");
    story
}

/// Rule GA-1: a user grants between its own tasks; ends that are not there look like ends of others.
fn grant_scope() -> Story {
    let mut story = Story::tasks("a user grants between its own tasks");
    story.register("alice", task_input("editor", "inc_editor-0001"));
    let by = |draft: Value| json!({"grant": draft, "decision": {"decisionId": "decision_work-1"}});
    let denied = "grant-scope-denied";
    story.call("alice", "relationships.grant", by(grant("peer", 1))).named("denied").refused(denied, "GA-1");
    let unknown = with(grant("peer", 1), "/target", task_ref("nobody", "inc_nobody-0001"));
    story.call("alice", "relationships.grant", by(unknown.clone())).refused(denied, "GA-1").same_as("denied");
    story.call("bob", "relationships.grant", by(grant("peer", 1))).refused(denied, "GA-1").same_as("denied");
    story.call("carol", "relationships.grant", by(grant("peer", 1))).refused(denied, "GA-1").same_as("denied");
    story.call("guard", "relationships.grant", by(unknown)).refused(denied, "GA-1").same_as("denied");
    let own = with(grant("peer", 1), "/target", task_ref("editor", "inc_editor-0001"));
    let owned =
        json!({"authorization": {"authority": "owner"}, "grantedBy": {"actorType": "user", "actorId": "alice"}});
    story.call("alice", "relationships.grant", by(own)).rules(&["GA-1"]).ok(owned);
    story.register("carol", task_input("writer", WRITER));
    story.call("guard", "relationships.grant", by(grant("peer", 2))).refused(denied, "GA-1");
    story
}

/// Rule GA-2: a grant id of an issuer stands for one draft.
fn grant_identity() -> Story {
    let mut story = Story::tasks("a grant id stands for one draft");
    story.grant(grant("peer", 1)).rules(&["GA-2"]);
    story.grant(with(grant("peer", 1), "/createdAt", time(5))).rules(&["GA-2"]).ok(json!({"createdAt": time(0)}));
    let by = |draft: Value| json!({"grant": draft, "decision": {"decisionId": "decision_work-1"}});
    for (pointer, value) in [
        ("/allowedIntents", json!(["notify"])),
        ("/relationshipType", json!("child")),
        ("/grantVersion", json!(2)),
        ("/summaryVisibility", json!("coordination")),
        ("/expiresAt", json!(time(DAY))),
    ] {
        story
            .call("guard", "relationships.grant", by(with(grant("peer", 1), pointer, value)))
            .refused("idempotency-conflict", "GA-2");
    }
    let other = json!({"kind": "policy", "id": "auditor"});
    story.principal("auditor", other);
    let mine = with(grant("peer", 1), "/relationshipId", "rel_audit");
    story
        .call("auditor", "relationships.grant", by(mine))
        .rules(&["GA-2"])
        .ok(json!({"grantedBy": {"actorId": "auditor"}}));
    story
}

/// Rule GA-3: versions grow, and an old one never comes back (weaknesses B12).
fn grant_versions() -> Story {
    let mut story = Story::tasks("versions of a grant grow");
    let by = |draft: Value| json!({"grant": draft, "decision": {"decisionId": "decision_work-1"}});
    story.grant(grant("peer", 5)).rules(&["GA-3"]);
    for version in [0, 1, 4] {
        story.call("guard", "relationships.grant", by(grant("peer", version))).refused("grant-version-order", "GA-3");
    }
    let same = with(grant("peer", 5), "/grantId", "grant_other-5");
    story.call("guard", "relationships.grant", by(same)).refused("grant-version-order", "GA-3");
    story.grant(grant("supervisor", 6)).rules(&["GA-3"]);
    story.send(envelope(1, "steer", 0)).rules(&["PO-9"]).ok(json!({"replay": false}));
    story.grant(grant("peer", 7)).rules(&["GA-3"]);
    story.send(envelope(2, "steer", 0)).refused("policy-denied", "PO-9");
    story.grant(with(grant("peer", 1), "/relationshipId", "rel_other")).rules(&["GA-3"]);
    story
}

/// Rule GA-4 and the rules of the grant document: what could not be a grant is not granted.
fn grant_documents() -> Story {
    let mut story = Story::tasks("what could not be a grant is not granted");
    let by = |draft: Value| json!({"grant": draft, "decision": {"decisionId": "decision_work-1"}});
    let invalid = "grant-invalid";
    for (pointer, value) in [
        ("/allowedIntents", json!(["notify", "suggest", "steer"])),
        ("/allowedDeliveryModes", json!(["checkpoint-offer"])),
        ("/expiresAt", json!(time(0))),
        ("/expiresAt", json!(time(-DAY))),
        ("/target", writer()),
    ] {
        story.call("guard", "relationships.grant", by(with(grant("peer", 1), pointer, value))).error(invalid);
    }
    story
        .call("guard", "relationships.grant", by(with(grant("peer", 1), "/expiresAt", time(366 * DAY + 1))))
        .refused(invalid, "GA-4");
    story
        .call("guard", "relationships.grant", by(with(grant("peer", 1), "/expiresAt", "9999-12-31T23:59:59Z")))
        .refused(invalid, "GA-4");
    let gates = with(grant("peer", 1), "/structuredGateResponses", true);
    story.call("guard", "relationships.grant", by(gates)).error_at("params-invalid", "/grant/structuredGateResponses");
    story.grant(with(grant("peer", 1), "/expiresAt", time(366 * DAY))).rules(&["GA-4"]);
    story.grant(without(grant("peer", 2), "/expiresAt")).rules(&["GA-4"]).ok(json!({"expiresAt": absent()}));
    story
}

/// Rules GA-6 and OP-7: who may revoke, and which version.
fn revocation() -> Story {
    let mut story = Story::granted("who may revoke", "peer");
    let revoke = |version: u32| json!({"grantId": "grant_work-1", "expectedGrantVersion": version});
    let operation = "relationships.revoke";
    story.call("carol", operation, revoke(1)).error("not-visible").named("unseen");
    story.call("bob", operation, with(revoke(1), "/grantId", "grant_nobody-1")).error("not-visible").same_as("unseen");
    story.call("alice", operation, revoke(1)).refused("grant-revoke-denied", "GA-6");
    story.call("bob", operation, revoke(0)).refused("revision-conflict", "OP-7");
    story.call("bob", operation, revoke(2)).refused("revision-conflict", "OP-7");
    let revoked = json!({"grantId": "grant_work-1", "grantVersion": 1, "revokedAt": time(MINUTE), "invalidatedMessages": 0, "remaining": false, "replay": false});
    story.call("bob", operation, revoke(1)).at(MINUTE).rules(&["GA-6", "OP-7"]).ok(revoked.clone());
    let again = with(revoked, "/replay", true);
    story.call("guard", operation, revoke(1)).at(DAY).rules(&["GA-6"]).ok(again.clone());
    story.call("bob", operation, revoke(1)).ok(again);
    story
}

/// A revocation relabels what is urgent and undecided or accepted at once, and says how much; advice is only hidden.
fn revocation_relabels() -> Story {
    let mut story = Story::adapted("a revocation relabels what is urgent", "supervisor");
    let advice = story.sent("suggest", 0);
    let (pending, deferred, accepted) =
        (story.sent("steer", 0), story.sent("interrupt", 0), story.accepted("steer", 0));
    story.respond(deferred, 0, "deferred").ok(json!({}));
    story.prepare(accepted, 1).keep("submission", "/submission/submissionId").ok(json!({"replay": false}));
    let rejected = story.sent("steer", 0);
    story.respond(rejected, 0, "rejected").ok(json!({}));
    let unknown = story.accepted("interrupt", 0);
    story.prepare(unknown, 1).keep("unknown", "/submission/submissionId").ok(json!({"replay": false}));
    let begin = json!({"submissionId": var("unknown"), "expectedRevision": 1});
    story.call("builder", "adapter.beginSubmission", begin).ok(json!({"replay": false}));
    let revoke = json!({"grantId": "grant_work-1", "expectedGrantVersion": 1});
    story
        .call("guard", "relationships.revoke", revoke)
        .ok(json!({"invalidatedMessages": 3, "remaining": false, "replay": false}));
    story.seen(advice, received(0, "pending", ""));
    story.seen(pending, received(1, "revoked", "revoked"));
    story.seen(deferred, received(2, "revoked", "revoked"));
    story.seen(accepted, received(2, "revoked", "revoked"));
    story.seen(rejected, received(1, "rejected", "receiver-rejected"));
    story.seen(unknown, received(1, "accepted", "accepted"));
    story.begin(1).error("policy-denied").rules(&["PO-3"]).effects(json!([]));
    let types: Vec<Value> =
        ["message-durably-received", "receiver-decided", "adapter-submission-prepared", "authorization-revoked"]
            .iter()
            .map(|kind| json!({"eventType": kind}))
            .collect();
    story.call("builder", "audit.list", message(accepted)).ok(types.into());
    story
}

/// Rules OP-9 and AP-1: profiles are the operator's, and a digest stands for one configuration.
fn profiles() -> Story {
    let mut story = Story::new("adapter profiles are the operator's");
    for caller in ["alice", "guard", "builder"] {
        story.call(caller, "adapters.declare", profile()).refused("operator-required", "OP-9");
    }
    let declared = json!({"replay": false, "profile": "loop", "executor": "host"});
    story.declare(profile()).rules(&["AP-1", "OP-9"]).ok(declared);
    story.declare(profile()).rules(&["AP-1"]).ok(json!({"replay": true}));
    story.call("host", "adapters.declare", profile()).rules(&["OP-9"]).ok(json!({"replay": true}));
    for (pointer, value) in [
        ("/executor", json!("caller")),
        ("/deadlineMs", json!(1)),
        ("/settleMs", json!(0)),
        ("/absentFinal", json!(false)),
        ("/canQuery", json!(false)),
        ("/capabilities/intents", json!(["suggest", "steer", "interrupt", "notify"])),
    ] {
        story.call("ops", "adapters.declare", with(profile(), pointer, value)).refused("idempotency-conflict", "AP-1");
    }
    let other = with(with(profile(), "/digest", format!("sha256:{:064}", 2)), "/deadlineMs", 1);
    story.declare(other).rules(&["AP-1"]).ok(json!({"replay": false}));
    story.declare(profile()).rules(&["AP-1"]).ok(json!({"replay": false}));
    let bad = with(profile(), "/capabilities/features/typedInterruptionResults", false);
    story.call("ops", "adapters.declare", bad).error("capabilities-invalid");
    story
}
