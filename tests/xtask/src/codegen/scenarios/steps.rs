//! Single steps of `decide`: what is asked for and when, what is decided, and what the host may not do.

use super::START;
use super::cast::{builder, envelope, message, message_at, message_id, principals, with, without, writer};
use super::facts::{
    BUILDER_ROW, GRANT_ROW, ROUTE, WRITER_ROW, answer, budget, builder_party, counters, grant, key_row, laid_out, life,
    message_row, part, row, stored, stored_at, task, under, writer_party,
};
use serde::Serialize;
use serde_json::{Value, json};

/// A vector. `has` says what the answer has at least.
#[derive(Serialize)]
pub(super) struct Vector {
    name: String,
    rules: Vec<String>,
    function: &'static str,
    args: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has: Option<Value>,
}

impl Vector {
    /// A vector of `function` that expects nothing yet.
    pub fn new(name: &str, rules: &[&str], function: &'static str, args: Value) -> Self {
        let rules = rules.iter().map(|rule| (*rule).to_owned()).collect();
        Self { name: name.into(), rules, function, args: laid_out(args), ok: None, error: None, has: None }
    }

    /// Exactly this. A step asks for no evaluations unless it says so.
    pub fn ok(self, mut ok: Value) -> Self {
        if let Some(step) = ok.as_object_mut().filter(|ok| ok.contains_key("kind")) {
            step.entry("evaluations").or_insert_with(|| json!([]));
        }
        Self { ok: Some(ok), ..self }
    }

    /// At least this.
    pub fn has(self, has: Value) -> Self {
        Self { ok: Some(true.into()), has: Some(has), ..self }
    }

    /// Refused, by the one rule that the vector names. `code` is that of the step, or of the refusal in its answer.
    pub fn error(self, code: &str) -> Self {
        let mut error = json!({"code": code});
        if let [rule] = self.rules.as_slice() {
            error["rule"] = rule.as_str().into();
        }
        Self { error: Some(error), ..self }
    }
}

pub(super) fn vectors() -> Vec<Vector> {
    [rounds(), refused_at_once(), budgets(), misuse(), numbers(), damage(), waits(), mail(), continued()].concat_all()
}

trait Concat {
    fn concat_all(self) -> Vec<Vector>;
}

impl<const N: usize> Concat for [Vec<Vector>; N] {
    fn concat_all(self) -> Vec<Vector> {
        self.into_iter().flatten().collect()
    }
}

/// The arguments of a step.
pub(super) fn args(caller: &str, operation: &str, params: &Value, answers: Vec<Value>) -> Value {
    let mut principal = principals()[caller].clone();
    principal["tenant"] = "default".into();
    principal["authentication"] = format!("authn_{caller}-session").into();
    json!({
        "request": {"operation": operation, "principal": principal, "params": params.to_string(), "instance": "host-1"},
        "answers": answers, "now": START, "entropy": format!("{:064}", 1),
    })
}

pub(super) fn send_params(envelope: &Value) -> Value {
    json!({"envelope": envelope, "idempotencyKey": "idem_step-0001"})
}

/// What writer's send of message 1 asks for: all at once.
fn send_queries() -> Vec<Value> {
    vec![
        row("replay", &key_row("messages.send", "idem_step-0001")),
        under("task", "", "default/inc_builder-0001/builder", 8),
        under("grant", "route", "default/inc_builder-0001/inc_writer-0001", 16),
        under("box", "", "default/inc_builder-0001", 8),
        row("budget", "default/task/writer/inc_writer-0001/user:alice"),
        row("task", WRITER_ROW),
        row("life", &message_row()),
        row("box", WRITER_ROW),
    ]
}

