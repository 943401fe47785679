//! Scenarios of the mailbox: lists, claims, leases, fences, decisions and deferrals.

use super::cast::{DAY, MINUTE, SECOND, builder, envelope, message, message_at, message_id, received, with};
use super::story::{Story, absent, not, var};
use super::time;
use serde_json::{Value, json};

pub(super) fn stories() -> Vec<Story> {
    vec![
        claims(),
        two_workers(),
        takeover(),
        leases(),
        tokens(),
        decided(),
        deferred(),
        not_before(),
        reasons(),
        respond_under_claim(),
        behind_what_is_over(),
        expired_words(),
        failed(),
        pages(),
        order(),
        retired(),
    ]
}

/// A claim answered again to the worker that holds it, and ended by its decision.
fn claims() -> Story {
    let mut story = Story::granted("a claim and its decision", "peer");
    let number = story.sent("suggest", 0);
    let lease = json!({"replay": false, "expectedRevision": 0, "expiresAt": time(MINUTE), "fence": 1});
    story
        .claim("builder-w1", number, 0)
        .keep("token", "/claimToken")
        .rules(&["MB-1", "MB-4", "MB-5", "OP-7"])
        .ok(lease);
    let again = json!({"replay": true, "claimToken": var("token"), "fence": 1});
    story.claim("builder-w1", number, 0).at(SECOND).rules(&["MB-3"]).ok(again);
    let listed = json!({"items": [{"cursor": 1, "claim": {"state": "claimed", "expiresAt": time(MINUTE), "claimToken": absent()}}]});
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(listed);
    story.claim("builder-w1", number, 7).ok(json!({"replay": true, "expectedRevision": 0}));
    story.ack("builder-w1", number, 1, "accepted").refused("revision-conflict", "OP-7");
    story
        .ack("builder-w1", number, 0, "accepted")
        .rules(&["MB-2", "MB-3", "OP-7"])
        .ok(received(1, "accepted", "accepted"));
    story.ack("builder-w1", number, 1, "rejected").refused("mailbox-claim-invalid", "MB-2");
    story.claim("builder-w1", number, 1).refused("state-conflict", "MB-4");
    let empty = json!({"items": [], "nextCursor": 0});
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(empty);
    story.seen(number, received(1, "accepted", "accepted"));
    story
}

/// Rule MB-1: a second worker is told to wait, whatever it tries; the task without a worker is one more worker.
fn two_workers() -> Story {
    let mut story = Story::adapted("one worker at a time", "peer");
    let number = story.sent("suggest", 0);
    story.claim("builder-w1", number, 0).keep("token", "/claimToken").rules(&["MB-1"]).ok(json!({"fence": 1}));
    let busy = "mailbox-busy";
    for caller in ["builder-w2", "builder"] {
        story.claim(caller, number, 0).refused(busy, "MB-1");
        story.ack(caller, number, 0, "accepted").refused(busy, "MB-1");
        for (method, params) in decisions(number) {
            story.call(caller, method, params).refused(busy, "MB-1");
        }
    }
    story.respond(number, 0, "rejected").at(MINUTE - 1).refused(busy, "MB-1");
    story.respond(number, 0, "rejected").at(MINUTE).rules(&["MB-1"]).ok(received(1, "rejected", "receiver-rejected"));
    story
}

/// Everything that another worker might do to a claimed message.
fn decisions(number: u32) -> Vec<(&'static str, Value)> {
    let at = message_at(number, 0);
    let begin = with(at.clone(), "/claimToken", format!("sha256:{}", "0".repeat(64)));
    vec![
        ("messages.respond", with(at.clone(), "/decision", "rejected")),
        ("messages.failDelivery", with(at.clone(), "/failureReason", "No room.")),
        ("adapter.prepareSubmission", at),
        ("adapter.acceptAndBegin", begin),
    ]
}

