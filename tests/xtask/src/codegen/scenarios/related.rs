//! Scenarios of what a task knows of its relationships: the grants from and to it, the tasks that they relate it to, and
//! the target's consent.

use super::cast::{
    BUILDER, DAY, MINUTE, WRITER, bound, builder, envelope, grant, message_at, profile, task_input, task_ref, with,
    without, writer,
};
use super::policy::rotate;
use super::story::{Step, Story, absent};
use super::time;
use serde_json::{Value, json};

const LIST: &str = "relationships.list";
const RELATED: &str = "tasks.listRelated";
const CONSENT: &str = "relationships.consent";
const GRANT: &str = "relationships.grant";

pub(super) fn stories() -> Vec<Story> {
    vec![listed(), pages(), related(), shown(), presence(), hidden(), asked(), whose_consent(), gated()]
}

fn of(task: Value) -> Value {
    json!({"task": task})
}

fn showing(visibility: &str, version: u32) -> Value {
    with(grant("peer", version), "/summaryVisibility", visibility)
}

/// The policy grants, and asks for the target's consent.
fn ask(story: &mut Story, draft: Value) -> &mut Step {
    let decision = json!({"decisionId": "decision_work-1", "requiresConsent": true});
    story.call("guard", GRANT, json!({"grant": draft, "decision": decision}))
}

fn consents(version: u32, consent: bool) -> Value {
    json!({"grantId": format!("grant_work-{version}"), "expectedGrantVersion": version, "consent": consent})
}

/// Every grant, as it stands; who authorised it is for the issuer, policies and the operator.
fn listed() -> Story {
    let mut story = Story::tasks("a task sees the grants from and to it");
    story.grant(with(grant("peer", 1), "/expiresAt", time(MINUTE)));
    story.grant(grant("supervisor", 2));
    let other = with(with(grant("peer", 1), "/relationshipId", "rel_other"), "/grantId", "grant_other-1");
    story.grant(with(other, "/expiresAt", time(MINUTE)));
    let back = with(with(grant("dependency", 1), "/source", builder()), "/target", writer());
    story.grant(with(with(back, "/relationshipId", "rel_back"), "/grantId", "grant_back-1"));
    let item = |cursor: u32, side: &str, status: &str, id: &str| json!({"cursor": cursor, "side": side, "status": status, "grant": {"grantId": id}});
    let page = |items: Value| json!({"items": items, "nextCursor": 5});
    let now = page(json!([
        item(2, "source", "superseded", "grant_work-1"),
        item(3, "source", "current", "grant_work-2"),
        item(4, "source", "current", "grant_other-1"),
        item(5, "target", "current", "grant_back-1"),
    ]));
    for caller in ["writer", "alice", "guard", "ops"] {
        story.call(caller, LIST, of(writer())).ok(now.clone());
    }
    let revoke = json!({"grantId": "grant_work-2", "expectedGrantVersion": 2});
    story.call("guard", "relationships.revoke", revoke).at(MINUTE).ok(json!({"replay": false}));
    let later = page(json!([
        item(2, "target", "superseded", "grant_work-1"),
        with(item(3, "target", "revoked", "grant_work-2"), "/grant/revokedAt", time(MINUTE)),
        item(4, "target", "expired", "grant_other-1"),
        item(5, "source", "current", "grant_back-1"),
    ]));
    for caller in ["builder", "bob"] {
        story.call(caller, LIST, of(builder())).ok(later.clone());
    }
    // The issuer's session and decision are not for the two ends.
    let whole = json!({"items": [{"grant": {"authorization": {"decisionId": "decision_work-1"}}}]});
    let bare = json!({"items": [{"grant": {"authorization": absent(), "allowedIntents": ["notify", "suggest"], "relationshipType": "peer"}}]});
    let first = json!({"task": builder(), "limit": 1});
    for (caller, seen) in [("guard", &whole), ("ops", &whole), ("bob", &bare), ("builder", &bare)] {
        story.call(caller, LIST, first.clone()).ok(seen.clone());
    }
    story.register("alice", task_input("editor", "inc_editor-0001"));
    let own = with(grant("peer", 1), "/target", task_ref("editor", "inc_editor-0001"));
    let own = json!({"grant": with(own, "/grantId", "grant_own-1"), "decision": {"decisionId": "decision_work-1"}});
    story.call("alice", GRANT, own).ok(json!({}));
    let editor = task_ref("editor", "inc_editor-0001");
    story
        .call("alice", LIST, of(editor))
        .ok(json!({"items": [{"side": "target", "grant": {"authorization": {"authority": "owner"}}}]}));
    story
}