/// The rows for them: counters of the receiver and of the sender, and what the sender spent.
pub(super) fn send_answers(receiver: &Value, spent: Option<Value>) -> Vec<Value> {
    let budget = spent.map(|spent| stored("default/task/writer/inc_writer-0001/user:alice", &spent));
    let rows = [
        vec![],
        vec![stored(BUILDER_ROW, &task(builder_party()))],
        vec![stored_at(GRANT_ROW, ROUTE, &grant())],
        vec![stored(BUILDER_ROW, receiver)],
        budget.into_iter().collect(),
        vec![stored(WRITER_ROW, &task(writer_party()))],
        vec![],
        vec![stored(WRITER_ROW, &counters(0, 0))],
    ];
    send_queries().into_iter().zip(rows).map(|(query, rows)| answer(query, rows)).collect()
}

fn needs(queries: Vec<Value>) -> Value {
    json!({"kind": "needs", "queries": queries})
}

fn ready(status: &str) -> Value {
    json!({"kind": "ready", "queries": [], "decision": {"status": status}})
}

/// What is asked for in which round, by whom.
fn rounds() -> Vec<Vector> {
    let send = send_params(&envelope(1, "suggest", 0));
    let complete = send_answers(&counters(3, 0), None);
    let place = format!("{}/{:016}", part(WRITER_ROW), 4);
    let written = json!({"kind": "ready", "queries": [], "decision": {
        "status": "accepted", "effects": [], "topics": [WRITER_ROW, BUILDER_ROW],
        "writes": [
            {"collection": "budget", "expected": 0}, {"collection": "message", "expected": 0, "entries": []},
            {"collection": "life", "expected": 0, "id": message_row()},
            {"collection": "box", "id": WRITER_ROW, "expected": 1}, {"collection": "box", "id": BUILDER_ROW, "expected": 1},
            {"collection": "replay", "expected": 0},
        ],
        "audit": [{"entries": [{"index": "stream", "key": place}, {"index": "stream"}, {"index": "message"}]}],
    }});
    let mut missing = complete.clone();
    let budget = missing.remove(4);
    let asked_later = vec![budget["query"].clone()];
    let stranger = answer(row("profile", "default/loop"), vec![]);
    let decide = |name: &str, answers: Vec<Value>| {
        Vector::new(name, &[], "decide", args("writer", "messages.send", &send, answers))
    };
    let look = |name: &str, answers: Vec<Value>| {
        Vector::new(name, &[], "decide", args("alice", "messages.getDisposition", &message(1), answers))
    };
    let (first, second) = (first_look(), second_look());
    vec![
        decide("a send asks for everything at once", vec![]).ok(needs(send_queries())),
        decide("a send is decided in the second step", complete.clone()).has(written.clone()),
        decide("answers in another order", complete.iter().rev().cloned().collect()).has(written.clone()),
        decide("an answer that nobody asked for is ignored", [complete, vec![stranger.clone()]].concat()).has(written),
        decide("what is missing is asked for again, alone", missing).ok(needs(asked_later)),
        decide("answers to other queries are none", vec![stranger]).ok(needs(send_queries())),
        look("an owner's look asks for the message first", vec![]).ok(needs(queries(&first))),
        look("and then for whom it concerns", first.clone()).ok(needs(queries(&second))),
        look("and is decided in the third step", [first.clone(), second].concat()).has(ready("accepted")),
        look("nothing is asked for beyond a message that is not there", vec![
            answer(first[0]["query"].clone(), vec![]), first[1].clone(), first[2].clone(),
        ]).has(json!({"kind": "ready", "decision": {"status": "refused", "problem": {"code": "not-visible"}, "writes": [], "audit": []}})),
    ]
}

fn queries(answers: &[Value]) -> Vec<Value> {
    answers.iter().map(|answer| answer["query"].clone()).collect()
}

/// The first round of an owner's look at message 1.
pub(super) fn first_look() -> Vec<Value> {
    let message = under("life", "", &format!("default/{}/inc_writer-0001", message_id(1)), 8);
    vec![
        answer(message, vec![stored(&message_row(), &life())]),
        answer(under("task", "", "default/inc_writer-0001", 8), vec![stored(WRITER_ROW, &task(writer_party()))]),
        answer(under("box", "", "default/inc_writer-0001", 8), vec![stored(WRITER_ROW, &counters(0, 0))]),
    ]
}