/// A lease that ended is taken over with a higher fence, and the old holder is refused from then on.
fn takeover() -> Story {
    let mut story = Story::granted("takeover with a higher fence", "peer");
    let number = story.sent("suggest", 0);
    story.claim("builder-w1", number, 0).keep("first", "/claimToken").ok(json!({"fence": 1}));
    story.claim("builder-w2", number, 0).at(MINUTE - 1).refused("mailbox-busy", "MB-1");
    let taken = json!({"replay": false, "claimToken": not(var("first")), "fence": 2, "expiresAt": time(2 * MINUTE)});
    story.claim("builder-w2", number, 0).at(MINUTE).keep("token", "/claimToken").rules(&["MB-1"]).ok(taken);
    story.claim("builder-w1", number, 0).refused("mailbox-busy", "MB-1");
    let stale = with(with(message_at(number, 0), "/claimToken", var("first")), "/decision", "accepted");
    story.call("builder-w1", "mailbox.ack", stale.clone()).refused("mailbox-busy", "MB-1");
    story.call("builder-w2", "mailbox.ack", stale).refused("mailbox-claim-invalid", "MB-2");
    story.ack("builder-w2", number, 0, "accepted").ok(received(1, "accepted", "accepted"));
    story
}

/// Rule MB-3: the lease ends to the millisecond, at the latest with the message, and a replayed claim ends with it.
fn leases() -> Story {
    let mut story = Story::granted("a lease ends", "peer");
    let number = story.sent("suggest", 0);
    let key = with(message_at(number, 0), "/idempotencyKey", "idem_claim-0001");
    story.call("builder-w1", "mailbox.claim", key.clone()).keep("token", "/claimToken").ok(json!({"replay": false}));
    let same = json!({"replay": true, "claimToken": var("token")});
    story.call("builder-w1", "mailbox.claim", key.clone()).at(MINUTE - 1).rules(&["MB-3", "OP-6"]).replayed(same);
    let expired = "mailbox-claim-expired";
    story.call("builder-w1", "mailbox.claim", key.clone()).at(MINUTE).refused(expired, "MB-3");
    story.ack("builder-w1", number, 0, "accepted").refused(expired, "MB-3");
    story.claim("builder-w1", number, 0).keep("token", "/claimToken").ok(json!({"replay": false, "fence": 2}));
    story
        .ack("builder-w1", number, 0, "accepted")
        .at(2 * MINUTE - 1)
        .rules(&["MB-3"])
        .ok(received(1, "accepted", "accepted"));
    let short = with(envelope(2, "suggest", MINUTE), "/expiresAt", time(2 * MINUTE + SECOND));
    story.send(short).at(2 * MINUTE).ok(json!({"replay": false}));
    story.claim("builder-w1", 2, 0).keep("token", "/claimToken").ok(json!({"expiresAt": time(2 * MINUTE + SECOND)}));
    story.ack("builder-w1", 2, 0, "accepted").at(2 * MINUTE + SECOND).refused(expired, "MB-3");
    story.claim("builder-w1", 2, 0).refused("message-expired", "MS-3");
    story
}

/// Rule MB-2: only the token of this message's claim, only from the worker that holds it.
fn tokens() -> Story {
    let mut story = Story::granted("only the token of the living claim", "peer");
    let (first, second) = (story.sent("suggest", 0), story.sent("suggest", 0));
    let invalid = "mailbox-claim-invalid";
    let guess = with(message_at(first, 0), "/claimToken", format!("sha256:{}", "0".repeat(64)));
    story.call("builder", "mailbox.ack", with(guess.clone(), "/decision", "accepted")).refused(invalid, "MB-2");
    story.claim("builder", first, 0).keep("token", "/claimToken").ok(json!({"fence": 1}));
    story.call("builder", "mailbox.ack", with(guess, "/decision", "accepted")).refused(invalid, "MB-2");
    story.ack("builder", second, 0, "accepted").refused(invalid, "MB-2");
    story.claim("builder", second, 0).keep("other", "/claimToken").ok(json!({"claimToken": not(var("token"))}));
    story.ack("builder", second, 0, "accepted").refused(invalid, "MB-2");
    story.ack("writer", first, 0, "accepted").error("not-visible");
    story.ack("builder", first, 0, "accepted").rules(&["MB-2"]).ok(received(1, "accepted", "accepted"));
    story
}