/// Pages, and who sees none.
fn pages() -> Story {
    let mut story = Story::tasks("lists of relationships are paged");
    for version in 1..=3 {
        let draft = with(showing("state-only", version), "/relationshipId", format!("rel_work-{version}"));
        story.grant(draft);
    }
    for method in [LIST, RELATED] {
        for (after, limit, cursors) in [(0, 2, vec![2, 3]), (3, 2, vec![4]), (4, 2, vec![]), (0, 100, vec![2, 3, 4])] {
            let next = cursors.last().copied().unwrap_or(after);
            let items: Vec<Value> = cursors.iter().map(|cursor| json!({"cursor": cursor})).collect();
            let page = json!({"task": writer(), "afterCursor": after, "limit": limit});
            story.call("writer", method, page).ok(json!({"items": items, "nextCursor": next}));
        }
        for limit in [0, 101] {
            let page = json!({"task": writer(), "limit": limit});
            story.call("writer", method, page).error_at("params-invalid", "/limit");
        }
        story.call("carol", method, of(writer())).named(method).error("not-visible");
        for caller in ["bob", "builder", "stranger", "writer-next"] {
            story.call(caller, method, of(writer())).error("not-visible").same_as(method);
        }
        for caller in ["alice", "writer", "guard", "ops"] {
            let nobody = of(task_ref("nobody", "inc_nobody-0001"));
            story.call(caller, method, nobody).error("not-visible").same_as(method);
        }
    }
    rotate(&mut story, "alice", writer(), task_input("writer", "inc_writer-0002"));
    for method in [LIST, RELATED] {
        story.call("writer", method, of(writer())).refused("task-retired", "OP-4");
        story.call("alice", method, of(writer())).rules(&["OP-4"]).ok(json!({"nextCursor": 4}));
        let next = of(task_ref("writer", "inc_writer-0002"));
        story.call("writer-next", method, next).rules(&["OP-4"]).ok(json!({"items": []}));
    }
    story
}

/// Both directions, exact ids, and only what a current grant relates.
fn related() -> Story {
    let mut story = Story::tasks("a task finds those that grants relate it to");
    story.register("carol", task_input("stranger", "inc_stranger-0001"));
    story.register("alice", task_input("editor", "inc_editor-0001"));
    story.call("writer", RELATED, of(writer())).ok(json!({"items": [], "nextCursor": 0}));
    story.grant(with(grant("peer", 1), "/expiresAt", time(MINUTE)));
    let back = with(with(grant("observer", 1), "/source", builder()), "/target", writer());
    let back = with(with(back, "/allowedIntents", json!(["notify"])), "/allowedDeliveryModes", json!(["store-only"]));
    story.grant(with(with(back, "/relationshipId", "rel_back"), "/grantId", "grant_back-1"));
    let out = json!({
        "cursor": 2, "direction": "outgoing", "task": builder(), "live": true, "relationshipId": "rel_work",
        "relationshipType": "peer", "grantId": "grant_work-1", "grantVersion": 1, "summaryVisibility": "none",
        "allowedIntents": ["notify", "suggest"], "expiresAt": time(MINUTE),
        "allowedDeliveryModes": ["store-only", "side-channel", "checkpoint-offer", "wake-idle"],
    });
    let back = json!({
        "cursor": 3, "direction": "incoming", "task": builder(), "live": true, "relationshipId": "rel_back",
        "relationshipType": "observer", "grantId": "grant_back-1", "allowedIntents": ["notify"],
    });
    for caller in ["writer", "alice", "guard", "ops"] {
        story.call(caller, RELATED, of(writer())).ok(json!({"items": [out, back], "nextCursor": 3}));
    }
    let mirrored =
        json!({"items": [{"direction": "incoming", "task": writer()}, {"direction": "outgoing", "task": writer()}]});
    story.call("builder", RELATED, of(builder())).ok(mirrored);
    story.call("carol", RELATED, of(task_ref("stranger", "inc_stranger-0001"))).ok(json!({"items": []}));
    // What ends relates nobody, and the cursor passes it.
    story.call("writer", RELATED, of(writer())).at(MINUTE).ok(json!({"items": [{"cursor": 3}], "nextCursor": 3}));
    let revoke = json!({"grantId": "grant_back-1", "expectedGrantVersion": 1});
    story.call("guard", "relationships.revoke", revoke).ok(json!({"replay": false}));
    story.call("writer", RELATED, of(writer())).ok(json!({"items": [], "nextCursor": 2}));
    story.grant(grant("supervisor", 2));
    let newest = json!({"items": [{"grantId": "grant_work-2", "relationshipType": "supervisor"}]});
    story.call("writer", RELATED, of(writer())).ok(newest.clone());
    story.call("builder", RELATED, of(builder())).ok(newest);
    story
}