/// The second.
pub(super) fn second_look() -> Vec<Value> {
    vec![
        answer(row("task", BUILDER_ROW), vec![stored(BUILDER_ROW, &task(builder_party()))]),
        answer(row("box", BUILDER_ROW), vec![stored(BUILDER_ROW, &counters(1, 0))]),
        answer(row("grant", GRANT_ROW), vec![stored(GRANT_ROW, &grant())]),
    ]
}

/// What needs no facts to be refused asks for none.
fn refused_at_once() -> Vec<Vector> {
    let refused = |code: &str| {
        json!({"kind": "ready", "queries": [], "decision": {
            "status": "refused", "problem": {"code": code}, "writes": [], "effects": [], "audit": [], "topics": [],
        }})
    };
    let good = args("writer", "messages.getDisposition", &message(1), vec![]);
    let mut all = Vec::new();
    for (name, pointer, value, code) in [
        ("an operation that is not there", "/request/operation", json!("messages.list"), "method-not-found"),
        ("an operation of the host", "/request/operation", json!("adapter.listUnresolved"), "method-not-found"),
        ("nobody calls", "/request/principal", Value::Null, "authentication-required"),
        ("params that are no JSON", "/request/params", json!("{"), "json-syntax"),
        (
            "params with a member twice",
            "/request/params",
            json!("{\"messageId\":\"a\",\"messageId\":\"b\"}"),
            "json-duplicate-member",
        ),
        (
            "params with a number that no double holds",
            "/request/params",
            json!("{\"n\":9007199254740993}"),
            "json-number",
        ),
        ("params with a number beyond 2^53-1", "/request/params", json!("{\"n\":1e300}"), "json-integer-range"),
        (
            "params with an unpaired surrogate",
            "/request/params",
            json!("{\"messageId\":\"\\ud800\"}"),
            "json-surrogate",
        ),
        ("params that are an array", "/request/params", json!("[]"), "params-invalid"),
        ("params that are null", "/request/params", json!("null"), "params-invalid"),
        ("params without a member", "/request/params", json!("{}"), "params-invalid"),
        ("params with a byte-order mark", "/request/params", json!("\u{feff}{}"), "json-encoding"),
    ] {
        let rules: &[&str] = match code {
            "method-not-found" => &["OP-2"],
            "authentication-required" => &["OP-1"],
            _ => &[],
        };
        all.push(Vector::new(name, rules, "decide", with(good.clone(), pointer, value)).has(refused(code)));
    }
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(64), "]".repeat(64));
    all.push(
        Vector::new("params that are too deep", &[], "decide", with(good, "/request/params", deep))
            .has(refused("json-depth")),
    );
    all
}

/// Budgets that take thousands of messages to spend, and the same a message earlier and a window later.
fn budgets() -> Vec<Vector> {
    let (plain, steer) = (envelope(1, "suggest", 0), envelope(1, "steer", 0));
    let (unspent, last, later) = (budget(0, 0, 0, 0), START + 59_999, START + 60_000);
    let full = |open: i64| counters(open, 0);
    let mut all = vec![
        send_at("the last place in a mailbox", "BU-1", &plain, &full(9_999), &unspent, START, true),
        send_at("a mailbox that is full", "BU-1", &plain, &full(10_000), &unspent, START, false),
        send_at("a mailbox that is full a minute later", "BU-1", &plain, &full(10_000), &unspent, later, false),
        send_at("the last interruption of a receiver", "BU-5", &steer, &counters(0, 29), &unspent, START, true),
        send_at("one interruption too many", "BU-5", &steer, &counters(0, 30), &unspent, START, false),
    ];
    let mut spent = |what: &str, rule: &str, envelope: &Value, under: Value, over: Value| {
        let free = counters(0, 0);
        for (when, budget, now, fits) in [
            ("the last one of a window", &under, START, true),
            ("one too many", &over, START, false),
            ("one too many at the end of the window", &over, last, false),
            ("the first one of the next window", &over, later, true),
        ] {
            all.push(send_at(&format!("{what}: {when}"), rule, envelope, &free, budget, now, fits));
        }
    };
    spent("messages", "BU-2", &plain, budget(5_999, 0, 0, 1), budget(6_000, 0, 0, 1));
    spent("messages without a parent", "BU-7", &plain, budget(2_999, 0, 2_999, 1), budget(3_000, 0, 3_000, 1));
    spent("receivers", "BU-4", &plain, budget(255, 0, 255, 255), budget(256, 0, 256, 256));
    spent("steers", "BU-3", &steer, budget(59, 59, 59, 1), budget(60, 60, 60, 1));
    all
}

