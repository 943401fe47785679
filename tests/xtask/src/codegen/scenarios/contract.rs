//! What the contract between the rules and a host says of both: pages that are no end, evaluations that count only for what
//! is asked, the context of a request, who is a caller, and what the rules say of themselves.

use super::cast::{BUILDER, MINUTE, builder, envelope, message, principals, with};
use super::facts::{BUILDER_ROW, builder_party, row, stored, task, under};
use super::steps::{Vector, args};
use super::story::{Story, absent};
use super::time;
use serde_json::{Value, json};

/// When messages that were written at 0 have expired.
const OVER: i64 = 60 * MINUTE;

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The single calls.
pub(super) fn vectors() -> Vec<Vector> {
    let mut all = vec![described()];
    all.extend(evaluations());
    all.extend(contexts());
    all.extend(pages());
    all.extend(callers());
    all
}

fn described() -> Vector {
    let about = json!({
        "contract": "threadmesh:core@0.2.0", "records": {"writes": 2}, "limits": {"page_max": 100, "rounds_max": 3},
    });
    Vector::new("what the rules are", &[], "describe", json!({})).has(json!({"$json": about}))
}

/// The host asks for the verdict of `policy` at `hook` about `input`, with what was evaluated so far.
fn asked(evaluated: Value) -> Value {
    let params = json!({"policy": "house-rules", "hook": "send", "input": "{\"a\":1}"});
    let mut args = args("host", "policy.evaluate", &params, Vec::new());
    args["evaluated"] = evaluated;
    args
}

fn evaluated(policy: &str, hook: &str, input: &str, end: &str, verdict: Option<&str>) -> Value {
    let facts = json!([{"name": "fuel", "value": "17"}]);
    json!({"policy": policy, "hook": hook, "input": input, "end": end, "verdict": verdict, "facts": facts})
}

fn evaluations() -> Vec<Vector> {
    let vector = |name: &str, rules: &[&str], evaluated: Value| Vector::new(name, rules, "decide", asked(evaluated));
    let wanted = json!([{"policy": "house-rules", "hook": "send", "input": "{\"a\":1}"}]);
    let asks = json!({"kind": "needs", "queries": [], "evaluations": wanted});
    let own = |end: &str, verdict| evaluated("house-rules", "send", "{\"a\":1}", end, verdict);
    let allowed = |verdict: &str| {
        let response = json!({"method": "policy.evaluate", "value": {"verdict": verdict}});
        json!({"kind": "ready", "decision": {"status": "accepted", "response": {"$json": response}, "problem": null}})
    };
    let others = [
        ("another input", evaluated("house-rules", "send", "{\"a\":2}", "answered", Some("allow"))),
        ("an input with other spaces", evaluated("house-rules", "send", "{\"a\": 1}", "answered", Some("allow"))),
        ("another policy", evaluated("house-rules-2", "send", "{\"a\":1}", "answered", Some("allow"))),
        ("another hook", evaluated("house-rules", "ack", "{\"a\":1}", "answered", Some("allow"))),
    ];
    let mut all = vec![
        vector("a policy is asked", &[], json!([])).has(asks.clone()),
        vector("a verdict counts", &["OP-12"], json!([own("answered", Some("allow"))])).has(allowed("allow")),
        vector("an empty verdict counts", &["OP-12"], json!([own("answered", Some(""))])).has(allowed("")),
    ];
    for (what, other) in &others {
        let name = format!("a verdict about {what} counts for nothing and is asked for again");
        all.push(vector(&name, &[], json!([other])).has(asks.clone()));
    }
    let among = json!([others[0].1, own("answered", Some("deny")), others[1].1]);
    all.push(vector("the verdict about exactly this counts among others", &["OP-12"], among).has(allowed("deny")));
    for (name, end, verdict) in [
        ("a host without an engine denies", "unavailable", None),
        ("a policy that was stopped denies", "deadline", None),
        ("an end that is not known denies, whatever verdict it has", "answered-2", Some("allow")),
        ("no end denies", "", Some("allow")),
        ("an answer without a verdict denies", "answered", None),
    ] {
        all.push(vector(name, &["OP-12"], json!([own(end, verdict)])).error("evaluation-denied"));
    }
    all
}