/// What the grant shows, and no more; the other direction shows nothing (weaknesses B13).
fn shown() -> Story {
    let mut story = Story::tasks("a relation shows what its grant shows");
    let nothing = json!({"state": absent(), "lastActedAt": absent(), "harness": absent(), "activeRunId": absent(), "objectiveVersion": absent()});
    let state = with(nothing.clone(), "/state", "idle");
    let coordination = with(with(state.clone(), "/harness", "codex"), "/activeRunId", "run-1");
    let objective = with(coordination.clone(), "/objectiveVersion", 4);
    for (version, (visibility, seen)) in
        [("none", &nothing), ("state-only", &state), ("coordination", &coordination), ("objective-hint", &objective)]
            .into_iter()
            .enumerate()
    {
        let version = u32::try_from(version).expect("few") + 1;
        story.grant(showing(visibility, version));
        let item = with(seen.clone(), "/summaryVisibility", visibility);
        let item = with(item, "/retiredAt", absent());
        for caller in ["writer", "alice"] {
            story.call(caller, RELATED, of(writer())).ok(json!({"items": [with(item.clone(), "/live", true)]}));
        }
        let back = with(nothing.clone(), "/direction", "incoming");
        story.call("builder", RELATED, of(builder())).ok(json!({"items": [back]}));
    }
    story
}

/// That a task is not retired does not mean that somebody is there: when it last did something is shown as it is.
fn presence() -> Story {
    let mut story = Story::tasks("how long a related task has been silent");
    story.grant(showing("state-only", 1));
    let number = story.sent("suggest", 0);
    let seen = |live: bool, acted: Value, retired: Value| json!({"items": [{"live": live, "lastActedAt": acted, "retiredAt": retired}]});
    // What others do about it, its owner included, is no sign of life.
    story.call("writer", RELATED, of(writer())).ok(seen(true, absent(), absent()));
    let consent = json!({"task": builder(), "consent": {"mute": false}, "expectedRevision": 0});
    story.call("bob", "tasks.setConsent", consent).ok(json!({"revision": 1}));
    story.call("writer", RELATED, of(writer())).ok(seen(true, absent(), absent()));
    story.claim("builder", number, 0).at(MINUTE).ok(json!({"fence": 1}));
    story.call("writer", RELATED, of(writer())).at(DAY).ok(seen(true, time(MINUTE).into(), absent()));
    let params = json!({"previous": builder(), "next": bound("builder", "inc_builder-0002"), "expectedRevision": 1});
    story.call("bob", "tasks.rotateIncarnation", params).at(2 * DAY).ok(json!({}));
    let gone = with(seen(false, time(MINUTE).into(), time(2 * DAY).into()), "/items/0/state", "archived");
    story.call("writer", RELATED, of(writer())).ok(gone);
    story
}

/// Tasks of other owners that have the same names stay out of it.
fn hidden() -> Story {
    let mut story = Story::granted("relations are between exact tasks", "peer");
    story.register("carol", task_input("writer", WRITER));
    story.register("carol", task_input("builder", BUILDER));
    story.call("carol", RELATED, of(writer())).ok(json!({"items": [], "nextCursor": 0}));
    story.call("carol", LIST, of(builder())).ok(json!({"items": [], "nextCursor": 0}));
    story.call("writer", RELATED, of(writer())).ok(json!({"items": [{"task": builder()}]}));
    // A policy's reference is in doubt.
    story.call("guard", RELATED, of(writer())).named("unseen").error("not-visible");
    story.call("ops", LIST, of(writer())).error("not-visible").same_as("unseen");
    story
}