/// A send to a receiver with these counters, of a principal that spent so much.
fn send_at(name: &str, rule: &str, envelope: &Value, receiver: &Value, spent: &Value, now: i64, fits: bool) -> Vector {
    let answers = send_answers(receiver, Some(spent.clone()));
    let args = with(args("writer", "messages.send", &send_params(envelope), answers), "/now", now);
    let vector = Vector::new(name, &[rule], "decide", args);
    if fits { vector.has(ready("accepted")) } else { vector.error("backpressure") }
}

/// Answers that no store could give. The error is the host's, not the caller's.
fn misuse() -> Vec<Vector> {
    let send = send_params(&envelope(1, "suggest", 0));
    let good = || send_answers(&counters(0, 0), None);
    let mut all = Vec::new();
    let mut refuse = |name: &str, at: usize, rows: Vec<Value>| {
        let mut answers = good();
        answers[at]["rows"] = rows.into();
        all.push(
            Vector::new(name, &[], "decide", args("writer", "messages.send", &send, answers)).error("host-misuse"),
        );
    };
    let writer = stored(WRITER_ROW, &task(writer_party()));
    let builder = stored(BUILDER_ROW, &task(builder_party()));
    let at = |row: &Value, member: &str, value: Value| with(row.clone(), &format!("/{member}"), value);
    refuse("another row than the one that was asked for", 5, vec![builder.clone()]);
    refuse("another key than the one that was asked for", 5, vec![at(&writer, "key", "x".into())]);
    refuse("two rows where one was asked for", 5, vec![writer.clone(), writer.clone()]);
    refuse("a row of revision 0", 5, vec![at(&writer, "revision", 0.into())]);
    refuse("a row before the range", 1, vec![at(&builder, "key", "default/inc_builder-0001/a".into())]);
    refuse("a row at the end of the range", 1, vec![at(&builder, "key", "default/inc_builder-0001/builder0".into())]);
    refuse("a row of another tenant", 1, vec![at(&builder, "key", "other/inc_builder-0001/builder/user:bob".into())]);
    let after = at(&builder, "key", "default/inc_builder-0001/builder/user:carol".into());
    refuse("rows in the wrong order", 1, vec![after, builder.clone()]);
    refuse("more rows than were asked for", 1, vec![builder; 9]);
    let edge = stored_at(GRANT_ROW, "default/inc_builder-0001/inc_writer-00010", &grant());
    refuse("a grant at the end of its range", 2, vec![edge]);
    all
}

/// Times and randomness that are none.
fn numbers() -> Vec<Vector> {
    let good = args("writer", "messages.getDisposition", &message(1), vec![]);
    let mut all = Vec::new();
    for (name, now) in [
        ("a time with a fraction", json!(1.5)),
        ("a time before the epoch", json!(-1)),
        ("a time beyond 2^53-1", json!(9_007_199_254_740_992_u64)),
        ("a time that is far too large", json!(1e300)),
    ] {
        all.push(Vector::new(name, &[], "decide", with(good.clone(), "/now", now)).error("host-misuse"));
    }
    for (name, entropy) in [
        ("no randomness", String::new()),
        ("too little randomness", "0".repeat(63)),
        ("too much randomness", "0".repeat(65)),
        ("randomness that is not hex", "g".repeat(64)),
        ("randomness with a character of three bytes", format!("{}\u{20ac}", "0".repeat(61))),
    ] {
        all.push(Vector::new(name, &[], "decide", with(good.clone(), "/entropy", entropy)).error("host-misuse"));
    }
    let asked = json!({"kind": "needs"});
    all.push(Vector::new("the epoch", &[], "decide", with(good.clone(), "/now", 0)).has(asked.clone()));
    all.push(Vector::new("randomness in capitals", &[], "decide", with(good, "/entropy", "A".repeat(64))).has(asked));
    all
}

