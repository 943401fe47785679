//! Single steps of `decide` whose facts and whose writes are looked at: what only hosts see, word for word.

use super::super::attestation::{digest, trusted};
use super::START;
use super::cast::{builder, envelope, message, message_at, message_id, profile, with, without, writer};
use super::facts::{
    BUILDER_ROW, GRANT_ROW, WRITER_ROW, answer, builder_party, counters, event_id, grant, key_row_of, life,
    message_row, part, row, stored, stored_at, task, under, writer_party,
};
use super::secrets;
use super::steps::{Vector, args, first_look, second_look, send_answers, send_params};
use serde_json::{Value, json};

pub(super) fn vectors() -> Vec<Vector> {
    [of_operators(), declared_again(), sent(), callers(), found(), asked(), news(), mail(), secrets::vectors()]
        .into_iter()
        .flatten()
        .collect()
}

/// The scope of the operator's keys.
const OPERATOR: &str = "default/operator/ops//";
/// The box of what operators do.
const OFFICE: &str = "default/operator";

/// The event that the operator is the author of, as it is stored.
fn event(kind: &str, detail: &Value) -> Value {
    let actor = json!({"authentication": "authn_ops-session", "id": "ops", "kind": "operator"});
    let body = json!({
        "actor": actor, "detail": detail, "eventId": event_id(&[(OFFICE, 4)]), "eventType": kind, "occurredAt": START,
        "revision": 2, "streams": [{"name": OFFICE, "sequence": 4}],
        "subject": {},
    });
    let key = format!("{}/{:016}", part(OFFICE), 4);
    json!([{"body": {"$json": body}, "entries": [{"index": "stream", "key": key}]}])
}

/// A row of revision 2.
fn second(id: &str, body: &Value) -> Value {
    with(stored(id, body), "/revision", 2)
}

/// What the store has of the profile that the scenarios declare.
fn known_profile() -> Value {
    let mut known = with(with(profile(), "/name", "loop"), "/hosted", true);
    let members = known.as_object_mut().expect("an object");
    members.remove("profile");
    members.remove("executor");
    known
}