/// A look at a task that is not there, with a context.
fn contexts() -> Vec<Vector> {
    let look = |facts: Vec<Value>| {
        let mut args = args("builder", "tasks.get", &json!({"task": builder()}), Vec::new());
        args["request"]["context"] = facts.into();
        args
    };
    let many = |count: u32| (0..count).map(|number| fact(&format!("fact-{number}"), "")).collect::<Vec<_>>();
    let long = |count: usize| "x".repeat(count);
    let taken = |name: &str, facts| Vector::new(name, &["OP-11"], "decide", look(facts)).has(json!({"kind": "needs"}));
    let refused = |name: &str, facts| Vector::new(name, &["OP-11"], "decide", look(facts)).error("context-invalid");
    vec![
        taken("a context of eight facts", many(8)),
        refused("a context of nine facts", many(9)),
        taken("facts of 512 bytes", vec![fact(&long(512), &long(512))]),
        refused("a value of 513 bytes", vec![fact("tracestate", &long(513))]),
        refused("a value of 257 letters of two bytes", vec![fact("tracestate", &"é".repeat(257))]),
        refused("a name of 513 bytes", vec![fact(&long(513), "")]),
        taken("a context that is none of a trace", vec![fact("traceparent", "nonsense\n"), fact("", "")]),
    ]
}

/// Builder looks at the tasks of its own name, of whichever owner. Its own row is asked for by its id, and shows in
/// whatever page covers it.
fn pages() -> Vec<Vector> {
    let own = row("task", BUILDER_ROW);
    let range = under("task", "", "default/inc_builder-0001/builder", 2);
    let page = |more: bool| json!({"query": range, "rows": [], "more": more});
    let look = |answers: Vec<Value>| args("builder", "tasks.get", &json!({"task": builder()}), answers);
    let vector = |name: &str, rules: &[&str], answers| Vector::new(name, rules, "decide", look(answers));
    let task_row = || stored(BUILDER_ROW, &task(builder_party()));
    let of = |query: &Value, bytes: u64, rows: Vec<Value>| json!({"query": with(query.clone(), "/bytes", bytes), "rows": rows, "more": false});
    let other = stored("default/inc_builder-0001/builder/user:carol", &task(builder_party()));
    let (first, second) = (task_row(), other);
    let bodies = [&first, &second].iter().map(|row| row["body"].as_str().unwrap_or_default().len() as u64).sum::<u64>();
    let accepted = json!({"kind": "ready", "decision": {"status": "accepted"}});
    vec![
        vector("an empty page with more is no absence", &[], vec![page(true)])
            .has(json!({"kind": "needs", "queries": [own]})),
        vector("an empty page without more is one", &[], vec![page(false)]).error("not-visible"),
        vector("rows up to the bytes", &[], vec![of(&range, bodies, vec![first.clone(), second.clone()])])
            .has(accepted.clone()),
        vector("rows beyond the bytes", &[], vec![of(&range, bodies - 1, vec![first.clone(), second])])
            .error("host-misuse"),
        vector("one row may be larger than the bytes", &[], vec![of(&range, 1, vec![first])]).has(accepted),
    ]
}

fn callers() -> Vec<Vector> {
    let principal = |name: &str| {
        let mut principal = principals()[name].clone();
        principal["tenant"] = "default".into();
        principal["authentication"] = format!("authn_{name}-session").into();
        principal
    };
    let check =
        |name: &str, principal: Value| Vector::new(name, &["OP-1"], "check-principal", json!({"principal": principal}));
    let mut all: Vec<Vector> = ["alice", "guard", "builder", "ops", "host"]
        .map(|name| check(&format!("{name} is a caller"), principal(name)).ok(true.into()))
        .into();
    let odd = [
        ("a task without an incarnation", with(principal("builder"), "/incarnation", Value::Null)),
        ("a task without an owner", with(principal("builder"), "/owner", Value::Null)),
        ("a task of an operator", with(principal("builder"), "/owner", "operator:ops")),
        ("a user with an incarnation", with(principal("alice"), "/incarnation", BUILDER)),
        ("a user with an owner", with(principal("alice"), "/owner", "user:alice")),
        ("an empty id", with(principal("alice"), "/id", "")),
        ("an empty tenant", with(principal("alice"), "/tenant", "")),
        ("a credential without its prefix", with(principal("alice"), "/authentication", "session")),
        ("a worker that is no id", with(principal("builder"), "/worker", "")),
    ];
    all.extend(odd.into_iter().map(|(name, odd)| check(name, odd).error("authentication-required")));
    all
}