/// Records that the core did not write.
fn damage() -> Vec<Vector> {
    let mut all = Vec::new();
    let mut look = |name: &str, body: String| {
        let mut answers = [first_look(), second_look()].concat();
        answers[0]["rows"][0]["body"] = body.into();
        let args = args("alice", "messages.getDisposition", &message(1), answers);
        all.push(Vector::new(name, &[], "decide", args).error("record-damaged"));
    };
    look("a life that is not JSON", "{".into());
    look("a life that is empty", String::new());
    look("a life that is an array", "[]".into());
    look("a life with a member twice", "{\"messageId\":\"a\",\"messageId\":\"a\"}".into());
    look("a life that is a task", task(writer_party()).to_string());
    for pointer in ["/sender", "/receiver/owner", "/expires", "/binding/version", "/revision", "/delivery", "/past"] {
        look(&format!("a life without {pointer}"), without(life(), pointer).to_string());
    }
    for (pointer, value) in [
        ("/delivery", json!("delivered")),
        ("/decision", json!("Accepted")),
        ("/outcome", json!("")),
        ("/revision", json!("0")),
        ("/claim", json!({"state": "claimed"})),
        ("/attempt", json!({"state": "prepared"})),
    ] {
        look(&format!("a life with a {pointer} that is none"), with(life(), pointer, value).to_string());
    }
    let shown = json!({
        "id": "admission_1", "token": "t", "nonce": "n", "worker": "", "profile": "loop", "adapterRefDigest": "d",
        "kind": "mcp-session", "session": "session-1", "digest": "d", "bytes": 1, "until": START,
    });
    let failed = with(with(life(), "/decision", "accepted"), "/delivery", "failed");
    look("a life that is before a model and failed", with(failed, "/admission", shown.clone()).to_string());
    look("a life that is before a model and undecided", with(life(), "/admission", shown).to_string());
    let rejected = with(with(life(), "/decision", "rejected"), "/delivery", "adapter-submitted");
    look("a life in a state that cannot be", rejected.to_string());
    look("a life with an effect that cannot be", with(life(), "/outcome", "effect-observed").to_string());
    let send = send_params(&envelope(1, "suggest", 0));
    for (name, at) in [("a task", 1), ("a grant", 2), ("a box", 3), ("a budget", 4), ("the sender's task", 5)] {
        let mut answers = send_answers(&counters(0, 0), Some(budget(0, 0, 0, 0)));
        answers[at]["rows"][0]["body"] = "{}".into();
        let args = args("writer", "messages.send", &send, answers);
        all.push(Vector::new(&format!("{name} without any member"), &[], "decide", args).error("record-damaged"));
    }
    all
}

/// Waiting for mail: the topic is the box of the receiver.
fn mail() -> Vec<Vector> {
    let open = json!({
        "collection": "life", "index": "inbox", "start": format!("{}/{:016}", part(BUILDER_ROW), 1), "end": format!("{}0", part(BUILDER_ROW)),
        "reverse": false, "limit": 100, "bytes": 0,
    });
    let params = json!({"receiver": builder(), "timeoutMs": 1_000});
    let answers =
        vec![answer(open, vec![]), answer(row("task", BUILDER_ROW), vec![stored(BUILDER_ROW, &task(builder_party()))])];
    let args = args("builder", "mailbox.listPending", &params, answers);
    let nothing = "{\"method\":\"mailbox.listPending\",\"value\":{\"items\":[],\"nextCursor\":0,\"hasMore\":false}}";
    vec![
        Vector::new("no mail yet", &[], "decide", args.clone())
            .ok(json!({"kind": "wait", "queries": [], "waiting": {"topics": [BUILDER_ROW], "until": START + 1_000}})),
        Vector::new("no mail until the time was over", &[], "decide", with(args, "/request/cursor", "timeout"))
            .has(json!({"kind": "ready", "decision": {"status": "accepted", "writes": [], "response": nothing}})),
    ]
}