/// Rules MB-4 and LC-12: what is decided stays decided.
fn decided() -> Story {
    let mut story = Story::granted("what is decided stays decided", "peer");
    let other = [
        ("unsupported", "unsupported-delivery-mode"),
        ("unsupported", "structured-gate-required"),
        ("rejected", "other"),
    ];
    for (decision, reason) in other {
        let number = story.sent("suggest", 0);
        let params = with(with(message_at(number, 0), "/decision", decision), "/reasonCode", reason);
        story.call("builder", "messages.respond", params).rules(&["LC-18"]).ok(received(1, decision, reason));
    }
    for decision in ["accepted", "rejected", "unsupported", "revoked"] {
        let number = story.sent("suggest", 0);
        let reason = match decision {
            "rejected" => "receiver-rejected",
            "unsupported" => "unsupported-intent",
            other => other,
        };
        story
            .respond(number, 0, decision)
            .rules(&["LC-12", "LC-18", "MS-11", "OP-7"])
            .ok(received(1, decision, reason));
        story.respond(number, 0, "rejected").refused("revision-conflict", "OP-7");
        story.respond(number, 1, "accepted").rules(&["LC-12"]).error("transition-illegal");
        story.respond(number, 1, "deferred").rules(&["LC-12"]).error("transition-illegal");
        story.claim("builder", number, 1).refused("state-conflict", "MB-4");
        story.seen(number, received(1, decision, reason));
    }
    let number = story.sent("suggest", 0);
    story.respond(number, 0, "accepted").ok(received(1, "accepted", "accepted"));
    story.respond(number, 1, "revoked").rules(&["LC-12"]).ok(received(2, "revoked", "revoked"));
    story
}

/// A deferral releases the claim, and the message can be claimed again (weaknesses B1).
fn deferred() -> Story {
    let mut story = Story::granted("a deferral releases the claim", "peer");
    let number = story.sent("suggest", 0);
    story.claim("builder-w1", number, 0).keep("token", "/claimToken").ok(json!({"fence": 1}));
    story.ack("builder-w1", number, 0, "deferred").rules(&["MB-2", "MS-10"]).ok(received(
        1,
        "deferred",
        "receiver-deferred",
    ));
    let item = json!({"items": [{"cursor": 1, "claim": null, "notBefore": absent(), "disposition": received(1, "deferred", "receiver-deferred")}]});
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(item);
    story.ack("builder-w1", number, 1, "accepted").refused("mailbox-claim-invalid", "MB-2");
    story.claim("builder-w2", number, 0).refused("revision-conflict", "OP-7");
    let again = json!({"replay": false, "fence": 2, "expectedRevision": 1, "claimToken": not(var("token"))});
    story.claim("builder-w2", number, 1).keep("token", "/claimToken").rules(&["MB-4"]).ok(again);
    story.ack("builder-w2", number, 1, "deferred").rules(&["LC-12"]).error("transition-illegal");
    story.ack("builder-w2", number, 1, "accepted").ok(received(2, "accepted", "accepted"));
    story
}