/// An operator's declaration: the operation, its params, where it is stored and what stood there before.
fn declarations() -> [(&'static str, Value, &'static str, &'static str, Value); 2] {
    let key = |params: Value| with(params, "/idempotencyKey", "idem_step-0001");
    [
        ("adapters.declare", key(profile()), "profile", "default/loop", known_profile()),
        ("anchors.declare", key(json!({"anchors": trusted()})), "anchors", "default", json!({"anchors": trusted()})),
    ]
}

/// The use of the operator's key, as it is stored.
fn used(operation: &str, params: &Value, resource: &str, revision: u32) -> Value {
    let body = json!({"digest": digest(params), "resource": resource, "revision": revision});
    let id = key_row_of(OPERATOR, operation, "idem_step-0001");
    json!({"collection": "replay", "id": id, "expected": 0, "body": {"$json": body}})
}

/// What an operator does stands in a stream that no task reads.
fn of_operators() -> Vec<Vector> {
    let mut all = Vec::new();
    for (operation, params, collection, id, known) in declarations() {
        let queries = [
            row("replay", &key_row_of(OPERATOR, operation, "idem_step-0001")),
            row(collection, id),
            row("box", OFFICE),
        ];
        let step = |name: &str, answers: Vec<Value>| {
            Vector::new(&format!("{operation}: {name}"), &[], "decide", args("ops", operation, &params, answers))
        };
        let (other, kind, told) = match collection {
            "profile" => (
                with(with(known, "/canQuery", false), "/digest", format!("sha256:{:064}", 2)),
                "profile-declared",
                json!({"executor": "host", "profile": "loop", "profileDigest": params["digest"]}),
            ),
            _ => (
                json!({"anchors": []}),
                "anchors-declared",
                json!({"anchorsDigest": digest(&trusted()), "count": trusted().as_array().map_or(0, Vec::len).to_string()}),
            ),
        };
        let rows = [vec![], vec![second(id, &other)], vec![stored(OFFICE, &counters(0, 0))]];
        let facts = queries.iter().cloned().zip(rows).map(|(query, rows)| answer(query, rows)).collect();
        all.push(step("everything is asked for at once", vec![]).ok(json!({"kind": "needs", "queries": queries})));
        all.push(step("in place of another one", facts).has(json!({"kind": "ready", "decision": {
            "status": "accepted", "topics": [OFFICE], "audit": event(kind, &told),
            "writes": [
                {"collection": "box", "id": OFFICE, "expected": 1}, {"collection": collection, "id": id, "expected": 2},
                used(operation, &params, id, 3),
            ],
        }})));
    }
    all
}

/// The same again, in other words: nothing changes but that the key is used.
fn declared_again() -> Vec<Vector> {
    let mut all = Vec::new();
    for (operation, params, collection, id, known) in declarations() {
        let facts = vec![
            answer(row("replay", &key_row_of(OPERATOR, operation, "idem_step-0001")), vec![]),
            answer(row(collection, id), vec![second(id, &known)]),
            answer(row("box", OFFICE), vec![]),
        ];
        let spaced = params.to_string().replace(":{", ": {\n").replace(":[", ": [\n");
        let args = with(args("ops", operation, &params, facts), "/request/params", spaced);
        let name = format!("{operation}: the same in other words");
        all.push(Vector::new(&name, &[], "decide", args).has(json!({"kind": "ready", "decision": {
            "status": "accepted", "audit": [], "writes": [used(operation, &params, id, 2)],
        }})));
    }
    all
}

/// The use of a key by a send is stored with the digest of the envelope: it means the same as that of the params, and is
/// needed anyway.
fn sent() -> Vec<Vector> {
    let envelope = envelope(1, "suggest", 0);
    let answers = send_answers(&counters(3, 0), None);
    let made = json!({"digest": digest(&envelope), "resource": message_row(), "revision": 0});
    let args = args("writer", "messages.send", &send_params(&envelope), answers);
    vec![Vector::new("a send stores the use of its key", &[], "decide", args).has(json!({"decision": {"writes": [
        {"collection": "budget"}, {"collection": "message"}, {"collection": "life"}, {"collection": "box"},
        {"collection": "box"}, {"collection": "replay", "body": {"$json": made}},
    ]}}))]
}

/// A caller has ids as documents have them. A task is known by its incarnation and its owner, or not at all; nobody else
/// has either.
fn callers() -> Vec<Vector> {
    let call = |who: &str| args(who, "tasks.get", &json!({"task": writer()}), vec![]);
    let caller = |member: &str| format!("/request/principal/{member}");
    let vector = |name: String, args: Value| {
        let refused = json!({"status": "refused", "problem": {"code": "authentication-required"}, "writes": []});
        Vector::new(&name, &["OP-1"], "decide", args).has(json!({"kind": "ready", "decision": refused}))
    };
    let lacking = ["incarnation", "owner"]
        .map(|member| vector(format!("a task without its {member}"), without(call("writer"), &caller(member))));
    let faults = [
        ("writer", "tenant", "", "no tenant"),
        ("writer", "tenant", "de\nfault", "a line in a tenant"),
        ("writer", "id", " writer", "white space before an id"),
        ("writer", "worker", "", "a worker without a name"),
        ("writer", "incarnation", "writer-0001", "an incarnation without its prefix"),
        ("writer", "owner", "alice", "an owner without a kind"),
        ("writer", "owner", "operator:alice", "an owner that registers nothing"),
        ("writer", "owner", "user:", "an owner without an id"),
        ("writer", "owner", "user:al\u{200b}ice", "an owner that looks like another"),
        ("writer", "authentication", "writer", "a credential without its prefix"),
        ("alice", "id", "", "no id"),
        ("alice", "incarnation", "inc_writer-0001", "a user with an incarnation"),
        ("alice", "owner", "user:alice", "a user with an owner"),
    ];
    let faulty = faults.map(|(who, member, value, name)| {
        vector(format!("a caller that no document could name: {name}"), with(call(who), &caller(member), value))
    });
    let worker = Vector::new("a task with a worker calls", &["OP-1"], "decide", {
        with(call("writer"), &caller("worker"), "worker-1")
    });
    let mut all = Vec::from(lacking);
    all.extend(faulty);
    all.push(worker.has(json!({"kind": "needs"})));
    all
}

/// A row is looked for in every answer that would show it; where none would, it is asked for.
fn found() -> Vec<Vector> {
    let own = stored(WRITER_ROW, &task(writer_party()));
    let other = stored("default/inc_writer-0001/writer/user:bob", &task(builder_party()));
    let range = |start: &str, end: &str, limit: u32, reverse: bool| json!({"collection": "task", "index": "", "start": start, "end": end, "reverse": reverse, "limit": limit, "bytes": 0});
    let all_of = |reverse: bool| range("default/", "default0", 8, reverse);
    let step = |name: &str, facts: Vec<Value>| {
        let args = args("alice", "tasks.get", &json!({"task": writer()}), facts);
        Vector::new(&format!("a row that is looked for: {name}"), &[], "decide", args)
    };
    let shown = || json!({"kind": "ready", "decision": {"status": "accepted"}});
    let hidden = || json!({"kind": "ready", "decision": {"status": "refused", "problem": {"code": "not-visible"}}});
    let asked = || json!({"kind": "needs", "queries": [row("task", WRITER_ROW)]});
    let of = |query: Value, rows: Vec<Value>| vec![answer(query, rows)];
    vec![
        step("in a range", of(all_of(false), vec![own.clone(), other.clone()])).has(shown()),
        step("in a range backwards", of(all_of(true), vec![other.clone(), own.clone()])).has(shown()),
        step("in a range in the wrong order", of(all_of(false), vec![other.clone(), own.clone()])).error("host-misuse"),
        step("in a range backwards in the wrong order", of(all_of(true), vec![own, other.clone()]))
            .error("host-misuse"),
        step("not in a range that would show it", of(all_of(false), vec![other.clone()])).has(hidden()),
        step("not in a range that begins with it", of(range(WRITER_ROW, "default0", 8, false), vec![])).has(hidden()),
        step("not where a range is full", of(range("default/", "default0", 1, false), vec![other])).has(asked()),
        step("not where a range ends before it", of(range("default/", WRITER_ROW, 8, false), vec![])).has(asked()),
        step("not where a range begins after it", of(range("default/inc_writer-0002", "default0", 8, false), vec![]))
            .has(asked()),
    ]
}

/// What is asked for in the first round, and what its answers lead to.
fn asked() -> Vec<Vector> {
    let step = |name: &str, caller: &str, operation: &str, params: Value, answers: Vec<Value>, queries: Vec<Value>| {
        Vector::new(&format!("asked for: {name}"), &[], "decide", args(caller, operation, &params, answers))
            .ok(json!({"kind": "needs", "queries": queries}))
    };
    let key = |scope: &str, operation: &str| row("replay", &key_row_of(scope, operation, "idem_step-0001"));
    let of = |collection: &str, limit: u32| {
        under(collection, "", &format!("default/{}/inc_writer-0001", message_id(1)), limit)
    };
    let by = |collection: &str, incarnation: &str| under(collection, "", &format!("default/{incarnation}"), 8);
    let whom = vec![of("life", 8), by("task", "inc_writer-0001"), by("box", "inc_writer-0001")];
    let route = under("grant", "route", "default/inc_builder-0001/inc_writer-0001", 16);
    let own = vec![row("task", BUILDER_ROW), row("box", BUILDER_ROW), route.clone()];
    let look = "messages.getDisposition";
    let failed = with(with(message_at(1, 0), "/outcome", "failed"), "/evidenceRefs", json!(["log:1"]));
    let failed = with(failed, "/idempotencyKey", "idem_step-0001");
    let events = under("audit", "message", &part(&message_row()), 50);
    let events = with(events, "/start", format!("{}/{:016}", part(&message_row()), 1));
    let builder_key = key("default/task/builder/inc_builder-0001/user:bob", "messages.recordOutcome");
    let (first, second) = (first_look(), second_look());
    let seen = [
        first,
        vec![
            answer(of("message", 8), vec![stored(&message_row(), &json!({"envelope": {}}))]),
            answer(of("evidence", 16), vec![]),
        ],
    ];
    let second = second.iter().map(|answer| answer["query"].clone());
    vec![
        step("a sender's look", "writer", look, message(1), vec![], whom.clone()),
        step("a receiver's look", "builder", look, message(1), vec![], [whom.clone(), own.clone()].concat()),
        step(
            "an outcome",
            "builder",
            "messages.recordOutcome",
            failed,
            vec![],
            [vec![of("evidence", 16), builder_key], whom, own].concat(),
        ),
        step(
            "all that a snapshot shows",
            "alice",
            "inspector.snapshot",
            message(1),
            seen.concat(),
            [events].into_iter().chain(second).collect(),
        ),
        step(
            "a send by a policy, of whichever owner's task",
            "guard",
            "messages.send",
            send_params(&with(
                with(envelope(1, "suggest", 0), "/sender/actorType", "policy"),
                "/sender/actorId",
                "guard",
            )),
            vec![],
            vec![
                key("default/policy/guard//", "messages.send"),
                by("task", "inc_builder-0001/builder"),
                route,
                by("box", "inc_builder-0001"),
                row("budget", "default/policy/guard//"),
                by("task", "inc_writer-0001/writer"),
                of("life", 8),
                by("box", "inc_writer-0001"),
            ],
        ),
        crowded(),
    ]
}

/// Where the first answers are full of others, all that they leave out is asked for at once, with the parent.
fn crowded() -> Vector {
    let others = |body: &Value| -> Vec<Value> {
        (1..=8).map(|number| stored(&format!("default/inc_builder-0001/builder/user:a{number}"), body)).collect()
    };
    let parent = with(life(), "/messageId", message_id(9));
    let parent_row = message_row().replace(&message_id(1), &message_id(9));
    let mut answers = send_answers(&counters(0, 0), None);
    answers[1]["rows"] = others(&task(builder_party())).into();
    answers[3]["rows"] = others(&counters(0, 0)).into();
    for full in [1, 3] {
        answers[full]["more"] = true.into();
    }
    // The parent is looked for among what the two of them sent.
    let sent = |incarnation: &str| under("life", "", &format!("default/{}/{incarnation}", message_id(9)), 8);
    answers.push(answer(sent("inc_builder-0001"), vec![]));
    answers.push(answer(sent("inc_writer-0001"), vec![stored(&parent_row, &parent)]));
    let child = with(envelope(1, "suggest", 0), "/causality", json!({"parentMessageId": message_id(9)}));
    let args = args("writer", "messages.send", &send_params(&child), answers);
    let queries = json!([row("message", &parent_row), row("task", BUILDER_ROW), row("box", BUILDER_ROW)]);
    Vector::new("asked for: what a send leads to", &[], "decide", args).ok(json!({"kind": "needs", "queries": queries}))
}

/// Whoever knows the record as it is waits for the next revision, where there is patience.
fn news() -> Vec<Vector> {
    let look = |name: &str, known: u32, revision: u32, patience: u32| {
        let params = with(with(message(1), "/afterRevision", known), "/timeoutMs", patience);
        let mut answers = [first_look(), second_look()].concat();
        answers[0]["rows"][0]["body"] = with(life(), "/revision", revision).to_string().into();
        let name = format!("news of a message: {name}");
        Vector::new(&name, &[], "decide", args("alice", "messages.getDisposition", &params, answers))
    };
    let waits = || {
        let waiting = json!({"topics": [WRITER_ROW, BUILDER_ROW], "until": START + 1_000});
        json!({"kind": "wait", "queries": [], "waiting": waiting})
    };
    let told = || json!({"kind": "ready", "decision": {"status": "accepted", "writes": []}});
    vec![
        look("none at the revision that is known", 2, 2, 1_000).ok(waits()),
        look("none before the revision that is known", 3, 2, 1_000).ok(waits()),
        look("some after the revision that is known", 1, 2, 1_000).has(told()),
        look("none, and no patience", 2, 2, 0).has(told()),
    ]
}

/// Who waits for mail is told at once where there is some, and goes on where a whole page has none that counts.
fn mail() -> Vec<Vector> {
    let list = |name: &str, limit: u32, life: Value, more: bool, answered: bool| {
        let params = json!({"receiver": builder(), "timeoutMs": 1_000, "limit": limit});
        let open = json!({
            "collection": "life", "index": "inbox", "start": format!("{}/{:016}", part(BUILDER_ROW), 1),
            "end": format!("{}0", part(BUILDER_ROW)), "reverse": false, "limit": (limit * 2).clamp(16, 100), "bytes": 0,
        });
        let key = format!("{}/{:016}", part(BUILDER_ROW), 1);
        let mut facts = vec![
            answer(open, vec![stored_at(&message_row(), &key, &life)]),
            answer(row("task", BUILDER_ROW), vec![stored(BUILDER_ROW, &task(builder_party()))]),
            answer(row("task", WRITER_ROW), vec![stored(WRITER_ROW, &task(writer_party()))]),
            answer(row("grant", GRANT_ROW), vec![stored(GRANT_ROW, &grant())]),
            answer(
                row("message", &message_row()),
                vec![stored(
                    &message_row(),
                    &json!({"envelope": envelope(1, "suggest", 0), "ancestors": [], "purged": false}),
                )],
            ),
        ];
        facts[0]["more"] = more.into();
        let args = args("builder", "mailbox.listPending", &params, facts);
        let vector = Vector::new(&format!("waiting for mail: {name}"), &[], "decide", args);
        let items = if life["expires"] == START { 0 } else { 1 };
        let told = json!({"value": {"items": vec![json!({}); items], "nextCursor": 1, "hasMore": more}});
        match answered {
            true => vector.has(json!({"kind": "ready", "decision": {"response": {"$json": told}}})),
            false => vector.ok(json!({
                "kind": "wait", "queries": [], "waiting": {"topics": [BUILDER_ROW], "until": START + 1_000},
            })),
        }
    };
    let over = with(life(), "/expires", START);
    vec![
        list("there is some", 50, life(), false, true),
        list("there is some on a full page", 1, life(), true, true),
        list("what there is does not count", 50, over.clone(), false, false),
        list("what there is does not count, and there may be more", 1, over, true, true),
    ]
}