/// Waiting is told with what ends it; the host ends it with a cursor.
fn waits() -> Vec<Vector> {
    let wait = |timeout: i64| json!({"task": writer(), "timeoutMs": timeout});
    let stream = |after: i64| {
        let (prefix, first) = (part(WRITER_ROW), after + 1);
        json!({
            "collection": "audit", "index": "stream", "start": format!("{prefix}/{first:016}"), "end": format!("{prefix}0"),
            "reverse": false, "limit": 50, "bytes": 0,
        })
    };
    let answers = || {
        vec![
            answer(stream(0), vec![]),
            answer(row("box", WRITER_ROW), vec![]),
            answer(row("task", WRITER_ROW), vec![stored(WRITER_ROW, &task(writer_party()))]),
        ]
    };
    let step = |name: &str, params: Value, answers: Vec<Value>| {
        Vector::new(name, &[], "decide", args("writer", "tasks.wait", &params, answers))
    };
    let nothing = "{\"method\":\"tasks.wait\",\"value\":{\"events\":[],\"nextCursor\":0,\"head\":0,\"timedOut\":true}}";
    let ended = json!({"kind": "ready", "decision": {"status": "accepted", "writes": [], "response": nothing}});
    let over = |cursor: &str| {
        let args = args("writer", "tasks.wait", &wait(1_000), answers());
        with(args, "/request/cursor", cursor)
    };
    vec![
        step("a wait asks for the events and the task", wait(1_000), vec![]).ok(needs(vec![
            stream(0),
            row("box", WRITER_ROW),
            row("task", WRITER_ROW),
        ])),
        step("nothing yet", wait(1_000), answers())
            .ok(json!({"kind": "wait", "queries": [], "waiting": {"topics": [WRITER_ROW], "until": START + 1_000}})),
        step("nothing, and no patience", wait(0), answers()).has(ended.clone()),
        Vector::new("nothing until the time was over", &[], "decide", over("timeout")).has(ended),
        step("more patience than there is", wait(55_001), answers())
            .has(json!({"kind": "ready", "decision": {"status": "refused"}})),
    ]
}

/// Cursors of continuations come from the core; others are misuse. They name the row that was decided about: what the
/// params name may be another one by then.
fn continued() -> Vec<Vector> {
    [continued_update(), continued_end()].concat_all()
}

/// `decide`, for what `caller` began with `operation` and goes on with from `cursor`.
fn goes_on(caller: &str, operation: &str, params: &Value, cursor: &str, answers: Vec<Value>) -> Value {
    with(args(caller, operation, params, answers), "/request/cursor", cursor)
}