/// Rules MB-5 and MS-10: a deferral until a time, and what that time may be.
fn not_before() -> Story {
    let mut story = Story::granted("deferred until a time", "peer");
    let long = with(envelope(1, "suggest", 0), "/expiresAt", time(20 * DAY));
    story.send(long).ok(json!({"replay": false}));
    let until = |number: u32, revision: u32, decision: &str, time: String| {
        with(with(message_at(number, revision), "/decision", decision), "/notBefore", time)
    };
    let invalid = "params-invalid";
    for decision in ["accepted", "rejected", "unsupported"] {
        story.call("builder", "messages.respond", until(1, 0, decision, time(MINUTE))).refused(invalid, "MS-10");
    }
    story.call("builder", "messages.respond", until(1, 0, "deferred", time(7 * DAY + 1))).refused(invalid, "MS-10");
    story.claim("builder", 1, 0).keep("token", "/claimToken").ok(json!({}));
    let far = with(until(1, 0, "deferred", time(8 * DAY)), "/claimToken", var("token"));
    story.call("builder", "mailbox.ack", far).refused(invalid, "MS-10");
    let near = with(until(1, 0, "deferred", time(7 * DAY)), "/claimToken", var("token"));
    story.call("builder", "mailbox.ack", near).rules(&["MS-10"]).ok(received(1, "deferred", "receiver-deferred"));
    let item = json!({"items": [{"cursor": 1, "notBefore": time(7 * DAY), "claim": null}], "nextCursor": 1});
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).at(MINUTE).ok(item);
    story.claim("builder", 1, 1).refused("mailbox-not-before", "MB-5");
    story.claim("builder-w1", 1, 1).at(7 * DAY - 1).refused("mailbox-not-before", "MB-5");
    story.claim("builder-w1", 1, 1).at(7 * DAY).keep("token", "/claimToken").rules(&["MB-5"]).ok(json!({"fence": 2}));
    story.ack("builder-w1", 1, 1, "accepted").ok(received(2, "accepted", "accepted"));
    story
}

/// Rules LC-18 and SH-5: a decision carries one of the reasons that go with it, in the mailbox as without a claim.
fn reasons() -> Story {
    let mut story = Story::granted("a decision carries a reason that goes with it", "peer");
    let number = story.sent("suggest", 0);
    let bad = "decision-reason-invalid";
    let reason =
        |decision: &str, reason: &str| with(with(message_at(number, 0), "/decision", decision), "/reasonCode", reason);
    for (decision, code) in [
        ("accepted", "policy-denied"),
        ("rejected", "accepted"),
        ("deferred", "evidence-insufficient"),
        ("stale", "expired"),
        ("unsupported", "other"),
        ("revoked", "other"),
        ("rejected", "adapter-failed"),
    ] {
        story.call("builder", "messages.respond", reason(decision, code)).refused(bad, "LC-18");
    }
    for word in ["applied", "pending", "Accepted"] {
        story.call("builder", "messages.respond", reason(word, "accepted")).error_at("params-invalid", "/decision");
    }
    story.call("builder", "messages.respond", reason("rejected", "because")).error_at("params-invalid", "/reasonCode");
    story.claim("builder", number, 0).keep("token", "/claimToken").ok(json!({}));
    let ack = |decision: &str, code: &str| with(reason(decision, code), "/claimToken", var("token"));
    story.call("builder", "mailbox.ack", ack("deferred", "expired")).refused(bad, "LC-18");
    for word in ["stale", "expired", "unsupported", "revoked"] {
        story.call("builder", "mailbox.ack", ack(word, "other")).error_at("params-invalid", "/decision");
    }
    let answer = received(1, "rejected", "evidence-insufficient");
    story.call("builder", "mailbox.ack", ack("rejected", "evidence-insufficient")).rules(&["LC-18"]).ok(answer);
    story
}

/// A decision without the claim's token, by the worker that holds it, closes the claim (weaknesses B2).
fn respond_under_claim() -> Story {
    let mut story = Story::granted("a decision closes the claim", "peer");
    let number = story.sent("suggest", 0);
    story.claim("builder", number, 0).keep("token", "/claimToken").ok(json!({}));
    let backpressure = with(with(message_at(number, 0), "/decision", "deferred"), "/reasonCode", "backpressure");
    story.call("builder", "messages.respond", backpressure).ok(received(1, "deferred", "backpressure"));
    story.ack("builder", number, 1, "accepted").refused("mailbox-claim-invalid", "MB-2");
    story.claim("builder-w2", number, 1).keep("token", "/claimToken").ok(json!({"fence": 2}));
    let stale = with(with(message_at(number, 1), "/decision", "stale"), "/reasonCode", "stale-run");
    story.call("builder-w2", "messages.respond", stale).ok(received(2, "stale", "stale-run"));
    story.ack("builder-w2", number, 2, "accepted").refused("mailbox-claim-invalid", "MB-2");
    story
}