/// The place in a trace of a message that is sent.
pub(super) fn stories() -> Vec<Story> {
    vec![traced(), untraced(), tried()]
}

/// A host tries a policy out: what it says is what the host evaluated, and without an engine nothing is.
fn tried() -> Story {
    let mut story = Story::new("a policy that is tried out");
    let params = json!({"policy": "house-rules", "hook": "send", "input": "{}"});
    let operation = "policy.evaluate";
    let told = |input: &str| [evaluated("house-rules", "send", input, "answered", Some("allow"))];
    story
        .call("host", operation, params.clone())
        .evaluated(&told("{}"))
        .rules(&["OP-12"])
        .ok(json!({"verdict": "allow"}));
    story.call("host", operation, params.clone()).evaluated(&told("{ }")).refused("evaluation-denied", "OP-12");
    story.call("host", operation, params.clone()).refused("evaluation-denied", "OP-12");
    for caller in ["alice", "guard", "ops", "builder"] {
        story.call(caller, operation, params.clone()).error("method-not-found");
    }
    story
}

fn fact(name: &str, value: &str) -> Value {
    json!({"name": name, "value": value})
}

/// What came with the call is told to whoever works on the message, until the purge; a repetition does not change it.
fn traced() -> Story {
    let mut story = Story::adapted("the place in a trace goes with the message", "peer");
    let context = [
        fact("unknown", "ignored"),
        fact("tracestate", "a=1"),
        fact("traceparent", TRACE),
        fact("traceparent", "a second one"),
    ];
    let place = json!({"traceparent": TRACE, "tracestate": "a=1", "unknown": absent()});
    let told = json!({"context": place});
    let send = json!({"envelope": envelope(1, "suggest", 0), "idempotencyKey": "idem_traced-1"});
    let sent = json!({"replay": false});
    story.call("writer", "messages.send", send.clone()).context(&context).rules(&["OP-11"]).ok(sent.clone());
    let elsewhere = [fact("traceparent", "00-elsewhere")];
    story.call("writer", "messages.send", send).context(&elsewhere).replayed(json!({"replay": true}));
    let list = json!({"receiver": builder()});
    story.call("builder", "mailbox.listPending", list).ok(json!({"items": [told]}));
    story.claim("builder", 1, 0).keep("token", "/claimToken").context(&elsewhere).ok(told.clone());
    story.ack("builder", 1, 0, "accepted").ok(json!({"revision": 1}));
    for caller in ["writer", "bob", "guard"] {
        story.call(caller, "inspector.snapshot", message(1)).ok(told.clone());
    }
    story.prepare(1, 1).keep("submission", "/submission/submissionId").ok(sent);
    story.begin(1).ok(json!({"replay": false})).effects(json!([{"name": "adapter.submit", "body": told}]));
    let key = json!({"idempotencyKey": "idem_traced-2", "envelope": envelope(2, "suggest", 0)});
    let long = [fact("tracestate", &"x".repeat(513))];
    story.call("writer", "messages.send", key).context(&long).refused("context-invalid", "OP-11");
    story
}

/// Without one there is none; what is read has that of its sender; a purge leaves none.
fn untraced() -> Story {
    let mut story = Story::granted("a message that is read, and one that is purged", "peer");
    let none = json!({"context": absent()});
    story.send(envelope(1, "suggest", 0)).context(&[fact("baggage", "user=alice")]).ok(json!({"replay": false}));
    story.call("builder", "mailbox.listPending", json!({"receiver": builder()})).ok(json!({"items": [none]}));
    story.claim("builder", 1, 0).ok(none.clone());
    story.call("writer", "inspector.snapshot", message(1)).ok(none.clone());
    let place = [fact("traceparent", TRACE)];
    story.send(envelope(2, "suggest", 0)).context(&place).ok(json!({"replay": false}));
    story.call("writer", "inspector.snapshot", message(2)).ok(json!({"context": {"traceparent": TRACE}}));
    let purge = json!({"before": time(OVER)});
    story.call("guard", "maintenance.purgeContent", purge).at(OVER).ok(json!({"state": "pending"}));
    story.call("writer", "inspector.snapshot", message(2)).ok(none);
    story
}