/// A rotation and a revocation: what the cursor names is over, and nothing else ends.
fn continued_end() -> Vec<Vector> {
    let rotation = json!({
        "previous": builder(), "next": {"taskId": "task-builder", "incarnationId": "inc_builder-0002", "harness": "test"},
        "expectedRevision": 0, "idempotencyKey": "idem_step-0001",
    });
    let revocation =
        json!({"grantId": "grant_nothing-here", "expectedGrantVersion": 7, "idempotencyKey": "idem_step-0001"});
    let rotate = |kept: Value| {
        let inbox = json!({
            "collection": "life", "index": "inbox", "start": format!("{}/{:016}", part(BUILDER_ROW), 0),
            "end": format!("{}0", part(BUILDER_ROW)), "reverse": false, "limit": 50, "bytes": 0,
        });
        let facts = vec![
            answer(row("task", BUILDER_ROW), vec![stored(BUILDER_ROW, &kept)]),
            answer(row("box", BUILDER_ROW), vec![stored(BUILDER_ROW, &counters(0, 0))]),
            answer(inbox, vec![]),
            answer(row("thread", "default/builder/user:bob"), vec![]),
        ];
        goes_on("alice", "tasks.rotateIncarnation", &rotation, BUILDER_ROW, facts)
    };
    let revoke = |body: Value| {
        let facts = vec![
            answer(row("grant", GRANT_ROW), vec![stored(GRANT_ROW, &body)]),
            answer(under("life", "bound", &part(GRANT_ROW), 50), vec![]),
            answer(row("box", WRITER_ROW), vec![stored(WRITER_ROW, &counters(0, 0))]),
            answer(row("box", BUILDER_ROW), vec![stored(BUILDER_ROW, &counters(0, 0))]),
        ];
        goes_on("alice", "relationships.revoke", &revocation, GRANT_ROW, facts)
    };
    let nothing = json!({"kind": "ready", "decision": {"status": "accepted", "audit": [], "proceed": null}});
    let retired = with(with(task(builder_party()), "/state", "archived"), "/retiredAt", START);
    vec![
        Vector::new("a rotation goes on with what its cursor names", &[], "decide", rotate(retired)).has(nothing.clone()),
        Vector::new("a rotation goes on with what is retired alone", &[], "decide", rotate(task(builder_party())))
            .error("host-misuse"),
        Vector::new("a revocation goes on with what its cursor names", &[], "decide", revoke(with(grant(), "/revoked", START)))
            .has(nothing),
        Vector::new("a revocation goes on with what is revoked alone", &[], "decide", revoke(grant())).error("host-misuse"),
        Vector::new(
            "a revocation that goes on asks for what its cursor names",
            &[],
            "decide",
            goes_on("alice", "relationships.revoke", &revocation, GRANT_ROW, vec![]),
        )
        .has(json!({"kind": "needs", "queries": [under("life", "bound", &part(GRANT_ROW), 50), row("grant", GRANT_ROW)]})),
    ]
}

fn continued_update() -> Vec<Vector> {
    let params = json!({
        "task": writer(), "runtime": {"objectiveVersion": 5}, "expectedRevision": 0, "idempotencyKey": "idem_step-0001",
    });
    let all = args("writer", "tasks.updateRuntime", &params, vec![]);
    let urgent = |from: i64| {
        json!({
            "collection": "life", "index": "urgent", "start": format!("{}/{from:016}", part(WRITER_ROW)),
            "end": format!("{}0", part(WRITER_ROW)), "reverse": false, "limit": 50, "bytes": 0,
        })
    };
    let facts = vec![
        answer(urgent(8), vec![]),
        answer(row("task", WRITER_ROW), vec![stored(WRITER_ROW, &task(writer_party()))]),
        answer(row("box", WRITER_ROW), vec![stored(WRITER_ROW, &counters(0, 0))]),
    ];
    let next = format!("7:{WRITER_ROW}");
    let on = goes_on("writer", "tasks.updateRuntime", &params, &next, facts);
    let gone = vec![answer(row("task", WRITER_ROW), vec![]), answer(row("box", WRITER_ROW), vec![])];
    let gone = goes_on("writer", "tasks.updateRuntime", &params, &next, gone);
    let nothing =
        json!({"kind": "ready", "decision": {"status": "accepted", "audit": [], "writes": [{"collection": "box"}]}});
    vec![
        Vector::new("a cursor that is no number", &[], "decide", with(all.clone(), "/request/cursor", "x:y"))
            .error("host-misuse"),
        Vector::new("a cursor that names nothing", &[], "decide", with(all.clone(), "/request/cursor", "7"))
            .error("host-misuse"),
        Vector::new("a cursor that names what is not there", &[], "decide", gone).error("host-misuse"),
        Vector::new("a cursor that is empty", &[], "decide", with(all, "/request/cursor", "")).error("host-misuse"),
        Vector::new("a continuation changes the task no more", &[], "decide", on).has(nothing),
        Vector::new(
            "claims that are at another revision",
            &["OP-7"],
            "decide",
            args("builder", "mailbox.claim", &with(message_at(1, 3), "/idempotencyKey", "idem_step-0001"), vec![]),
        )
        .has(json!({"kind": "needs"})),
    ]
}