/// Messages that nobody can act on any more stand before one that waits: no page hides it, and an empty one says that
/// there is more.
fn behind_what_is_over() -> Story {
    let mut story = Story::granted("what is over hides nothing that waits", "supervisor");
    let over = 40;
    for number in 1..=over {
        let short = with(envelope(number, "suggest", 0), "/expiresAt", time(MINUTE));
        story.send(short).ok(json!({"replay": false}));
    }
    story.send(with(envelope(over + 1, "steer", 0), "/expiresAt", time(10 * MINUTE))).ok(json!({"replay": false}));
    let last = over + 1;
    let item = json!({"items": [{"cursor": last}], "nextCursor": last, "hasMore": false});
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).at(2 * MINUTE).ok(item.clone());
    let page = |after: u32| json!({"receiver": builder(), "limit": 1, "afterCursor": after, "timeoutMs": 1000});
    let empty = |next: u32| json!({"items": [], "nextCursor": next, "hasMore": true});
    story.call("builder", "mailbox.listPending", page(0)).ok(empty(16));
    story.call("builder", "mailbox.listPending", page(16)).ok(empty(32));
    story.call("builder", "mailbox.listPending", page(32)).ok(item);
    story
}

/// Rule MS-7: what is not over is not called expired, and what is over is nothing else (weaknesses B8).
fn expired_words() -> Story {
    let mut story = Story::granted("what is over is expired, and nothing else", "peer");
    let number = story.sent("suggest", 0);
    let hour = 60 * MINUTE;
    story.respond(number, 0, "expired").refused("message-not-expired", "MS-7");
    story.respond(number, 0, "expired").at(hour - 1).refused("message-not-expired", "MS-7");
    for decision in ["accepted", "rejected", "deferred", "unsupported", "revoked"] {
        story.respond(number, 0, decision).at(hour).refused("message-expired", "MS-3");
    }
    story.claim("builder", number, 0).refused("message-expired", "MS-3");
    let empty = json!({"items": [], "nextCursor": 1});
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(empty);
    story.respond(number, 0, "expired").rules(&["MS-7"]).ok(received(1, "expired", "expired"));
    story.respond(number, 1, "expired").rules(&["LC-12"]).error("transition-illegal");
    story
}

/// Rules MS-11 and LC-11: a delivery that failed has ended.
fn failed() -> Story {
    let mut story = Story::granted("a delivery that failed has ended", "peer");
    let number = story.sent("suggest", 0);
    let fail = |revision: u32| with(message_at(number, revision), "/failureReason", "The checkout is gone.");
    story.call("builder", "messages.failDelivery", fail(1)).refused("revision-conflict", "OP-7");
    let empty = with(message_at(number, 0), "/failureReason", "");
    story.call("builder", "messages.failDelivery", empty).error_at("params-invalid", "/failureReason");
    story.claim("builder", number, 0).keep("token", "/claimToken").ok(json!({}));
    let ended = json!({
        "revision": 1, "delivery": "failed", "decision": "pending", "decisionReasonCode": absent(),
        "deliveryFailureReason": "The checkout is gone.",
    });
    story.call("builder", "messages.failDelivery", fail(0)).rules(&["LC-11", "OP-7"]).ok(ended.clone());
    story.seen(number, ended);
    story.ack("builder", number, 1, "accepted").refused("mailbox-claim-invalid", "MB-2");
    story.respond(number, 1, "accepted").refused("state-conflict", "MS-11");
    story.respond(number, 1, "rejected").refused("state-conflict", "MS-11");
    story.respond(number, 1, "revoked").refused("state-conflict", "MS-11");
    story.claim("builder", number, 1).refused("state-conflict", "MB-4");
    story.call("builder", "messages.failDelivery", fail(1)).rules(&["LC-11"]).error("transition-illegal");
    let empty = json!({"items": [], "nextCursor": 0});
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(empty);
    story
}