/// Rules PO-12 and GA-8: a grant that asks for consent allows nothing without it (delivery rule 9).
fn asked() -> Story {
    let mut story = Story::tasks("a grant may ask for the target's consent");
    ask(&mut story, showing("state-only", 1)).ok(json!({"grantId": "grant_work-1"}));
    ask(&mut story, showing("state-only", 1)).rules(&["GA-2"]).ok(json!({"grantId": "grant_work-1"}));
    let plain = json!({"grant": showing("state-only", 1), "decision": {"decisionId": "decision_work-1"}});
    story.call("guard", GRANT, plain).refused("idempotency-conflict", "GA-2");
    let awaiting = json!({"items": [{"status": "awaiting-consent", "consent": false}]});
    story.call("builder", LIST, of(builder())).ok(awaiting.clone());
    story.call("writer", LIST, of(writer())).ok(awaiting);
    story.call("writer", RELATED, of(writer())).ok(json!({"items": []}));
    story.send(envelope(1, "suggest", 0)).refused("policy-denied", "PO-12");
    let given = json!({"grantId": "grant_work-1", "grantVersion": 1, "consent": true});
    let keyed = with(consents(1, true), "/idempotencyKey", "idem_consent-1");
    story.call("builder", CONSENT, keyed.clone()).rules(&["GA-7", "GA-8"]).ok(given.clone());
    story.call("builder", CONSENT, keyed.clone()).replayed(given.clone());
    story.call("builder", CONSENT, with(keyed, "/consent", false)).refused("idempotency-conflict", "OP-6");
    story.call("bob", CONSENT, consents(1, true)).rules(&["GA-7"]).ok(given);
    story.call("writer", RELATED, of(writer())).ok(json!({"items": [{"grantId": "grant_work-1"}]}));
    story.call("writer", LIST, of(writer())).ok(json!({"items": [{"status": "current", "consent": true}]}));
    story.send(envelope(1, "suggest", 0)).rules(&["PO-12"]).ok(json!({"replay": false}));
    let event = json!({"eventType": "relationship-consent-set", "detail": {"consent": "true", "grantId": "grant_work-1"}, "relationshipId": "rel_work"});
    story
        .call("writer", "tasks.wait", json!({"task": writer(), "timeoutMs": 0, "afterCursor": 2, "limit": 1}))
        .ok(json!({"events": [event]}));
    // The next version asks anew, or does not ask.
    ask(&mut story, showing("none", 2)).ok(json!({}));
    story.send(envelope(2, "suggest", 0)).refused("policy-denied", "PO-12");
    story.call("builder", CONSENT, consents(1, true)).refused("state-conflict", "GA-8");
    story.grant(grant("peer", 3));
    story.send(envelope(2, "suggest", 0)).rules(&["PO-12"]).ok(json!({"replay": false}));
    story.call("builder", CONSENT, consents(3, true)).refused("state-conflict", "GA-8");
    story
}

/// Rule GA-7: the consent is the target's.
fn whose_consent() -> Story {
    let mut story = Story::tasks("the consent is the target's");
    ask(&mut story, grant("peer", 1)).ok(json!({}));
    for caller in ["writer", "alice", "guard"] {
        story.call(caller, CONSENT, consents(1, true)).refused("grant-consent-denied", "GA-7");
    }
    story.call("carol", CONSENT, consents(1, true)).named("unseen").error("not-visible");
    for caller in ["stranger", "builder-next", "ops", "host"] {
        story.call(caller, CONSENT, consents(1, true)).error("not-visible").same_as("unseen");
    }
    story.call("builder", CONSENT, consents(9, true)).error("not-visible").same_as("unseen");
    let older = with(consents(1, true), "/expectedGrantVersion", 0);
    story.call("builder", CONSENT, older).refused("revision-conflict", "OP-7");
    story.call("bob", CONSENT, consents(1, true)).rules(&["GA-7", "OP-7"]).ok(json!({"consent": true}));
    rotate(&mut story, "bob", builder(), bound("builder", "inc_builder-0002"));
    story.call("builder", CONSENT, consents(1, false)).refused("task-retired", "OP-4");
    story.call("bob", CONSENT, consents(1, false)).rules(&["GA-7"]).ok(json!({"consent": false}));
    let revoke = json!({"grantId": "grant_work-1", "expectedGrantVersion": 1});
    story.call("guard", "relationships.revoke", revoke).ok(json!({"replay": false}));
    story.call("bob", CONSENT, consents(1, true)).refused("state-conflict", "GA-8");
    story
}

/// Rule PO-12 at every gate: consent that is taken back stops what is under way.
fn gated() -> Story {
    let mut story = Story::tasks("consent that is taken back stops what is under way");
    ask(&mut story, without(grant("peer", 1), "/expiresAt")).ok(json!({}));
    story.call("builder", CONSENT, consents(1, true)).ok(json!({"consent": true}));
    story.declare(profile());
    let (pending, accepted, prepared) =
        (story.sent("suggest", 0), story.accepted("suggest", 0), story.accepted("suggest", 0));
    story.prepare(prepared, 1).keep("submission", "/submission/submissionId").ok(json!({"replay": false}));
    story.call("bob", CONSENT, consents(1, false)).ok(json!({"consent": false}));
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(json!({"items": []}));
    story.claim("builder", pending, 0).refused("policy-denied", "PO-12");
    story.respond(pending, 0, "accepted").refused("policy-denied", "PO-12");
    story.prepare(accepted, 1).refused("policy-denied", "PO-12");
    story.begin(1).refused("policy-denied", "PO-12");
    story.call("builder", CONSENT, consents(1, true)).ok(json!({"consent": true}));
    story.call("builder", "mailbox.claim", message_at(pending, 0)).rules(&["PO-12"]).ok(json!({"fence": 1}));
    story.begin(1).rules(&["PO-12"]).ok(json!({"replay": false}));
    story
}