/// Pages are bounded, and a cursor passes over nothing that may come back (weaknesses B5).
fn pages() -> Story {
    let mut story = Story::granted("pages and cursors", "peer");
    for _ in 0..4 {
        story.sent("suggest", 0);
    }
    let page = |after: u32, limit: u32| json!({"receiver": builder(), "afterCursor": after, "limit": limit});
    let items = |cursors: &[u32], next: u32| {
        let items: Vec<Value> = cursors.iter().map(|cursor| json!({"cursor": cursor})).collect();
        json!({"items": items, "nextCursor": next})
    };
    let list = "mailbox.listPending";
    story.call("builder", list, page(0, 2)).ok(items(&[1, 2], 2));
    story.call("builder", list, page(2, 2)).ok(items(&[3, 4], 4));
    story.call("builder", list, page(4, 2)).ok(items(&[], 4));
    story.call("builder", list, with(page(0, 2), "/timeoutMs", 1_000)).ok(items(&[1, 2], 2));
    story.call("builder", list, with(page(4, 2), "/timeoutMs", 0)).ok(items(&[], 4));
    story.call("builder", list, with(page(4, 2), "/timeoutMs", 55_001)).error_at("params-invalid", "/timeoutMs");
    story.call("builder", list, page(0, 0)).error_at("params-invalid", "/limit");
    story.call("builder", list, page(0, 101)).error_at("params-invalid", "/limit");
    story.call("builder", list, with(page(0, 1), "/afterCursor", -1)).error_at("params-invalid", "/afterCursor");
    story.respond(2, 0, "rejected").ok(json!({}));
    let patient =
        |revision: u32, timeout: u32| with(with(message(2), "/afterRevision", revision), "/timeoutMs", timeout);
    let get = "messages.getDisposition";
    story.call("writer", get, patient(0, 1_000)).ok(received(1, "rejected", "receiver-rejected"));
    story.call("writer", get, patient(1, 0)).ok(received(1, "rejected", "receiver-rejected"));
    story.call("writer", get, patient(1, 55_001)).error_at("params-invalid", "/timeoutMs");
    story.call("builder", list, page(1, 2)).ok(items(&[3, 4], 4));
    let later = with(with(message_at(3, 0), "/decision", "deferred"), "/notBefore", time(MINUTE));
    story.call("builder", "messages.respond", later).ok(json!({}));
    story.call("builder", list, page(1, 2)).ok(items(&[3, 4], 4));
    story.call("writer", list, page(0, 2)).error("not-visible");
    story
}

/// Order is that of the commits, whatever the messages say of themselves.
fn order() -> Story {
    let mut story = Story::granted("the order is that of the commits", "peer");
    let written = |number: u32, offset: i64| with(envelope(number, "suggest", offset), "/expiresAt", time(DAY));
    for (number, offset) in [(3, 3), (1, -MINUTE), (2, 4 * SECOND)] {
        story.send(written(number, offset)).ok(json!({"replay": false}));
    }
    let item = |cursor: u32, number: u32| json!({"cursor": cursor, "envelope": {"messageId": message_id(number)}});
    let items = json!({"items": [item(1, 3), item(2, 1), item(3, 2)], "nextCursor": 3});
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(items);
    story
}

/// A task that does not exist has no mailbox, and a mailbox is its task's alone.
fn retired() -> Story {
    let mut story = Story::granted("a mailbox is its task's alone", "peer");
    let number = story.sent("suggest", 0);
    let list = "mailbox.listPending";
    let receiver = json!({"receiver": builder()});
    story.call("bob", list, receiver.clone()).error("not-visible").named("unseen");
    for caller in ["alice", "guard", "ops", "host", "stranger", "builder-next"] {
        story.call(caller, list, receiver.clone()).error("not-visible").same_as("unseen");
    }
    story
        .call("builder-next", list, json!({"receiver": super::cast::task_ref("builder", "inc_builder-0002")}))
        .error("not-visible")
        .same_as("unseen");
    for caller in ["bob", "guard", "ops", "writer"] {
        story.claim(caller, number, 0).error("not-visible").same_as("unseen");
    }
    story.call("bob", "messages.getDisposition", message(number)).ok(received(0, "pending", ""));
    story.call("builder", list, receiver).ok(json!({"nextCursor": 1}));
    story
}
